// A case as a device and the judge need it: buffers, dispatches, outputs, and what is true of them. Data; harness/execute carries it out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "families/broken_promise.h"
#include "families/source.h"
#include "kernels/binding.h"
#include "kernels/variant.h"
#include "metal/argument_layout.h"
#include "metal/buffer.h"
#include "metal/devices/encoder.h"
#include "oracles/expected.h"

namespace assay::families {

struct Case;

enum class BufferRole : std::uint8_t {
  input,    // must hold the same bytes after the run
  output,   // fresh for every pass; its bytes are part of the digest
  scratch,  // fresh for every pass; nothing looks at it but the job itself
};

// What a buffer holds between and behind its contents when a pass begins.
enum class Gap : std::uint8_t {
  unwritten,  // metal::kPoisonWord: the judge reports output elements that still hold it
  forbidden,  // metal::kReadPoisonWord: results computed from it are NaN
  untouched,  // zeros, in pages that take no memory until they are touched
};

// Bytes of the case's inputs, and where they begin in the buffer.
struct Piece {
  std::size_t at = 0;
  std::span<const std::byte> bytes;
};

struct JobBuffer {
  std::string_view argument;  // the name in messages
  BufferRole role = BufferRole::input;
  std::size_t size = 0;                                    // bytes, without guard bands
  metal::ScalarType element = metal::ScalarType::float32;  // of an output: float32, bfloat16 or uint8
  std::vector<Piece> contents = {};                        // in ascending order, without overlaps
  Gap gap = Gap::unwritten;
  bool has_guards = false;            // poisoned bands of 4 KiB on both sides, which no kernel may write
  std::vector<std::byte> fills = {};  // one for each pass, in place of the gap: no value of a byte can mean "unwritten"
};

// An input without gaps. The bytes must outlive the job.
[[nodiscard]] inline JobBuffer input_buffer(std::string_view argument, std::span<const std::byte> bytes) {
  return {.argument = argument, .size = bytes.size(), .contents = {{0, bytes}}};
}

// An output with guard bands.
[[nodiscard]] inline JobBuffer output_buffer(std::string_view argument, std::size_t size) {
  return {.argument = argument, .role = BufferRole::output, .size = size, .has_guards = true};
}

// By number of the buffer.
using Views = std::span<const metal::BufferView>;

// One run of the case's dispatches on fresh outputs.
struct Pass {
  std::function<void(metal::ComputeEncoder& encoder, Views views)> encode;
  // It only tests a promise of the contract: it is left out if guard bands of an earlier pass were written, and its own are not judged.
  bool is_probe = false;
};

// What a pass left in a buffer.
struct BufferResult {
  std::span<const std::byte> bytes;  // without guard bands
  bool has_intact_guards = true;
};

// By pass, then by buffer. Probes that were left out are missing.
struct Results {
  std::vector<std::vector<BufferResult>> passes;

  template <typename T = float>
  [[nodiscard]] std::span<const T> of(std::size_t buffer, std::size_t pass = 0) const {
    const std::span<const std::byte> bytes = passes[pass][buffer].bytes;
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

// The elements that are judged.
struct Reading {
  std::vector<float> output;        // as the kernel stored them; their bits may not depend on the order of simdgroups
  std::vector<double> judged = {};  // if the judge compares something that is computed from them; else empty
};

// Helper kernels that wrote an input of the judged kernel. A wrong helper of the variant itself fails the case.
struct HelperCheck {
  std::string_view family;
  std::function<std::optional<BrokenPromise>(const Results&)> find_fault;
};

// A later kernel that took the judged output as its input. It gets a verdict of its own, which does not decide the case.
struct LaterStage {
  std::string_view family;
  std::size_t output = 0;                                   // number of the buffer
  std::function<oracles::Expected(const Results&)> expect;  // throws std::invalid_argument for inputs outside of the oracle's domain
};

struct Job {
  std::shared_ptr<const void> inputs;  // keeps alive what Piece::bytes point to
  std::vector<JobBuffer> buffers = {};
  std::vector<Pass> passes = {};  // the first one is the case; others repeat it or probe

  std::vector<std::size_t> judged = {};  // numbers of the outputs whose guard bands are judged; the first one holds the judged elements
  std::size_t row_length = 1;            // elements of a row of the judged output
  std::string_view output_unit = {};     // what Reading::output holds if not elements of the judged output: "word of the partials"
  // How the judged elements are made of the outputs. Empty: they are the first judged output.
  std::function<Reading(const Results&)> read = {};
  // The same for values without rounding; `shadows(buffer)` gives those of the first pass.
  std::function<std::vector<double>(const std::function<std::vector<double>(std::size_t)>& shadows)> read_shadows = {};
  std::function<bool(std::size_t element)> is_discrete = {};      // an integer, not a rounded number; empty: none is
  std::function<std::string(std::size_t element)> describe = {};  // the element in words, where row and coordinate do not say it

  // The oracle on the inputs; `expect_exact` without the conversions of the contract (q to half, say), empty if there are none.
  std::function<oracles::Expected()> expect = {};
  std::function<oracles::Expected()> expect_exact = {};
  std::function<void(oracles::Expected&)> widen = {};  // adds to bounds what the job's own reading may err by
  std::optional<double> informative_ratio = {};        // as JudgeOptions has it
  bool constant_is_expected = false;                   // one value in all elements is no sign of a comparison that compares nothing
  // Why the inputs are outside of the oracle's domain, asked of cases that fail; nothing if they are inside.
  std::function<std::optional<std::string>()> outside_of_domain = {};

  // Promises of the contract that values alone do not show.
  std::function<std::vector<BrokenPromise>(const Results&)> find_broken_promises = {};
  std::vector<HelperCheck> helper_checks = {};
  std::vector<LaterStage> later_stages = {};
  bool digests_guards = true;  // whether the digest of outputs includes guard bands; recorded digests depend on it

  // Its number.
  std::size_t add(JobBuffer buffer) {
    buffers.push_back(std::move(buffer));
    return buffers.size() - 1;
  }
};

// What a job is made from. The job keeps no reference to any of it but the kernels.
struct JobRequest {
  const Case& about;  // one that the launch code accepts
  const Source& source;
  const kernels::BoundKernel& kernel;
  const kernels::Variant& variant;
  // nullptr if the case needs none.
  std::function<const kernels::BoundKernel*(std::string_view family, const kernels::FunctionKey& function)> helper;
};

}  // namespace assay::families
