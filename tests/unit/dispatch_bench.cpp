// Prepares one case per family, once for all tests of traces.
#include "tests/unit/dispatch_bench.h"

#include <memory>

#include "families/registry.h"
#include "kernels/variant.h"

namespace assay::tests {

const std::map<std::string, std::string>& dispatch_cases() {
  static const std::map<std::string, std::string> cases = {
      {"tq4", "tq4_v1/d256/h8x2/kv65c65/ring30/win33/nwg2/gauss/s7"},
      {"tqhb", "tqhb_v2/d512/b6/h8x2/kv65c65/ring30/win33/nwg2/nsg2/gauss/s7"},
      {"reduce", "reduce_v1/d256/rows8/nwg16/gauss/s7"},
      {"fwht", "fwht_v1/d512/h8/premult/gauss/s7"},
      {"quantize", "quantize4_v1/d512/b4/g8/pos31c64/sliding/sf16/gauss/s7"},
      {"dequantize", "dequantize_v1/d512/b6/g8/pos31c64/sf16/gauss/s7"},
      {"bf16_prefill", "bf16_prefill_v1/b2/h8x2/q33/kv65r7/causal1x8/low/gauss/s7"},
      {"bf16_vec", "bf16_vec_v1/b1/h8x2/q1/kv65r63/nomask/nsg2/gauss/s7"},
  };
  return cases;
}

namespace {

// Compiled once for all tests of this file.
struct Bench {
  std::map<std::string, harness::Case> cases;
  std::unique_ptr<harness::Workbench> workbench;

  Bench() {
    const auto catalogue = kernels::find_variants(kernels::default_variants_directory(), families::contracts());
    std::vector<harness::Case> all;
    for (const auto& [family, name] : dispatch_cases())
      all.push_back(cases[family] = harness::parse_case(name, families::find_family(family)));
    workbench = std::make_unique<harness::Workbench>(catalogue, all, harness::WorkbenchOptions{});
  }
};

const Bench& bench() {
  static const Bench bench;
  return bench;
}

}  // namespace

const harness::PreparedVariant& prepared(const std::string& family) { return bench().workbench->find(bench().cases.at(family).variant); }

std::vector<harness::ContractDispatch> contract(const std::string& family) {
  return harness::record_case(prepared(family), bench().cases.at(family), {});
}

harness::Trace recorded(const std::string& family) {
  return reports::parse_trace(reports::dispatch_json(dispatch_cases().at(family), contract(family)), family + ".json");
}

harness::TraceCheck check(const std::string& family, const harness::Trace& trace) {
  return check_trace(prepared(family), contract(family), trace);
}

void set_word(harness::Trace& trace, std::size_t dispatch, std::uint32_t index, std::size_t offset, std::uint32_t value) {
  harness::TraceBinding& binding = trace.dispatches[dispatch].bindings.at(index);
  binding.fields.clear();
  for (std::size_t i = 0; i < 4; ++i) binding.bytes->at(offset + i) = static_cast<std::byte>(value >> (8 * i));
}

harness::Verdict executed(const std::string& family, const harness::Trace& trace, bool concurrent) {
  harness::ExecutionOptions options;
  options.concurrent = concurrent;
  harness::HostBuffers host_buffers;
  options.launch = [&](metal::ComputeEncoder& simulator, const harness::Encode& encode) {
    harness::replay(prepared(family), trace, simulator, encode, host_buffers);
  };
  return execute_case(prepared(family), bench().cases.at(family), options);
}

}  // namespace assay::tests
