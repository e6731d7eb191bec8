# Writes manual pages and completion for shells, with the installed command. Variables: PREFIX, the folder of the installation; ASSAY, the
# command in it.

execute_process(COMMAND "${ASSAY}" man "${PREFIX}/share/man/man1" COMMAND_ERROR_IS_FATAL ANY)
foreach(script IN ITEMS bash:share/bash-completion/completions/assay zsh:share/zsh/site-functions/_assay fish:share/fish/vendor_completions.d/assay.fish)
  string(REGEX MATCH "^[^:]+" shell "${script}")
  string(REGEX REPLACE "^[^:]+:" "${PREFIX}/" file "${script}")
  cmake_path(GET file PARENT_PATH folder)
  file(MAKE_DIRECTORY "${folder}")
  execute_process(COMMAND "${ASSAY}" completion "${shell}" OUTPUT_FILE "${file}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
