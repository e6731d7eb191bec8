// Runs of b_arg_reduce.metal and their expected results. argmin / argmax of rows with strides, through pairs of an index and a value.
#include "tests/foreign/b_prelude.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

namespace assay::foreign::b::arg_reduce {
namespace {

constexpr const char* kFile = "b_arg_reduce.metal";

// A 3 dimensional array a x b x c, dense; `axis` is searched, the others are in the order of the rows.
template <typename T>
Run search(const char* name, const char* function, const std::vector<T>& stored, const Vec& v, std::array<int, 3> dims, int axis, bool most,
           int threads) {
  const std::int64_t strides[3] = {dims[1] * dims[2], dims[2], 1};
  std::vector<std::int32_t> shape;
  std::vector<std::int64_t> rest;
  for (int d = 0; d < 3; ++d)
    if (d != axis) shape.push_back(dims[d]), rest.push_back(strides[d]);
  Vec out;
  for (int i = 0; i < shape[0]; ++i)
    for (int j = 0; j < shape[1]; ++j) {
      int best = 0;
      const auto at = [&](int k) { return v[i * rest[0] + j * rest[1] + k * strides[axis]]; };
      for (int k = 1; k < dims[axis]; ++k)
        if (most ? at(k) > at(best) : at(k) < at(best)) best = k;
      out.push_back(best);
    }
  Run run(name, kFile, function);
  run.buffer(0, stored).fresh(1, out.size() * 4).buffer(2, shape).buffer(3, rest);
  run.value(5, 2).value(6, strides[axis]).value(7, std::uint64_t(dims[axis]));
  run.dispatch_threadgroups({1, std::uint32_t(out.size()), 1}, {std::uint32_t(threads), 1, 1});
  run.expect_equal(1, Format::u32, out);
  return run;
}

std::vector<Run> arg_reduce_runs() {
  Rng rng(151);
  std::vector<std::uint8_t> bytes(4 * 3 * 205);
  for (auto& x : bytes) x = std::uint8_t(1 + rng() % 40);  // with equals
  const auto f = floats(152, 2 * 301 * 3, 9.0f);
  const auto b = to_bfloat(floats(153, 130 * 3 * 4, 9.0f));
  const auto h = to_half(floats(154, 2 * 3 * 515, 9.0f));
  return {
      search("b_argmin_u8_rows", "argmin_uint8", bytes, Vec(bytes.begin(), bytes.end()), {4, 3, 205}, 2, false, 64),
      search("b_argmax_f32_middle", "argmax_float32", f, wide(f), {2, 301, 3}, 1, true, 32),
      search("b_argmin_bf16_outer", "argmin_bfloat16", b, wide_bfloat(b), {130, 3, 4}, 0, false, 96),
      search("b_argmax_f16_rows", "argmax_float16", h, wide_half(h), {2, 3, 515}, 2, true, 64),
  };
}

static const Runs kArgReduce(arg_reduce_runs);

}  // namespace
}  // namespace assay::foreign::b::arg_reduce
