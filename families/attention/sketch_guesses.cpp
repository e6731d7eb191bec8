// Guesses which buffers of a function are the tensors of attention.
#include "families/attention/sketch_guesses.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "families/attention/sketch_names.h"

namespace assay::families::attention {

using metal::ArgumentLayout;
using metal::BoundArgument;

namespace {

bool says_attention(const ArgumentLayout& function) {
  const std::string name = lower(function.function);
  const bool is_named =
      std::ranges::any_of(std::array{"attn", "attention", "sdpa"}, [&](const char* word) { return name.find(word) != std::string::npos; });
  const auto is_of_heads = [](const std::string& number) { return number_of(number) == "g" || number_of(number) == "h / g"; };
  return is_named || std::ranges::any_of(function.arguments, [&](const BoundArgument& argument) {
           return is_of_heads(argument.name) ||
                  (argument.layout && std::ranges::any_of(argument.layout->fields, is_of_heads, &metal::StructField::name));
         });
}

}  // namespace

std::map<std::string, std::string> guesses_of(const ArgumentLayout& function) {
  std::map<std::string, std::string> guessed, taken;
  std::vector<std::string> nameless, written;
  for (const BoundArgument& argument : function.arguments) {
    if (argument.space != metal::AddressSpace::device || argument.is_reference || argument.layout) continue;
    if (const auto known = buffer_of(argument.name)) {
      taken.emplace(*known, argument.name);
    } else if (const auto guess = guess_of(argument.name); guess && (*guess == "out") != argument.is_const && !taken.contains(*guess)) {
      taken.emplace(*guess, argument.name);
      guessed.emplace(argument.name, *guess);
    } else {
      (argument.is_const ? nameless : written).push_back(argument.name);
    }
  }
  // Operands in the order of most attention kernels, of a function that shares keys between heads or is named for attention.
  const bool is_numbered = nameless.size() >= 3 && nameless[0].ends_with('0') && nameless[1].ends_with('1') && nameless[2].ends_with('2');
  if (is_numbered && !taken.contains("q") && !taken.contains("k") && !taken.contains("v") && says_attention(function)) {
    std::size_t next = 0;
    for (const char* tensor : {"q", "k", "v"}) {
      taken.emplace(tensor, nameless[next]);
      guessed.emplace(nameless[next++], tensor);
    }
  }
  if (written.size() == 1 && !taken.contains("out")) guessed.emplace(written.front(), "out");
  return taken.contains("q") && taken.contains("k") && taken.contains("v") ? guessed : std::map<std::string, std::string>();
}

}  // namespace assay::families::attention
