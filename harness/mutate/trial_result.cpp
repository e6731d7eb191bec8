#include "harness/mutate/trial_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <map>
#include <span>
#include <stdexcept>

#include "harness/run/fault_text.h"
#include "harness/run/verdict_wire.h"

namespace assay::harness {
namespace {

constexpr std::array<Fate, 5> kFates = {Fate::killed, Fate::survived, Fate::equivalent, Fate::stillborn, Fate::unjudged};
constexpr std::array<Status, 8> kStatuses = {Status::passed,  Status::failed,   Status::hazard,     Status::crashed,
                                             Status::timeout, Status::rejected, Status::mistrusted, Status::skipped};

template <typename Value, std::size_t N>
Value named(const std::array<Value, N>& values, std::string_view name) {
  const auto found = std::ranges::find_if(values, [&](Value value) { return to_string(value) == name; });
  if (found == values.end()) throw std::invalid_argument(fmt::format("'{}' is no fate or status of a mutant", name));
  return *found;
}

template <typename Number>
Number number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) throw std::invalid_argument(fmt::format("'{}' is no number", text));
  return value;
}

std::string hex_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

std::vector<std::byte> bytes_of(std::string_view hex) {
  if (hex.size() % 2 != 0) throw std::invalid_argument("half a byte of a mutant's result");
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
    if (error != std::errc{} || end != hex.data() + i + 2)
      throw std::invalid_argument(fmt::format("'{}' is no byte of a mutant's result", hex.substr(i, 2)));
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

}  // namespace

std::string_view to_string(Fate fate) {
  switch (fate) {
    case Fate::killed:
      return "killed";
    case Fate::survived:
      return "survived";
    case Fate::equivalent:
      return "equivalent";
    case Fate::stillborn:
      return "stillborn";
    case Fate::unjudged:
      return "unjudged";
  }
  return "unknown";
}

std::string_view policy_name(metal::Policy policy) {
  switch (policy) {
    case metal::Policy::native:
      return "native";
    case metal::Policy::checked:
      return "checked";
    case metal::Policy::shadow:
      return "shadow";
  }
  return "unknown";
}

std::string TrialResult::why() const {
  if (faults.empty()) return reason;
  const std::string text = reason_of(*this);
  return text.substr(0, text.find('\n'));
}

std::string TrialResult::encode() const {
  return fmt::format("fate {}\nverdict {}\npolicy {}\ncase {}\nfaults {}\nreason {}\ncases {}\nslowest {}\n", to_string(fate),
                     to_string(verdict), policy_name(policy), case_name, hex_of(encode_faults(faults)), reason, cases, slowest_seconds);
}

TrialResult TrialResult::decode(std::string_view text) {
  std::map<std::string_view, std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t space = text.find(' ');
    if (end == std::string_view::npos || space == std::string_view::npos || space > end)
      throw std::invalid_argument("half a line of a mutant's result");
    lines.emplace(text.substr(0, space), text.substr(space + 1, end - space - 1));
    text.remove_prefix(end + 1);
  }
  const auto value = [&](std::string_view key) {
    const auto found = lines.find(key);
    if (found == lines.end()) throw std::invalid_argument(fmt::format("a mutant's result without '{}'", key));
    return found->second;
  };
  TrialResult result;
  result.fate = named(kFates, value("fate"));
  result.verdict = named(kStatuses, value("verdict"));
  result.policy = metal::parse_policy(value("policy"));
  result.case_name = value("case");
  try {
    result.faults = decode_faults(bytes_of(value("faults")));
  } catch (const MalformedVerdict& malformed) {
    throw std::invalid_argument(fmt::format("faults of a mutant: {}", malformed.what()));
  }
  result.reason = value("reason");
  result.cases = number<std::size_t>(value("cases"));
  result.slowest_seconds = number<double>(value("slowest"));
  return result;
}

}  // namespace assay::harness
