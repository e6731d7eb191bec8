// Compares a host's trace with the contract, dispatch by dispatch.
#include "harness/dispatch/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "harness/dispatch/correspondence.h"
#include "metal/compile/library.h"
#include "metal/errors.h"
#include "metal/limits.h"

namespace assay::harness {
namespace {

const metal::Library* library_of(const PreparedVariant& prepared, const metal::PipelineDescriptor& function) {
  const auto found = std::ranges::find_if(prepared.libraries, [&](const auto& library) { return library->offers(function); });
  return found == prepared.libraries.end() ? nullptr : found->get();
}

std::string text_of(const metal::FunctionConstant& value) { return metal::to_string(value); }

// Numbers in JSON have no type: 1 is true, and 2 is 2.0.
std::vector<double> numbers_of(const metal::FunctionConstant& value) {
  std::vector<double> numbers;
  for (const metal::ConstantScalar& component : metal::components_of(value))
    numbers.push_back(std::visit([](auto number) { return static_cast<double>(number); }, component));
  return numbers;
}

std::string text_of(const metal::Size3& size) { return fmt::format("{} x {} x {}", size.x, size.y, size.z); }

// Whether a number in JSON is the value of the field. JSON has neither widths nor floats.
bool same_number(const TraceNumber& said, const TraceNumber& stored) {
  const auto as_double = [](const TraceNumber& value) {
    return std::visit([](auto number) { return static_cast<double>(number); }, value);
  };
  if (const double* floating = std::get_if<double>(&stored)) return static_cast<float>(as_double(said)) == static_cast<float>(*floating);
  const auto as_bits = [](const TraceNumber& value) {
    return std::visit([](auto number) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(number)); }, value);
  };
  if (const double* floating = std::get_if<double>(&said)) return *floating == as_double(stored);
  return as_bits(said) == as_bits(stored) && (as_double(said) < 0) == (as_double(stored) < 0);
}

// The required alignment of a buffer's offset: that of the element that the function declares, up to 16 bytes
// (setBuffer:offset:atIndex:), and at least 4. Apple GPUs require 4 for constant memory, and kernels that load several bytes or halves
// at once rely on it.
std::uint64_t alignment_of(const metal::BoundArgument& argument) {
  const std::size_t element = argument.layout ? 4 : std::bit_ceil(std::max<std::size_t>(argument.size, 1));
  return std::clamp<std::uint64_t>(element, 4, 16);
}

class Check {
 public:
  Check(const PreparedVariant& prepared, std::span<const ContractDispatch> contract, const Trace& trace)
      : prepared_(prepared), contract_(contract), trace_(trace), correspondence_(contract, trace) {}

  TraceCheck run() {
    for (const TraceDispatch& dispatch : trace_.dispatches) require_function(dispatch);
    for (at_ = 0; at_ < trace_.dispatches.size(); ++at_) {
      if (const auto contract = correspondence_.contract_of()[at_]) {
        compare(contract_[*contract], trace_.dispatches[at_]);
      } else {
        differ("is not in the contract, which has {}", contract_functions());
      }
    }
    for (std::size_t contract = 0; contract < contract_.size(); ++contract) {
      if (!trace_of(contract)) missing(contract);
    }
    compare_order();
    find_overlaps();
    return std::move(result_);
  }

 private:
  template <typename... Arguments>
  void differ(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    result_.differences.push_back(fmt::format("dispatch {} '{}': {}", at_, trace_.dispatches[at_].function,
                                              fmt::format(text, std::forward<Arguments>(arguments)...)));
  }
  template <typename... Arguments>
  void remark(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    result_.remarks.push_back(fmt::format("dispatch {} '{}': {}", at_, trace_.dispatches[at_].function,
                                          fmt::format(text, std::forward<Arguments>(arguments)...)));
  }

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

  void compare(const ContractDispatch& contract, const TraceDispatch& trace) {
    if (trace.function != contract.trace.function) {
      // Comparing its arguments with those of another function would make no sense.
      differ("the contract expects '{}' here", contract.trace.function);
      return;
    }
    compare_constants(contract.trace, trace);
    for (const metal::BoundArgument& argument : contract.layout.arguments) {
      if (argument.space == metal::AddressSpace::threadgroup) continue;
      compare_binding(argument, contract.trace.bindings.at(argument.index), trace);
    }
    compare_threadgroup_memory(contract.trace, trace);
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
        differ("function constant {}: the trace sets {}, the contract {}", index, text_of(found->second.value), text_of(wanted.value));
      } else if (!found->second.type.empty() && !wanted.type.empty() && found->second.type != wanted.type) {
        differ("function constant {}: the trace sets it as {}, the kernel declares {}", index, found->second.type, wanted.type);
      }
    }
    if (is_unset) compare_defaults(contract, trace);
  }

  // A constant that is not set may have the contract's value as its default. Then both compile to the same code.
  void compare_defaults(const TraceDispatch& contract, const TraceDispatch& trace) {
    metal::PipelineDescriptor whole{contract.function, {}, contract.definitions};
    for (const auto& [index, constant] : contract.constants) whole.constants.emplace(index, constant.value);
    for (const auto& [index, wanted] : contract.constants) {
      if (trace.constants.contains(index)) continue;
      metal::PipelineDescriptor without = whole;
      without.constants.erase(index);
      const metal::Library& library = *library_of(prepared_, whole);
      std::string why;
      try {
        if (library.pipeline(without)->code_digest() == library.pipeline(whole)->code_digest()) {
          remark("function constant {}: the trace does not set it; the kernel's default equals the contract's {}", index,
                 text_of(wanted.value));
          continue;
        }
      } catch (const metal::Error&) {
        why = "; without it the pipeline cannot be created";
      }
      differ("function constant {}: the trace does not set it, the contract sets {}{}", index, text_of(wanted.value), why);
    }
  }

  void compare_binding(const metal::BoundArgument& argument, const TraceBinding& wanted, const TraceDispatch& trace) {
    const auto found = trace.bindings.find(argument.index);
    if (found == trace.bindings.end()) {
      differ("nothing is bound at index {} ({}); the contract binds {}", argument.index, argument.name,
             wanted.buffer ? fmt::format("a buffer of {} bytes", wanted.buffer->length) : fmt::format("{} bytes", wanted.bytes->size()));
      return;
    }
    const TraceBinding& binding = found->second;
    if (binding.buffer && binding.buffer->offset % alignment_of(argument) != 0)
      differ("offset {} of the buffer at index {} ({}) is not a multiple of {}, which {} needs", binding.buffer->offset, argument.index,
             argument.name, alignment_of(argument), argument.type_name);
    if (wanted.bytes) {
      compare_bytes(argument, *wanted.bytes, binding, trace);
    } else if (binding.buffer) {
      compare_buffer(argument, *wanted.buffer, *binding.buffer);
    } else if (wanted.buffer->length != 0 || argument.space == metal::AddressSpace::device) {
      differ("{} bytes are copied to index {} ({}); the contract binds a buffer of {} bytes", binding.bytes->size(), argument.index,
             argument.name, wanted.buffer->length);
    }
  }

  void compare_bytes(const metal::BoundArgument& argument, const std::vector<std::byte>& wanted, const TraceBinding& binding,
                     const TraceDispatch& trace) {
    if (!binding.bytes) {
      differ("a buffer is bound at index {} ({}), but the trace does not give its contents (`bytes`); the contract has {} bytes there",
             argument.index, argument.name, wanted.size());
      return;
    }
    const std::vector<std::byte>& bytes = *binding.bytes;
    const std::vector<TraceField> theirs = decode_fields(argument, bytes);
    require_fields(trace, argument, binding.fields, theirs);
    if (bytes.size() < argument.size) {
      differ("{} bytes at index {} ({}): the kernel reads {} bytes", bytes.size(), argument.index, argument.name, argument.size);
    } else if (bytes.size() > argument.size) {
      remark("{} bytes at index {} ({}): the kernel reads the first {}", bytes.size(), argument.index, argument.name, argument.size);
    }
    for (const TraceField& field : decode_fields(argument, wanted)) {
      const auto same_place = std::ranges::find(theirs, field.offset, &TraceField::offset);
      if (same_place == theirs.end()) continue;  // the bytes end before the field, which is already reported
      if (std::memcmp(bytes.data() + field.offset, wanted.data() + field.offset, field.size) == 0) continue;
      const std::string what =
          argument.layout ? fmt::format("field {} of the struct", field.name) : fmt::format("the value of {}", field.name);
      differ("{} at index {}: the trace says {}, the contract {} (bytes {}..{})", what, argument.index, to_string(same_place->value),
             to_string(field.value), field.offset, field.offset + field.size - 1);
    }
  }

  // Field values in a trace are for its reader. They must not contradict the bytes, which count.
  static void require_fields(const TraceDispatch& trace, const metal::BoundArgument& argument, const std::vector<TraceField>& said,
                             const std::vector<TraceField>& stored) {
    for (const TraceField& field : said) {
      const auto found = std::ranges::find(stored, field.name, &TraceField::name);
      const std::string place = fmt::format("{}: field '{}' of the binding of index {}", trace.place, field.name, argument.index);
      if (found == stored.end()) throw TraceError(fmt::format("{} does not exist in the kernel's '{}'", place, argument.name));
      if (!same_number(field.value, found->value)) {
        throw TraceError(fmt::format("{} is given as {}, but bytes {}..{} hold {}", place, to_string(field.value), found->offset,
                                     found->offset + found->size - 1, to_string(found->value)));
      }
    }
  }

  void compare_buffer(const metal::BoundArgument& argument, const TraceBuffer& wanted, const TraceBuffer& buffer) {
    if (wanted.length == 0) return;
    const std::uint64_t left = buffer.offset > buffer.length ? 0 : buffer.length - buffer.offset;
    if (left < wanted.length) {
      differ("buffer '{}' at index {} ({}) is too short: {} bytes are left after offset {}, the contract needs {}", buffer.name,
             argument.index, argument.name, left, buffer.offset, wanted.length);
    }
    const Correspondence::Stand* stand = correspondence_.find(buffer);
    if (stand != nullptr && stand->role == wanted.name) return;
    const Correspondence::Stand* right = correspondence_.find_role(wanted.name);
    const auto describe = [&](const Correspondence::Stand& other) {
      return fmt::format("'{}' at offset {}, as at index {} of dispatch {}", other.name, other.offset, other.index, other.dispatch);
    };
    differ("the trace binds '{}' at offset {} to index {} ({}){}; the contract binds {}{}", buffer.name, buffer.offset, argument.index,
           argument.name, stand == nullptr ? std::string() : fmt::format(", which is {}", stand->role), wanted.name,
           right == nullptr ? std::string() : fmt::format(": {}", describe(*right)));
  }

  void compare_threadgroup_memory(const TraceDispatch& contract, const TraceDispatch& trace) {
    for (const auto& [index, wanted] : contract.threadgroup_memory) {
      const auto found = trace.threadgroup_memory.find(index);
      const std::uint64_t length = found == trace.threadgroup_memory.end() ? 0 : found->second;
      if (length < wanted) {
        differ("threadgroup memory {}: the trace reserves {} bytes, the contract {}", index, length, wanted);
      } else if (length > metal::kMaxThreadgroupBytes) {
        differ("threadgroup memory {}: the trace reserves {} bytes, Metal allows {}", index, length, metal::kMaxThreadgroupBytes);
      } else if (length % metal::kThreadgroupLengthMultiple != 0) {
        differ("threadgroup memory {}: the trace reserves {} bytes, Metal requires a multiple of {}", index, length,
               metal::kThreadgroupLengthMultiple);
      } else if (length > wanted) {
        remark("threadgroup memory {}: the trace reserves {} bytes, more than the contract's {}", index, length, wanted);
      }
    }
  }

  void compare_sizes(const TraceDispatch& contract, const TraceDispatch& trace) {
    if (trace.threads_per_threadgroup != contract.threads_per_threadgroup) {
      differ("threads per threadgroup: the trace has {}, the contract {}", text_of(trace.threads_per_threadgroup),
             text_of(contract.threads_per_threadgroup));
    }
    const metal::Size3& theirs = trace.threads_per_threadgroup;
    const std::optional<metal::Size3> groups = trace.counts_threads ? whole_threadgroups(trace.grid, theirs) : std::optional(trace.grid);
    if (!groups) {
      differ("grid: the trace dispatches {} threads, which is not a multiple of the threadgroup size {}; the contract has {} threadgroups",
             text_of(trace.grid), text_of(theirs), text_of(contract.grid));
    } else if (*groups != contract.grid) {
      differ("grid: the trace dispatches {} threadgroups, the contract {}", text_of(*groups), text_of(contract.grid));
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
        at_ = *after;
        if (wanted[earlier] != wanted[later] && *after < *before) {
          result_.lacks_barrier = true;
          differ("is encoded before dispatch {} '{}', whose results it reads", *before, function);
        } else if (wanted[earlier] != wanted[later] && given[*before] == given[*after]) {
          result_.lacks_barrier = true;
          differ("there is no memory barrier between it and dispatch {} '{}', whose results it reads", *before, function);
        } else if (wanted[earlier] == wanted[later] && given[*before] != given[*after]) {
          differ("there is a memory barrier between it and dispatch {} '{}'; the contract has none there", *before, function);
        }
      }
    }
  }

  void find_overlaps() {
    const auto& all = correspondence_.all();
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = i + 1; j < all.size(); ++j) {
        const Correspondence::Stand& low = all[i].offset < all[j].offset ? all[i] : all[j];
        const Correspondence::Stand& high = all[i].offset < all[j].offset ? all[j] : all[i];
        if (low.name != high.name || high.offset - low.offset >= low.needed) continue;
        result_.differences.push_back(fmt::format("buffer '{}': {} occupies {} bytes from offset {}, but {} starts at offset {}", low.name,
                                                  low.role, low.needed, low.offset, high.role, high.offset));
      }
    }
  }

  const PreparedVariant& prepared_;
  std::span<const ContractDispatch> contract_;
  const Trace& trace_;
  Correspondence correspondence_;
  std::size_t at_ = 0;  // in the trace
  TraceCheck result_;
};

}  // namespace

TraceCheck check_trace(const PreparedVariant& prepared, std::span<const ContractDispatch> contract, const Trace& trace) {
  return Check(prepared, contract, trace).run();
}

}  // namespace assay::harness
