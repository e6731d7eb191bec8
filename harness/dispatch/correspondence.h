// Which dispatch and which buffer of the contract each dispatch, tensor and buffer of a host's trace stands for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/dispatch/recorder.h"
#include "harness/dispatch/trace.h"

namespace assay::harness {

// Dispatches correspond by function name, at any place; the remaining ones correspond in order, with any names. A tensor with a name of
// the contract is that buffer; any other stands for what the contract binds where a binding first names the tensor. A buffer with a name
// of the contract is that buffer. Any other stands for the one that the contract binds where the host first binds it. One
// buffer of a host may contain several of the contract's, at different offsets.
class Correspondence {
 public:
  Correspondence(std::span<const ContractDispatch> contract, const Trace& trace);

  // By dispatch of the trace; empty for a dispatch that the contract does not have.
  [[nodiscard]] const std::vector<std::optional<std::size_t>>& contract_of() const { return contract_of_; }

  // What shows where a buffer of the contract is.
  enum class Evidence : std::uint8_t {
    tensor,       // a tensor of its name, or one that a binding names
    name,         // the host's buffer has its name
    first_bound,  // nothing: the first binding is taken as right
  };

  struct Stand {
    std::string role;  // name of the contract's buffer
    std::string name;  // the host's buffer, and the offset in it
    std::uint64_t offset = 0;
    std::uint64_t needed = 0;  // bytes
    Evidence evidence = Evidence::first_bound;
    std::optional<std::size_t> tensor;  // of the trace
    std::size_t dispatch = 0;           // the dispatch of the trace that first binds it; without meaning for a tensor of its name
    std::uint32_t index = 0;
  };
  // nullptr if it stands for none of the contract's buffers.
  [[nodiscard]] const Stand* find(const TraceBuffer& buffer) const;
  // nullptr if the host binds nothing for it.
  [[nodiscard]] const Stand* find_role(const std::string& role) const;
  [[nodiscard]] const std::vector<Stand>& all() const { return stands_; }

 private:
  void pair_dispatches(std::span<const ContractDispatch> contract, const Trace& trace);
  void claim_tensors(std::span<const ContractDispatch> contract, const Trace& trace);
  void claim_buffers(std::span<const ContractDispatch> contract, const Trace& trace);
  // What the contract binds at that index; nothing if nothing, or only a placeholder.
  [[nodiscard]] std::optional<std::string> role_at(std::span<const ContractDispatch> contract, std::size_t dispatch,
                                                   std::uint32_t index) const;
  void claim(Stand stand);

  std::vector<std::optional<std::size_t>> contract_of_;
  std::map<std::string, std::uint64_t> needed_;  // by role; the largest need of any dispatch
  std::vector<Stand> stands_;
};

}  // namespace assay::harness
