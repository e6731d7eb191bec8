// Maps dispatches and buffers of a trace to those of the contract.
#include "harness/dispatch/correspondence.h"

#include <algorithm>

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

  // By name first, because a name is certain and a position only a hint.
  for (const bool by_name : {true, false}) {
    for (std::size_t i = 0; i < trace.dispatches.size(); ++i) {
      for (const auto& [index, binding] : trace.dispatches[i].bindings) {
        if (!binding.buffer || find(*binding.buffer) != nullptr) continue;
        if (by_name) {
          if (needed_.contains(binding.buffer->name)) claim(binding.buffer->name, *binding.buffer, i, index);
        } else if (contract_of_[i]) {
          const auto& bindings = contract[*contract_of_[i]].trace.bindings;
          const auto wanted = bindings.find(index);
          if (wanted != bindings.end() && wanted->second.buffer && wanted->second.buffer->length != 0)
            claim(wanted->second.buffer->name, *binding.buffer, i, index);
        }
      }
    }
  }
}

void Correspondence::claim(const std::string& role, const TraceBuffer& buffer, std::size_t dispatch, std::uint32_t index) {
  if (find_role(role) == nullptr) stands_.push_back({role, buffer.name, buffer.offset, needed_.at(role), dispatch, index});
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
