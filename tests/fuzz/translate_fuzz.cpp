// The translator on any bytes in the place of preprocessed Metal: a translation or a CompileError with its place.
//
// Clang is not run: it takes tens of milliseconds, and what it makes of a source is not ours. What is translated is rendered in one of the
// ways that the library tries, by the source's length, with values for every other function constant.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "metal/errors.h"
#include "metal/translate/translation.h"
#include "tests/fuzz/fuzz_target.h"

namespace assay::tests {
namespace {

using metal::translate::Kernel;
using metal::translate::Translation;

constexpr std::size_t kMostKernels = 2;  // that are rendered: further ones cost the same again

void render(const Translation& translation, const Kernel& kernel, const std::string& source) {
  std::map<std::uint32_t, metal::FunctionConstant> values;
  for (const auto& constant : translation.function_constants()) {
    if (constant.index % 2 == 0) values.emplace(constant.index, std::int64_t{constant.index});
  }
  constexpr std::array kSpaces = {Translation::ThreadSpace::exact, Translation::ThreadSpace::values, Translation::ThreadSpace::relaxed};
  Translation::Rendering rendering{kSpaces[source.size() / 2 % kSpaces.size()], {}};
  if (source.size() % 2 != 0) {
    // As after a complaint about some token.
    const auto probe = translation.probe(nullptr, values, rendering);
    require(std::ranges::count(probe.text, '\n') == std::ranges::count(source, '\n'),
            "what clang is asked about has the lines of the source");
    const std::size_t token = source.size() / 6 % probe.starts.size();
    (void)translation.omit(token, &kernel, {}, rendering.repairs);
    for (const auto& [first, last] : translation.arguments_of(token)) (void)Translation::wrap(first, last, "bridge", rendering.repairs);
    rendering.repairs.no_pragmas = true;
  }
  const std::string rendered = translation.render(kernel, values, rendering);
  // Places in clang's messages are those of the source.
  require(std::ranges::count(rendered, '\n') == std::ranges::count(source, '\n'), "what is rendered has the lines of the source");
  note_outcome(values.empty() ? "rendered" : "rendered with constants");
}

}  // namespace
}  // namespace assay::tests

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const std::string source(tests::text_of(data, size));
  try {
    const auto translation = metal::translate::Translation::of(source, "fuzz.metal");
    tests::note_outcome("translated");
    for (std::size_t i = 0; i < std::min(translation.kernels().size(), tests::kMostKernels); ++i) {
      const auto& kernel = translation.kernels()[i];
      tests::require(translation.find(kernel.host_name) != nullptr, "a kernel is found by its name");
      tests::render(translation, kernel, source);
      for (const auto& parameter : kernel.parameters) tests::note_outcome(parameter.condition.empty() ? "parameter" : "condition");
    }
  } catch (const metal::CompileError& error) {
    const std::string_view text = error.what();
    tests::require(text.find(": error: ") != std::string_view::npos, "a message says where the error is");
    tests::require(text.size() < 4096 + source.size(), "a message is not much longer than the source");
    tests::note_outcome(text);
  }
  return 0;
}
