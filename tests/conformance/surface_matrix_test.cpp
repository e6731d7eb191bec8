// Every shape of matrix with every operator, geometric functions of every vector, atomics of every type in both address spaces, and the
// names that come in only where a source wants them.
//
// Expectations: linear algebra in whole numbers, by hand; MSL 2.3, 3.7, 6.6, 6.8 and 6.15.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "metal/translate/offered_names.h"
#include "tests/conformance/rows.h"
#include "tests/conformance/surface.h"

namespace assay::tests::surface_matrix_test {
namespace {

// Columns of rows, in whole numbers.
using Numbers = std::vector<std::vector<int>>;

Numbers numbers(int columns, int rows, int seed) {
  Numbers m(static_cast<std::size_t>(columns), std::vector<int>(static_cast<std::size_t>(rows)));
  for (auto& column : m)
    for (auto& element : column) element = (seed = (seed * 5 + 3) % 17) - 8;
  return m;
}
Numbers multiplied(const Numbers& a, const Numbers& b) {
  Numbers m(b.size(), std::vector<int>(a[0].size(), 0));
  for (std::size_t c = 0; c < b.size(); ++c)
    for (std::size_t r = 0; r < a[0].size(); ++r)
      for (std::size_t k = 0; k < a.size(); ++k) m[c][r] += a[k][r] * b[c][k];
  return m;
}

// A row's text, inputs and expectations as they grow.
class MatrixRow {
 public:
  explicit MatrixRow(std::string type) : type_(std::move(type)) {}

  void declare(const std::string& name, const Numbers& m) {
    body_ += fmt::format("{}{}x{} {}; ", type_, m.size(), m[0].size(), name);
    for (std::size_t c = 0; c < m.size(); ++c) {
      for (std::size_t r = 0; r < m[0].size(); ++r) {
        body_ += fmt::format("{}[{}][{}] = {}(I({})); ", name, c, r, type_, inputs_.size());
        inputs_.push_back(n(m[c][r]));
      }
    }
  }
  void expect(const std::string& expression, const Numbers& m) {
    body_ += fmt::format("{{ const {}{}x{} q = {}; ", type_, m.size(), m[0].size(), expression);
    for (std::size_t c = 0; c < m.size(); ++c)
      for (std::size_t r = 0; r < m[0].size(); ++r) put(fmt::format("q[{}][{}]", c, r), m[c][r]);
    body_ += "}\n";
  }
  void expect_vector(const std::string& expression, const std::vector<int>& v) {
    body_ += fmt::format("{{ const {}{} q = {}; ", type_, v.size(), expression);
    for (std::size_t k = 0; k < v.size(); ++k) put(fmt::format("q[{}]", k), v[k]);
    body_ += "}\n";
  }
  void put(const std::string& expression, int value) {
    body_ += fmt::format("o[{}] = uint(int({})); ", expected_.size(), expression);
    expected_.push_back(n(value));
  }
  [[nodiscard]] Row row(const std::string& name) const { return {name, "linear algebra in whole numbers", body_, inputs_, expected_}; }

 private:
  std::string type_, body_;
  Words inputs_, expected_;
};

template <typename Operation>
Numbers each(Numbers a, const Numbers& b, Operation operation) {
  for (std::size_t c = 0; c < a.size(); ++c)
    for (std::size_t r = 0; r < a[0].size(); ++r) a[c][r] = operation(a[c][r], b[c][r]);
  return a;
}

Numbers transposed(const Numbers& a) {
  Numbers t(a[0].size(), std::vector<int>(a.size()));
  for (std::size_t c = 0; c < a.size(); ++c)
    for (std::size_t r = 0; r < a[0].size(); ++r) t[r][c] = a[c][r];
  return t;
}

Row shape(const std::string& type, int columns, int rows) {
  const Numbers a = numbers(columns, rows, 1), b = numbers(columns, rows, 4);
  MatrixRow row(type);
  row.declare("a", a);
  row.declare("b", b);
  row.expect("a + b", each(a, b, [](int x, int y) { return x + y; }));
  row.expect("a - b", each(a, b, [](int x, int y) { return x - y; }));
  row.expect("-a", each(a, a, [](int x, int) { return -x; }));
  row.expect(fmt::format("a * {}(3)", type), each(a, a, [](int x, int) { return 3 * x; }));
  row.expect(fmt::format("{}(3) * a", type), each(a, a, [](int x, int) { return 3 * x; }));
  row.expect("transpose(a)", transposed(a));
  row.put("a == a && !(a == b) && a != b", 1);
  const Numbers v = numbers(1, columns, 2), w = numbers(1, rows, 3);
  std::string vector, left;
  for (const int x : v[0]) vector += fmt::format("{}{}", vector.empty() ? "" : ", ", x);
  for (const int x : w[0]) left += fmt::format("{}{}", left.empty() ? "" : ", ", x);
  row.expect_vector(fmt::format("a * {}{}({})", type, columns, vector), multiplied(a, v)[0]);
  row.expect_vector(fmt::format("{}{}({}) * a", type, rows, left), transposed(multiplied(transposed(w), a))[0]);
  for (int n = 2; n <= 4; ++n) {
    const Numbers c = numbers(n, columns, 5 + n);
    row.declare(fmt::format("c{}", n), c);
    row.expect(fmt::format("a * c{}", n), multiplied(a, c));
  }
  return row.row(fmt::format("{}{}x{}", type, columns, rows));
}

TEST(Surface, MatricesOfEveryShape) {
  for (const std::string type : {"float", "half"}) {
    std::vector<Row> rows;
    // Half of the shapes in each type: clang takes long for them.
    for (int columns = 2; columns <= 4; ++columns) {
      for (int r = 2; r <= 4; ++r) {
        const bool is_turn = (columns == r ? r % 2 == 0 : columns < r) == (type == "float");
        if (is_turn || std::getenv("ASSAY_TEST_SURFACE") != nullptr) rows.push_back(shape(type, columns, r));
      }
    }
    // By cofactors: 1*4 - 2*3, then the matrices that Vectors.Matrices takes of float alone.
    rows.push_back(
        {"determinants of " + type,
         kHand,
         fmt::format(
             "o[0] = uint(int(determinant({0}2x2(1, 2, 3, {0}(I(0)))))); o[1] = uint(int(determinant({0}3x3(2, 0, 1, 1, 3, 2, 1, 1, "
             "{0}(I(0)))))); o[2] = uint(int(determinant({0}4x4(1, 0, 2, 0, 0, 3, 0, 1, 1, 0, {0}(I(0)), 0, 0, 2, 0, 5))));",
             type),
         {4},
         {n(-2), 18, 26}});
    check_rows("matrices of " + type, rows);
  }
}

// Whole numbers, and lengths 3, 5 and 7: (2, 2, 1), (3, 4), (2, 3, 6).
TEST(Surface, GeometryOfEveryVector) {
  for (const std::string type : {"float", "half"}) {
    std::vector<Row> rows;
    const std::vector<std::vector<int>> vectors = {{3, 4}, {2, 2, 1}, {2, 4, 5, 2}};
    for (const auto& v : vectors) {
      const std::size_t size = v.size();
      std::string text;
      int square = 0, sum = 0;
      for (std::size_t k = 0; k < size; ++k) {
        text += fmt::format("{}{}(I({}))", k == 0 ? "" : ", ", type, k);
        square += v[k] * v[k];
        sum += v[k];
      }
      Words inputs(v.begin(), v.end());
      const int length = static_cast<int>(std::lround(std::sqrt(square)));
      const std::string name = fmt::format("{}{}", type, size);
      rows.push_back(
          {"geometry of " + name,
           "MSL 6.8, whole numbers",
           fmt::format("{0} v = {0}({1}); {0} e = {0}({2}(1)); o[0] = uint(dot(v, v)); o[1] = uint(dot(v, e)); o[2] = "
                       "uint(length_squared(v)); o[3] = uint(length(v)); o[4] = uint(distance(v + v, v)); o[5] = "
                       "uint(distance_squared(v + v, v)); o[6] = uint(length(normalize(v) * {2}(16)) + {2}(0.5)); o[7] = "
                       "uint(int(faceforward(v, v, -v).y)); o[8] = uint(int(faceforward(v, v, v).y)); {0} n = {0}({2}(0)); n.x = 1; {0} up "
                       "= {0}({2}(0)); up.y = 1; "
                       "o[9] = uint(int(reflect(v, n).x)); o[10] = uint(int(reflect(v, n).y)); o[11] = uint(int(refract(-n, n, "
                       "{2}(0.5)).x)); o[12] = uint(int(refract(up, n, {2}(4)).y)); static_assert(is_same_v<decltype(dot(v, v)), {2}>);",
                       name, text, type),
           inputs,
           {n(square), n(sum), n(square), n(length), n(length), n(square), 16, n(v[1]), n(-v[1]), n(-v[0]), n(v[1]), n(-1), 0}});
    }
    rows.push_back(
        {"cross of " + type,
         "MSL 6.8, whole numbers",
         fmt::format("{0}3 v = cross({0}3(1, 2, {0}(I(0))), {0}3(4, 5, 6)); o[0] = uint(int(v.x)); o[1] = uint(int(v.y)); o[2] = "
                     "uint(int(v.z));",
                     type),
         {3},
         {n(-3), 6, n(-3)}});
    check_rows("geometry of " + type, rows);
  }
}

TEST(Surface, FastAndPreciseGeometry) {
  std::string body;
  for (const std::string space : {"fast", "precise"})
    body += fmt::format(
        "o[0] += uint({0}::length(float2(F(0), 4))); o[1] += uint({0}::distance(float3(1, 2, F(0)), float3(1, 5, 7))); PUT(2, "
        "{0}::normalize(float4(0, F(0), 4, 0)).w); o[3] += uint({0}::normalize(float2(F(0), 0)).x);",
        space);
  check_rows("geometry of fast and precise",
             {{"length, distance, normalize", "MSL 6.8, whole numbers", "o[0] = 0; o[1] = 0; o[3] = 0; " + body, {f(3)}, {10, 10, 0, 2}}});
}

TEST(Surface, AtomicsOfEveryTypeInBothSpaces) {
  std::vector<Row> rows;
  for (const std::string space : {"device", "threadgroup"}) {
    const std::string place = space == "device" ? "device atomic_{0}* a = (device atomic_{0}*)o; "
                                                : "threadgroup atomic_{0} held; threadgroup atomic_{0}* a = &held; ";
    const auto begin = [&](const std::string& type) { return fmt::format(fmt::runtime(place), type); };
    const std::string order = "memory_order_relaxed";
    for (const std::string type : {"int", "uint"}) {
      const bool is_signed = type == "int";
      std::string body = begin(type) + fmt::format("{} e = 9; atomic_store_explicit(a, I(0), {}); ", type, order);
      int word = 1;
      for (const std::string call :
           {"exchange", "fetch_add", "fetch_sub", "fetch_and", "fetch_or", "fetch_xor", "fetch_min", "fetch_max"}) {
        body += fmt::format("o[{}] = uint(atomic_{}_explicit(a, {}, {})); ", word++, call,
                            call == "exchange"    ? "12"
                            : call == "fetch_add" ? "5"
                            : call == "fetch_min" ? "I(1)"
                            : call == "fetch_max" ? "2"
                                                  : "3",
                            order);
      }
      body += fmt::format(
          "o[9] = atomic_compare_exchange_weak_explicit(a, &e, 1, {0}, {0}); o[10] = uint(e); o[11] = "
          "atomic_compare_exchange_weak_explicit(a, &e, 77, {0}, {0}); o[12] = uint(atomic_load_explicit(a, {0})); ",
          order);
      // 8, 12, 17, 14, 2 (14 & 3), 3 (2 | 3), 0 (3 ^ 3), then min(0, -4) and max(..., 2), signed or not.
      const std::uint32_t least = is_signed ? n(-4) : 0;
      rows.push_back({fmt::format("atomic_{} in {}", type, space),
                      "MSL 6.15, arithmetic by hand",
                      body + (space == "device" ? "" : "o[0] = 77;"),
                      {8, n(-4)},
                      {77, 8, 12, 17, 14, 2, 3, 0, least, 0, 2, 1, 77}});
    }
    rows.push_back(
        {"atomic_float in " + space,
         "MSL 6.15",
         begin("float") + fmt::format("atomic_store_explicit(a, F(0), {0}); PUT(1, atomic_fetch_add_explicit(a, 2.0f, {0})); PUT(2, "
                                      "atomic_fetch_sub_explicit(a, 0.5f, {0})); PUT(3, atomic_exchange_explicit(a, 4.0f, {0})); float e = "
                                      "4; o[4] = atomic_compare_exchange_weak_explicit(a, &e, 8.0f, {0}, {0}); PUT(0, "
                                      "atomic_load_explicit(a, {0}));",
                                      order),
         {f(1)},
         {f(8), f(1), f(3), f(2.5F), 1}});
    rows.push_back(
        {"atomic_bool in " + space,
         "MSL 6.15",
         begin("bool") +
             fmt::format("o[0] = 0; atomic_store_explicit(a, U(0) != 0, {0}); o[1] = atomic_fetch_and_explicit(a, true, {0}); o[2] = "
                         "atomic_fetch_xor_explicit(a, true, {0}); o[3] = atomic_fetch_or_explicit(a, true, {0}); o[4] = "
                         "atomic_exchange_explicit(a, false, {0}); bool e = false; o[5] = "
                         "atomic_compare_exchange_weak_explicit(a, &e, true, {0}, {0}); o[6] = atomic_load_explicit(a, {0}); o[0] = 5;",
                         order),
         {1},
         {5, 1, 1, 0, 1, 1, 1}});
  }
  rows.push_back(
      {"atomic_ulong in device",
       "MSL 6.15",
       "device atomic_ulong* a = (device atomic_ulong*)o; o[0] = 5; o[1] = 1; atomic_min_explicit(a, 0x100000003ul, memory_order_relaxed); "
       "atomic_max_explicit(a, ulong(U(0)), memory_order_relaxed);",
       {9},
       {3, 1}});
  check_rows("atomics", rows);
}

// `namespace probe { using metal::name; }` compiles exactly if metal has the name.
TEST(Surface, OfferedNamesAreThereWhereTheyAreMentioned) {
  std::string source = "#include <metal_stdlib>\nnamespace probe {\n";
  for (const auto name : metal::translate::offered_names()) source += fmt::format("using metal::{};\n", name);
  EXPECT_EQ(compile_error(source + "}\nkernel void k(device int* out) { out[0] = 1; }\n", "k"), "");
  for (const auto name : metal::translate::offered_names()) {
    const auto stream = metal::translate::tokenize(fmt::format("int f(metal::{}<int> x);", name), "");
    EXPECT_NE(metal::translate::offer_names(stream).find(fmt::format("::{};", name)), std::string::npos) << name;
  }
  const auto offered = [](const std::string& text) { return metal::translate::offer_names(metal::translate::tokenize(text, "")); };
  EXPECT_EQ(offered("int unrelated = 3;"), "");
  EXPECT_EQ(offered("struct is_empty {};"), "");
  EXPECT_EQ(offered("namespace metal { template <class... T> using void_t = void; }"), "");
  EXPECT_EQ(offered("namespace own { struct rank {}; } rank r;"), "");
  EXPECT_NE(offered("namespace own { struct rank {}; } metal::rank<int> r;"), "");
  EXPECT_NE(offered("void f() { int rank = 3; } rank<int> r;"), "");
  EXPECT_NE(offered("using namespace metal; void_t<int> r;"), "");
}

TEST(Surface, OfferedTraitsSayWhatTheyMean) {
  check_rows(
      "offered traits",
      {{"vectors and address spaces",
        kMsl,
        "o[0] = vec_elements<float3>::value; o[1] = vec_elements<half>::value; o[2] = vec_elements_v<packed_uchar4>; o[3] = "
        "is_same_v<make_scalar_t<bfloat2>, bfloat>; o[4] = is_vector_v<int2> && !is_vector_v<int>; o[5] = "
        "is_same_v<remove_addrspace_t<device float>, float> && is_same_v<remove_addrspace<threadgroup int>::type, int> && "
        "is_same_v<metal::remove_addrspace_t<half>, half>; o[6] = __is_valid_simdgroup_type<float>::value && "
        "__is_valid_simdgroup_type<ushort4>::value && !__is_valid_simdgroup_type<ulong>::value && !__is_valid_simdgroup_type<bool>::value "
        "&& "
        "!__is_valid_simdgroup_type_v<bfloat>;",
        {},
        {3, 1, 4, 1, 1, 1, 1}},
       {"of C++",
        kCxx,
        "struct Empty {}; struct Full { int x; }; o[0] = is_empty_v<Empty> && !is_empty<Full>::value; o[1] = conjunction_v<true_type, "
        "true_type> && !conjunction<true_type, false_type>::value; o[2] = disjunction_v<false_type, true_type> && negation_v<false_type> "
        "&& "
        "disjunction<false_type, true_type>::value && !negation<true_type>::value; o[3] = is_same_v<remove_cvref_t<const int&>, int> && "
        "is_same_v<typename remove_cvref<int>::type, int>; o[4] = is_same_v<type_identity_t<int>, int> && "
        "is_same_v<type_identity<int>::type, "
        "int> && is_same_v<void_t<int>, void>; o[5] = is_trivial<int>::value && is_trivial_v<int> && is_trivially_copyable<Full>::value && "
        "is_trivially_copyable_v<Full> && is_standard_layout<Full>::value && is_standard_layout_v<Full>; o[6] = is_base_of<Full, "
        "Full>::value && "
        "!is_base_of_v<Full, Empty> && is_constructible<int, float>::value && is_constructible_v<int> && is_assignable<thread int&, "
        "int>::value && "
        "is_assignable_v<thread int&, int>; o[7] = rank<int[2][3]>::value + alignment_of<float3>::value;",
        {},
        {1, 1, 1, 1, 1, 1, 1, 18}},
       {"the names that std lends them",
        kCxx,
        "o[0] = std::is_same_v<std::void_t<int>, void> && std::conjunction<std::true_type>::value && "
        "std::disjunction<std::true_type>::value && "
        "!std::negation<std::true_type>::value;",
        {},
        {1}},
       {"of metal in any case",
        kCxx,
        "o[0] = is_integral_v<char> && is_floating_point_v<bfloat> && is_arithmetic_v<half> && is_signed_v<float> && is_unsigned_v<bool> "
        "&& "
        "is_void_v<void> && is_const_v<const int> && is_volatile_v<volatile int> && is_pointer_v<device int*> && is_reference_v<thread "
        "int&> && "
        "is_lvalue_reference_v<thread int&> && is_array_v<int[2]>; enum Kind { one }; union Both { int a; float b; }; o[1] = "
        "is_enum_v<Kind> && "
        "is_union_v<Both> && is_class_v<float2> && is_function_v<int(int)> && is_convertible_v<int, float> && is_same_v<decay_t<const "
        "int>, "
        "int>; o[2] = is_same_v<conditional_t<true, int, float>, int> && is_same_v<make_unsigned_t<char2>, uchar2> && "
        "is_same_v<make_signed_t<ulong>, "
        "long> && is_same_v<remove_const_t<const int>, int> && is_same_v<remove_volatile_t<volatile int>, int> && "
        "is_same_v<remove_cv_t<const "
        "int>, int> && is_same_v<remove_reference_t<thread int&>, thread int> && is_same_v<remove_pointer_t<device int*>, int> && "
        "is_same_v<remove_extent_t<int[3]>, int> && is_same_v<add_const_t<int>, const int> && _conjunction<true_type>::value && "
        "_negation<false_type>::value && is_same_v<enable_if_t<true, int>, int> && bool_constant<true>::value;",
        {},
        {1, 1, 1}}},
      "");
}

}  // namespace
}  // namespace assay::tests::surface_matrix_test
