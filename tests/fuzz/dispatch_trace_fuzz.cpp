// Dispatch traces: any bytes are a trace, or a TraceError with the file. What is accepted is held against a contract, and written out as
// a trace of our own it is accepted again and comes out the same.
#include <string>
#include <string_view>
#include <vector>

#include "harness/dispatch/correspondence.h"
#include "harness/dispatch/places.h"
#include "harness/dispatch/tensors.h"
#include "harness/dispatch/trace.h"
#include "metal/limits.h"
#include "reports/dispatch.h"
#include "tests/fuzz/fuzz_target.h"

namespace assay::tests {
namespace {

// As if the launch code had encoded the trace: with arguments that have the trace's names and indices.
std::vector<harness::ContractDispatch> contract_of(const harness::Trace& trace) {
  std::vector<harness::ContractDispatch> contract;
  for (const harness::TraceDispatch& dispatch : trace.dispatches) {
    harness::ContractDispatch own{dispatch, {}};
    for (const auto& [index, binding] : dispatch.bindings) {
      metal::BoundArgument argument;
      argument.name = binding.argument;
      argument.space = metal::AddressSpace::device;
      argument.index = index;
      own.layout.arguments.push_back(std::move(argument));
    }
    contract.push_back(std::move(own));
  }
  return contract;
}

void check_values(const harness::Trace& trace) {
  require(!trace.dispatches.empty() && trace.dispatches.size() <= harness::kMostTraceCommands, "a trace has some dispatches");
  for (const harness::TraceDispatch& dispatch : trace.dispatches) {
    for (const auto& [index, binding] : dispatch.bindings) {
      require(index <= harness::kLastTraceIndex, "an index is one of Metal's");
      require(binding.buffer || binding.bytes, "something is bound");
      require(!binding.bytes || binding.bytes->size() <= harness::kMostTraceBytes, "bytes are not too many");
      note_outcome(binding.buffer ? binding.bytes ? "buffer with bytes" : "buffer" : binding.fields.empty() ? "bytes" : "fields");
      for (const harness::TraceField& field : binding.fields) static_cast<void>(harness::to_string(field.value));
    }
    if (dispatch.counts_threads) note_outcome("threads");
    if (dispatch.after_barrier) note_outcome("barrier");
    if (!dispatch.constants.empty()) note_outcome("constants");
    if (!dispatch.threadgroup_memory.empty()) note_outcome("threadgroup memory");
  }
}

void check_tensors(const harness::Trace& trace) {
  require(trace.tensors.size() <= harness::kMostTraceTensors, "tensors are not too many");
  metal::BoundArgument argument;
  argument.size = 4;
  for (const harness::TraceTensor& tensor : trace.tensors) {
    require(tensor.start + tensor.length >= tensor.start, "a tensor ends after it starts");
    const harness::TraceBuffer here{tensor.buffer, 0, tensor.start};
    require(misplacement(trace, tensor, here, argument).empty() && stray_offset(trace, here, argument).empty(), "a tensor is where it is");
    note_outcome(tensor.axes.empty() ? "tensor" : "tensor with axes");
  }
  if (trace.tensors.size() < 2) return;
  const harness::TraceTensor& first = trace.tensors.front();
  const harness::TraceTensor& last = trace.tensors.back();
  const bool share = share_bytes(first, last);
  require(share == share_bytes(last, first), "sharing has no direction");
  note_outcome(share ? "tensors share bytes" : "tensors share nothing");
}

// A contract of three dispatches with two buffers: what hosts are compared with.
const std::vector<harness::ContractDispatch>& some_contract() {
  static const std::vector<harness::ContractDispatch> contract = [] {
    harness::Trace trace;
    for (const char* function : {"flash_attn_vec_tq_dk256", "flash_attn_vec_reduce_dk256", "quantize"}) {
      harness::TraceDispatch dispatch;
      dispatch.function = function;
      dispatch.bindings[1] = {"q", harness::TraceBuffer{"q", 8192, 0}, {}, {}};
      dispatch.bindings[6] = {"dst", harness::TraceBuffer{"partials", 16512, 0}, {}, {}};
      trace.dispatches.push_back(dispatch);
    }
    return contract_of(trace);
  }();
  return contract;
}

void check(std::string_view text) {
  const harness::Trace trace = reports::parse_trace(text, "fuzz.json");
  note_outcome("accepted");
  check_values(trace);
  check_tensors(trace);
  const harness::Correspondence correspondence(some_contract(), trace);
  require(correspondence.all().size() <= 2, "a buffer of the contract is found once");
  harness::TraceCheck places;
  compare_places(some_contract(), trace, correspondence, places);

  const std::vector<harness::ContractDispatch> contract = contract_of(trace);
  const std::string written = reports::dispatch_json(trace.case_name, contract);
  static_cast<void>(reports::dispatch_text(trace.case_name, contract));
  try {
    const harness::Trace again = reports::parse_trace(written, "again.json");
    require(reports::dispatch_json(again.case_name, contract_of(again)) == written, "a trace that is written again is the same");
    require(again.case_name == trace.case_name && again.dispatches.size() == trace.dispatches.size(), "and has as many dispatches");
    const harness::Correspondence with_itself(contract, again);
    for (const auto& partner : with_itself.contract_of()) require(partner.has_value(), "every dispatch corresponds to one of its own");
  } catch (const harness::TraceError& error) {
    require(false, error.what());
  }
}

}  // namespace
}  // namespace assay::tests

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const std::string_view text = tests::text_of(data, size);
  try {
    tests::check(text);
  } catch (const harness::TraceError& error) {
    tests::require(std::string_view(error.what()).starts_with("fuzz.json: "), "a message begins with the file");
    tests::note_outcome(error.what());
  }
  return 0;
}
