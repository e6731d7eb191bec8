// Finds tensors and buffers that are too short, too long, or share bytes.
#include "harness/dispatch/places.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/dispatch/tensors.h"

namespace assay::harness {
namespace {

using Stand = Correspondence::Stand;

std::map<std::string, std::uint64_t> buffer_lengths(const Trace& trace) {
  std::map<std::string, std::uint64_t> lengths;
  for (const TraceDispatch& dispatch : trace.dispatches) {
    for (const auto& [index, binding] : dispatch.bindings) {
      if (!binding.buffer) continue;
      std::uint64_t& length = lengths[binding.buffer->name];
      length = std::max(length, binding.buffer->length);
    }
  }
  return lengths;
}

// Nothing can be held to a tensor that corresponds to no buffer of the contract, for example because its name is misspelt.
void find_idle_tensors(std::span<const ContractDispatch> contract, const Trace& trace, const Correspondence& correspondence,
                       TraceCheck& check) {
  std::set<std::string> names;
  for (const ContractDispatch& dispatch : contract) {
    for (const auto& [index, binding] : dispatch.trace.bindings) {
      if (binding.buffer) names.insert(binding.buffer->name);
    }
  }
  for (std::size_t i = 0; i < trace.tensors.size(); ++i) {
    const auto is_it = [&](const Stand& stand) { return stand.tensor == i; };
    if (names.contains(trace.tensors[i].name) || std::ranges::any_of(correspondence.all(), is_it)) continue;
    check.remarks.push_back(fmt::format("the tensor '{}' is none of the contract's, which are {}; nothing is held to it",
                                        trace.tensors[i].name, fmt::join(names, ", ")));
  }
}

void compare_tensor(const TraceTensor& tensor, const Stand& stand, const std::map<std::string, std::uint64_t>& lengths, TraceCheck& check) {
  if (tensor.length < stand.needed) {
    check.differences.push_back(
        fmt::format("the tensor '{}' has {} bytes, the contract needs {} for {}", tensor.name, tensor.length, stand.needed, stand.role));
  } else if (tensor.length > stand.needed) {
    check.tolerated.push_back(
        fmt::format("the tensor '{}' has {} bytes, the contract needs {} for {}", tensor.name, tensor.length, stand.needed, stand.role));
  }
  const auto buffer = lengths.find(tensor.buffer);
  if (buffer != lengths.end() && tensor.start + tensor.length > buffer->second) {
    check.differences.push_back(fmt::format("the tensor '{}' ends at byte {} of '{}', which has {} bytes", tensor.name,
                                            tensor.start + tensor.length, tensor.buffer, buffer->second));
  }
}

const InputLayout* layout_of(std::span<const ContractDispatch> contract, const std::string& role) {
  for (const ContractDispatch& dispatch : contract) {
    for (const auto& [index, layout] : dispatch.inputs) {
      if (dispatch.trace.bindings.at(index).buffer->name == role) return &layout;
    }
  }
  return nullptr;
}

void compare_layout(const TraceTensor& tensor, const Stand& stand, const InputLayout* wanted, TraceCheck& check) {
  if (wanted == nullptr || tensor.axes.empty() || tensor.length < stand.needed || has_layout(tensor, *wanted)) return;
  check.differences.push_back(fmt::format("the tensor '{}' has {}; the kernel reads {} as {}", tensor.name,
                                          layout_text(tensor.element, tensor.axes), stand.role,
                                          layout_text(wanted->element, wanted->axes)));
}

// Names of the host's own do not say what a tensor is.
void name_unknown_tensors(const Trace& trace, const Correspondence& correspondence, TraceCheck& check) {
  std::vector<std::string> taken;
  for (const Stand& stand : correspondence.all()) {
    if (stand.tensor && stand.evidence == Correspondence::Evidence::first_bound)
      taken.push_back(fmt::format("'{}' for {}", trace.tensors[*stand.tensor].name, stand.role));
  }
  if (taken.empty()) return;
  check.remarks.push_back(fmt::format(
      "the trace does not say which of the contract's tensors these are: {} taken as the first binding has it, so an exchange of "
      "two is not noticed ({}); a binding can name its `tensor`",
      taken.size() == 1 ? "it is" : "they are", fmt::join(taken, ", ")));
}

// Without a tensor, everything up to the next buffer of the contract or the end may belong to this one.
void find_spare(const Stand& stand, const Correspondence& correspondence, const std::map<std::string, std::uint64_t>& lengths,
                TraceCheck& check) {
  const auto is_behind = [&](const Stand& other) { return other.name == stand.name && other.offset > stand.offset; };
  const std::uint64_t length = lengths.at(stand.name);
  if (std::ranges::any_of(correspondence.all(), is_behind) || length < stand.offset || length - stand.offset <= stand.needed) return;
  check.tolerated.push_back(fmt::format("buffer '{}': {} bytes are left after offset {}, the contract needs {} for {}", stand.name,
                                        length - stand.offset, stand.offset, stand.needed, stand.role));
}

void find_overlaps(const Trace& trace, const std::vector<Stand>& all, TraceCheck& check) {
  const auto place_of = [&](const Stand& stand) {
    if (stand.tensor && stand.evidence == Correspondence::Evidence::tensor) return trace.tensors[*stand.tensor];
    return dense_tensor(stand.role, stand.name, stand.offset, std::min(stand.needed, UINT64_MAX - stand.offset));
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      const Stand& low = all[i].offset <= all[j].offset ? all[i] : all[j];
      const Stand& high = all[i].offset <= all[j].offset ? all[j] : all[i];
      if (low.name != high.name) continue;
      const TraceTensor first = place_of(low);
      if (!share_bytes(first, place_of(high))) continue;
      check.differences.push_back(fmt::format("buffer '{}': {} occupies {} bytes from offset {}, but {} starts at offset {}", low.name,
                                              low.role, first.length, low.offset, high.role, high.offset));
    }
  }
}

}  // namespace

void compare_places(std::span<const ContractDispatch> contract, const Trace& trace, const Correspondence& correspondence,
                    TraceCheck& check) {
  const auto lengths = buffer_lengths(trace);
  for (const Stand& stand : correspondence.all()) {
    if (stand.tensor) {
      compare_tensor(trace.tensors[*stand.tensor], stand, lengths, check);
      compare_layout(trace.tensors[*stand.tensor], stand, layout_of(contract, stand.role), check);
    } else {
      find_spare(stand, correspondence, lengths, check);
    }
    if (stand.evidence == Correspondence::Evidence::first_bound && !stand.tensor)
      check.tolerated.push_back(
          fmt::format("the trace does not say what '{}' is at offset {}; it is taken for {}, which the contract "
                      "binds to index {} of dispatch {}",
                      stand.name, stand.offset, stand.role, stand.index, stand.dispatch));
  }
  name_unknown_tensors(trace, correspondence, check);
  find_idle_tensors(contract, trace, correspondence, check);
  find_overlaps(trace, correspondence.all(), check);
}

}  // namespace assay::harness
