// Finds the device among the options of a run.
#include "harness/ledger/executed_on.h"

#include <fmt/format.h>

namespace assay::harness {
namespace {

std::string_view value_of(std::span<const std::string> words, std::string_view option) {
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    if (words[i] == option) return words[i + 1];
  }
  return {};
}

}  // namespace

bool is_fast(std::span<const std::string> words) { return value_of(words, "--math") == "fast"; }

std::string device_of(std::span<const std::string> words) {
  const std::string_view device = value_of(words, "--device");
  std::string text(device.empty() ? "simulator" : device);
  if (is_fast(words)) text += ", fast mathematics";
  if (value_of(words, "--order") == "lockstep") text += ", in lockstep";
  return text;
}

std::string executed_on(std::span<const std::string> words) {
  const std::string device = device_of(words);
  return device == "simulator" ? "executed on the simulator" : fmt::format("executed on {}", device);
}

}  // namespace assay::harness
