// Compiles the functions of a kernel file without a family, with made-up values for constants that are not set.
#include "harness/prepare/inspection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

#include "harness/prepare/discovery.h"
#include "kernels/variant.h"
#include "metal/errors.h"

namespace assay::harness {
namespace {

// Values for constants without a value: a flag that is set, or a size that is a common multiple.
constexpr std::array<std::int64_t, 5> kSizes = {1, 64, 32, 128, 8};

metal::FunctionConstant made_up(const metal::FunctionConstantDeclaration& constant, std::int64_t size) {
  const auto component = constant.type.scalar == metal::FunctionConstantType::Scalar::boolean ? metal::ConstantScalar(true)
                         : constant.type.scalar == metal::FunctionConstantType::Scalar::floating
                             ? metal::ConstantScalar(static_cast<double>(size))
                             : metal::ConstantScalar(size);
  return metal::constant_of_components(std::vector(constant.type.components, component));
}

// The constants that an error message reports as used but without a value.
std::vector<const metal::FunctionConstantDeclaration*> missing_in(std::string_view message, const metal::Library& library) {
  std::vector<const metal::FunctionConstantDeclaration*> missing;
  for (const metal::FunctionConstantDeclaration& constant : library.function_constants()) {
    const std::string named = fmt::format("function constant '{}' (index {}) is used by ", constant.name, constant.index);
    if (message.find(named) != std::string_view::npos) missing.push_back(&constant);
  }
  return missing;
}

}  // namespace

InspectedFunction inspect_function(const metal::Library& library, const metal::FunctionDeclaration& function, const ConstantValues& given) {
  InspectedFunction result;
  result.declaration = function;
  std::vector<const metal::FunctionConstantDeclaration*> unset;
  std::size_t size = 0;
  // Each round sets one more constant, or tries another size.
  for (;;) {
    metal::PipelineDescriptor descriptor{function.name, given, library.configuration()};
    for (const auto* constant : unset) descriptor.constants.emplace(constant->index, made_up(*constant, kSizes[size]));
    std::string refusal;
    try {
      result.layout = library.pipeline(descriptor)->layout();
      result.compiled = descriptor;
      result.is_compiled = true;
      result.refusal.clear();
      break;
    } catch (const metal::EnvironmentError&) {
      throw;
    } catch (const metal::Error& error) {
      refusal = error.what();
    }
    const auto known = unset.size();
    for (const auto* constant : missing_in(refusal, library)) {
      if (std::ranges::find(unset, constant) == unset.end() && !given.contains(constant->index)) unset.push_back(constant);
    }
    if (unset.size() > known) continue;
    if (result.refusal.empty()) result.refusal = refusal;
    if (unset.empty() || ++size == kSizes.size()) break;
  }
  for (const auto* constant : unset) result.unset.push_back(constant->index);
  std::ranges::sort(result.unset);
  return result;
}

std::vector<InspectedFunction> inspect_functions(const metal::Library& library, const std::vector<metal::FunctionDeclaration>& functions,
                                                 const ConstantValues& given, unsigned jobs) {
  std::vector<InspectedFunction> results(functions.size());
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    for (std::size_t i = next++; i < functions.size(); i = next++) {
      try {
        results[i] = inspect_function(library, functions[i], given);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
        next = functions.size();
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < std::min<std::size_t>(jobs, functions.size()); ++i) threads.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  return results;
}

ConstantValues constants_of(const metal::Library& library, const std::vector<std::string>& assignments) {
  ConstantValues values;
  const auto& all = library.function_constants();
  for (const std::string& assignment : assignments) {
    const auto [name, given] = kernels::parse_constant_assignment(assignment);
    const auto declared = std::ranges::find_if(
        all, [&](const metal::FunctionConstantDeclaration& one) { return one.name == name || std::to_string(one.index) == name; });
    if (declared == all.end()) {
      std::vector<std::string> known;
      for (const metal::FunctionConstantDeclaration& one : all) known.push_back(fmt::format("{} ({})", one.name, one.index));
      throw std::invalid_argument(fmt::format("--constant {}: the file has no such function constant; it has {}", assignment,
                                              known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
    }
    std::optional<metal::FunctionConstant> constant;
    try {
      constant = constant_of(given, *declared);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("--constant {}: {}", assignment, error.what()));
    }
    if (!values.emplace(declared->index, *constant).second)
      throw std::invalid_argument(fmt::format("--constant {}: set twice", assignment));
  }
  return values;
}

}  // namespace assay::harness
