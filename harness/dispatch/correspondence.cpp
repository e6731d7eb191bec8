// Maps dispatches, tensors and buffers of a trace to those of the contract.
#include "harness/dispatch/correspondence.h"

#include <algorithm>
#include <utility>

namespace assay::harness {

Correspondence::Correspondence(std::span<const ContractDispatch> contract, const Trace& trace) {
  for (const ContractDispatch& dispatch : contract) {
    for (const auto& [index, binding] : dispatch.trace.bindings) {
      if (!binding.buffer || binding.buffer->length == 0) continue;
      std::uint64_t& needed = needed_[binding.buffer->name];
      needed = std::max(needed, binding.buffer->length);
    }
  }
  pair_dispatches(contract, trace);
  // What is certain first: what a host recorded apart from its encoding, then a name; a position is only a hint.
  claim_tensors(contract, trace);
  claim_buffers(contract, trace);
}

void Correspondence::claim_tensors(std::span<const ContractDispatch> contract, const Trace& trace) {
  std::map<std::string, std::size_t> unnamed;  // tensors with names of the host's own
  for (std::size_t t = 0; t < trace.tensors.size(); ++t) {
    const TraceTensor& tensor = trace.tensors[t];
    if (needed_.contains(tensor.name)) {
      claim({tensor.name, tensor.buffer, tensor.start, 0, Evidence::tensor, t, 0, 0});
    } else {
      unnamed.emplace(tensor.name, t);
    }
  }
  for (std::size_t i = 0; i < trace.dispatches.size(); ++i) {
    for (const auto& [index, binding] : trace.dispatches[i].bindings) {
      const auto found = unnamed.find(binding.tensor);
      const std::optional<std::string> role = role_at(contract, i, index);
      if (found == unnamed.end() || !role || find_role(*role) != nullptr) continue;
      const TraceTensor& tensor = trace.tensors[found->second];
      claim({*role, tensor.buffer, tensor.start, 0, Evidence::tensor, found->second, i, index});
      unnamed.erase(found);
    }
  }
}

void Correspondence::claim_buffers(std::span<const ContractDispatch> contract, const Trace& trace) {
  for (const bool by_name : {true, false}) {
    for (std::size_t i = 0; i < trace.dispatches.size(); ++i) {
      for (const auto& [index, binding] : trace.dispatches[i].bindings) {
        if (!binding.buffer || find(*binding.buffer) != nullptr) continue;
        const TraceBuffer& buffer = *binding.buffer;
        const auto is_here = [&](const TraceTensor& tensor) { return tensor.buffer == buffer.name && tensor.start == buffer.offset; };
        const auto is_in_it = [&](const TraceTensor& tensor) { return tensor.buffer == buffer.name; };
        const auto tensor = std::ranges::find_if(trace.tensors, is_here);
        const bool is_tensor = tensor != trace.tensors.end();
        // Where the trace lists the tensors of a buffer, an offset between them is a mistake.
        if (!is_tensor && std::ranges::any_of(trace.tensors, is_in_it)) continue;
        const auto at = is_tensor ? std::optional(static_cast<std::size_t>(tensor - trace.tensors.begin())) : std::nullopt;
        if (by_name) {
          if (needed_.contains(buffer.name)) claim({buffer.name, buffer.name, buffer.offset, 0, Evidence::name, at, i, index});
        } else if (const auto role = role_at(contract, i, index)) {
          claim({*role, buffer.name, buffer.offset, 0, Evidence::first_bound, at, i, index});
        }
      }
    }
  }
}

std::optional<std::string> Correspondence::role_at(std::span<const ContractDispatch> contract, std::size_t dispatch,
                                                   std::uint32_t index) const {
  if (!contract_of_[dispatch]) return std::nullopt;
  const auto& bindings = contract[*contract_of_[dispatch]].trace.bindings;
  const auto wanted = bindings.find(index);
  if (wanted == bindings.end() || !wanted->second.buffer || wanted->second.buffer->length == 0) return std::nullopt;
  return wanted->second.buffer->name;
}

void Correspondence::claim(Stand stand) {
  if (find_role(stand.role) != nullptr) return;
  stand.needed = needed_.at(stand.role);
  stands_.push_back(std::move(stand));
}

const Correspondence::Stand* Correspondence::find(const TraceBuffer& buffer) const {
  const auto found =
      std::ranges::find_if(stands_, [&](const Stand& stand) { return stand.name == buffer.name && stand.offset == buffer.offset; });
  return found == stands_.end() ? nullptr : &*found;
}

const Correspondence::Stand* Correspondence::find_role(const std::string& role) const {
  const auto found = std::ranges::find(stands_, role, &Stand::role);
  return found == stands_.end() ? nullptr : &*found;
}

void Correspondence::pair_dispatches(std::span<const ContractDispatch> contract, const Trace& trace) {
  contract_of_.assign(trace.dispatches.size(), std::nullopt);
  std::vector<bool> is_paired(contract.size(), false);
  const auto pair_if = [&](const auto& match) {
    for (std::size_t c = 0; c < contract.size(); ++c) {
      for (std::size_t t = 0; t < trace.dispatches.size() && !is_paired[c]; ++t) {
        if (contract_of_[t] || !match(contract[c].trace, trace.dispatches[t])) continue;
        contract_of_[t] = c;
        is_paired[c] = true;
      }
    }
  };
  pair_if([](const TraceDispatch& a, const TraceDispatch& b) { return a.function == b.function; });
  pair_if([](const TraceDispatch&, const TraceDispatch&) { return true; });
}

}  // namespace assay::harness
