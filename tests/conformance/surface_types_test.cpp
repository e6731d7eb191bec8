// Every vector and packed type: size, alignment, conversions; limits of every scalar; the library's small classes.
//
// Expectations: MSL 2.1 to 2.5 and the definitions of the formats.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/conformance/rows.h"

namespace assay::tests::surface_types_test {
namespace {

struct Scalar {
  const char* name;
  int size;
  int digits;
  bool is_signed;
};
const Scalar kScalars[] = {{"bool", 1, 1, false},    {"char", 1, 7, true},  {"uchar", 1, 8, false}, {"short", 2, 15, true},
                           {"ushort", 2, 16, false}, {"int", 4, 31, true},  {"uint", 4, 32, false}, {"long", 8, 63, true},
                           {"ulong", 8, 64, false},  {"half", 2, 11, true}, {"float", 4, 24, true}, {"bfloat", 2, 8, true}};

TEST(Surface, EveryVectorHasItsSizeAndConverts) {
  std::vector<Row> rows;
  for (const auto& scalar : kScalars) {
    for (int count = 2; count <= 4; ++count) {
      const int padded = count == 3 ? 4 : count;
      const std::string body = fmt::format(
          "{0}{1} v = {0}{1}({0}(I(0))); packed_{0}{1} q = v; {0}{1} w = q; v[1] = {0}(I(1)); q.y = {0}(I(1)); o[0] = sizeof(v); o[1] = "
          "alignof({0}{1}); o[2] = sizeof(q); o[3] = alignof(packed_{0}{1}); o[4] = all(v == {0}{1}(q)) && !any(v == w && v != w); o[5] = "
          "uint(int(v.x)) + uint(int(q[1])) * 16; static_assert(is_same_v<vec<{0}, {1}>, {0}{1}> && is_same_v<decltype({0}{1}() == "
          "{0}{1}()), "
          "bool{1}>); o[6] = uint(int(({0}{1}(int{1}(I(0)))).y)); o[7] = uint(int({0}{1}(float{1}(1)).x)) + uint(int(bfloat{1}(v).x));",
          scalar.name, count);
      rows.push_back({fmt::format("{}{}", scalar.name, count),
                      "MSL 2.2: a vector of three is laid out as one of four, a packed one as its components",
                      body,
                      {1, 1},
                      {n(padded * scalar.size), n(padded * scalar.size), n(count * scalar.size), n(scalar.size), 1, 17, 1, 2}});
    }
  }
  check_rows("vectors", rows);
}

TEST(Surface, LimitsOfEveryScalar) {
  std::vector<Row> rows;
  for (const auto& scalar : kScalars) {
    const bool is_floating = scalar.digits % 8 == 3 || std::string_view(scalar.name).ends_with("float");
    const std::string name = scalar.name;
    std::string body = fmt::format(
        "using L = numeric_limits<{0}>; o[0] = L::is_specialized; o[1] = L::digits; o[2] = L::is_signed; o[3] = L::is_integer; o[4] = "
        "L::has_infinity && L::has_quiet_NaN; o[5] = L::max() > L::lowest() && L::min() <= L::max(); o[6] = numeric_limits<const "
        "{0}>::digits; o[7] = L::radix; ",
        name);
    if (is_floating) {
      body +=
          "o[8] = L::infinity() > L::max() && L::quiet_NaN() != L::quiet_NaN() && L::denorm_min() > 0 && L::denorm_min() < L::min(); o[9] "
          "= "
          "1 + L::epsilon() > 1 && L::is_iec559; ";
    } else {
      // All bits but the sign; the sum of both ends is -1 in two's complement.
      body += fmt::format("o[8] = ulong(L::max()) == {}ul; o[9] = {} ? L::lowest() + L::max() == -1 : L::lowest() == 0;",
                          scalar.digits == 64 ? ~0UL : (1UL << scalar.digits) - 1, scalar.is_signed ? "true" : "false");
    }
    rows.push_back({"limits of " + name,
                    "definitions of the formats",
                    body,
                    {},
                    {1, n(scalar.digits), scalar.is_signed, !is_floating, is_floating, 1, n(scalar.digits), 2, 1, 1}});
  }
  check_rows("limits", rows);
}

TEST(Surface, ClassesAndUtilities) {
  check_rows(
      "classes",
      {{"array",
        "MSL 2.12.1",
        "array<int, 3> a = {{1, 2, I(0)}}; int sum = 0; for (auto v : a) sum += v; o[0] = uint(sum); o[1] = a.size() + a.max_size(); o[2] "
        "= "
        "uint(a.front() + a.back() + a[1]); o[3] = a.empty(); a.fill(4); o[4] = uint(a.data()[2]);",
        {3},
        {6, 6, 6, 0, 4}},
       {"uniform",
        "MSL 2.14",
        "uniform<int> u = make_uniform(I(0)); int v = u + 1; o[0] = uint(v); o[1] = is_uniform_v<uniform<int>> && "
        "!is_uniform<int>::value;",
        {3},
        {4, 1}},
       {"pair, move, forward, swap, declval",
        kCxx,
        "auto p = make_pair(I(0), 2.5f); pair<int, float> q = {4, 1.0f}; swap(p, q); o[0] = uint(p.first); PUT(1, q.second); int k = I(0); "
        "int m = metal::move(k); o[2] = uint(m) + uint(metal::forward<int>(m)); o[3] = is_same_v<decltype(declval<int>() + 1.0f), float>;",
        {3},
        {4, f(2.5F), 6, 1}},
       {"names of <simd/simd.h>",
        "<simd/simd.h>",
        "simd_float4 v = simd_float4(F(0)); vector_uint3 w = vector_uint3(3); simd::float2 s = v.xy; simd_float2x3 m = "
        "simd_float2x3(2.0f); "
        "matrix_float3x3 q = simd::float3x3(F(0)); PUT(0, v.w + s.y + m[1].y + q[2].z); o[1] = w.z; o[2] = sizeof(simd_ulong3);",
        {f(1.5F)},
        {f(6.5F), 3, 32}},
       {"os_log is accepted and dropped",
        "MSL 6.19",
        "constexpr os_log own(\"a\", \"b\"); own.log_info(\"%d\", 3); os_log_default.log(\"x\"); "
        "os_log_default.log_with_type(OS_LOG_TYPE_ERROR, \"%d\", 1); o[0] = 1;",
        {},
        {1}},
       {"flags, orders and scopes",
        "MSL 6.9.1, 6.15",
        "o[0] = (mem_flags::mem_device | mem_flags::mem_threadgroup) != mem_flags::mem_none; simdgroup_barrier(mem_flags::mem_none); "
        "threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_texture); simdgroup_barrier(mem_flags::mem_device, "
        "memory_order_acq_rel, thread_scope_simdgroup); atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, "
        "thread_scope_device);",
        {},
        {1}}});
}

// A diagonal of 2 times a matrix full of 3 is full of 6.
TEST(Surface, MatrixBuiltins) {
  check_lane_rows(
      "matrix builtins",
      {{"init, multiply", "linear algebra by hand",
        "vec<half, 64> d = __metal_simdgroup_matrix_8x8_init_diag(half(2), vec<half, 64>()); vec<float, 64> m = "
        "__metal_simdgroup_matrix_8x8_init_filled(3.0f, vec<float, 64>()); vec<float, 64> p = "
        "__metal_simdgroup_matrix_8x8_multiply(d, m, vec<float, 64>()); thread float2* mine = reinterpret_cast<thread float2*>(&p); "
        "o[lane] = uint(mine->x * 100 + mine->y); static_assert(sizeof(p) == sizeof(float2));",
        Words(32, 0), [](const Words&) { return Words(32, 606); }},
       {"make_diagonal_simdgroup_matrix, operator*", "linear algebra by hand",
        "simdgroup_half8x8 d = make_diagonal_simdgroup_matrix<half, 8>(2); simdgroup_half8x8 m = make_filled_simdgroup_matrix<half, 8, "
        "8>(3); simdgroup_half8x8 p = d * m; simdgroup_bfloat8x8 b = make_filled_simdgroup_matrix<bfloat, 8>(bfloat(1)); "
        "simdgroup_multiply_accumulate(b, d, m, b); simdgroup_float8x8 e; simdgroup_multiply(e, d, m); o[lane] = "
        "uint(p.thread_elements().x) + 10 * uint(float(b.thread_elements().y)) + 100 * uint(e.thread_elements().x);",
        Words(32, 0), [](const Words&) { return Words(32, 6 + 70 + 600); }}});
}

}  // namespace
}  // namespace assay::tests::surface_types_test
