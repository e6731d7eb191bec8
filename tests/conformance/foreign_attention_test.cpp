// Attention kernels in the styles of ggml-metal and MLX, as a whole: tests/kernels/foreign/.
//
// Inputs make the softmax exact. Keys hold +1 and -1, a query holds two 4s, and the scale is so large that e^(score - max) is 1
// for the keys with the highest score and 0, by underflow, for all others. The output is then a mean of small integers, and the
// expectation follows the kernel's last one or two roundings and nothing else. A key that is read from a wrong place, a rescaling
// that is left out or a lane that is not met changes which keys are averaged.
// Long because it holds references of its own, in double precision, for three kernels.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <memory>

#include "metal/compile/library.h"
#include "metal/devices/simulator.h"
#include "tests/conformance/rows.h"

namespace assay::tests::foreign_attention_test {
namespace {

constexpr float kScale = 16;

enum class Cell { half, bfloat, float32, q4, q8 };

struct Problem {
  int head_dim = 128;
  int kv_len = 128;
  int heads = 2;
  int queries = 1;
  int causal_offset = 1 << 20;  // query r sees keys up to r + causal_offset
};

int key_at(int j, int d) { return ((j >> (d % 5)) ^ (d / 5)) & 1 ? 1 : -1; }
int value_at(int head, int j, int d) { return (7 * j + 3 * d + 5 * head) % 15 - 7; }
int first_dim(const Problem& p, int head, int query) { return (11 * query + 29 * head + 1) % p.head_dim; }
int query_at(const Problem& p, int head, int query, int d) {
  const int first = first_dim(p, head, query);
  return d == first || d == (first + 1) % p.head_dim ? 4 : 0;
}

struct Mean {
  int sum = 0;
  int count = 0;
};

Mean expected(const Problem& p, int head, int query, int d) {
  Mean mean;
  int best = std::numeric_limits<int>::min();
  const int first = first_dim(p, head, query);
  for (int j = 0; j < p.kv_len && j <= query + p.causal_offset; ++j) {
    const int score = key_at(j, first) + key_at(j, (first + 1) % p.head_dim);
    if (score > best) mean = {0, 0};
    best = std::max(best, score);
    if (score == best) mean = {mean.sum + value_at(head, j, d), mean.count + 1};
  }
  return mean;
}

class Bytes {
 public:
  template <typename T>
  void put(T value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    data.insert(data.end(), from, from + sizeof(T));
  }
  void put(Cell cell, float value) {
    if (cell == Cell::float32) return put(value);
    put(cell == Cell::half ? Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(value)) : static_cast<std::uint16_t>(b(value)));
  }
  std::vector<std::byte> data;
};

float read(Cell cell, const metal::Buffer& buffer, std::size_t index) {
  if (cell == Cell::float32) return buffer.as<float>()[index];
  const auto bits = buffer.as<std::uint16_t>()[index];
  return cell == Cell::half ? static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(bits))
                            : static_cast<float>(Eigen::numext::bit_cast<Eigen::bfloat16>(bits));
}

// A row of keys or values; the quantised formats hold blocks of 32 with a scale of 1 in front.
template <typename At>
void put_row(Bytes& to, Cell cell, int head_dim, At at) {
  for (int d = 0; d < head_dim; ++d) {
    const bool quantised = cell == Cell::q4 || cell == Cell::q8;
    if (quantised && d % 32 == 0) to.put(Cell::half, 1.0F);
    if (cell == Cell::q8) {
      to.put(static_cast<std::int8_t>(at(d)));
    } else if (cell == Cell::q4) {
      if (d % 32 < 16) to.put(static_cast<std::uint8_t>((at(d) + 8) | (at(d + 16) + 8) << 4));
    } else {
      to.put(cell, static_cast<float>(at(d)));
    }
  }
}

struct Tensors {
  Bytes q, k, v;
  std::size_t row_bytes = 0;  // of keys and values
};

Tensors tensors_of(const Problem& p, Cell queries, Cell cache) {
  Tensors t;
  for (int h = 0; h < p.heads; ++h) {
    for (int r = 0; r < p.queries; ++r)
      for (int d = 0; d < p.head_dim; ++d) t.q.put(queries, static_cast<float>(query_at(p, h, r, d)));
    for (int j = 0; j < p.kv_len; ++j) {
      put_row(t.k, cache, p.head_dim, [&](int d) { return key_at(j, d); });
      put_row(t.v, cache, p.head_dim, [&](int d) { return value_at(h, j, d); });
    }
  }
  t.row_bytes = t.k.data.size() / static_cast<std::size_t>(p.heads * p.kv_len);
  return t;
}

// One dispatch of a function of tests/kernels/foreign/<file>.metal.
class Kernel {
 public:
  Kernel(const std::string& file, metal::PipelineDescriptor pipeline)
      : library_(metal::Library::from_file(fmt::format("{}/tests/kernels/foreign/{}.metal", ASSAY_SOURCE_DIR, file))),
        simulator_({library_}),
        layout_(library_->pipeline(pipeline)->layout()) {
    simulator_.set_pipeline(pipeline);
  }

  void bind(std::string_view name, const Bytes& bytes) {
    buffers_.push_back(metal::Buffer::of<std::byte>(bytes.data));
    simulator_.set_buffer(argument(name).index, {buffers_.back().get(), 0});
  }
  metal::Buffer& output(std::string_view name, std::size_t bytes) {
    buffers_.push_back(std::make_unique<metal::Buffer>(bytes));
    simulator_.set_buffer(argument(name).index, {buffers_.back().get(), 0});
    return *buffers_.back();
  }
  template <typename T>
  void value(std::string_view name, T value) {
    simulator_.set_bytes(argument(name).index, std::as_bytes(std::span(&value, 1)));
  }
  // A struct, field by field; "field[2]" is an element of an array.
  void structure(std::string_view name, const std::map<std::string, double>& fields) {
    const auto& layout = argument(name).layout.value();
    std::vector<std::byte> bytes(layout.size);
    for (const auto& [field, value] : fields) {
      const auto bracket = field.find('[');
      const auto* found = layout.find(field.substr(0, bracket));
      ASSERT_NE(found, nullptr) << field;
      const std::size_t element = bracket == std::string::npos ? 0 : std::stoul(field.substr(bracket + 1));
      auto* to = bytes.data() + found->offset + element * (found->size / found->count);
      const auto integer = static_cast<std::int64_t>(value);
      const auto floating = static_cast<float>(value);
      if (found->type == metal::ScalarType::float32) {
        std::memcpy(to, &floating, sizeof floating);
      } else {
        std::memcpy(to, &integer, found->size / found->count);
      }
    }
    simulator_.set_bytes(argument(name).index, bytes);
  }
  void threadgroup(std::size_t bytes) { simulator_.set_threadgroup_memory_length(0, (bytes + 15) / 16 * 16); }
  void run(metal::Size3 threadgroups, metal::Size3 threads) {
    simulator_.dispatch_threadgroups(threadgroups, threads);
    for (const auto& hazard : simulator_.hazards()) ADD_FAILURE() << hazard.message;
  }

 private:
  const metal::BoundArgument& argument(std::string_view name) const {
    const auto* found = layout_.find(name);
    if (found == nullptr) throw std::invalid_argument(fmt::format("no argument '{}'", name));
    return *found;
  }

  std::shared_ptr<metal::Library> library_;
  metal::Simulator simulator_;
  metal::ArgumentLayout layout_;
  std::vector<std::unique_ptr<metal::Buffer>> buffers_;
};

// ---- decode, in the style of ggml-metal

struct VecRow {
  std::string function;
  Cell cache;
  int head_dim;
  int simdgroups;
  int workgroups;
  bool masked;
  bool sinks;
};

// Workgroups write their share, or the result if there is but one; a mask hides the second half of the cache.
std::vector<float> run_vec(const VecRow& row, const Problem& p) {
  const Tensors t = tensors_of(p, Cell::float32, row.cache);
  const auto elements_per_row = static_cast<std::int64_t>(row.head_dim);
  Kernel kernel("attention_vec", {row.function,
                                  {{100, row.masked},
                                   {101, row.sinks},
                                   {102, false},
                                   {103, false},
                                   {120, elements_per_row},
                                   {121, elements_per_row},
                                   {122, std::int64_t{row.simdgroups}},
                                   {123, std::int64_t{row.workgroups}}}});
  const auto row_bytes = static_cast<double>(t.row_bytes);
  kernel.structure("args", {{"ne01", 1},
                            {"ne02", p.heads},
                            {"ne03", 1},
                            {"nb01", 4 * p.head_dim},
                            {"nb02", 4 * p.head_dim},
                            {"ne11", p.kv_len},
                            {"ne_12_2", p.heads},
                            {"ne_12_3", 1},
                            {"nb11", row_bytes},
                            {"nb12", row_bytes * p.kv_len},
                            {"nb21", row_bytes},
                            {"nb22", row_bytes * p.kv_len},
                            {"ne31", p.kv_len},
                            {"ne32", 1},
                            {"ne33", 1},
                            {"ne1", p.heads},
                            {"ne2", 1},
                            {"ne3", 1},
                            {"scale", kScale}});
  kernel.bind("q", t.q);
  kernel.bind("k", t.k);
  kernel.bind("v", t.v);
  Bytes mask;
  for (int j = 0; j < p.kv_len; ++j) mask.put(Cell::half, j < p.kv_len / 2 ? 0.0F : -std::numeric_limits<float>::infinity());
  if (row.masked) kernel.bind("mask", mask);
  Bytes sinks;
  for (int h = 0; h < p.heads; ++h) sinks.put(kScale * 8);  // as much as one key that scores highest, with a value of 0
  if (row.sinks) kernel.bind("sinks", sinks);
  if (!row.masked) kernel.bind("mask", mask);
  if (!row.sinks) kernel.bind("sinks", sinks);
  const std::size_t rows = static_cast<std::size_t>(p.heads * row.workgroups);
  auto& out = kernel.output("dst", 4 * rows * static_cast<std::size_t>(p.head_dim + 2));
  const int padded = (p.head_dim + 127) / 128 * 128;
  kernel.threadgroup(2 * static_cast<std::size_t>(row.simdgroups * (128 + 3 * padded)));
  kernel.run({1, static_cast<std::uint32_t>(p.heads), static_cast<std::uint32_t>(row.workgroups)},
             {32, static_cast<std::uint32_t>(row.simdgroups), 1});
  if (row.workgroups == 1) return {out.as<float>().begin(), out.as<float>().end()};

  Kernel merge("attention_vec", {"kernel_fa_vec_reduce", {{150, elements_per_row}, {151, std::int64_t{row.workgroups}}}});
  merge.structure("args", {{"nrows", p.heads}});
  Bytes partial;
  partial.data.assign(out.bytes().begin(), out.bytes().end());
  merge.bind("htmp", partial);
  auto& merged = merge.output("dst", 4 * static_cast<std::size_t>(p.heads * p.head_dim));
  merge.run({static_cast<std::uint32_t>(p.heads), 1, 1}, {32, static_cast<std::uint32_t>(row.workgroups), 1});
  return {merged.as<float>().begin(), merged.as<float>().end()};
}

TEST(ForeignAttention, DecodesOneRowPerHead) {
  const VecRow rows[] = {
      {"kernel_fa_vec_f16_dk64_dv64", Cell::half, 64, 1, 1, true, false},
      {"kernel_fa_vec_f16_dk128_dv128", Cell::half, 128, 4, 1, false, true},
      {"kernel_fa_vec_f16_dk128_dv128", Cell::half, 128, 1, 32, true, true},
      {"kernel_fa_vec_q4_dk128_dv128", Cell::q4, 128, 2, 1, false, false},
      {"kernel_fa_vec_q8_dk128_dv128", Cell::q8, 128, 1, 32, false, false},
      {"kernel_fa_vec_bf16_dk128_dv128", Cell::bfloat, 128, 2, 1, true, false},
  };
  for (const auto& row : rows) {
    const Problem p{.head_dim = row.head_dim, .kv_len = 256};
    Problem seen = p;
    if (row.masked) seen.causal_offset = p.kv_len / 2 - 1;
    const auto out = run_vec(row, p);
    for (int h = 0; h < p.heads; ++h) {
      for (int d = 0; d < p.head_dim; ++d) {
        const auto mean = expected(seen, h, 0, d);
        const float wanted = static_cast<float>(mean.sum) * (1.0F / static_cast<float>(mean.count + (row.sinks ? 1 : 0)));
        ASSERT_EQ(out[static_cast<std::size_t>(h * p.head_dim + d)], wanted)
            << fmt::format("{} nsg {} nwg {}: head {}, element {}", row.function, row.simdgroups, row.workgroups, h, d);
      }
    }
  }
}

// ---- prefill, in the style of ggml-metal

TEST(ForeignAttention, PrefillsThroughSimdgroupMatrices) {
  struct PrefillRow {
    std::string function;
    Cell cache;
    int head_dim;
    bool masked;
  };
  for (const auto& row : {PrefillRow{"kernel_fa_f16_64", Cell::half, 64, true}, PrefillRow{"kernel_fa_f16_128", Cell::half, 128, false},
                          PrefillRow{"kernel_fa_bf16_128", Cell::bfloat, 128, true}}) {
    // Eleven queries: the second threadgroup's tile is not full.
    const Problem p{.head_dim = row.head_dim, .kv_len = 128, .heads = 2, .queries = 11, .causal_offset = row.masked ? 70 : 1 << 20};
    const Tensors t = tensors_of(p, Cell::float32, row.cache);
    const std::int64_t elements_per_row = row.head_dim;
    Kernel kernel("attention_prefill",
                  {row.function, {{0, row.masked}, {10, false}, {20, elements_per_row}, {21, elements_per_row}, {22, std::int64_t{4}}}});
    const auto row_bytes = static_cast<double>(t.row_bytes);
    kernel.structure("args", {{"ne01", p.queries},
                              {"ne02", p.heads},
                              {"ne03", 1},
                              {"nb01", 4 * p.head_dim},
                              {"nb02", 4 * p.head_dim * p.queries},
                              {"ne11", p.kv_len},
                              {"nb11", row_bytes},
                              {"nb12", row_bytes * p.kv_len},
                              {"nb21", row_bytes},
                              {"nb22", row_bytes * p.kv_len},
                              {"scale", kScale}});
    kernel.bind("q", t.q);
    kernel.bind("k", t.k);
    kernel.bind("v", t.v);
    Bytes mask;
    for (int r = 0; r < 16; ++r)
      for (int j = 0; j < p.kv_len; ++j) mask.put(Cell::half, j <= r + p.causal_offset ? 0.0F : -std::numeric_limits<float>::infinity());
    kernel.bind("mask", mask);
    auto& out = kernel.output("dst", 4 * static_cast<std::size_t>(p.queries * p.heads * p.head_dim));
    const int padded = (p.head_dim + 63) / 64 * 64;
    kernel.threadgroup(2 * static_cast<std::size_t>(8 * (p.head_dim + 2 * padded) + 8 * 256 + 4 * 512));
    kernel.run({2, static_cast<std::uint32_t>(p.heads), 1}, {32, 4, 1});
    for (int r = 0; r < p.queries; ++r) {
      for (int h = 0; h < p.heads; ++h) {
        for (int d = 0; d < p.head_dim; ++d) {
          const auto mean = expected(p, h, r, d);
          const float wanted = static_cast<float>(mean.sum) * (1.0F / static_cast<float>(mean.count));
          ASSERT_EQ(out.as<float>()[static_cast<std::size_t>((r * p.heads + h) * p.head_dim + d)], wanted)
              << fmt::format("{}: query {}, head {}, element {}", row.function, r, h, d);
        }
      }
    }
  }
}

// ---- both, in the style of MLX

float rounded(Cell cell, float value) {
  Bytes bytes;
  bytes.put(cell, value);
  return read(cell, *metal::Buffer::of<std::byte>(bytes.data), 0);
}

TEST(ForeignAttention, DecodesWithConditionalArguments) {
  struct SdpaRow {
    std::string type;
    Cell cell;
    int head_dim;
    bool causal;
    bool bool_mask;
    bool float_mask;
  };
  for (const auto& row :
       {SdpaRow{"float", Cell::float32, 64, false, false, false}, SdpaRow{"float16_t", Cell::half, 128, false, true, false},
        SdpaRow{"bfloat16_t", Cell::bfloat, 128, false, false, true}, SdpaRow{"float", Cell::float32, 128, true, false, false}}) {
    const bool any = row.causal || row.bool_mask || row.float_mask;
    const Problem p{.head_dim = row.head_dim, .kv_len = 77, .heads = 2, .queries = 3, .causal_offset = any ? 77 - 3 : 1 << 20};
    const Tensors t = tensors_of(p, row.cell, row.cell);
    Kernel kernel("attention_tiles", {fmt::format("sdpa_vector_{}_{}_{}", row.type, row.head_dim, row.head_dim),
                                      {{21, false}, {22, row.causal}, {23, row.bool_mask}, {24, row.float_mask}, {25, false}}});
    kernel.bind("queries", t.q);
    kernel.bind("keys", t.k);
    kernel.bind("values", t.v);
    auto& out = kernel.output("out", static_cast<std::size_t>(p.queries * p.heads * p.head_dim) * (row.cell == Cell::float32 ? 4 : 2));
    kernel.value("gqa_factor", 1);
    kernel.value("N", p.kv_len);
    const auto step = static_cast<std::uint64_t>(p.head_dim);
    for (const char* name : {"k_seq_stride", "v_seq_stride"}) kernel.value(name, step);
    for (const char* name : {"k_head_stride", "v_head_stride"}) kernel.value(name, step * static_cast<std::uint64_t>(p.kv_len));
    kernel.value("scale", kScale);
    Bytes mask;
    for (int r = 0; r < p.queries; ++r) {
      for (int j = 0; j < p.kv_len; ++j) {
        const bool seen = j <= r + p.causal_offset;
        if (row.bool_mask) mask.put(seen);
        if (row.float_mask) mask.put(row.cell, seen ? 0.0F : -std::numeric_limits<float>::infinity());
      }
    }
    if (row.bool_mask || row.float_mask) {
      kernel.bind(row.bool_mask ? "bmask" : "fmask", mask);
      kernel.value("mask_kv_seq_stride", 1);
      kernel.value("mask_q_seq_stride", p.kv_len);
      kernel.value("mask_head_stride", 0);
    }
    kernel.run({static_cast<std::uint32_t>(p.heads), static_cast<std::uint32_t>(p.queries), 1}, {1024, 1, 1});
    for (int h = 0; h < p.heads; ++h) {
      for (int r = 0; r < p.queries; ++r) {
        for (int d = 0; d < p.head_dim; ++d) {
          const auto mean = expected(p, h, r, d);
          ASSERT_EQ(read(row.cell, out, static_cast<std::size_t>((h * p.queries + r) * p.head_dim + d)),
                    rounded(row.cell, static_cast<float>(mean.sum) / static_cast<float>(mean.count)))
              << fmt::format("{} causal {}: query {}, head {}, element {}", row.type, row.causal, r, h, d);
        }
      }
    }
  }
}

TEST(ForeignAttention, PrefillsThroughTilesOfFragments) {
  struct TileRow {
    std::string function;
    Cell cell;
    int head_dim;
    int block;
    bool causal;
  };
  for (const auto& row : {TileRow{"steel_attention_float16_bq32_bk16_bd128", Cell::half, 128, 16, true},
                          TileRow{"steel_attention_bfloat16_bq32_bk32_bd64", Cell::bfloat, 64, 32, false},
                          TileRow{"steel_attention_float32_bq32_bk16_bd64", Cell::float32, 64, 16, true}}) {
    // Neither the queries nor the keys fill their last block. O has room for the rows behind, which the kernel stores unasked.
    const Problem p{.head_dim = row.head_dim, .kv_len = 75, .heads = 1, .queries = 37, .causal_offset = row.causal ? 75 - 37 : 1 << 20};
    const Tensors t = tensors_of(p, row.cell, row.cell);
    Kernel kernel("attention_tiles", {row.function, {{22, row.causal}, {200, false}}});
    kernel.bind("Q", t.q);
    kernel.bind("K", t.k);
    kernel.bind("V", t.v);
    auto& out = kernel.output("O", static_cast<std::size_t>(64 * p.head_dim) * (row.cell == Cell::float32 ? 4 : 2));
    const double step = p.head_dim;
    const int blocks = (p.kv_len + row.block - 1) / row.block;
    kernel.structure("params", {{"B", 1},
                                {"H", 1},
                                {"D", step},
                                {"qL", p.queries},
                                {"kL", p.kv_len},
                                {"gqa_factor", 1},
                                {"scale", kScale},
                                {"NQ", 2},
                                {"NK", blocks},
                                {"NQ_aligned", 1},
                                {"NK_aligned", blocks - 1},
                                {"qL_rem", p.queries % 32},
                                {"kL_rem", p.kv_len % row.block},
                                {"qL_off", 75 - 37},
                                {"Q_strides[2]", step},
                                {"K_strides[2]", step},
                                {"V_strides[2]", step},
                                {"O_strides[2]", step}});
    kernel.run({2, 1, 1}, {128, 1, 1});
    for (int r = 0; r < p.queries; ++r) {
      for (int d = 0; d < p.head_dim; ++d) {
        const auto mean = expected(p, 0, r, d);
        ASSERT_EQ(read(row.cell, out, static_cast<std::size_t>(r * p.head_dim + d)),
                  rounded(row.cell, static_cast<float>(mean.sum) / static_cast<float>(mean.count)))
            << fmt::format("{}: query {}, element {}", row.function, r, d);
      }
    }
  }
}

}  // namespace
}  // namespace assay::tests::foreign_attention_test
