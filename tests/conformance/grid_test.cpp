// Where a thread is: every position builtin, written out by the kernel and compared here with what the dispatch says.
//
// Source of all expectations: Metal Shading Language Specification, attributes for kernel function input arguments.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "metal/compile/library.h"
#include "tests/conformance/execute.h"
#include "tests/conformance/rows.h"

namespace assay::tests::grid_test {
namespace {

struct Place {
  metal::Size3 threads;      // of the whole grid
  metal::Size3 threadgroup;  // as dispatched
  metal::Size3 position;     // of this thread
};

std::uint32_t groups(std::uint32_t threads, std::uint32_t size) { return (threads + size - 1) / size; }
// What is left of the grid for the threadgroup that `position` lies in.
std::uint32_t ragged(std::uint32_t threads, std::uint32_t size, std::uint32_t position) {
  return std::min(size, threads - position / size * size);
}
metal::Size3 own_size(const Place& p) {
  return {ragged(p.threads.x, p.threadgroup.x, p.position.x), ragged(p.threads.y, p.threadgroup.y, p.position.y),
          ragged(p.threads.z, p.threadgroup.z, p.position.z)};
}
std::uint32_t index_in_threadgroup(const Place& p) {
  const auto size = own_size(p);
  return p.position.x % p.threadgroup.x + size.x * (p.position.y % p.threadgroup.y + size.y * (p.position.z % p.threadgroup.z));
}
std::uint32_t count(metal::Size3 size) { return static_cast<std::uint32_t>(size.count()); }

struct Builtin {
  std::string attribute;
  int components;
  std::function<metal::Size3(const Place&)> expected;
};

const std::vector<Builtin>& builtins() {
  static const std::vector<Builtin> table = {
      {"thread_position_in_grid", 3, [](const Place& p) { return p.position; }},
      {"thread_position_in_threadgroup", 3,
       [](const Place& p) {
         return metal::Size3{p.position.x % p.threadgroup.x, p.position.y % p.threadgroup.y, p.position.z % p.threadgroup.z};
       }},
      {"threadgroup_position_in_grid", 3,
       [](const Place& p) {
         return metal::Size3{p.position.x / p.threadgroup.x, p.position.y / p.threadgroup.y, p.position.z / p.threadgroup.z};
       }},
      {"threadgroups_per_grid", 3,
       [](const Place& p) {
         return metal::Size3{groups(p.threads.x, p.threadgroup.x), groups(p.threads.y, p.threadgroup.y),
                             groups(p.threads.z, p.threadgroup.z)};
       }},
      {"threads_per_threadgroup", 3, own_size},
      {"dispatch_threads_per_threadgroup", 3, [](const Place& p) { return p.threadgroup; }},
      {"threads_per_grid", 3, [](const Place& p) { return p.threads; }},
      {"grid_size", 3, [](const Place& p) { return p.threads; }},
      {"grid_origin", 3, [](const Place&) { return metal::Size3{0, 0, 0}; }},
      {"thread_index_in_threadgroup", 1, [](const Place& p) { return metal::Size3{index_in_threadgroup(p), 0, 0}; }},
      {"thread_index_in_simdgroup", 1, [](const Place& p) { return metal::Size3{index_in_threadgroup(p) % 32, 0, 0}; }},
      {"simdgroup_index_in_threadgroup", 1, [](const Place& p) { return metal::Size3{index_in_threadgroup(p) / 32, 0, 0}; }},
      {"simdgroups_per_threadgroup", 1, [](const Place& p) { return metal::Size3{groups(count(own_size(p)), 32), 0, 0}; }},
      {"dispatch_simdgroups_per_threadgroup", 1, [](const Place& p) { return metal::Size3{groups(count(p.threadgroup), 32), 0, 0}; }},
      {"threads_per_simdgroup", 1, [](const Place&) { return metal::Size3{32, 0, 0}; }},
      {"thread_execution_width", 1, [](const Place&) { return metal::Size3{32, 0, 0}; }},
      {"thread_index_in_quadgroup", 1, [](const Place& p) { return metal::Size3{index_in_threadgroup(p) % 4, 0, 0}; }},
      {"quadgroup_index_in_threadgroup", 1, [](const Place& p) { return metal::Size3{index_in_threadgroup(p) / 4, 0, 0}; }},
      {"quadgroups_per_threadgroup", 1, [](const Place& p) { return metal::Size3{groups(count(own_size(p)), 4), 0, 0}; }},
      {"dispatch_quadgroups_per_threadgroup", 1, [](const Place& p) { return metal::Size3{groups(count(p.threadgroup), 4), 0, 0}; }},
  };
  return table;
}

// One column of three words for each builtin, behind each other for each thread. Types take turns, since Metal has two.
std::string source_of(const std::vector<Builtin>& table) {
  std::string parameters;
  std::string stores;
  for (std::size_t b = 0; b < table.size(); ++b) {
    const std::string scalar = b % 2 == 0 ? "uint" : "ushort";
    parameters += fmt::format(", {}{} b{} [[{}]]", scalar, table[b].components == 3 ? "3" : "", b, table[b].attribute);
    for (int axis = 0; axis < 3; ++axis) {
      const std::string value = table[b].components == 3 ? fmt::format("b{}[{}]", b, axis) : axis == 0 ? fmt::format("b{}", b) : "0";
      stores += fmt::format("  o[{}] = {};\n", 3 * b + static_cast<std::size_t>(axis), value);
    }
  }
  return fmt::format(
      "#include <metal_stdlib>\nusing namespace metal;\nkernel void test(device uint* out{}) {{\n  device uint* o = out + {} * (b0.x + "
      "b6.x * "
      "(b0.y + b6.y * b0.z));\n{}}}\n",
      parameters, 3 * table.size(), stores);
}

// How many words differ from `table`'s expectations, and the first in words.
std::size_t differences(const std::vector<Builtin>& table, const std::vector<std::uint32_t>& words, metal::Size3 threads,
                        metal::Size3 threadgroup, std::string& first) {
  std::size_t wrong = 0;
  std::size_t at = 0;
  Place place{threads, threadgroup, {}};
  for (place.position.z = 0; place.position.z < threads.z; ++place.position.z) {
    for (place.position.y = 0; place.position.y < threads.y; ++place.position.y) {
      for (place.position.x = 0; place.position.x < threads.x; ++place.position.x) {
        for (const auto& builtin : table) {
          const auto expected = builtin.expected(place);
          const metal::Size3 actual{words.at(at), words.at(at + 1), words.at(at + 2)};
          at += 3;
          if (actual == expected) continue;
          if (wrong++ == 0) {
            first =
                fmt::format("[[{}]] of thread ({}, {}, {}) is ({}, {}, {}), should be ({}, {}, {})", builtin.attribute, place.position.x,
                            place.position.y, place.position.z, actual.x, actual.y, actual.z, expected.x, expected.y, expected.z);
          }
        }
      }
    }
  }
  return wrong;
}

std::vector<std::uint32_t> run(metal::Size3 threads, metal::Size3 threadgroup) {
  const auto library = metal::Library::from_source(source_of(builtins()), "grid.metal");
  metal::Simulator simulator({library});
  simulator.set_pipeline({"test", {}});
  metal::Buffer out(threads.count() * builtins().size() * 3 * sizeof(std::uint32_t));
  simulator.set_buffer(0, {&out, 0});
  simulator.dispatch_threads(threads, threadgroup);
  return {out.as<std::uint32_t>().begin(), out.as<std::uint32_t>().end()};
}

TEST(Grid, EveryPositionBuiltinAgreesWithTheDispatch) {
  const std::pair<metal::Size3, metal::Size3> dispatches[] = {
      {{60, 6, 2}, {20, 3, 2}},  // whole threadgroups of 120 threads: a last SIMD-group of 24
      {{50, 5, 3}, {16, 4, 2}},  // ragged along each axis
      {{7, 1, 1}, {7, 1, 1}},    // neither a whole SIMD-group nor whole quad-groups
  };
  for (const auto& [threads, threadgroup] : dispatches) {
    std::string first;
    EXPECT_EQ(differences(builtins(), run(threads, threadgroup), threads, threadgroup, first), 0u) << first;
  }
}

// The comparison above, with one word wrong and with one builtin in another's place.
TEST(Grid, AWrongBuiltinIsSeen) {
  const metal::Size3 threads{50, 5, 3};
  const metal::Size3 threadgroup{16, 4, 2};
  auto words = run(threads, threadgroup);
  std::string first;
  words[3 * 14] += 1;
  EXPECT_EQ(differences(builtins(), words, threads, threadgroup, first), 1u);
  EXPECT_EQ(first, "[[threads_per_simdgroup]] of thread (0, 0, 0) is (33, 0, 0), should be (32, 0, 0)");
  words[3 * 14] -= 1;
  for (std::size_t b = 0; b < builtins().size(); ++b) {
    // What no thread can tell apart in any dispatch: two names of one thing.
    auto table = builtins();
    table[b].expected = [original = table[b].expected](const Place& p) {
      auto value = original(p);
      value.x += 1;
      return value;
    };
    EXPECT_EQ(differences(table, words, threads, threadgroup, first), threads.count()) << builtins()[b].attribute;
  }
}

}  // namespace
}  // namespace assay::tests::grid_test
