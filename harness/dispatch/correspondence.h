// Which dispatches and buffers of a host's trace stand for which of the contract's.
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

// Dispatches correspond by function name, wherever they stand; those that are left over in their order, whatever they are called. A buffer
// that has a name of the contract is that buffer; any other stands for what the contract binds where the host binds it first. One buffer of
// a host may hold several of the contract's, at different offsets.
class Correspondence {
 public:
  Correspondence(std::span<const ContractDispatch> contract, const Trace& trace);

  // Of each dispatch of the trace; nothing for one that the contract does not have.
  [[nodiscard]] const std::vector<std::optional<std::size_t>>& contract_of() const { return contract_of_; }

  struct Stand {
    std::string role;  // the contract's buffer
    std::string name;  // the host's buffer, and where in it
    std::uint64_t offset = 0;
    std::uint64_t needed = 0;  // bytes
    std::size_t dispatch = 0;  // of the trace, where it was bound first
    std::uint32_t index = 0;
  };
  // nullptr if it is none of the contract's buffers.
  [[nodiscard]] const Stand* find(const TraceBuffer& buffer) const;
  // nullptr if the host binds nothing for it.
  [[nodiscard]] const Stand* find_role(const std::string& role) const;
  [[nodiscard]] const std::vector<Stand>& all() const { return stands_; }

 private:
  void pair_dispatches(std::span<const ContractDispatch> contract, const Trace& trace);
  void claim(const std::string& role, const TraceBuffer& buffer, std::size_t dispatch, std::uint32_t index);

  std::vector<std::optional<std::size_t>> contract_of_;
  std::map<std::string, std::uint64_t> needed_;  // by role; the most that any dispatch needs
  std::vector<Stand> stands_;
};

}  // namespace assay::harness
