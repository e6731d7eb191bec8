// Every SIMD-group and quad-group function, and the builtin behind each, for every type and its vectors.
//
// Expectations: MSL 6.9.2 and 6.9.3, evaluated on the host over the lanes of the group. Numbers are chosen so that no order of adding or
// multiplying them rounds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/conformance/rows.h"
#include "tests/conformance/surface.h"

namespace assay::tests::surface_group_test {
namespace {

constexpr std::size_t kLanes = 32;
constexpr std::size_t kX = 0, kY = 1, kZ = 2;  // numbers to add; to multiply; to fill with

struct Type {
  std::string name;
  unsigned width;  // bits
  bool is_signed;
  bool is_floating;
};

using Combine = std::function<Bits(const Type&, Bits, Bits)>;

Bits masked(const Type& type, Bits bits) { return type.width == 64 ? bits : bits & ((Bits{1} << type.width) - 1); }

std::int64_t as_signed(const Type& type, Bits bits) {
  const unsigned unused = 64 - type.width;
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

bool less(const Type& type, Bits a, Bits b) {
  if (type.is_floating) return decode(type.name, a) < decode(type.name, b);
  return type.is_signed ? as_signed(type, a) < as_signed(type, b) : a < b;
}
Bits sum(const Type& type, Bits a, Bits b) {
  return type.is_floating ? encode(type.name, decode(type.name, a) + decode(type.name, b)) : masked(type, a + b);
}
Bits product(const Type& type, Bits a, Bits b) {
  return type.is_floating ? encode(type.name, decode(type.name, a) * decode(type.name, b)) : masked(type, a * b);
}
Bits lower(const Type& type, Bits a, Bits b) { return less(type, b, a) ? b : a; }
Bits higher(const Type& type, Bits a, Bits b) { return less(type, a, b) ? b : a; }

using Lanes = std::vector<Values>;
using Across = std::function<Bits(const Lanes&, std::size_t)>;

Across reduced(const Type& type, std::size_t group, std::size_t variable, Combine combine) {
  return [=](const Lanes& lanes, std::size_t lane) {
    const std::size_t first = lane / group * group;
    Bits result = lanes[first][variable];
    for (std::size_t l = first + 1; l < first + group; ++l) result = combine(type, result, lanes[l][variable]);
    return result;
  };
}
Across prefix(const Type& type, std::size_t group, std::size_t variable, bool inclusive, long double identity, Combine combine) {
  return [=](const Lanes& lanes, std::size_t lane) {
    Bits result = type.is_floating ? encode(type.name, identity) : static_cast<Bits>(identity);
    for (std::size_t l = lane / group * group; l < lane + (inclusive ? 1 : 0); ++l) result = combine(type, result, lanes[l][variable]);
    return result;
  };
}
// What lane `from(l)` of the caller's group holds, l being the caller's own lane in it. A negative lane or one beyond keeps one's own.
Across moved(std::size_t group, std::function<int(int)> from) {
  return [=](const Lanes& lanes, std::size_t lane) {
    const int source = from(static_cast<int>(lane % group));
    const bool inside = source >= 0 && source < static_cast<int>(group);
    return lanes[inside ? lane / group * group + static_cast<std::size_t>(source) : lane][kX];
  };
}
// Runs of `modulo` lanes; what comes from outside of the run is the filling, taken from where the run goes on.
Across filled(std::size_t modulo, int step) {
  return [=](const Lanes& lanes, std::size_t lane) {
    const int run = static_cast<int>(modulo), first = static_cast<int>(lane) / run * run;
    const int source = static_cast<int>(lane) + step;
    if (source >= first && source < first + run) return lanes[static_cast<std::size_t>(source)][kX];
    return lanes[static_cast<std::size_t>(source < first ? source + run : source - run)][kZ];
  };
}

std::vector<SurfaceRow> rows_of(const Type& type, const std::string& prefix_name, std::size_t group, bool bitwise, bool builtin) {
  std::vector<SurfaceRow> rows;
  const int last = static_cast<int>(group) - 1, width = static_cast<int>(group);
  const auto add = [&](const std::string& call, Across across) { rows.push_back({prefix_name + call, "", {}, std::move(across)}); };
  add("_sum(x)", reduced(type, group, kX, sum));
  add("_product(y)", reduced(type, group, kY, product));
  add("_min(x)", reduced(type, group, kX, lower));
  add("_max(x)", reduced(type, group, kX, higher));
  if (bitwise) {
    add("_and(x)", reduced(type, group, kX, [](const Type&, Bits a, Bits b) { return a & b; }));
    add("_or(x)", reduced(type, group, kX, [](const Type&, Bits a, Bits b) { return a | b; }));
    add("_xor(x)", reduced(type, group, kX, [](const Type&, Bits a, Bits b) { return a ^ b; }));
  }
  add("_prefix_inclusive_sum(x)", prefix(type, group, kX, true, 0, sum));
  add("_prefix_exclusive_sum(x)", prefix(type, group, kX, false, 0, sum));
  add("_prefix_inclusive_product(y)", prefix(type, group, kY, true, 1, product));
  add("_prefix_exclusive_product(y)", prefix(type, group, kY, false, 1, product));
  add("_broadcast(x, 2)", moved(group, [](int) { return 2; }));
  add("_broadcast_first(x)", moved(group, [](int) { return 0; }));
  add(fmt::format("_shuffle(x, ushort((lane + 3) & {}))", last), moved(group, [last](int l) { return (l + 3) & last; }));
  add("_shuffle_xor(x, 3)", moved(group, [](int l) { return l ^ 3; }));
  add("_shuffle_up(x, 2)", moved(group, [](int l) { return l - 2; }));
  add("_shuffle_down(x, 2)", moved(group, [](int l) { return l + 2; }));
  add("_shuffle_rotate_up(x, 1)", moved(group, [width](int l) { return (l - 1 + width) % width; }));
  add("_shuffle_rotate_down(x, 1)", moved(group, [width](int l) { return (l + 1) % width; }));
  const std::string whole = builtin ? fmt::format(", {}", width) : "";
  add(fmt::format("_shuffle_and_fill_up(x, z, 1{})", whole), filled(group, -1));
  add(fmt::format("_shuffle_and_fill_down(x, z, 1{})", whole), filled(group, 1));
  add("_shuffle_and_fill_up(x, z, 1, 2)", filled(2, -1));
  add("_shuffle_and_fill_down(x, z, 1, 2)", filled(2, 1));
  return rows;
}

Lanes values_of(const Type& type) {
  std::mt19937_64 engine(type.width + type.is_signed);
  Lanes lanes(kLanes);
  for (std::size_t l = 0; l < kLanes; ++l) {
    auto& v = lanes[l];
    v.fill(0);
    if (type.is_floating) {
      // Sums up to 128 and products between 1/2 and 2 need five bits at the most.
      v[kX] = encode(type.name, static_cast<long double>(static_cast<int>(engine() % 9) - 4));
      v[kY] = encode(type.name, l % 2 == 0 ? 2 : l % 4 == 1 ? 0.5L : -0.5L);
      v[kZ] = encode(type.name, 100 + static_cast<int>(l) % 8);
    } else {
      for (auto& value : v) value = masked(type, engine() >> (engine() % 5 * type.width / 5));
      v[kY] |= 1;  // no product of odd numbers vanishes
    }
  }
  return lanes;
}

void check_groups(const std::vector<Type>& types, bool builtin, std::vector<int> sizes) {
  for (const auto& type : types) {
    for (const auto& [group, name] : {std::pair<std::size_t, std::string>{kLanes, "simd"}, {4, "quad"}}) {
      const bool bitwise = builtin || !type.is_floating;
      Surface surface{type.name, rows_of(type, (builtin ? "__metal_" : "") + name, group, bitwise, builtin), values_of(type)};
      surface.sizes = sizes;
      check_surface(surface);
    }
  }
}

const std::vector<Type> kIntegers = {{"char", 8, true, false},     {"uchar", 8, false, false}, {"short", 16, true, false},
                                     {"ushort", 16, false, false}, {"int", 32, true, false},   {"uint", 32, false, false}};
const std::vector<Type> kFloating = {{"half", 16, true, true}, {"float", 32, true, true}};
const std::vector<Type> kBuiltinsOnly = {{"long", 64, true, false}, {"ulong", 64, false, false}, {"bfloat", 16, true, true}};

TEST(Surface, GroupFunctionsOfIntegers) { check_groups(kIntegers, false, {1, 2, 3, 4}); }
TEST(Surface, GroupFunctionsOfHalfAndFloat) { check_groups(kFloating, false, {1, 2, 3, 4}); }
TEST(Surface, GroupBuiltinsOfTheSameTypes) {
  check_groups(kIntegers, true, {1, 3});
  check_groups(kFloating, true, {1, 4});
}
TEST(Surface, GroupBuiltinsOfTypesThatTheLibraryLeavesOut) { check_groups(kBuiltinsOnly, true, {1, 2}); }

// 32 lanes of which the upper half has left.
TEST(Surface, Votes) {
  check_lane_rows(
      "votes",
      {{"simd_vote and quad_vote", "MSL 6.9.2: bit l of a vote is lane l",
        "simd_vote a = simd_ballot(lane < 3), e; quad_vote q = quad_ballot(lane % 4 == 1); ulong bits = ulong(a | simd_vote(8)); "
        "o[lane] = uint(bits) + 256 * uint(ulong(q)) + 4096 * (a == simd_vote(7) && a != simd_vote(6) && e == simd_vote(0) && "
        "!a.all() && a.any() && !e.any() && (~e).all() && ulong(a ^ simd_vote(1)) == 6 && ulong(a & simd_vote(4)) == 4) + 8192 * "
        "(simd_all(true) && !simd_all(lane < 5) && simd_any(lane == 9) && !simd_any(false)) + 16384 * (quad_any(lane % 4 == 2) && "
        "!quad_all(lane % 4 == 2)) + 32768 * (simd_is_first() == (lane == 0) && quad_is_first() == (lane % 4 == 0)) + 65536 * "
        "(simd_is_helper_thread() || quad_is_helper_thread()) + 131072 * (ulong(simd_active_threads_mask()) == 0xfffffffful && "
        "ulong(quad_active_threads_mask()) == 15);",
        Words(kLanes, 0), [](const Words&) { return Words(kLanes, 15 + 256 * 2 + 4096 + 8192 + 16384 + 32768 + 131072); }},
       {"builtins of votes", "MSL 6.9.2",
        "o[lane] = uint(__metal_simd_ballot(lane < 3)) + 16 * __metal_simd_any(lane == 9) + 32 * __metal_simd_all(lane < 5) + 64 * "
        "(__metal_simd_is_first() == (lane == 0)) + 128 * uint(__metal_quad_ballot(lane % 4 == 0)) + 256 * "
        "__metal_get_simdgroup_size(ushort()) + 32768 * __metal_get_quadgroup_size(ushort());",
        Words(kLanes, 0), [](const Words&) { return Words(kLanes, 7 + 16 + 64 + 128 + 256 * 32 + 32768 * 4); }}});
}

}  // namespace
}  // namespace assay::tests::surface_group_test
