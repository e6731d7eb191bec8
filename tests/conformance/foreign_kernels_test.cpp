// Elementwise, normalising, scanning, quantised and atomic kernels in the styles of MLX and PyTorch: tests/kernels/foreign/.
// Inputs are small integers, so that expectations are exact.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "metal/compile/library.h"
#include "metal/devices/simulator.h"
#include "tests/conformance/rows.h"

namespace assay::tests::foreign_kernels_test {
namespace {

using Halfs = std::vector<std::uint16_t>;

std::uint16_t h16(float value) { return static_cast<std::uint16_t>(h(value)); }
std::uint16_t b16(float value) { return static_cast<std::uint16_t>(b(value)); }

// One function of a file, its buffers bound in order from index 0; what `run` returns is the buffer asked for, afterwards.
class Call {
 public:
  Call(const std::string& file, const std::string& function)
      : library_(metal::Library::from_file(fmt::format("{}/tests/kernels/foreign/{}.metal", ASSAY_SOURCE_DIR, file))),
        simulator_({library_}) {
    simulator_.set_pipeline({function, {}});
  }
  template <typename T>
  Call& with(const std::vector<T>& values) {
    buffers_.push_back(metal::Buffer::of<T>(values));
    simulator_.set_buffer(static_cast<std::uint32_t>(buffers_.size() - 1), {buffers_.back().get(), 0});
    return *this;
  }
  template <typename T>
  std::vector<T> run(std::size_t buffer, metal::Size3 threads, metal::Size3 threadgroup) {
    simulator_.dispatch_threads(threads, threadgroup);
    for (const auto& hazard : simulator_.hazards()) ADD_FAILURE() << hazard.message;
    const auto values = buffers_[buffer]->as<T>();
    return {values.begin(), values.end()};
  }

 private:
  std::shared_ptr<metal::Library> library_;
  metal::Simulator simulator_;
  std::vector<std::unique_ptr<metal::Buffer>> buffers_;
};

TEST(ForeignKernels, CopiesBetweenAnyTwoTypes) {
  const std::vector<std::uint32_t> size = {3};
  const auto copy = [&](const std::string& name, auto from, auto to) {
    return Call("array_functors", name)
        .with(from)
        .with(to)
        .with(size)
        .template run<typename decltype(to)::value_type>(1, {3, 1, 1}, {3, 1, 1});
  };
  const Halfs none(3);
  EXPECT_EQ(copy("copy_float16_bfloat16", Halfs{h16(1), h16(-2.5F), h16(0.1F)}, none),
            (Halfs{b16(1), b16(-2.5F), b16(static_cast<float>(Eigen::half(0.1F)))}));
  EXPECT_EQ(copy("copy_bfloat16_float16", Halfs{b16(1), b16(-2.5F), b16(1e20F)}, none), (Halfs{h16(1), h16(-2.5F), 0x7c00}));
  EXPECT_EQ(copy("copy_bfloat16_complex64", Halfs{b16(1), b16(-2.5F), b16(3)}, std::vector<float>(6)),
            (std::vector<float>{1, 0, -2.5F, 0, 3, 0}));
  EXPECT_EQ(copy("copy_complex64_float16", std::vector<float>{1, 9, 2, 9, 3, 9}, none), (Halfs{h16(1), h16(2), h16(3)}));
  EXPECT_EQ(copy("copy_complex64_bfloat16", std::vector<float>{1, 9, 2, 9, 3, 9}, none), (Halfs{b16(1), b16(2), b16(3)}));
  EXPECT_EQ(copy("copy_bool_bfloat16", std::vector<std::uint8_t>{1, 0, 1}, none), (Halfs{b16(1), 0, b16(1)}));
  EXPECT_EQ(copy("copy_int64_float16", std::vector<std::int64_t>{-3, 5, 100000}, none), (Halfs{h16(-3), h16(5), 0x7c00}));
  EXPECT_EQ(copy("copy_bfloat16_bool", Halfs{b16(0.5F), 0, 0x8000}, std::vector<std::uint8_t>(3)), (std::vector<std::uint8_t>{1, 0, 0}));
}

TEST(ForeignKernels, ApplyFunctorsToPairs) {
  const auto apply = [](const std::string& name, auto a, auto c, std::uint32_t size) {
    return Call("array_functors", name)
        .with(a)
        .with(c)
        .with(a)
        .with(std::vector<std::uint32_t>{size})
        .template run<typename decltype(a)::value_type>(2, {2, 1, 1}, {2, 1, 1});
  };
  // Six elements over two threads of four: the last thread's are not full.
  EXPECT_EQ(apply("vv_Addfloat32", std::vector<float>{1, 2, 3, 4, 5, 6}, std::vector<float>{10, 20, 30, 40, 50, 60}, 6),
            (std::vector<float>{11, 22, 33, 44, 55, 66}));
  EXPECT_EQ(apply("vv_Addcomplex64", std::vector<float>{1, 2, 3, 4}, std::vector<float>{10, 20, 30, 40}, 2),
            (std::vector<float>{11, 22, 33, 44}));
  EXPECT_EQ(apply("vv_Maximumbfloat16", Halfs{b16(1), 0x7fc0, b16(-3)}, Halfs{b16(2), b16(1), b16(-4)}, 3),
            (Halfs{b16(2), 0x7fc0, b16(-3)}));
  EXPECT_EQ(apply("vv_Maximumcomplex64", std::vector<float>{1, 5, 2, 1}, std::vector<float>{1, 4, 3, 0}, 2),
            (std::vector<float>{1, 5, 3, 0}));
  EXPECT_EQ(apply("vv_Maximumint64", std::vector<std::int64_t>{-5, 1LL << 40}, std::vector<std::int64_t>{-6, 3}, 2),
            (std::vector<std::int64_t>{-5, 1LL << 40}));
  EXPECT_EQ(apply("vv_Remainderint32", std::vector<std::int32_t>{-7, 7, 6}, std::vector<std::int32_t>{3, -3, 3}, 3),
            (std::vector<std::int32_t>{2, -2, 0}));
  EXPECT_EQ(apply("vv_Remainderbfloat16", Halfs{b16(-7), b16(7)}, Halfs{b16(3), b16(-3)}, 2), (Halfs{b16(2), b16(-2)}));
  EXPECT_EQ(apply("vv_Powerint16", std::vector<std::int16_t>{3, -2}, std::vector<std::int16_t>{4, 5}, 2),
            (std::vector<std::int16_t>{81, -32}));
  EXPECT_EQ(apply("vv_Powerbfloat16", Halfs{b16(2), b16(3)}, Halfs{b16(10), b16(2)}, 2), (Halfs{b16(1024), b16(9)}));
  // log(e^-inf + e^x) is x without a rounding.
  EXPECT_EQ(apply("vv_LogAddExpfloat16", Halfs{0xfc00, h16(3)}, Halfs{h16(2), 0x7c00}, 2), (Halfs{h16(2), 0x7c00}));
}

TEST(ForeignKernels, ScanARowInSeveralSimdGroups) {
  std::vector<std::int32_t> in(1000);
  std::iota(in.begin(), in.end(), -300);
  std::vector<std::int32_t> expected(in.size());
  std::partial_sum(in.begin(), in.end(), expected.begin());
  const auto out = Call("array_functors", "contig_scan_sum_int32")
                       .with(in)
                       .with(std::vector<std::int32_t>(1000))
                       .with(std::vector<std::uint64_t>{1000})
                       .run<std::int32_t>(1, {64, 1, 1}, {64, 1, 1});
  EXPECT_EQ(out, expected);
}

TEST(ForeignKernels, MultiplyAQuantisedMatrixByAVector) {
  for (const bool bfloats : {false, true}) {
    const auto cell = [&](float value) { return bfloats ? b16(value) : h16(value); };
    constexpr int kColumns = 512;
    constexpr int kRows = 8;
    std::vector<std::uint32_t> w(kRows * kColumns / 8);
    Halfs scales, biases, x;
    std::vector<float> expected(kRows);
    const auto weight = [](int row, int column) { return (row * 5 + column * 3) % 16; };
    for (int column = 0; column < kColumns; ++column) x.push_back(cell(static_cast<float>(column % 5 - 2)));
    for (int row = 0; row < kRows; ++row) {
      for (int group = 0; group < kColumns / 64; ++group) {
        scales.push_back(cell(static_cast<float>(1 + group % 2)));
        biases.push_back(cell(static_cast<float>(-group)));
      }
      for (int column = 0; column < kColumns; ++column) {
        const int group = column / 64;
        w[static_cast<std::size_t>((row * kColumns + column) / 8)] |= static_cast<std::uint32_t>(weight(row, column)) << 4 * (column % 8);
        expected[static_cast<std::size_t>(row)] += static_cast<float>((weight(row, column) * (1 + group % 2) - group) * (column % 5 - 2));
      }
    }
    const auto y = Call("array_functors", bfloats ? "qmv_fast_bfloat16_t_gs_64_b_4_batch_0" : "qmv_fast_float16_t_gs_64_b_4_batch_0")
                       .with(w)
                       .with(scales)
                       .with(biases)
                       .with(x)
                       .with(Halfs(kRows))
                       .with(std::vector<std::int32_t>{kColumns})
                       .with(std::vector<std::int32_t>{kRows})
                       .with(std::vector<std::int32_t>{0})
                       .with(std::vector<std::int64_t>{0})
                       .run<std::uint16_t>(4, {32, 2, 1}, {32, 2, 1});
    for (std::size_t row = 0; row < kRows; ++row) EXPECT_EQ(y[row], cell(expected[row])) << row;
  }
}

TEST(ForeignKernels, AddStridedTensorsOfDifferentTypes) {
  // A 2 x 3 output from a transposed bfloat input and a half one: 0 is Byte, 7 BFloat16.
  const auto out = Call("tensor_functors", "add_half")
                       .with(Halfs(6))
                       .with(Halfs{b16(1), b16(2), b16(3), b16(4), b16(5), b16(6)})
                       .with(Halfs{h16(10), h16(20), h16(30), h16(40), h16(50), h16(60)})
                       .with(Halfs{h16(0.5F), 0})
                       .with(std::vector<std::int64_t>{2, 3})
                       .with(std::vector<std::int64_t>{6, 2})
                       .with(std::vector<std::int64_t>{2, 4})
                       .with(std::vector<std::int64_t>{6, 2})
                       .with(std::vector<std::uint32_t>{2, 7, 0, 0})
                       .run<std::uint16_t>(0, {6, 1, 1}, {6, 1, 1});
  EXPECT_EQ(out, (Halfs{h16(1 + 5), h16(3 + 10), h16(5 + 15), h16(2 + 20), h16(4 + 25), h16(6 + 30)}));
}

TEST(ForeignKernels, NormaliseARow) {
  // 1, 3, 1, 3 ...: mean 2, variance 1.
  std::vector<float> row(200);
  for (std::size_t k = 0; k < row.size(); ++k) row[k] = k % 2 == 0 ? 1.0F : 3.0F;
  const auto out = Call("tensor_functors", "layer_norm_float")
                       .with(row)
                       .with(std::vector<float>(200))
                       .with(std::vector<float>(1))
                       .with(std::vector<float>(1))
                       .with(std::vector<std::uint32_t>{200})
                       .with(std::vector<float>{0})
                       .with(std::vector<std::int32_t>{1})
                       .with(std::vector<std::int32_t>{1})
                       .with(std::vector<float>(200, 2))
                       .with(std::vector<float>(200, 10))
                       .run<float>(1, {64, 1, 1}, {64, 1, 1});
  for (std::size_t k = 0; k < row.size(); ++k) EXPECT_EQ(out[k], k % 2 == 0 ? 8.0F : 12.0F) << k;
}

TEST(ForeignKernels, AccumulateThroughACompareExchangeOfHalves) {
  std::vector<std::int32_t> where;
  Halfs ones;
  for (int k = 0; k < 96; ++k) {
    where.push_back(k % 3);
    ones.push_back(b16(1));
  }
  const auto out =
      Call("tensor_functors", "ipa_bfloat").with(Halfs(4)).with(ones).with(where).run<std::uint16_t>(0, {96, 1, 1}, {32, 1, 1});
  EXPECT_EQ(out, (Halfs{b16(32), b16(32), b16(32), 0}));
}

TEST(ForeignKernels, ABfloatOfTheirOwnThroughTheCompilersBuiltins) {
  const auto out = Call("array_functors", "use_bfl").with(Halfs{b16(0), 0}).with(std::vector<float>(1)).run<float>(1, {1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(out[0], 1.0F + 1.0F + 0.0F);
}

}  // namespace
}  // namespace assay::tests::foreign_kernels_test
