// Generates the inputs of family `attention` and stores them in their types.
// Long because the recipes of all fixtures stand beside the one class that stores what they say.
#include "families/attention/inputs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "fixtures/counter.h"
#include "fixtures/dense.h"
#include "fixtures/hdf5_file.h"
#include "math/functions.h"
#include "metal/guarded_memory.h"
#include "oracles/arithmetic.h"

namespace assay::families::attention {
namespace {

using fixtures::Counter;
using fixtures::Stream;
using Row = std::span<double>;

constexpr float kHidden = -std::numeric_limits<float>::infinity();

// The bits of a number that half represents exactly. So does float, from which processors convert.
std::uint16_t half_bits(double value) { return std::bit_cast<std::uint16_t>(static_cast<_Float16>(static_cast<float>(value))); }

void put(std::span<std::byte> bytes, std::size_t at, const auto& value) { std::memcpy(&bytes[at], &value, sizeof value); }

// Stores 32 numbers as a block with a scale in half, and replaces them by what the block says. As ggml's formats do: q8_0 is scale and 32
// signed bytes; q4_0 is scale and 16 bytes, low halves first, each half minus 8; q4_1 has a minimum in half too.
void store_block(Storage type, Row values, std::span<std::byte> bytes, std::size_t at) {
  const auto [low, high] = std::ranges::minmax(values);
  const double most = std::max(std::abs(low), std::abs(high));
  const bool has_minimum = type == Storage::q4_1;
  const double steps = type == Storage::q8_0 ? 127.0 : has_minimum ? 15.0 : 7.0;
  const double minimum = has_minimum ? oracles::round_to_half(low) : 0.0;
  // The largest number of a block of q4_0 has the code -8, so that its scale has either sign.
  const double exact_scale = has_minimum ? (high - low) / steps : type == Storage::q8_0 ? most / steps : (-low > high ? low : high) / -8.0;
  const double scale = oracles::round_to_half(exact_scale);
  put(bytes, at, half_bits(scale));
  if (has_minimum) put(bytes, at + 2, half_bits(minimum));
  const std::size_t codes = at + (has_minimum ? 4 : 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double exact = scale == 0.0 ? 0.0 : (values[i] - minimum) / scale;
    const double lowest = type == Storage::q8_0 ? -127.0 : has_minimum ? 0.0 : -8.0;
    const double code = std::clamp(std::nearbyint(exact), lowest, steps);
    values[i] = minimum + scale * code;
    const auto stored = static_cast<int>(code) + (type == Storage::q4_0 ? 8 : 0);
    if (type == Storage::q8_0) {
      bytes[codes + i] = static_cast<std::byte>(stored);
    } else if (i < 16) {
      bytes[codes + i] = static_cast<std::byte>(stored);
    } else {
      bytes[codes + i - 16] |= static_cast<std::byte>(stored << 4);
    }
  }
}

// The bytes that a row of so many numbers has.
std::size_t row_bytes(Storage type, std::size_t numbers) {
  const ElementSize element = element_size(type);
  return numbers / element.coordinates * element.bytes;
}

// Stores a row, and replaces its numbers by the stored ones.
void store_row(Storage type, Row row, std::span<std::byte> bytes) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (type == Storage::float32) {
      row[i] = static_cast<double>(static_cast<float>(row[i]));
      put(bytes, 4 * i, static_cast<float>(row[i]));
    } else if (type == Storage::half) {
      row[i] = oracles::round_to_half(row[i]);
      put(bytes, 2 * i, half_bits(row[i]));
    } else if (type == Storage::bfloat) {
      const std::uint16_t bits = fixtures::bfloat_bits(row[i]);
      row[i] = oracles::bfloat_value(bits);
      put(bytes, 2 * i, bits);
    } else if (i % 32 == 0) {
      store_block(type, row.subspan(i, 32), bytes, i / 32 * element_size(type).bytes);
    }
  }
}

// The coordinates of queries, keys and values of one fixture.
class Recipe {
 public:
  Recipe(const Shape& shape, std::string_view fixture) : shape_(shape), fixture_(fixture) {
    // Scores of unit keys are of the order of 1, also if the scale is 1.
    while (query_size_ * static_cast<double>(shape.scale) * std::sqrt(static_cast<double>(shape.dk)) > 1.0 + 0x1p-10) query_size_ /= 2;
  }

  // `index` is the number of the row in q; its head reads key/value head `kv_head` of all batches.
  void query(std::size_t index, std::size_t kv_head, Row row) const {
    if (follows_) {
      const double length = 1.0 + 0.05 * noise_.uniform(index);
      const Row direction = direction_.of(query_, (kv_head + 7) * 4096, row.size());
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = query_size_ * (length * direction[i]);
    } else {
      query_.normals(index * row.size(), row);
      for (double& x : row) x *= query_size_;
    }
    const double factor = is("heavy") ? 0.5 : is("zero") ? 0.0 : is("tiny") ? 0x1p-10 : 1.0;
    if (factor == 0.0) return clear(row);
    for (double& x : row) x *= factor;
  }

  // Key `key` of a head; it may be behind the last one.
  void key(std::size_t kv_head, std::size_t key, Row row) const {
    if (const auto target = score(kv_head, key)) return aim(kv_head, *target, row);
    if (is("zero")) return clear(row);
    const bool is_equal = is("uniform") || is("drift") || is("cancel");
    const std::size_t first = (is_equal ? kv_head : kv_head * kMostRows + key) * row.size();
    if (is("heavy")) {
      key_.students(first, row);
      for (double& x : row) x = std::clamp(x, -kHeaviest, kHeaviest);
    } else {
      key_.normals(first, row);
    }
    if (is("outlier")) row[where_.below(kv_head, row.size())] += 12.0;
  }

  void value(std::size_t kv_head, std::size_t key, Row row) const {
    if (is("zero")) return clear(row);
    const std::size_t index = kv_head * kMostRows + key;
    if (is("heavy")) return value_.students(index * row.size(), row);
    value_.normals(index * row.size(), row);
    const bool is_near_common = is("large") || is("all_negative") || is("softcap_edge");
    // No error of a score this large shows in a mean of equal values, so a wrong maximum alone does.
    const bool is_common = is("below_sentinels");
    if (is_near_common || is_common || is("cancel")) {
      const Row common = common_.of(value_, (kv_head + 1) * kMostRows * 4096, row.size());
      const double sign = key % 2 == 0 ? 1.0 : -1.0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const double away = std::copysign(1.0, common[i]) + common[i];
        row[i] = is_common ? away : is_near_common ? away + 0.1 * row[i] : sign * common[i] + 0.02 * row[i];
      }
    } else if (is("drift")) {
      for (double& x : row) x = 1.0 + 0.25 * x;
    } else {
      // Of the share that a sink leaves of it, half still has digits.
      const double size = 0.5 + size_.uniform(index);
      const double tiny = is("tiny") ? (shape_.sinks ? 0x1p-8 : 0x1p-12) : 1.0;
      for (double& x : row) x = size * x * tiny;
    }
  }

  // Comparable with the scores; a sink is not capped.
  [[nodiscard]] double sink(std::size_t head) const {
    const bool is_capped = shape_.softcap != 0;
    const double normal = where_.normal(1000 + head);
    // Half still has most digits of what a single key leaves beside the highest of them.
    if (is("sink_dominates")) return 4.0 + static_cast<double>(head % 3);
    if (is("large")) return is_capped ? shape_.softcap : 1.025 * large() + normal;
    if (is("all_negative")) return is_capped ? -shape_.softcap : kNegative - 8.0 + std::clamp(normal, -2.0, 2.0);
    if (is("below_sentinels")) return is_capped ? -shape_.softcap : kDeep;
    // Among the scores, so that it counts beside one low score, and no score vanishes beside it.
    return is("softcap_edge") ? 18.0 : normal;
  }

 private:
  static constexpr std::size_t kMostRows = std::size_t{1} << 21;
  static constexpr double kNegative = -200.0;
  // Float resolves the scores of keys below it; a long context has heavier ones.
  static constexpr double kHeaviest = 100.0;
  // Below the usual finite starts of a maximum: -1e3, -1e4, half of the lowest half. Inside the domain, whose end is the lowest half.
  static constexpr double kDeep = -40000.0;
  static constexpr std::size_t kMostSummed = std::size_t{1} << 18;

  // The softmax of a sink and one key cannot hide the rounding of a score, so scores are smaller beside sinks. The error of a score grows
  // with the root of its terms.
  [[nodiscard]] double large() const {
    return shape_.sinks ? 200.0 : 3000.0 * std::sqrt(128.0 / static_cast<double>(std::max<std::size_t>(128, shape_.dk)));
  }
  [[nodiscard]] bool is(std::string_view name) const { return fixture_ == name; }

  static void clear(Row row) { std::ranges::fill(row, 0.0); }

  // The score that a key shall have for the queries of its head, where the fixture decides that.
  [[nodiscard]] std::optional<double> score(std::size_t kv_head, std::size_t key) const {
    const double random = size_.uniform(kv_head * kMostRows + key);
    const std::size_t last = shape_.keys - 1;
    // In `needle` the key with most of the weight alternates between first, last and any. Those behind the end score even higher.
    if (is("needle") && key > last) return 30.0;
    if (is("needle") && key == needle(kv_head)) return 9.0;
    // The others have weights of about 1e-5, which float still resolves: they count where the last key is hidden. So many more that a sum
    // in float cannot add them up count together less than one.
    if (is("one_key_far")) return key == last ? 8.0 : (shape_.keys > kMostSummed ? -16.0 : -4.0) + random;
    // The difference is above 88.7, beyond which exp of float is infinite.
    if (is("one_key_above")) return key == last ? 55.0 : -55.0 - random;
    if (is("one_key_first")) return key == 0 ? 8.0 : -4.0 + random;
    if (is("large")) return large() + 0.05 * large() * random;
    if (is("all_negative")) return kNegative - 10.0 * random;
    if (is("below_sentinels")) return kDeep - 300.0 * random;
    if (is("softcap_edge")) return (shape_.softcap == 0 ? 30.0 : shape_.softcap) * (0.25 + 1.5 * random);
    return std::nullopt;
  }
  [[nodiscard]] std::size_t needle(std::size_t kv_head) const {
    const std::size_t kind = (kv_head + shape_.seed) % 3;
    return kind == 0 ? 0 : kind == 1 ? shape_.keys - 1 : where_.below(kv_head, shape_.keys);
  }

  void aim(std::size_t kv_head, double target, Row row) const {
    const Row direction = direction_.of(query_, (kv_head + 7) * 4096, row.size());
    double square = 0.0;
    for (const double x : direction) square += x * x;
    const double factor = target / (static_cast<double>(shape_.scale) * query_size_ * square);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = factor * direction[i];
  }

  // A row that many rows one after the other are made of: the last one that was asked for.
  class CommonRow {
   public:
    [[nodiscard]] Row of(const Counter& counter, std::uint64_t first, std::size_t size) {
      if (row_.size() != size || first_ != first) {
        row_.resize(size);
        first_ = first;
        counter.normals(first, row_);
      }
      return row_;
    }

   private:
    std::vector<double> row_;
    std::uint64_t first_ = 0;
  };

  const Shape& shape_;
  std::string_view fixture_;
  double query_size_ = 1.0;
  bool follows_ = is("needle") || is("large") || is("all_negative") || is("below_sentinels") || is("softcap_edge") || is("one_key_far") ||
                  is("one_key_first") || is("one_key_above") || is("sink_dominates");
  mutable CommonRow direction_, common_;
  Counter query_{shape_.seed, Stream::query}, key_{shape_.seed, Stream::key}, value_{shape_.seed, Stream::value},
      size_{shape_.seed, Stream::value_size}, noise_{shape_.seed, Stream::noise}, where_{shape_.seed, Stream::place};
};

class Maker {
 public:
  Maker(const Shape& shape, const Source& source, const kernels::Variant& variant)
      : shape_(shape),
        layouts_(shape),
        source_(source),
        fixture_(source.is_file() ? std::string_view() : source.generator->name),
        recipe_(shape, fixture_),
        readable_rows_(static_cast<std::size_t>(variant.setting("reads_padding"))),
        max_bias_(static_cast<double>(variant.setting("max_bias"))) {
    if (!source.is_file()) return;
    for (const fixtures::Tensor& tensor : source.tensors) {
      std::vector<float> values = tensor.values<float>();
      const bool is_mask = tensor.spec.path == "inputs/mask";
      if (!std::ranges::all_of(values, [&](float value) { return std::isfinite(value) || (is_mask && value == kHidden); }))
        throw fixtures::FileError(fixtures::file_message(source.file, tensor.spec.path, "contains a number that is not finite"));
      given_.emplace(tensor.spec.path, std::move(values));
    }
  }

  Inputs make() {
    for (const auto& [name, placed] : layouts_.all()) {
      if (name != "out" && name != "lse") made_.memory.try_emplace(std::string(placed.buffer), layouts_.bytes(placed.buffer));
    }
    make_queries();
    make_rows("k", shape_.k, shape_.dk, made_.k, &Recipe::key);
    make_rows("v", shape_.v, shape_.dv, made_.v, &Recipe::value);
    make_mask();
    make_lists();
    return std::move(made_);
  }

 private:
  Memory& memory_of(std::string_view tensor) { return made_.memory.find(layouts_.at(tensor).buffer)->second; }

  // Row `index` of a tensor of the file.
  void copy_row(std::string_view path, std::size_t index, Row row) const {
    const std::vector<float>& values = given_.find(path)->second;
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<double>(values[index * row.size() + i]);
  }

  void make_queries() {
    std::vector<double> row(shape_.dk);
    std::size_t index = 0;
    for (std::size_t b = 0; b < shape_.batches; ++b) {
      for (std::size_t h = 0; h < shape_.heads; ++h) {
        const std::size_t kv_head = shape_.kv_batch(b) * shape_.kv_heads + h / (shape_.heads / shape_.kv_heads);
        for (std::size_t i = 0; i < shape_.queries; ++i, ++index) {
          if (source_.is_file())
            copy_row("inputs/q", index, row);
          else
            recipe_.query(index, kv_head, row);
          store_row(shape_.q, row, memory_of("q").at(layouts_.at("q").byte_of({b, h, i, 0}), row_bytes(shape_.q, shape_.dk)));
          made_.q.insert(made_.q.end(), row.begin(), row.end());
        }
      }
    }
  }

  // The byte of a row of k or v.
  [[nodiscard]] std::size_t row_at(const Placed& placed, std::size_t batch, std::size_t head, std::size_t key) const {
    const std::size_t slot = shape_.slot(key);
    if (shape_.cache != Cache::paged) return placed.byte_of({batch, head, slot, 0});
    return placed.byte_of({block_of(shape_, batch, slot / shape_.page), head, slot % shape_.page, 0});
  }

  void make_rows(std::string_view name, Storage type, std::size_t width, std::vector<float>& values,
                 void (Recipe::*recipe)(std::size_t, std::size_t, Row) const) {
    const Placed& placed = layouts_.at(name);
    std::vector<double> row(width);
    values.resize(shape_.kv_batches * shape_.kv_heads * shape_.keys * width);
    for (std::size_t b = 0; b < shape_.kv_batches; ++b) {
      // The longest batch that reads these rows.
      std::size_t length = 0;
      for (std::size_t reader = b; reader < shape_.batches; reader += shape_.kv_batches) length = std::max(length, shape_.kv_len[reader]);
      for (std::size_t g = 0; g < shape_.kv_heads; ++g) {
        const std::size_t rows = std::min(length + readable_rows_, shape_.capacity);
        for (std::size_t j = 0; j < rows; ++j) {
          // A page that batches share has the keys of the first of them.
          const std::size_t owner =
              shape_.cache == Cache::paged && block_of(shape_, b, j / shape_.page) == block_of(shape_, 0, j / shape_.page) ? 0 : b;
          if (!source_.is_file()) {
            (recipe_.*recipe)(owner * shape_.kv_heads + g, j, row);
          } else if (j < shape_.keys) {
            copy_row(name == "k" ? "inputs/k" : "inputs/v", (owner * shape_.kv_heads + g) * shape_.keys + j, row);
          } else {
            std::ranges::fill(row, 0.0);
          }
          store_row(type, row, memory_of(name).at(row_at(placed, b, g, j), row_bytes(type, width)));
          if (j < shape_.keys)
            std::ranges::copy(row, values.begin() + static_cast<std::ptrdiff_t>(((b * shape_.kv_heads + g) * shape_.keys + j) * width));
        }
      }
    }
  }

  // Whether a boolean or additive mask hides every key from a query. Every third seed has such rows, and with a single row it is that one;
  // so a third of the cases of a suite has them, whatever their number of queries. `mask_rows` has them with every seed.
  [[nodiscard]] bool hides_row(std::size_t plane, std::size_t query) const {
    const std::size_t row = plane * shape_.queries + query;
    if (fixture_ == "mask_rows" && (query + plane) % 4 == 2) return true;
    return shape_.seed % 3 == 0 && row % 3 == 0;
  }

  // Whether the fixture has every query of a boolean or additive mask see the same few keys.
  [[nodiscard]] bool hides_parts() const { return fixture_ == "mask_late" || fixture_ == "mask_last" || fixture_ == "mask_ends"; }
  [[nodiscard]] bool hides_key(std::size_t key) const {
    if (fixture_ == "mask_late") return key < shape_.keys / 2;
    return key + 1 != shape_.keys && !(fixture_ == "mask_ends" && key == 0);
  }

  // What a stored mask adds to a score.
  [[nodiscard]] float mask_value(std::size_t plane, std::size_t query, std::size_t key) const {
    if (source_.is_file()) return given_.find("inputs/mask")->second[(plane * shape_.queries + query) * shape_.keys + key];
    if (shape_.mask == Mask::causal_alibi && !shape_.sees(shape_.batches - 1, query, key)) return kHidden;
    if (shape_.has_slopes())
      return -static_cast<float>(std::abs(static_cast<std::int64_t>(key) - static_cast<std::int64_t>(query) - shape_.offset));
    const Counter random(shape_.seed, Stream::noise);
    const std::uint64_t bits = random.bits(((plane + 1) * shape_.queries + query) * shape_.keys + key);
    if (hides_row(plane, query) || (hides_parts() && hides_key(key))) return kHidden;
    // A third is hidden, but never all keys, and in `mask_rows` a quarter of the queries sees a single key.
    const bool is_single = fixture_ == "mask_rows" && (query + plane) % 4 == 0;
    // A single key may be in any chunk, so that whoever reads those before it sees nothing.
    const std::size_t kept = is_single ? random.below(((plane + 1) << 32U) + query, shape_.keys) : (query + plane) % shape_.keys;
    if (!hides_parts() && key != kept && (is_single || bits % 3 == 0)) return kHidden;
    if (shape_.mask == Mask::boolean) return 0.0F;
    constexpr std::array<float, 5> kAdded = {0.0F, -0.5F, 0.25F, -2.0F, 1.0F};
    return kAdded[(bits >> 8U) % kAdded.size()];
  }

  void make_mask() {
    if (shape_.mask < Mask::boolean) return;
    const Placed& placed = layouts_.at("mask");
    const std::size_t row_size = shape_.keys * static_cast<std::size_t>(placed.tensor.element_bytes);
    const std::size_t batches = shape_.mask_per_batch ? shape_.batches : 1;
    const std::size_t heads = shape_.mask_per_head ? shape_.heads : 1;
    for (std::size_t b = 0; b < batches; ++b) {
      for (std::size_t h = 0; h < heads; ++h) {
        for (std::size_t i = 0; i < shape_.queries; ++i) {
          const std::span<std::byte> row = memory_of("mask").at(placed.byte_of({b, h, i, 0}), row_size);
          for (std::size_t j = 0; j < shape_.keys; ++j) {
            float value = mask_value(b * heads + h, i, j);
            if (shape_.mask == Mask::boolean) {
              row[j] = value == kHidden ? std::byte{0} : std::byte{1};
            } else if (shape_.mask_type == Storage::half) {
              const double stored = oracles::round_to_half(static_cast<double>(value));
              put(row, 2 * j, half_bits(stored));
              value = static_cast<float>(stored);
            } else if (shape_.mask_type == Storage::bfloat) {
              const std::uint16_t bits = fixtures::bfloat_bits(static_cast<double>(value));
              put(row, 2 * j, bits);
              value = static_cast<float>(oracles::bfloat_value(bits));
            } else {
              put(row, 4 * j, value);
            }
            made_.mask.push_back(value);
          }
        }
      }
    }
  }

  // ALiBi's slopes (Press et al., 2022): powers of 2^(-max_bias / n) for the largest power of two n, and odd powers of its root behind
  // them.
  void make_lists() {
    std::size_t largest = 1;
    while (2 * largest <= shape_.heads) largest *= 2;
    for (std::size_t h = 0; h < shape_.heads; ++h) {
      const double step = max_bias_ / static_cast<double>(largest) / (h < largest ? 1.0 : 2.0);
      const double power = h < largest ? static_cast<double>(h + 1) : static_cast<double>(2 * (h - largest) + 1);
      made_.slopes.push_back(static_cast<float>(math::exp2(-step * power)));
      put(memory_of("slopes").at(4 * h, 4), 0, made_.slopes.back());
      const bool is_given = source_.is_file() && shape_.sinks;
      double sink = is_given ? static_cast<double>(given_.find("inputs/sinks")->second[h]) : recipe_.sink(h);
      const std::size_t sink_bytes = row_bytes(shape_.sink_type, 1);
      store_row(shape_.sink_type, {&sink, 1}, memory_of("sinks").at(h * sink_bytes, sink_bytes));
      if (shape_.sinks) made_.sinks.push_back(static_cast<float>(sink));
    }
    for (std::size_t b = 0; b < shape_.batches; ++b) {
      put(memory_of("kv_len").at(4 * b, 4), 0, static_cast<std::int32_t>(shape_.kv_len[b]));
      if (shape_.cache != Cache::paged) continue;
      for (std::size_t page = 0; page < shape_.pages(); ++page)
        put(memory_of("block_table").at(layouts_.at("block_table").byte_of({b, page}), 4), 0,
            static_cast<std::int32_t>(block_of(shape_, b, page)));
    }
  }

  const Shape& shape_;
  Layouts layouts_;
  const Source& source_;
  std::string_view fixture_;
  Recipe recipe_;
  std::map<std::string, std::vector<float>, std::less<>> given_;  // tensors of the file
  std::size_t readable_rows_;
  double max_bias_;
  Inputs made_;
};

}  // namespace

oracles::BiasRow Inputs::bias(const Shape& shape) const {
  if (shape.mask == Mask::none) return {};
  return [this, &shape](std::size_t batch, std::size_t head, std::size_t query, std::span<double> row) {
    if (mask.empty()) {
      for (std::size_t key = 0; key < row.size(); ++key) {
        if (!shape.sees(batch, query, key)) row[key] = static_cast<double>(kHidden);
      }
      return;
    }
    const std::size_t heads = shape.mask_per_head ? shape.heads : 1;
    const std::size_t plane = (shape.mask_per_batch ? batch : 0) * heads + (shape.mask_per_head ? head : 0);
    const float* from = mask.data() + (plane * shape.queries + query) * shape.keys;
    const double factor = shape.has_slopes() ? static_cast<double>(slopes[head]) : 1.0;
    for (std::size_t key = 0; key < row.size(); ++key) row[key] = factor * static_cast<double>(from[key]);
  };
}

oracles::AnyAttentionInputs Inputs::tensors(const Shape& shape) const {
  return {.q = q, .k = k, .v = v, .sinks = sinks, .bias = bias(shape)};
}

Inputs make_inputs(const Shape& shape, const Source& source, const kernels::Variant& variant) {
  return Maker(shape, source, variant).make();
}

std::vector<fixtures::TensorSpec> file_tensors(const Shape& shape) {
  const auto spec = [](std::string path, std::vector<std::uint64_t> sizes) {
    return fixtures::TensorSpec{std::move(path), fixtures::Element::float32, std::move(sizes)};
  };
  std::vector<fixtures::TensorSpec> tensors = {spec("inputs/q", {shape.batches, shape.heads, shape.queries, shape.dk}),
                                               spec("inputs/k", {shape.kv_batches, shape.kv_heads, shape.keys, shape.dk}),
                                               spec("inputs/v", {shape.kv_batches, shape.kv_heads, shape.keys, shape.dv})};
  if (shape.sinks) tensors.push_back(spec("inputs/sinks", {shape.heads}));
  const std::size_t planes = (shape.mask_per_batch ? shape.batches : 1) * (shape.mask_per_head ? shape.heads : 1);
  if (shape.mask >= Mask::boolean) tensors.push_back(spec("inputs/mask", {planes, shape.queries, shape.keys}));
  return tensors;
}

}  // namespace assay::families::attention
