// The job of family `quantize`: one token per head in, indices and norms in one slot of a cache out.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/code_bytes.h"
#include "base/repeats.h"
#include "families/described_launch.h"
#include "families/mistakes.h"
#include "families/quantize/inputs.h"
#include "families/quantize/omissions.h"
#include "families/quantize/rows.h"
#include "metal/guarded_memory.h"
#include "oracles/quantize.h"

namespace assay::families {
namespace {

// A byte cannot be NaN, so two passes with different fills are needed to detect bytes that were never written.
constexpr std::array kFills = {std::byte{0xa5}, std::byte{0x5a}};

constexpr const char* kStraySlot = "stray slot";
constexpr const char* kOldCache = "old cache";

// Larger buffers of a cache have the fill in the slot only, and zeros elsewhere that use no memory until a kernel writes them.
constexpr std::size_t kLargestFilled = std::size_t{1} << 28U;

// The places of a case's outputs in its cache, and their conversion to rows of judged elements.
struct Cache {
  std::size_t heads, capacity, slot, head_dim;
  int bits;
  QuantizedRows rows;
  std::size_t packed = 0, norms = 0, inputs = 0;  // numbers of the job's buffers; `inputs` only with the probe

  Cache(const QuantizeParameters& p, const QuantizedRows& quantized)
      : heads(p.num_kv_heads),
        capacity(p.cache_capacity),
        slot(p.is_sliding ? p.write_pos % p.cache_capacity : p.write_pos),
        head_dim(p.head_dim),
        bits(static_cast<int>(p.codebook_bits)),
        rows(quantized) {}

  [[nodiscard]] std::size_t row_bytes() const { return base::code_bytes(bits, head_dim); }
  [[nodiscard]] std::size_t blocks() const { return rows.blocks(); }

  // The first write outside of the slot in one pass.
  [[nodiscard]] std::optional<BrokenPromise> find_stray_write(const Results& results, std::size_t pass) const {
    const auto stray = [&](const char* part, std::size_t index, std::size_t per_slot) {
      return BrokenPromise{
          kStraySlot, {{"part", part}, {"slot", index / per_slot % capacity}, {"head", index / per_slot / capacity}, {"wanted", slot}}};
    };
    if (const auto found = find_outside(results.at(packed, pass), std::byte(), row_bytes())) return stray("indices", *found, row_bytes());
    if (const auto found = find_outside(results.at(norms, pass), float(), blocks())) return stray("norm", *found, blocks());
    return std::nullopt;
  }

  // The first element outside of the slot that a pass changed.
  [[nodiscard]] std::optional<std::size_t> find_outside(const BufferResult& result, auto element, std::size_t per_slot) const {
    using T = decltype(element);
    for (const Range& part : result.parts) {
      const std::size_t last = (part.at + part.length) / sizeof(T);
      for (std::size_t i = part.at / sizeof(T); i < last;) {
        const std::size_t position = i / per_slot;  // of all heads
        // Where the slot of the next head begins, or that of this one. A slot behind the cache is none.
        const std::size_t next = slot < capacity ? ((position + capacity - slot - 1) / capacity * capacity + slot) * per_slot : last;
        if (next <= i) {
          i = (position + 1) * per_slot;
          continue;
        }
        const std::size_t end = std::min(last, next);
        if (const auto changed = find_changed<T>(result, i, end)) return changed;
        i = end;
      }
    }
    return std::nullopt;
  }

  // The first of these elements that a pass changed.
  template <typename T>
  [[nodiscard]] static std::optional<std::size_t> find_changed(const BufferResult& result, std::size_t first, std::size_t last) {
    const bool is_sparse = result.bytes.size() > kLargestFilled;
    const auto is_changed = [&](std::size_t i) {
      if (!is_sparse) return result.written<T>(i);
      return std::bit_cast<std::array<std::byte, sizeof(T)>>(result.of<T>()[i]) != std::array<std::byte, sizeof(T)>();
    };
    // What was there repeats every four bytes at most. Nearly always nothing is changed, which a comparison of all at once finds out.
    constexpr std::size_t kPeriod = sizeof(metal::kPoisonWord);
    const std::size_t checked = std::min(last, first + kPeriod / sizeof(T));
    for (std::size_t i = first; i < checked; ++i) {
      if (is_changed(i)) return i;
    }
    if (base::repeats(result.bytes.subspan(first * sizeof(T), (last - first) * sizeof(T)), kPeriod)) return std::nullopt;
    for (std::size_t i = checked; i < last; ++i) {
      if (is_changed(i)) return i;
    }
    return std::nullopt;
  }

  // An output with `per_slot` bytes in each slot of each head.
  [[nodiscard]] JobBuffer buffer(std::string_view argument, std::size_t per_slot) const {
    JobBuffer buffer = output_buffer(argument, heads * capacity * per_slot);
    if (buffer.size <= kLargestFilled) return buffer;
    buffer.has_guards = false;
    buffer.gap = Gap::untouched;
    buffer.fills = {kFills.begin(), kFills.end()};
    for (std::size_t head = 0; head < heads; ++head) buffer.filled.push_back({(head * capacity + slot) * per_slot, per_slot});
    return buffer;
  }

  // Calls f(head, byte of the row, its value after either pass, whether it was written) for each byte of the slot.
  template <typename F>
  void for_each_code(const Results& results, F f) const {
    const BufferResult& first = results.at(packed, 0);
    const BufferResult& second = results.at(packed, 1);
    for (std::size_t head = 0; head < heads; ++head) {
      for (std::size_t i = 0; i < row_bytes(); ++i) {
        const std::size_t place = (head * capacity + slot) * row_bytes() + i;
        f(head, i, first.bytes[place], second.bytes[place], first.written<std::byte>(place) || second.written<std::byte>(place));
      }
    }
  }

  // The first byte of the slot that depends on the previous contents of the cache.
  [[nodiscard]] std::optional<BrokenPromise> find_dependence(const Results& results) const {
    std::optional<BrokenPromise> found;
    const auto number = [](std::byte byte) { return std::to_integer<std::uint64_t>(byte); };
    for_each_code(results, [&](std::size_t head, std::size_t i, std::byte first, std::byte second, bool is_written) {
      if (found || !is_written || first == second) return;
      found = {kOldCache,
               {{"byte", i},
                {"head", head},
                {"first", number(first)},
                {"first_before", number(kFills[0])},
                {"second", number(second)},
                {"second_before", number(kFills[1])}}};
    });
    return found;
  }

  // [heads, D]; poison where nothing was written.
  [[nodiscard]] std::vector<float> indices(const Results& results) const {
    std::vector<float> values;
    for_each_code(results, [&](std::size_t, std::size_t, std::byte first, std::byte, bool is_written) {
      const auto add = [&](unsigned index) {
        values.push_back(is_written ? static_cast<float>(index) : std::bit_cast<float>(metal::kPoisonWord));
      };
      const auto byte = std::to_integer<unsigned>(first);
      if (bits == 4) {
        add(byte & 0xfU);
        add(byte >> 4U);
      } else {
        add(byte);
      }
    });
    return values;
  }

  // For each head, the number of bytes and words of its rows that a pass changed.
  [[nodiscard]] std::vector<float> changes(const Results& results) const {
    std::vector<float> counts(heads);
    const auto count = [&](std::size_t buffer, auto element, std::size_t per_head) {
      const BufferResult& result = results.at(buffer);
      for (std::size_t i = 0; i < heads * per_head; ++i) counts[i / per_head] += result.written<decltype(element)>(i) ? 1.0F : 0.0F;
    };
    count(packed, std::byte(), capacity * row_bytes());
    count(norms, float(), capacity * blocks());
    return counts;
  }

  template <typename Float>
  [[nodiscard]] std::vector<Float> norms_of_slot(std::span<const Float> all) const {
    std::vector<Float> values;
    for (std::size_t head = 0; head < heads; ++head) {
      const std::span<const Float> of_slot = all.subspan((head * capacity + slot) * blocks(), blocks());
      values.insert(values.end(), of_slot.begin(), of_slot.end());
    }
    return values;
  }
};

// There is no slot for the token, so nothing may change.
void judge_unchanged(Job& job, const Cache& cache) {
  job.row_length = 1;
  job.output_unit = "changed byte of the cache";
  job.read = [=](const Results& results) { return Reading{cache.changes(results)}; };
  job.expect = [heads = cache.heads] {
    return oracles::Expected{
        .value = std::vector<double>(heads), .bound = std::vector<double>(heads), .magnitude = std::vector<double>(heads, 1.0)};
  };
  job.constant_is_expected = true;
}

}  // namespace

std::vector<Promise> quantize_promises() {
  return {{.id = kStraySlot,
           .fields = {{"part", ValueType::word}, {"slot"}, {"head"}, {"wanted"}},
           .text =
               [](const BrokenPromise& it) {
                 return fmt::format("the kernel wrote {} of slot {} of head {}; it may write only slot {}",
                                    it.word("part") == "indices" ? "indices" : "a norm", it.count("slot"), it.count("head"),
                                    it.count("wanted"));
               },
           .subject = "part",
           .mistake = [](const BrokenPromise&, bool) -> std::optional<PromiseMistake> {
             return PromiseMistake{mistake::kLayout, "the kernel writes to the wrong place"};
           },
           .explains = Explains::guards},
          {.id = kOldCache,
           .fields = {{"byte"}, {"head"}, {"first"}, {"first_before"}, {"second"}, {"second_before"}},
           .text =
               [](const BrokenPromise& it) {
                 return fmt::format(
                     "byte {} of head {} depends on the previous contents of the cache: {:#04x} if it was {:#04x}, {:#04x} if it was "
                     "{:#04x}",
                     it.count("byte"), it.count("head"), it.count("first"), it.count("first_before"), it.count("second"),
                     it.count("second_before"));
               },
           .mistake = [](const BrokenPromise&, bool) -> std::optional<PromiseMistake> {
             return PromiseMistake{mistake::kUninitialised, "uninitialised memory is read"};
           },
           .explains = Explains::unwritten}};
}

Job quantize_job(const JobRequest& request) {
  Cache cache(quantize_parameters(request.test_case), quantized_rows(request.test_case));
  const auto input = std::make_shared<const std::vector<float>>(quantize_inputs(request.test_case, request.source));

  Job job{.inputs = input, .row_length = cache.rows.length()};
  JobBuffer source = input_buffer("src", std::as_bytes(std::span(*input)));
  source.has_guards = true;
  job.add(std::move(source));
  JobBuffer packed = cache.buffer("packed", cache.row_bytes());
  packed.element = metal::ScalarType::uint8;
  packed.fills = {kFills.begin(), kFills.end()};
  cache.packed = job.add(std::move(packed));
  cache.norms = job.add(cache.buffer("norms", cache.blocks() * sizeof(float)));
  job.judged = {cache.packed, cache.norms};
  if (cache.rows.has_inputs) {
    cache.inputs = job.add(output_buffer("rms_scratch", cache.heads * cache.head_dim * sizeof(float)));
    job.judged.push_back(cache.inputs);
  }
  job.passes.assign(2, launch_pass(request, job));
  job.digests_guards = false;

  if (request.test_case.beyond == kFullCacheOmission) {
    judge_unchanged(job, cache);
    return job;
  }
  job.read = [=](const Results& results) {
    const std::span<const float> inputs = cache.rows.has_inputs ? results.of(cache.inputs) : std::span<const float>();
    return Reading{actual_rows(cache.rows, cache.indices(results), cache.norms_of_slot(results.of(cache.norms)), inputs)};
  };
  job.read_shadows = [=](const auto& shadows) {
    const std::vector<double> norms = shadows(cache.norms);
    const std::vector<double> inputs = cache.rows.has_inputs ? shadows(cache.inputs) : std::vector<double>();
    const std::vector<double> indices(cache.heads * cache.head_dim);
    return actual_rows(cache.rows, indices, cache.norms_of_slot(std::span(norms)), inputs);
  };
  job.is_discrete = [rows = cache.rows](std::size_t element) { return rows.is_index(element % rows.length()); };
  job.describe = [rows = cache.rows](std::size_t element) {
    return fmt::format("{} of head {}", rows.describe(element % rows.length()), element / rows.length());
  };
  job.expect = [=, shape = quantize_request(request.test_case).shape(), depth = request.variant.accuracy.dot_depth.value_or(0),
                profile = request.profile] {
    return expected_rows(cache.rows, oracles::quantize(shape, *input, depth, profile), cache.bits);
  };
  job.find_broken_promises = [=](const Results& results) {
    std::vector<BrokenPromise> broken;
    const auto add = [&](std::optional<BrokenPromise> found) {
      if (found) broken.push_back(std::move(*found));
      return found.has_value();
    };
    add(cache.find_dependence(results));
    if (!add(cache.find_stray_write(results, 0))) add(cache.find_stray_write(results, 1));
    return broken;
  };
  return job;
}

}  // namespace assay::families
