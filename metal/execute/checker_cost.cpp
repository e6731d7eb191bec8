// The parts of the checker that check arithmetic and count costs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "metal/execute/checker.h"
#include "metal/execute/lanes.h"
#include "metal/execute/scalars.h"

namespace assay::metal::execute {

namespace {

constexpr std::array<std::string_view, abi::kFloatTypeCount> kTypeNames = {"float", "half", "bfloat", "double"};
constexpr std::array<std::string_view, 8> kSigns = {"+", "-", "*", "/", "fmod", "fma", "", "a library function"};

double component(const std::byte* slot, std::uint32_t type, std::uint32_t index) {
  switch (type) {
    case abi::kHalf:
      return static_cast<double>(load_scalar<Half>(slot + index * sizeof(Half)));
    case abi::kBfloat:
      return static_cast<float>(load_scalar<Bfloat>(slot + index * sizeof(Bfloat)));
    case abi::kDouble:
      return load_scalar<double>(slot + index * sizeof(double));
    default:
      return load_scalar<float>(slot + index * sizeof(float));
  }
}

// The shortest text that the type allows.
std::string number_text(double value, std::uint32_t type) {
  return type == abi::kDouble ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
}

std::string formula(const abi::Operation& operation, const std::array<double, 3>& operands) {
  const auto number = [&](std::uint32_t operand) { return number_text(operands[operand], operation.from); };
  switch (operation.what) {
    case abi::kAdd:
    case abi::kSubtract:
    case abi::kMultiply:
    case abi::kDivide:
      return fmt::format("{} {} {}", number(0), kSigns[operation.what], number(1));
    case abi::kConvert:
      return operation.operands == 0 ? fmt::format("an integer converted to {}", kTypeNames[operation.type])
                                     : fmt::format("{} converted to {}", number(0), kTypeNames[operation.type]);
    default: {
      std::string text = fmt::format("{} of {}", kSigns[operation.what], number(0));
      for (std::uint32_t operand = 1; operand < operation.operands; ++operand) text += fmt::format(", {}", number(operand));
      return text;
    }
  }
}

}  // namespace

void Checker::arithmetic(const Lane& lane, std::uint32_t number, const std::byte* slots) {
  const abi::Operation& operation = module_.operations[number];
  for (std::uint32_t index = 0; index < operation.count; ++index) {
    const double result = component(slots, operation.type, index);
    if (std::isfinite(result)) continue;
    std::array<double, 3> operands{};
    for (std::uint32_t operand = 0; operand < operation.operands; ++operand)
      operands[operand] = component(slots + (operand + 1) * kSlotBytes, operation.from, index);
    const bool are_finite = std::ranges::all_of(operands, [](double value) { return std::isfinite(value); });
    const bool has_nan = std::ranges::any_of(operands, [](double value) { return std::isnan(value); });
    if (!are_finite && (has_nan || !std::isnan(result))) continue;
    findings_.add(HazardKind::nonfinite_result, Line{operation.file, operation.line}, std::nullopt, [&] {
      return fmt::format("{} from {} operands: {} of simdgroup {} computes {} ({}){}", std::isnan(result) ? "NaN" : "infinity",
                         are_finite ? "finite" : "infinite", fmt::format("lane {}", lane.index),
                         lane.builtins[abi::kSimdgroupIndexInThreadgroup][0], formula(operation, operands), kTypeNames[operation.type],
                         threadgroup());
    });
    return;
  }
}

void Checker::count(std::uint32_t number, const Object& object, std::size_t first, std::size_t bytes) {
  Tally& tally = tallies_[number];
  if (object.is_threadgroup) {
    ++tally.threadgroup_accesses;
    return;
  }
  if (!object.is_device || object.buffer == nullptr) return;
  tally.device_bytes += bytes;
  if (tally.last_buffer != object.buffer) {
    tally.last_buffer = object.buffer;
    tally.last_touched = &touched(number, *object.buffer);
  }
  tally.last_touched->insert(first, bytes);
}

TouchedBytes& Checker::touched(std::uint32_t number, const Buffer& buffer) {
  const abi::Access& access = module_.accesses[number];
  return touched_.try_emplace({Line{access.file, access.line}, &buffer}, buffer.size()).first->second;
}

void Checker::add_cost(KernelCost& kernel) const {
  constexpr std::uint64_t kFlopsOfMatrixMultiply = 2 * 8 * 8 * 8;
  std::map<Line, Cost> lines;
  for (std::uint32_t number = 0; number < tallies_.size(); ++number) {
    const abi::Access& access = module_.accesses[number];
    const Tally& tally = tallies_[number];
    const bool is_device =
        access.object < abi::kMaxBuffers && objects_[access.object].is_device && objects_[access.object].buffer != nullptr;
    const std::uint64_t device_bytes = tally.device_bytes + (is_device ? quick_[number].hits * access.bytes : 0);
    if (device_bytes == 0 && tally.threadgroup_accesses == 0) continue;
    Cost& cost = lines[{access.file, access.line}];
    if ((access.kind & abi::kReads) != 0) cost.device_bytes_read += device_bytes;
    if ((access.kind & abi::kWrites) != 0) cost.device_bytes_written += device_bytes;
    cost.threadgroup_accesses += tally.threadgroup_accesses;
  }
  std::map<const Buffer*, TouchedBytes> touched;
  for (const auto& [key, bytes] : touched_) {
    const auto& [line, buffer] = key;
    const auto found = lines.find(line);
    if (found == lines.end()) continue;  // never executed
    found->second.distinct_device_bytes += bytes.size();
    touched.try_emplace(buffer, buffer->size()).first->second.insert(bytes);
  }
  for (std::uint32_t number = 0; number < meetings_.size(); ++number) {
    const abi::Site& site = module_.sites[number];
    if (meetings_[number] == 0 || site.service == abi::kStore || site.service == abi::kReconverge) continue;
    Cost& cost = lines[{site.file, site.line}];
    (site.service == abi::kBarrier ? cost.barriers : cost.simdgroup_calls) += meetings_[number];
    if (site.service == abi::kMatrixMultiply) cost.float_operations += meetings_[number] * kFlopsOfMatrixMultiply;
  }
  for (std::uint32_t number = 0; number < module_.operation_count; ++number) {
    const abi::Operation& operation = module_.operations[number];
    const std::uint64_t flops = block_counts_[operation.block] * operation.count * operation.flops;
    if (flops == 0) continue;
    Cost& cost = lines[{operation.file, operation.line}];
    (operation.type == abi::kHalf     ? cost.half_operations
     : operation.type == abi::kBfloat ? cost.bfloat_operations
                                      : cost.float_operations) += flops;
  }
  Cost total;
  for (const auto& [line, cost] : lines) {
    total += cost;
    const SourceLocation place = findings_.location(line);
    const auto found = std::ranges::find(kernel.lines, place, &LineCost::place);
    (found == kernel.lines.end() ? kernel.lines.emplace_back(place, Cost{}).cost : found->cost) += cost;
  }
  std::ranges::sort(kernel.lines, {}, [](const LineCost& line) { return std::pair(line.place.file, line.place.line); });
  // Different lines may touch the same bytes.
  total.distinct_device_bytes = 0;
  for (const auto& [buffer, bytes] : touched) total.distinct_device_bytes += bytes.size();
  kernel.total += total;
  ++kernel.dispatches;
}

}  // namespace assay::metal::execute
