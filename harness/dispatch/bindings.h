// Compares what a trace binds with what the contract binds: bytes of structs, buffers and the tensors in them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "harness/dispatch/correspondence.h"
#include "harness/dispatch/recorder.h"
#include "harness/dispatch/sentences.h"
#include "harness/dispatch/trace.h"
#include "metal/argument_layout.h"

namespace assay::harness {

class BindingCheck {
 public:
  BindingCheck(const Trace& trace, const Correspondence& correspondence, Sentences& sentences)
      : trace_(trace), correspondence_(correspondence), sentences_(sentences) {}

  // Compares the bindings of dispatch `number` of the trace. Throws TraceError for fields that contradict the trace's own bytes.
  void compare(const ContractDispatch& contract, std::size_t number);

 private:
  void compare(const metal::BoundArgument& argument, const TraceBinding& wanted, const TraceDispatch& trace);
  void compare_copied(const metal::BoundArgument& argument, const TraceBinding& wanted, const TraceBinding& binding);
  void compare_bytes(const metal::BoundArgument& argument, const std::vector<std::byte>& wanted, const TraceBinding& binding,
                     const TraceDispatch& trace);
  void find_padding(const metal::BoundArgument& argument, std::span<const std::byte> bytes);
  void require_room(const metal::BoundArgument& argument, const TraceBuffer& buffer);
  void compare_buffer(const metal::BoundArgument& argument, const TraceBuffer& wanted, const TraceBinding& binding);
  bool is_tensor_right(const metal::BoundArgument& argument, const TraceBuffer& wanted, const TraceBinding& binding);
  void find_unused(const metal::ArgumentLayout& layout, std::size_t number);

  const Trace& trace_;
  const Correspondence& correspondence_;
  Sentences& sentences_;
};

}  // namespace assay::harness
