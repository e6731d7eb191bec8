// Compares a host's trace with the contract, dispatch by dispatch.
#include "harness/dispatch/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "harness/dispatch/bindings.h"
#include "harness/dispatch/correspondence.h"
#include "harness/dispatch/places.h"
#include "harness/dispatch/sentences.h"
#include "metal/compile/library.h"
#include "metal/errors.h"
#include "metal/limits.h"

namespace assay::harness {
namespace {

const metal::Library* library_of(const PreparedVariant& prepared, const metal::PipelineDescriptor& function) {
  const auto found = std::ranges::find_if(prepared.libraries, [&](const auto& library) { return library->offers(function); });
  return found == prepared.libraries.end() ? nullptr : found->get();
}

std::string checked_text(const metal::FunctionConstant& value) { return metal::to_string(value); }

// Numbers in JSON have no type: 1 is true, and 2 is 2.0.
std::vector<double> numbers_of(const metal::FunctionConstant& value) {
  std::vector<double> numbers;
  for (const metal::ConstantScalar& component : metal::components_of(value))
    numbers.push_back(std::visit([](auto number) { return static_cast<double>(number); }, component));
  return numbers;
}

std::string checked_text(const metal::Size3& size) { return fmt::format("{} x {} x {}", size.x, size.y, size.z); }

class Check {
 public:
  Check(const PreparedVariant& prepared, std::span<const ContractDispatch> contract, const Trace& trace)
      : prepared_(prepared),
        contract_(contract),
        trace_(trace),
        correspondence_(contract, trace),
        sentences_(trace, result_),
        bindings_(trace, correspondence_, sentences_) {}

  TraceCheck run() {
    for (const TraceDispatch& dispatch : trace_.dispatches) require_function(dispatch);
    for (std::size_t i = 0; i < trace_.dispatches.size(); ++i) {
      sentences_.set_dispatch(i);
      if (const auto contract = correspondence_.contract_of()[i]) {
        compare(contract_[*contract], i);
      } else {
        sentences_.differ("is not in the contract, which has {}", contract_functions());
      }
    }
    for (std::size_t contract = 0; contract < contract_.size(); ++contract) {
      if (!trace_of(contract)) missing(contract);
    }
    compare_order();
    for (const std::string& place : trace_.spare_barriers)
      result_.tolerated.push_back(fmt::format("{}: the memory barrier separates no two dispatches", place));
    compare_places(contract_, trace_, correspondence_, result_);
    return std::move(result_);
  }

 private:
  void require_function(const TraceDispatch& dispatch) const {
    const auto has_it = [&](const auto& library) { return library->has_function(dispatch.function); };
    if (std::ranges::any_of(prepared_.libraries, has_it)) return;
    std::vector<std::string> known;
    for (const auto& library : prepared_.libraries) {
      for (const metal::FunctionDeclaration& function : library->functions()) known.push_back(function.name);
    }
    throw TraceError(fmt::format("{}.function: there is no kernel function '{}'; the file has {}", dispatch.place, dispatch.function,
                                 fmt::join(known, ", ")));
  }

  [[nodiscard]] std::string contract_functions() const {
    std::vector<std::string> functions;
    for (const ContractDispatch& dispatch : contract_) functions.push_back(dispatch.trace.function);
    return fmt::format("{} dispatch{}: {}", functions.size(), functions.size() == 1 ? "" : "es", fmt::join(functions, ", "));
  }

  void missing(std::size_t contract) {
    result_.differences.push_back(fmt::format("dispatch {} of the contract, '{}', is missing: the trace has {}", contract,
                                              contract_[contract].trace.function, trace_.dispatches.size()));
  }

  void compare(const ContractDispatch& contract, std::size_t number) {
    const TraceDispatch& trace = trace_.dispatches[number];
    if (trace.function != contract.trace.function) {
      // Comparing its arguments with those of another function would make no sense.
      sentences_.differ("the contract expects '{}' here", contract.trace.function);
      return;
    }
    compare_constants(contract.trace, trace);
    find_other_constants(contract.trace, trace);
    bindings_.compare(contract, number);
    compare_threadgroup_memory(contract.trace, number);
    compare_sizes(contract.trace, trace);
  }

  void compare_constants(const TraceDispatch& contract, const TraceDispatch& trace) {
    bool is_unset = false;
    for (const auto& [index, wanted] : contract.constants) {
      const auto found = trace.constants.find(index);
      if (found == trace.constants.end()) {
        is_unset = true;
        continue;
      }
      if (numbers_of(found->second.value) != numbers_of(wanted.value)) {
        sentences_.differ("function constant {}: the trace sets {}, the contract {}", index, checked_text(found->second.value),
                          checked_text(wanted.value));
      } else if (!found->second.type.empty() && !wanted.type.empty() && found->second.type != wanted.type) {
        sentences_.differ("function constant {}: the trace sets it as {}, the kernel declares {}", index, found->second.type, wanted.type);
      }
    }
    if (is_unset) compare_defaults(contract, trace);
  }

  // Those that the contract does not set may not change the code.
  void find_other_constants(const TraceDispatch& contract, const TraceDispatch& trace) {
    const metal::PipelineDescriptor own = pipeline_of(contract);
    const metal::Library& library = *library_of(prepared_, own);
    for (const auto& [index, constant] : trace.constants) {
      if (contract.constants.contains(index)) continue;
      const auto is_it = [&](const metal::FunctionConstantDeclaration& declared) { return declared.index == index; };
      if (std::ranges::none_of(library.function_constants(), is_it)) {
        sentences_.tolerate("function constant {}: the trace sets it, the kernel does not declare it", index);
        continue;
      }
      metal::PipelineDescriptor with = own;
      with.constants.emplace(index, constant.value);
      if (const auto why = code_difference(library, own, with, "with it")) {
        sentences_.differ("function constant {}: the trace sets {}, the contract does not set it{}", index, checked_text(constant.value),
                          *why);
      } else {
        sentences_.tolerate("function constant {}: the trace sets {}, the contract does not set it; the code is the same", index,
                            checked_text(constant.value));
      }
    }
  }

  static metal::PipelineDescriptor pipeline_of(const TraceDispatch& contract) {
    metal::PipelineDescriptor pipeline{contract.function, {}, contract.definitions};
    for (const auto& [index, constant] : contract.constants) pipeline.constants.emplace(index, constant.value);
    return pipeline;
  }

  // Nothing if both compile to the same code, else more about it, if there is more.
  static std::optional<std::string> code_difference(const metal::Library& library, const metal::PipelineDescriptor& own,
                                                    const metal::PipelineDescriptor& other, std::string_view how) {
    try {
      if (library.pipeline(other)->code_digest() == library.pipeline(own)->code_digest()) return std::nullopt;
    } catch (const metal::Error&) {
      return fmt::format("; {} the pipeline cannot be created", how);
    }
    return std::string();
  }

  // A constant that is not set may have the contract's value as its default. Then both compile to the same code.
  void compare_defaults(const TraceDispatch& contract, const TraceDispatch& trace) {
    const metal::PipelineDescriptor whole = pipeline_of(contract);
    for (const auto& [index, wanted] : contract.constants) {
      if (trace.constants.contains(index)) continue;
      metal::PipelineDescriptor without = whole;
      without.constants.erase(index);
      if (const auto why = code_difference(*library_of(prepared_, whole), whole, without, "without it")) {
        sentences_.differ("function constant {}: the trace does not set it, the contract sets {}{}", index, checked_text(wanted.value),
                          *why);
      } else {
        sentences_.remark("function constant {}: the trace does not set it; the kernel's default equals the contract's {}", index,
                          checked_text(wanted.value));
      }
    }
  }

  void compare_threadgroup_memory(const TraceDispatch& contract, std::size_t number) {
    const TraceDispatch& trace = trace_.dispatches[number];
    for (const auto& [index, length] : trace.threadgroup_memory) {
      if (contract.threadgroup_memory.contains(index) || length == 0) continue;
      // An encoder keeps its reservations, like its bindings.
      if (number != 0 && trace_.dispatches[number - 1].threadgroup_memory.contains(index)) continue;
      sentences_.tolerate("threadgroup memory {}: the trace reserves {} bytes, which the kernel does not have", index, length);
    }
    for (const auto& [index, wanted] : contract.threadgroup_memory) {
      const auto found = trace.threadgroup_memory.find(index);
      const std::uint64_t length = found == trace.threadgroup_memory.end() ? 0 : found->second;
      if (length < wanted) {
        sentences_.differ("threadgroup memory {}: the trace reserves {} bytes, the contract {}", index, length, wanted);
      } else if (length > metal::kMaxThreadgroupBytes) {
        sentences_.differ("threadgroup memory {}: the trace reserves {} bytes, Metal allows {}", index, length,
                          metal::kMaxThreadgroupBytes);
      } else if (length % metal::kThreadgroupLengthMultiple != 0) {
        sentences_.differ("threadgroup memory {}: the trace reserves {} bytes, Metal requires a multiple of {}", index, length,
                          metal::kThreadgroupLengthMultiple);
      } else if (length > wanted) {
        sentences_.remark("threadgroup memory {}: the trace reserves {} bytes, more than the contract's {}", index, length, wanted);
      }
    }
  }

  void compare_sizes(const TraceDispatch& contract, const TraceDispatch& trace) {
    if (trace.threads_per_threadgroup != contract.threads_per_threadgroup) {
      sentences_.differ("threads per threadgroup: the trace has {}, the contract {}", checked_text(trace.threads_per_threadgroup),
                        checked_text(contract.threads_per_threadgroup));
    }
    const metal::Size3& theirs = trace.threads_per_threadgroup;
    const std::optional<metal::Size3> groups = trace.counts_threads ? whole_threadgroups(trace.grid, theirs) : std::optional(trace.grid);
    if (!groups) {
      sentences_.differ(
          "grid: the trace dispatches {} threads, which is not a multiple of the threadgroup size {}; the contract has {} threadgroups",
          checked_text(trace.grid), checked_text(theirs), checked_text(contract.grid));
    } else if (*groups != contract.grid) {
      sentences_.differ("grid: the trace dispatches {} threadgroups, the contract {}", checked_text(*groups), checked_text(contract.grid));
    } else if (trace.counts_threads != contract.counts_threads) {
      sentences_.tolerate("grid: the trace counts {}, the contract {}", trace.counts_threads ? "threads" : "threadgroups",
                          trace.counts_threads ? "threadgroups" : "threads");
    }
  }

  static std::optional<metal::Size3> whole_threadgroups(const metal::Size3& threads, const metal::Size3& size) {
    if (size.x == 0 || size.y == 0 || size.z == 0 || threads.x % size.x != 0 || threads.y % size.y != 0 || threads.z % size.z != 0)
      return std::nullopt;
    return metal::Size3{threads.x / size.x, threads.y / size.y, threads.z / size.z};
  }

  [[nodiscard]] std::optional<std::size_t> trace_of(std::size_t contract) const {
    const auto& pairs = correspondence_.contract_of();
    const auto found = std::ranges::find(pairs, std::optional(contract));
    return found == pairs.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - pairs.begin()));
  }

  // The number of barriers before each dispatch. Dispatches with the same number may run at the same time and in any order.
  template <typename Dispatches, typename Project>
  static std::vector<std::size_t> groups_of(const Dispatches& dispatches, const Project& trace_of) {
    std::vector<std::size_t> groups;
    for (const auto& dispatch : dispatches)
      groups.push_back((groups.empty() ? 0 : groups.back()) + (trace_of(dispatch).after_barrier ? 1 : 0));
    return groups;
  }

  void compare_order() {
    const auto wanted = groups_of(contract_, [](const ContractDispatch& dispatch) -> const TraceDispatch& { return dispatch.trace; });
    const auto given = groups_of(trace_.dispatches, [](const TraceDispatch& dispatch) -> const TraceDispatch& { return dispatch; });
    for (std::size_t later = 1; later < contract_.size(); ++later) {
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        const auto before = trace_of(earlier);
        const auto after = trace_of(later);
        if (!before || !after) continue;
        const std::string& function = trace_.dispatches[*before].function;
        sentences_.set_dispatch(*after);
        if (wanted[earlier] != wanted[later] && *after < *before) {
          result_.lacks_barrier = true;
          sentences_.differ("is encoded before dispatch {} '{}', whose results it reads", *before, function);
        } else if (wanted[earlier] != wanted[later] && given[*before] == given[*after]) {
          result_.lacks_barrier = true;
          sentences_.differ("there is no memory barrier between it and dispatch {} '{}', whose results it reads", *before, function);
        } else if (wanted[earlier] == wanted[later] && given[*before] != given[*after]) {
          sentences_.differ("there is a memory barrier between it and dispatch {} '{}'; the contract has none there", *before, function);
        } else if (wanted[earlier] == wanted[later] && *after < *before) {
          sentences_.tolerate("is encoded before dispatch {} '{}'; the contract has the other order", *before, function);
        }
      }
    }
  }

  const PreparedVariant& prepared_;
  std::span<const ContractDispatch> contract_;
  const Trace& trace_;
  Correspondence correspondence_;
  TraceCheck result_;
  Sentences sentences_;
  BindingCheck bindings_;
};

}  // namespace

TraceCheck check_trace(const PreparedVariant& prepared, std::span<const ContractDispatch> contract, const Trace& trace) {
  return Check(prepared, contract, trace).run();
}

}  // namespace assay::harness
