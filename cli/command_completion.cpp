// `assay completion SHELL`: prints a script that makes a shell complete command lines; `assay complete`, which that script calls.
#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/complete.h"
#include "cli/options.h"
#include "cli/say.h"

namespace assay::cli {
namespace {

// All three ask the command on PATH, never the word that was typed: pressing Tab must not start a program that the user has not started.
// Without an answer they complete names of files.
constexpr std::string_view kBash = R"(# Completes command lines of assay in bash: source <(assay completion bash)
_assay() {
  local candidate quoted
  COMPREPLY=()
  while IFS= read -r candidate; do
    printf -v quoted '%q' "$candidate"
    COMPREPLY+=("$quoted")
    # The rest of the word follows.
    [[ $candidate == *[/=] ]] && compopt -o nospace 2>/dev/null
  done < <(command assay complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  return 0
}
complete -o default -F _assay assay
)";

constexpr std::string_view kZsh = R"(#compdef assay
# Completes command lines of assay in zsh. Write it to a file _assay in a folder of $fpath, or: source <(assay completion zsh)
_assay() {
  local -a candidates
  candidates=("${(@f)$(command assay complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  candidates=("${(@)candidates:#}")
  if (( ! $#candidates )); then
    _files
    return
  fi
  # The rest of a word that ends with / or = follows.
  compadd -S '' -- "${(@M)candidates:#*[/=]}"
  compadd -- "${(@)candidates:#*[/=]}"
}
if [[ ${funcstack[1]-} == _assay ]]; then _assay "$@"; else compdef _assay assay; fi
)";

constexpr std::string_view kFish = R"(# Completes command lines of assay in fish: assay completion fish | source
function __assay_candidates
    set -l words (commandline -opc)
    set -e words[1]
    set -l typed (commandline -ct)
    command assay complete -- $words "$typed" 2>/dev/null
end
complete -c assay -n 'test (count (__assay_candidates)) -gt 0' -f -a '(__assay_candidates)'
)";

struct Shell {
  std::string shell;
};

int print_script(const Shell& options) {
  put(stdout, options.shell == "bash" ? kBash : options.shell == "zsh" ? kZsh : kFish);
  return kExitPassed;
}

struct Typed {
  const CLI::App* app = nullptr;
  std::vector<std::string> words;
};

int print_completions(const Typed& typed) {
  for (const std::string& word : completions(*typed.app, typed.words)) say("{}\n", word);
  return kExitPassed;
}

}  // namespace

void add_completion(CLI::App& app, Action& action) {
  const auto [command, options] =
      subcommand(app, action, "completion", "Print a script that makes a shell complete command lines of assay", print_script);
  command->add_option("SHELL", options->shell, "The shell")->required()->check(one_of({"bash", "zsh", "fish"}));
  command->footer(R"(examples
  source <(assay completion bash)                                  in ~/.bashrc
  assay completion zsh > ~/.zfunc/_assay                           with fpath+=~/.zfunc before compinit
  assay completion fish > ~/.config/fish/completions/assay.fish

`cmake --install` puts these scripts where the shells look for them.)");
}

void add_complete(CLI::App& app, Action& action) {
  const auto [command, options] =
      subcommand(app, action, "complete", "Print the words that may stand in the place of the last WORD", print_completions);
  command->group("");  // for scripts, not for people
  options->app = &app;
  command->add_option("WORD", options->words, "The command line behind the program's name, up to the word being typed");
}

}  // namespace assay::cli
