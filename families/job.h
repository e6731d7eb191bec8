// A case as data for a device and the judge: buffers, dispatches, outputs and their expected values. harness/execute runs it.
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

#include "families/promise.h"
#include "families/source.h"
#include "kernels/binding.h"
#include "kernels/variant.h"
#include "metal/argument_layout.h"
#include "metal/buffer.h"
#include "metal/devices/encoder.h"
#include "metal/guarded_memory.h"
#include "oracles/arithmetic.h"
#include "oracles/expected.h"

namespace assay::families {

struct Case;

enum class BufferRole : std::uint8_t {
  input,    // must contain the same bytes after the run
  output,   // new for every pass; its bytes are part of the digest
  scratch,  // new for every pass; only the job itself reads it
};

// The bytes between and behind the contents of a buffer at the start of a pass.
enum class Gap : std::uint8_t {
  unwritten,  // metal::kPoisonWord: the judge reports output elements that still contain it
  forbidden,  // metal::kReadPoisonWord: results computed from it are NaN
  untouched,  // zeros, in pages that use no memory until they are touched
};

// Bytes of the case's inputs, and their offset in the buffer.
struct Piece {
  std::size_t at = 0;
  std::span<const std::byte> bytes;
};

// A part of a buffer, in bytes.
struct Range {
  std::size_t at = 0;
  std::size_t length = 0;
};

struct JobBuffer {
  std::string_view argument;  // the name in messages
  BufferRole role = BufferRole::input;
  std::size_t size = 0;                                    // bytes, without guard bands
  std::optional<std::size_t> needed = {};                  // bytes that the launch binds; nothing: all
  metal::ScalarType element = metal::ScalarType::float32;  // of an output: float32, bfloat16 or uint8
  std::vector<Piece> contents = {};                        // in ascending order, without overlaps
  Gap gap = Gap::unwritten;
  bool has_guards = false;            // poisoned bands of 4 KiB on both sides, which no kernel may write
  std::vector<std::byte> fills = {};  // one for each pass, instead of the gap: no value of a byte can mean "unwritten"
  // Of an output with gap `untouched`: the parts that have the fill, in whose bytes its digest consists. The rest stays zeros.
  std::vector<Range> filled = {};
};

// An input without gaps. The bytes must outlive the job.
[[nodiscard]] inline JobBuffer input_buffer(std::string_view argument, std::span<const std::byte> bytes) {
  return {.argument = argument, .size = bytes.size(), .contents = {{0, bytes}}};
}

// An output with guard bands.
[[nodiscard]] inline JobBuffer output_buffer(std::string_view argument, std::size_t size) {
  return {.argument = argument, .role = BufferRole::output, .size = size, .has_guards = true};
}

// Indexed by the number of the buffer.
using Views = std::span<const metal::BufferView>;

// One run of the case's dispatches on new outputs.
struct Pass {
  std::function<void(metal::ComputeEncoder& encoder, Views views)> encode;
  // Of a pass that only tests a promise: its breach, if the pass writes guard bands. Such a pass is omitted if an earlier pass wrote guard
  // bands, and its own are not judged.
  std::optional<BrokenPromise> probes = {};
};

// The contents of a buffer after a pass.
struct BufferResult {
  std::span<const std::byte> bytes;  // without guard bands
  bool has_intact_guards = true;
  std::optional<std::byte> fill = {};  // every byte of an output before the pass; nothing: metal::kPoisonWord
  // The parts outside of which all bytes are as before, for buffers of gigabytes: the others may not be read, which would take memory.
  std::vector<Range> parts = {};

  template <typename T = float>
  [[nodiscard]] std::span<const T> of() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  // Whether the kernel changed element i of an output.
  template <typename T = float>
  [[nodiscard]] bool written(std::size_t i) const {
    for (std::size_t at = i * sizeof(T); at < (i + 1) * sizeof(T); ++at) {
      if (bytes[at] != fill.value_or(static_cast<std::byte>(metal::kPoisonWord >> at % sizeof(metal::kPoisonWord) * 8))) return true;
    }
    return false;
  }
};

// By pass, then by buffer. Omitted probes are missing.
struct Results {
  std::vector<std::vector<BufferResult>> passes;

  [[nodiscard]] const BufferResult& at(std::size_t buffer, std::size_t pass = 0) const { return passes[pass][buffer]; }
  template <typename T = float>
  [[nodiscard]] std::span<const T> of(std::size_t buffer, std::size_t pass = 0) const {
    return at(buffer, pass).of<T>();
  }
};

// The elements that are judged.
struct Reading {
  std::vector<float> output;        // as stored by the kernel; their bits may not depend on the order of simdgroups
  std::vector<double> judged = {};  // if the judge compares values computed from the output; else empty
};

// Checks helper kernels, which wrote an input of the judged kernel. A wrong helper of the variant itself fails the case.
struct HelperCheck {
  std::string_view family;
  std::string_view stage;  // the name of the stage in reports: "pad"
  std::function<std::optional<BrokenPromise>(const Results&)> find_fault;
};

// A later kernel that took the judged output as its input. It gets a separate verdict, which does not affect that of the case.
struct LaterStage {
  std::string_view family;
  const char* promise;                                      // that its output is right
  std::size_t output = 0;                                   // number of the buffer
  std::function<oracles::Expected(const Results&)> expect;  // throws std::invalid_argument for inputs outside of the oracle's domain
};

struct Job {
  std::shared_ptr<const void> inputs;  // owns the bytes of Piece::bytes
  std::vector<JobBuffer> buffers = {};
  std::vector<Pass> passes = {};  // the first one is the case; others repeat it or are probes

  std::vector<std::size_t> judged = {};  // numbers of the outputs whose guard bands are judged; the first one contains the judged elements
  std::size_t row_length = 1;            // elements per row of the judged output
  std::string_view output_unit = {};     // the content of Reading::output if not elements of the judged output: "word of the partials"
  // Computes the judged elements from the outputs. Empty: they are the first judged output.
  std::function<Reading(const Results&)> read = {};
  // The same for values without rounding; `shadows(buffer)` gives those of the first pass.
  std::function<std::vector<double>(const std::function<std::vector<double>(std::size_t)>& shadows)> read_shadows = {};
  std::function<bool(std::size_t element)> is_discrete = {};      // whether an element is an integer, not a rounded number; empty: none is
  std::function<std::string(std::size_t element)> describe = {};  // describes an element where row and coordinate do not

  // The oracle's result for the inputs, with an entry per judged element, in their order; `expect_exact` is the one without the
  // conversions of the contract (q to half, for example), empty if there are none.
  std::function<oracles::Expected()> expect = {};
  std::function<oracles::Expected()> expect_exact = {};
  // Whether both depend on nothing but the case, its inputs, the profile, and the variant's accuracy, reads_hidden, settings and fields.
  // They may then be kept between runs (harness/execute/expectation_store.h).
  bool expectation_may_be_kept = false;
  std::function<void(oracles::Expected&)> widen = {};  // adds to bounds the error of the job's own reading
  std::optional<double> informative_ratio = {};        // see JudgeOptions, like the next two
  double output_spacing = 0.0;
  double declared_loss = 0.0;
  bool constant_is_expected = false;  // a single value in all elements does not mean that nothing is compared
  // Why the inputs are outside of the oracle's domain; nothing if they are inside. Only called for cases that fail.
  std::function<std::optional<std::string>()> outside_of_domain = {};

  // Finds broken promises of the contract that values alone do not reveal.
  std::function<std::vector<BrokenPromise>(const Results&)> find_broken_promises = {};
  std::vector<HelperCheck> helper_checks = {};
  std::vector<LaterStage> later_stages = {};
  bool digests_guards = true;  // whether the digest of outputs includes guard bands; recorded digests depend on this

  // Returns the number of the buffer.
  std::size_t add(JobBuffer buffer) {
    buffers.push_back(std::move(buffer));
    return buffers.size() - 1;
  }
};

// The data from which a job is made. The job keeps references only to the kernels.
struct JobRequest {
  const Case& test_case;  // must be accepted by the launch code
  const Source& source;
  const kernels::BoundKernel& kernel;
  const kernels::Variant& variant;
  // nullptr if the case needs none.
  std::function<const kernels::BoundKernel*(std::string_view family, const kernels::FunctionKey& function)> helper;
  // A function of the variant itself; nullptr if the case does not need it.
  std::function<const kernels::BoundKernel*(const kernels::FunctionKey& function)> function;
  // What the bounds allow the device (oracles/README.md, "Profiles").
  oracles::ArithmeticProfile profile = oracles::simulator_profile();
};

}  // namespace assay::families
