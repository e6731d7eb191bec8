// Which dispatch and which buffer of the contract each dispatch and buffer of a host's trace stands for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/dispatch/recorder.h"
#include "harness/dispatch/trace.h"

namespace assay::harness {

// Dispatches correspond by function name, at any place; the remaining ones correspond in order, with any names. A buffer with a
// name of the contract is that buffer. Any other buffer stands for the one that the contract binds where the host first binds it. One
// buffer of a host may contain several of the contract's, at different offsets.
class Correspondence {
 public:
  Correspondence(std::span<const ContractDispatch> contract, const Trace& trace);

  // By dispatch of the trace; empty for a dispatch that the contract does not have.
  [[nodiscard]] const std::vector<std::optional<std::size_t>>& contract_of() const { return contract_of_; }

  struct Stand {
    std::string role;  // name of the contract's buffer
    std::string name;  // the host's buffer, and the offset in it
    std::uint64_t offset = 0;
    std::uint64_t needed = 0;  // bytes
    std::size_t dispatch = 0;  // the dispatch of the trace that first binds it
    std::uint32_t index = 0;
  };
  // nullptr if it stands for none of the contract's buffers.
  [[nodiscard]] const Stand* find(const TraceBuffer& buffer) const;
  // nullptr if the host binds nothing for it.
  [[nodiscard]] const Stand* find_role(const std::string& role) const;
  [[nodiscard]] const std::vector<Stand>& all() const { return stands_; }

 private:
  void pair_dispatches(std::span<const ContractDispatch> contract, const Trace& trace);
  void claim(const std::string& role, const TraceBuffer& buffer, std::size_t dispatch, std::uint32_t index);

  std::vector<std::optional<std::size_t>> contract_of_;
  std::map<std::string, std::uint64_t> needed_;  // by role; the largest need of any dispatch
  std::vector<Stand> stands_;
};

}  // namespace assay::harness
