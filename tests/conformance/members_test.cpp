// Classes whose members are repeated for several address spaces, as cross compilers and array frameworks write them.
//
// Source of all expectations: hand arithmetic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/execute.h"
#include "tests/conformance/rows.h"

namespace assay::tests::members_test {
namespace {

std::string with_library(std::string_view source) { return "#include <metal_stdlib>\nusing namespace metal;\n" + std::string(source); }

constexpr const char* kArray = R"(
template <typename T, size_t Count>
struct Array {
  T elements[Count ? Count : 1];
  thread T& operator[](size_t at) thread { return elements[at]; }
  constexpr const thread T& operator[](size_t at) const thread { return elements[at]; }
  device T& operator[](size_t at) device { return elements[at]; }
  constexpr const device T& operator[](size_t at) const device { return elements[at]; }
  constexpr const constant T& operator[](size_t at) const constant { return elements[at]; }
  threadgroup T& operator[](size_t at) threadgroup { return elements[at]; }
  constexpr const threadgroup T& operator[](size_t at) const threadgroup { return elements[at]; }
  operator int() const thread { return int(elements[0]); }
  operator int() const device { return int(elements[0]); }
  operator int() const constant { return int(elements[0]); }
  operator int() const threadgroup { return int(elements[0]); }
};
struct Block { int4 head; Array<int, 4> values; };
constant Array<int, 3> kTable = Array<int, 3>({5, 6, 7});
int sum(thread const Array<int, 4>& a) { return a[0] + a[1] + a[2] + a[3]; }
int first(device const Block& b) { return b.values[0] + b.head.x; }
int first(constant Block& b) { return 1000 + b.values[0] + b.head.x; }
)";

TEST(Members, OfEveryAddressSpaceStandSideBySide) {
  const auto outcome = execute({.source = with_library(std::string(kArray) + R"(
kernel void test(device int* out [[buffer(0)]], device Block& block [[buffer(1)]], constant Block& fixed [[buffer(2)]],
                 uint lane [[thread_index_in_threadgroup]]) {
  threadgroup Array<int, 32> shared;
  Array<int, 4> own = Array<int, 4>({1, 2, 3, 4});
  Array<Array<int, 2>, 2> nested = Array<Array<int, 2>, 2>({Array<int, 2>({1, 2}), Array<int, 2>({3, 4})});
  shared[lane] = block.values[1] + fixed.values[2];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (lane > 0) return;
  out[0] = shared[31];
  out[1] = kTable[2];
  out[2] = sum(own);
  out[3] = first(block);
  out[4] = first(fixed);
  out[5] = nested[1][0];
  own = block.values;
  out[6] = own[3];
  block.values = Array<int, 4>{{9, 8, 7, 6}};
  out[7] = block.values[0] + int(own) + int(fixed.values) + int(kTable);
})"),
                                .inputs = {{1, 2, 3, 4, 10, 20, 30, 40}, {5, 6, 7, 8, 50, 60, 70, 80}}});
  EXPECT_TRUE(outcome.hazards.empty());
  const std::vector<std::uint32_t> first(outcome.output.begin(), outcome.output.begin() + 8);
  EXPECT_EQ(first, (std::vector<std::uint32_t>{90, 7, 10, 11, 1055, 3, 40, 9 + 10 + 50 + 5}));
}

TEST(Members, OfDeviceObjectsHandTheirMembersOn) {
  const auto outcome = execute({.source = with_library(R"(
struct Row {
  int data[4];
  int count;
  static int total(const device int* p, const device int& n) { int s = 0; for (int i = 0; i < n; ++i) s += p[i]; return s; }
  static int total(constant int* p, constant int& n) { int s = 0; for (int i = 0; i < n; ++i) s += p[i]; return s; }
  static void put(device int* p, int v) { *p = v; }
  int sum() const device { return total(data, count); }
  int sum() const constant { return total(data, count); }
  int sum() const thread { return -1; }
  device int* begin() device { return data; }
  device Row& self() device { return *this; }
  void set(int v) device { put(data, v); put(&data[1], 2 * v); put(this->data + 2, 3 * v); int count = 0; (void)count; }
};
int ask(device Row& row) { return row.sum(); }
kernel void test(device int* out [[buffer(0)]], device Row* row [[buffer(1)]], constant Row& fixed [[buffer(2)]]) {
  Row own;
  row->set(5);
  out[0] = row->sum();
  out[1] = fixed.sum();
  out[2] = own.sum();
  out[3] = row->begin()[1];
  out[4] = ask(row->self());
})"),
                                .inputs = {{1, 1, 1, 1, 4}, {1, 2, 3, 4, 3}},
                                .threads = {1, 1, 1}});
  EXPECT_TRUE(outcome.hazards.empty());
  const std::vector<std::uint32_t> first(outcome.output.begin(), outcome.output.begin() + 5);
  EXPECT_EQ(first, (std::vector<std::uint32_t>{5 + 10 + 15 + 1, 6, ~0U, 10, 31}));
}

// Overloads for `device` and `constant` do different things, and hand on objects in different spaces.
TEST(Members, OfDeviceAndOfConstantObjectsAreTwo) {
  const auto outcome = execute({.source = with_library(R"(
int tag(const device int*) { return 1; }
int tag(constant int*) { return 2; }
int tag(const thread int*) { return 3; }
int tag(const threadgroup int*) { return 4; }
struct Base { int b; };
template <typename T>
struct Cell : Base {
  T a;
  int same() const device { return tag(&a); }
  int same() const constant { return tag(&a); }
  int same() const thread { return tag(&a); }
  int other() const device { return 10 + tag(&this->b); }
  int other() const constant { return 20 + tag(&b); }
  int outside() const device;
  int outside() const constant;
  template <int N> int times() const device { return N * tag(&a); }
  template <int N> int times() const constant { return -N * tag(&a); }
  int operator()(int x) const device { return x + tag(&a); }
  int operator()(int x) const constant { return x - tag(&a); }
  operator int() const device { return 300 + tag(&a); }
  operator int() const constant { return 400 + tag(&a); }
  auto trailing() const device -> int { return 500 + tag(&a); }
  auto trailing() const constant -> int { return 600 + tag(&a); }
  int changed() device { a += 1; return tag(&a); }
  int changed() const device { return 70 + tag(&a); }
  const device Cell* self() const device { return this; }
  constant Cell* self() const constant { return this; }
  [[nodiscard]] static int no_object() { return 7; }
};
template <typename T> int Cell<T>::outside() const device { return 30 + tag(&a); }
template <typename T> int Cell<T>::outside() const constant { return 40 + tag(&a); }
struct Only { int a; int get() const constant; int get() const device; };
int Only::get() const constant { return 1000 + tag(&a); }
int Only::get() const device { return 2000 + tag(&a); }
template <typename P> int all(P p) { return p->self()->same(); }
kernel void test(device int* out [[buffer(0)]], device Cell<int>* d [[buffer(1)]], constant Cell<int>& c [[buffer(2)]]) {
  const device Cell<int>* r = d;
  Cell<int> own = *d;
  out[0] = d->same(); out[1] = c.same(); out[2] = own.same();
  out[3] = d->other(); out[4] = c.other();
  out[5] = d->outside(); out[6] = c.outside();
  out[7] = d->times<5>(); out[8] = c.times<5>();
  out[9] = (*d)(100); out[10] = c(100);
  out[11] = int(*d); out[12] = c;
  out[13] = d->trailing(); out[14] = c.trailing();
  out[15] = d->changed(); out[16] = r->changed();
  out[17] = all(d); out[18] = all(&c);
  out[19] = ((device Only*)d)->get(); out[20] = ((constant Only&)c).get();
  out[21] = d->a;
})"),
                                .inputs = {{1, 2}, {3, 4}},
                                .threads = {1, 1, 1}});
  EXPECT_TRUE(outcome.hazards.empty());
  const std::vector<std::uint32_t> first(outcome.output.begin(), outcome.output.begin() + 22);
  EXPECT_EQ(first, (std::vector<std::uint32_t>{1,   2, 3,  11, 22, 31,   42,   5, std::uint32_t(-10), 101, 98, 301, 402, 501,
                                               602, 1, 71, 1,  2,  2001, 1002, 3}));
}

// What has a function for `device` alone is of no use in `constant`.
TEST(Members, OfDeviceObjectsAloneAreNotForConstant) {
  EXPECT_THAT(compile_error(R"(
struct Cell { int a; int get() const device { return a; } };
kernel void test(device int* out [[buffer(0)]], constant Cell& c [[buffer(1)]]) { out[0] = c.get(); })",
                            "test"),
              testing::HasSubstr(":3: error: "));
}

TEST(Members, ConstructorsOfEveryAddressSpaceAreOne) {
  const auto outcome = execute({.source = with_library(R"(
struct Pair {
  int a, b;
  Pair() thread = default;
  Pair() threadgroup = default;
  constexpr Pair(int x, int y = 1) constant : a(x), b(y) {}
  Pair(int x, int y = 1) thread : a(x), b(y) {}
  Pair(int x, int y = 1) threadgroup : a(x), b(y) {}
  thread Pair& operator+=(Pair o) thread { return *this = Pair(a + o.a, b + o.b); }
};
constant Pair kPair = Pair(3, 4);
kernel void test(device int* out, uint lane [[thread_index_in_threadgroup]]) {
  threadgroup Pair pairs[32];
  pairs[lane] = Pair(int(lane));
  Pair p = kPair;
  p += pairs[lane];
  out[lane] = p.a * 100 + p.b;
})")});
  EXPECT_TRUE(outcome.hazards.empty());
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(outcome.output[lane], (3 + lane) * 100 + 5);
}

TEST(Members, ConstructorsTakeVectorsInBraces) {
  const auto outcome = execute({.source = with_library(R"(
struct Wide { int4 v; Wide(int4 x) : v(x) {} };
kernel void test(device int* out, uint lane [[thread_index_in_threadgroup]]) {
  int n = int(lane);
  Wide one({n});
  Wide four = Wide({n, n + 1, n + 2, n + 3});
  Wide other({n, n + 1});
  out[lane] = one.v.x * 1000 + one.v.y + four.v.w * 100 + other.v.y * 10 + other.v.z;
})")});
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(outcome.output[lane], lane * 1000 + (lane + 3) * 100 + (lane + 1) * 10);
}

// metal::array hands out what lies where the array lies.
TEST(Members, OfTheLibrarysArrayLieWhereItLies) {
  const auto outcome = execute({.source = with_library(R"(
constant array<int, 3> kTable = {1, 2, 3};
struct Plain { int n; thread Plain& operator=(const thread Plain&) = default; };
int doubled(thread int& n) { return n *= 2; }
kernel [[max_total_threads_per_threadgroup(64)]] void test(device int* out) {
  array<int, 3> own = {1, 2, 3};
  for (thread auto& v : own) v *= 2;
  for (auto& v : own) doubled(v);
  thread int* p = own.data();
  thread auto& first = own.front();
  threadgroup array<int, 2> shared;
  for (threadgroup auto& v : shared) v = 5;
  out[0] = 10;
  out[1] = 20;
  for (device auto& v : *(device array<int, 2>*)out) v += 1;
  int sum = 0;
  for (const constant int& v : kTable) sum += v;
  Plain a{1}, b{2};
  a = b;
  out[2] = p[1] + first + shared[1] + sum + a.n + array<int, 2>{{5, 6}}[1];
})"),
                                .threads = {1, 1, 1}});
  EXPECT_TRUE(outcome.hazards.empty());
  const std::vector<std::uint32_t> first(outcome.output.begin(), outcome.output.begin() + 3);
  EXPECT_EQ(first, (std::vector<std::uint32_t>{11, 21, 8 + 4 + 5 + 6 + 2 + 6}));
}

}  // namespace
}  // namespace assay::tests::members_test
