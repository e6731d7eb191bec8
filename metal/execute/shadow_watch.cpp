// Sums up what operations round away, and finds the first large error.
#include "metal/execute/shadow_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "metal/execute/lanes.h"

namespace assay::metal::execute {

namespace {

std::string_view name_of(std::uint32_t type) {
  switch (type) {
    case abi::kHalf:
      return "half";
    case abi::kBfloat:
      return "bfloat";
    case abi::kDouble:
      return "double";
    default:
      return "float";
  }
}

std::string_view operation_name(std::uint32_t what) {
  switch (what) {
    case abi::kAdd:
      return "add";
    case abi::kSubtract:
      return "subtract";
    case abi::kMultiply:
      return "multiply";
    case abi::kDivide:
      return "divide";
    case abi::kRemainder:
      return "remainder";
    case abi::kFusedMultiplyAdd:
      return "fused multiply-add";
    case abi::kLibraryFunction:
      return "library function";
    default:
      return "conversion";
  }
}

// The difference of two numbers relative to the larger. 0 for equal numbers and for two NaNs; infinite if only one of them is finite.
double relative(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::infinity();
  return std::abs(a - b) / std::max(std::abs(a), std::abs(b));
}

// No error of numbers below the smallest normal float is large.
bool is_large(const Shadowed& number, double limit) {
  const bool is_tiny = std::abs(number.value) < 0x1p-126 && std::abs(number.shadow) < 0x1p-126;
  return !is_tiny && relative(number.value, number.shadow) > limit;
}

}  // namespace

ShadowWatch::ShadowWatch(double large_error, std::optional<SourceLocation> rounded_line)
    : large_error_(large_error), rounded_line_(std::move(rounded_line)) {}

void ShadowWatch::begin(const abi::Module& module, const std::string& function) {
  Kernel& kernel = kernels_[&module];
  kernel_ = &kernel;
  if (kernel.module != nullptr) return;
  kernel.module = &module;
  kernel.function = function;
  kernel.losses.resize(module.operation_count + module.site_count);
  kernel.weights.resize(kernel.losses.size());
  if (!rounded_line_) return;
  for (std::uint32_t number = 0; number < kernel.weights.size(); ++number) kernel.weights[number] = place(kernel, number) == *rounded_line_;
}

SourceLocation ShadowWatch::place(const Kernel& kernel, std::uint32_t number) {
  const abi::Module& module = *kernel.module;
  if (number < module.operation_count) return {module.files[module.operations[number].file], module.operations[number].line};
  const abi::Site& site = module.sites[number - module.operation_count];
  return {module.files[site.file], site.line};
}

std::string ShadowWatch::name(const Kernel& kernel, std::uint32_t number) {
  const abi::Module& module = *kernel.module;
  if (number < module.operation_count) {
    const abi::Operation& operation = module.operations[number];
    if (operation.what == abi::kConvert)
      return operation.operands == 0 ? fmt::format("conversion of an integer to {}", name_of(operation.type))
                                     : fmt::format("conversion of {} to {}", name_of(operation.from), name_of(operation.type));
    return fmt::format("{} {}", name_of(operation.type), operation_name(operation.what));
  }
  switch (module.sites[number - module.operation_count].service) {
    case abi::kMatrixMultiply:
      return "matrix product";
    case abi::kAtomic:
      return "atomic operation";
    default:
      return "SIMD-group function";
  }
}

void ShadowWatch::rounded(const Lane& lane, std::uint32_t number, const double* rows) {
  const abi::Operation& operation = kernel_->module->operations[number];
  const auto row = [&](std::uint32_t which, std::uint32_t component) { return rows[which * abi::kRowLength + component]; };
  std::array<Shadowed, abi::kMaxOperands> operands;
  for (std::uint32_t component = 0; component < operation.count; ++component) {
    for (std::uint32_t operand = 0; operand < operation.operands; ++operand) {
      const std::uint32_t first = abi::kFirstOperandRow + 2 * operand;
      operands[operand] = {row(first, component), row(first + 1, component)};
    }
    look(lane, number, {row(abi::kResultRow, component), row(abi::kShadowRow, component)}, row(abi::kExactRow, component),
         std::span(operands).first(operation.operands));
  }
}

double ShadowWatch::rounded_together(const Lane& lane, std::uint32_t site, Shadowed result, double exact,
                                     std::span<const Shadowed> operands) {
  const std::uint32_t number = kernel_->module->operation_count + site;
  if (is_watching()) look(lane, number, result, exact, operands);
  // Written without a difference, because that of equal infinities is NaN.
  const bool is_rounded = kernel_->weights[number] != 0 && (result.value < exact || result.value > exact);
  return is_rounded ? result.shadow + (result.value - exact) : result.shadow;
}

void ShadowWatch::look(const Lane& lane, std::uint32_t number, Shadowed result, double exact, std::span<const Shadowed> operands) {
  Loss& loss = kernel_->losses[number];
  const double error = relative(result.value, exact);
  ++loss.operations;
  loss.largest = std::max(loss.largest, error);
  loss.sum += error;
  if (birth_ || !is_large(result, large_error_)) return;
  if (std::ranges::any_of(operands, [&](const Shadowed& operand) { return is_large(operand, large_error_); })) return;
  const auto* thread = lane.builtins[abi::kThreadPositionInThreadgroup];
  const auto* threadgroup = lane.builtins[abi::kThreadgroupPositionInGrid];
  birth_.emplace();
  birth_->place = place(*kernel_, number);
  birth_->function = kernel_->function;
  birth_->is_overflow = !std::isfinite(result.value) && std::isfinite(result.shadow);
  birth_->message =
      fmt::format("{}:{}: {} in thread ({}, {}, {}) of threadgroup ({}, {}, {}) gives {:.9g}, and {:.9g} without any rounding",
                  birth_->place.file, birth_->place.line, name(*kernel_, number), thread[0], thread[1], thread[2], threadgroup[0],
                  threadgroup[1], threadgroup[2], result.value, result.shadow);
  constexpr std::size_t kMostNamed = 4;
  std::string separator = "; operands ";
  for (const Shadowed& operand : operands.first(std::min(kMostNamed, operands.size()))) {
    birth_->message += fmt::format("{}{:.9g} ({:.9g})", separator, operand.value, operand.shadow);
    separator = ", ";
  }
  if (operands.size() > kMostNamed) birth_->message += fmt::format(" and {} more", operands.size() - kMostNamed);
}

std::vector<LineRounding> ShadowWatch::roundings() const {
  struct Line {
    LineRounding rounding;
    double sum = 0;
  };
  std::map<std::tuple<std::string, std::uint32_t>, Line> lines;
  for (const auto& [module, kernel] : kernels_) {
    for (std::uint32_t number = 0; number < kernel.losses.size(); ++number) {
      const Loss& loss = kernel.losses[number];
      if (loss.operations == 0) continue;
      const SourceLocation where = place(kernel, number);
      Line& line = lines[{where.file, where.line}];
      line.rounding.place = where;
      if (line.rounding.what.empty() || loss.largest > line.rounding.largest_relative) line.rounding.what = name(kernel, number);
      line.rounding.operations += loss.operations;
      line.rounding.largest_relative = std::max(line.rounding.largest_relative, loss.largest);
      line.sum += loss.sum;
    }
  }
  std::vector<LineRounding> result;
  for (auto& [where, line] : lines) {
    line.rounding.mean_relative = line.sum / static_cast<double>(line.rounding.operations);
    result.push_back(std::move(line.rounding));
  }
  return result;
}

}  // namespace assay::metal::execute
