// Compares the bindings of one dispatch, argument by argument.
#include "harness/dispatch/bindings.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <variant>

#include "harness/dispatch/tensors.h"
#include "metal/limits.h"

namespace assay::harness {
namespace {

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

std::uint64_t bytes_left(const TraceBuffer& buffer) { return buffer.offset > buffer.length ? 0 : buffer.length - buffer.offset; }

// Field values in a trace are for its reader. They must not contradict the bytes, which count.
void require_fields(const TraceDispatch& trace, const metal::BoundArgument& argument, const std::vector<TraceField>& said,
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

bool is_same_binding(const TraceBinding& a, const TraceBinding& b) {
  if (a.buffer.has_value() != b.buffer.has_value()) return false;
  return a.buffer ? a.buffer->name == b.buffer->name && a.buffer->offset == b.buffer->offset : a.bytes == b.bytes;
}

}  // namespace

void BindingCheck::compare(const ContractDispatch& contract, std::size_t number) {
  const TraceDispatch& trace = trace_.dispatches[number];
  for (const metal::BoundArgument& argument : contract.layout.arguments) {
    if (argument.space == metal::AddressSpace::threadgroup) continue;
    compare(argument, contract.trace.bindings.at(argument.index), trace);
  }
  find_unused(contract.layout, number);
}

void BindingCheck::compare(const metal::BoundArgument& argument, const TraceBinding& wanted, const TraceDispatch& trace) {
  const auto found = trace.bindings.find(argument.index);
  if (found == trace.bindings.end()) {
    sentences_.differ(
        "nothing is bound at index {} ({}); the contract binds {}", argument.index, argument.name,
        wanted.buffer ? fmt::format("a buffer of {} bytes", wanted.buffer->length) : fmt::format("{} bytes", wanted.bytes->size()));
    return;
  }
  const TraceBinding& binding = found->second;
  if (!binding.buffer) {
    compare_copied(argument, wanted, binding);
  } else if (binding.buffer->offset % alignment_of(argument) != 0) {
    sentences_.differ("offset {} of the buffer at index {} ({}) is not a multiple of {}, which {} needs", binding.buffer->offset,
                      argument.index, argument.name, alignment_of(argument), argument.type_name);
  }
  if (wanted.bytes) {
    if (binding.buffer) require_room(argument, *binding.buffer);
    compare_bytes(argument, *wanted.bytes, binding, trace);
  } else if (binding.buffer) {
    compare_buffer(argument, *wanted.buffer, binding);
  }
}

// setBytes is for what a kernel only reads. The contract uses it for structs and numbers alone.
void BindingCheck::compare_copied(const metal::BoundArgument& argument, const TraceBinding& wanted, const TraceBinding& binding) {
  const std::size_t size = binding.bytes->size();
  const bool is_device = argument.space == metal::AddressSpace::device;
  if (wanted.buffer && (wanted.buffer->length != 0 || is_device)) {
    sentences_.differ("{} bytes are copied to index {} ({}); the contract binds a buffer of {} bytes{}", size, argument.index,
                      argument.name, wanted.buffer->length, is_device ? ", as a `device` argument needs" : "");
  } else if (size > metal::kMaxSetBytes) {
    sentences_.differ("{} bytes are copied to index {} ({}); Metal copies at most {}", size, argument.index, argument.name,
                      metal::kMaxSetBytes);
  } else if (is_device && !argument.is_const) {
    sentences_.differ("{} bytes are copied to index {} ({}), a `device` argument through which the kernel can write; it needs a buffer",
                      size, argument.index, argument.name);
  } else if (is_device) {
    sentences_.remark("{} bytes are copied to index {} ({}), a `device` argument; `constant` is for copied bytes", size, argument.index,
                      argument.name);
  }
}

void BindingCheck::require_room(const metal::BoundArgument& argument, const TraceBuffer& buffer) {
  if (const std::uint64_t left = bytes_left(buffer); left < argument.size) {
    sentences_.lack_room("buffer '{}' at index {} ({}) is too short: {} bytes are left after offset {}, the kernel reads {}", buffer.name,
                         argument.index, argument.name, left, buffer.offset, argument.size);
  } else if (left > argument.size) {
    sentences_.tolerate("buffer '{}' at index {} ({}): {} bytes are left after offset {}, the kernel reads {}", buffer.name, argument.index,
                        argument.name, left, buffer.offset, argument.size);
  }
}

void BindingCheck::compare_bytes(const metal::BoundArgument& argument, const std::vector<std::byte>& wanted, const TraceBinding& binding,
                                 const TraceDispatch& trace) {
  if (!binding.bytes) {
    sentences_.differ(
        "a buffer is bound at index {} ({}), but the trace does not give its contents (`bytes`); the contract has {} bytes "
        "there",
        argument.index, argument.name, wanted.size());
    return;
  }
  const std::vector<std::byte>& bytes = *binding.bytes;
  const std::vector<TraceField> theirs = decode_fields(argument, bytes);
  require_fields(trace, argument, binding.fields, theirs);
  if (bytes.size() < argument.size) {
    sentences_.differ("{} bytes at index {} ({}): the kernel reads {} bytes", bytes.size(), argument.index, argument.name, argument.size);
  } else if (bytes.size() > argument.size) {
    sentences_.remark("{} bytes at index {} ({}): the kernel reads the first {}", bytes.size(), argument.index, argument.name,
                      argument.size);
  }
  for (const TraceField& field : decode_fields(argument, wanted)) {
    const auto same_place = std::ranges::find(theirs, field.offset, &TraceField::offset);
    if (same_place == theirs.end()) continue;  // the bytes end before the field, which is already reported
    if (std::memcmp(bytes.data() + field.offset, wanted.data() + field.offset, field.size) == 0) continue;
    const std::string what =
        argument.layout ? fmt::format("field {} of the struct", field.name) : fmt::format("the value of {}", field.name);
    sentences_.differ("{} at index {}: the trace says {}, the contract {} (bytes {}..{})", what, argument.index,
                      to_string(same_place->value), to_string(field.value), field.offset, field.offset + field.size - 1);
  }
  find_padding(argument, bytes);
}

void BindingCheck::find_padding(const metal::BoundArgument& argument, std::span<const std::byte> bytes) {
  if (!argument.layout) return;
  const auto& fields = argument.layout->fields;
  for (std::size_t at = 0; at < std::min(bytes.size(), argument.size); ++at) {
    const auto holds = [&](const metal::StructField& field) { return at >= field.offset && at < field.offset + field.size; };
    if (bytes[at] == std::byte{0} || std::ranges::any_of(fields, holds)) continue;
    sentences_.tolerate("byte {} at index {} ({}) is not zero and belongs to no field of the struct", at, argument.index, argument.name);
    return;
  }
}

// Whether the trace says which tensor the binding is, and is right. Reports what is wrong with it.
bool BindingCheck::is_tensor_right(const metal::BoundArgument& argument, const TraceBuffer& wanted, const TraceBinding& binding) {
  const auto differs_if = [&](const std::string& sentence) {
    if (!sentence.empty()) sentences_.differ("{}", sentence);
    return sentence.empty();
  };
  const Correspondence::Stand* right = correspondence_.find_role(wanted.name);
  const bool is_known = right != nullptr && right->tensor && right->evidence == Correspondence::Evidence::tensor;
  if (!binding.tensor.empty() && is_known && trace_.tensors[*right->tensor].name != binding.tensor) {
    sentences_.differ("the trace binds the tensor '{}' to index {} ({}); the contract binds {}{}", binding.tensor, argument.index,
                      argument.name, wanted.name,
                      trace_.tensors[*right->tensor].name == wanted.name
                          ? std::string()
                          : fmt::format(", which is '{}'", trace_.tensors[*right->tensor].name));
    return false;
  }
  if (is_known) return differs_if(misplacement(trace_, trace_.tensors[*right->tensor], *binding.buffer, argument));
  if (binding.tensor.empty()) return differs_if(stray_offset(trace_, *binding.buffer, argument));
  const auto named = std::ranges::find(trace_.tensors, binding.tensor, &TraceTensor::name);
  return differs_if(misplacement(trace_, *named, *binding.buffer, argument));
}

void BindingCheck::compare_buffer(const metal::BoundArgument& argument, const TraceBuffer& wanted, const TraceBinding& binding) {
  const TraceBuffer& buffer = *binding.buffer;
  const std::uint64_t left = bytes_left(buffer);
  if (wanted.length == 0) {
    // `assay dispatch` prints length 0 for a placeholder. Metal requires room for what the argument points to, used or not.
    if (buffer.length != 0 && left < argument.size)
      sentences_.differ(
          "buffer '{}' at index {} ({}) is too short: {} bytes are left after offset {}, and even an argument that is not "
          "used needs {}",
          buffer.name, argument.index, argument.name, left, buffer.offset, argument.size);
    return;
  }
  if (!is_tensor_right(argument, wanted, binding)) return;
  if (left < wanted.length) {
    sentences_.lack_room("buffer '{}' at index {} ({}) is too short: {} bytes are left after offset {}, the contract needs {}", buffer.name,
                         argument.index, argument.name, left, buffer.offset, wanted.length);
  }
  const Correspondence::Stand* right = correspondence_.find_role(wanted.name);
  if (right != nullptr && right->name == buffer.name && right->offset == buffer.offset) return;
  const Correspondence::Stand* stand = correspondence_.find(buffer);
  const auto describe = [&](const Correspondence::Stand& other) {
    return fmt::format("'{}' at offset {}, as at index {} of dispatch {}", other.name, other.offset, other.index, other.dispatch);
  };
  sentences_.differ("the trace binds '{}' at offset {} to index {} ({}){}; the contract binds {}{}", buffer.name, buffer.offset,
                    argument.index, argument.name, stand == nullptr ? std::string() : fmt::format(", which is {}", stand->role),
                    wanted.name, right == nullptr ? std::string() : fmt::format(": {}", describe(*right)));
}

void BindingCheck::find_unused(const metal::ArgumentLayout& layout, std::size_t number) {
  const TraceDispatch& trace = trace_.dispatches[number];
  for (const auto& [index, binding] : trace.bindings) {
    const auto is_bound_here = [&](const metal::BoundArgument& argument) {
      return argument.space != metal::AddressSpace::threadgroup && argument.index == index;
    };
    if (std::ranges::any_of(layout.arguments, is_bound_here)) continue;
    // An encoder keeps its bindings. What is left from the dispatch before was not bound for this one.
    if (number != 0) {
      const auto& before = trace_.dispatches[number - 1].bindings;
      if (const auto left = before.find(index); left != before.end() && is_same_binding(left->second, binding)) continue;
    }
    sentences_.tolerate("something is bound at index {}, which the kernel does not have", index);
  }
}

}  // namespace assay::harness
