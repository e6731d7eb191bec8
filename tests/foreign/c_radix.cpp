// Runs of c_radix.metal and their expected results. Histograms, scans and the passes of a least-significant-digit radix sort.
#include "tests/foreign/foreign.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace assay::foreign::c::radix {
namespace {

const char* const kFile = "c_radix.metal";
using u32 = std::uint32_t;

struct SortArgs {
  u32 n, shift, blocks;
};

u32 groups(u32 n) { return (n + 127) / 128; }

std::vector<u32> digits(const std::vector<u32>& ordered, u32 shift, bool descending) {
  std::vector<u32> d;
  for (u32 x : ordered) d.push_back(descending ? 15 - (x >> shift & 15) : x >> shift & 15);
  return d;
}

template <typename K>
std::vector<Run> sort_runs(const std::string& type, Format format, std::vector<K> keys, const std::vector<u32>& ordered,
                           const std::vector<double>& values, u32 shift, int descending) {
  const u32 n = static_cast<u32>(keys.size()), blocks = groups(n);
  auto d = digits(ordered, shift, descending == 1);
  std::vector<double> counts(16 * blocks, 0.0);
  for (u32 i = 0; i < n; ++i) counts[d[i] * blocks + i / 128] += 1;
  std::vector<u32> offsets(16 * blocks), order(n), payload(n);
  for (u32 i = 1; i < 16 * blocks; ++i) offsets[i] = offsets[i - 1] + static_cast<u32>(counts[i - 1]);
  for (u32 i = 0; i < n; ++i) order[i] = i, payload[i] = i * 2654435761u;
  std::sort(order.begin(), order.end(), [&](u32 a, u32 b) { return d[a] != d[b] ? d[a] < d[b] : a < b; });
  std::vector<double> sorted, moved;
  for (u32 i : order) sorted.push_back(values[i]), moved.push_back(payload[i]);

  Run count("c_radix_count_" + type, kFile, "radix_count_" + type);
  count.buffer(0, keys).fresh(1, 64 * blocks).value(2, SortArgs{n, shift, blocks});
  count.dispatch_threadgroups({blocks, 1, 1}, {128, 1, 1}).expect_equal(1, Format::u32, counts);
  Run pairs("c_radix_pairs_" + type, kFile, "radix_scatter_pairs_" + type);
  pairs.buffer(0, keys).buffer(1, offsets).value(2, SortArgs{n, shift, blocks}).fresh(3, n * sizeof(K)).buffer(4, payload).fresh(5, n * 4);
  pairs.dispatch_threadgroups({blocks, 1, 1}, {128, 1, 1}).expect_equal(3, format, sorted).expect_equal(5, Format::u32, moved);
  Run plain("c_radix_scatter_" + type, kFile, "radix_scatter_" + type);
  plain.buffer(0, keys).buffer(1, offsets).value(2, SortArgs{n, shift, blocks}).fresh(3, n * sizeof(K)).buffer(4, payload).fresh(5, 16);
  plain.dispatch_threadgroups({blocks, 1, 1}, {128, 1, 1}).expect_equal(3, format, sorted);
  std::vector<Run> runs = {count, pairs, plain};
  if (descending >= 0)
    for (auto& r : runs) r.constant(0, descending == 1);
  return runs;
}

Run scan(const char* name, const char* function, u32 n, bool inclusive, bool maximum) {
  std::mt19937 g(81);
  std::vector<u32> in(n);
  for (auto& x : in) x = g();
  std::vector<double> out;
  u32 carry = 0;
  for (u32 x : in) {
    u32 next = maximum ? std::max(carry, x) : carry + x;
    out.push_back(inclusive ? next : carry);
    carry = next;
  }
  Run r(name, kFile, function);
  r.buffer(0, in)
      .fresh(1, n * 4)
      .value(2, n)
      .threadgroup(0, 16)
      .dispatch_threadgroups({1, 1, 1}, {96, 1, 1})
      .expect_equal(1, Format::u32, out);
  return r;
}

Run histogram() {
  std::mt19937 g(82);
  std::vector<std::uint8_t> in(3000);
  for (auto& x : in) x = static_cast<std::uint8_t>((g() & 255) * (g() & 255) >> 8);
  std::vector<u32> start(256, 3);
  std::vector<double> out(256, 3.0);
  for (auto x : in) out[x] += 1;
  Run r("c_histogram_bytes", kFile, "histogram_bytes");
  r.buffer(0, in).buffer(1, start).value(2, u32{750}).dispatch_threadgroups({3, 1, 1}, {64, 1, 1}).expect_equal(1, Format::u32, out);
  return r;
}

std::vector<Run> radix_runs() {
  std::mt19937 g(80);
  std::vector<Run> runs;
  auto add = [&](std::vector<Run> more) { runs.insert(runs.end(), more.begin(), more.end()); };
  std::vector<u32> u, ordered;
  std::vector<std::int32_t> s;
  std::vector<float> f;
  std::vector<std::uint16_t> h;
  std::vector<double> values;
  for (int i = 0; i < 300; ++i) u.push_back(g()), values.push_back(u.back());
  add(sort_runs("uint", Format::u32, u, u, values, 8, -1));
  values.clear();
  for (int i = 0; i < 257; ++i)
    s.push_back(static_cast<std::int32_t>(g())), ordered.push_back(static_cast<u32>(s.back() + 0x80000000ll)), values.push_back(s.back());
  add(sort_runs("int", Format::i32, s, ordered, values, 28, 1));
  // Floats in their order: negative ones count downwards from the middle, the others upwards.
  ordered.clear(), values.clear();
  for (int i = 0; i < 131; ++i) {
    float x = std::ldexp(static_cast<float>(static_cast<std::int32_t>(g() >> 8) - (1 << 23)), -static_cast<int>(g() % 20));
    u32 magnitude;
    float positive = std::fabs(x);
    std::memcpy(&magnitude, &positive, 4);
    f.push_back(x), values.push_back(x), ordered.push_back(x < 0 ? 0x7fffffffu - magnitude : 0x80000000u + magnitude);
  }
  add(sort_runs("float", Format::f32, f, ordered, values, 24, 0));
  ordered.clear(), values.clear();
  for (int i = 0; i < 200; ++i) {
    u32 magnitude = g() % 0x7c00, sign = g() & 1;
    h.push_back(static_cast<std::uint16_t>(magnitude | sign << 15)), values.push_back(half_value(h.back()));
    ordered.push_back(sign ? 0x7fffu - magnitude : 0x8000u + magnitude);
  }
  add(sort_runs("half", Format::f16, h, ordered, values, 12, 1));
  runs.push_back(scan("c_scan_exclusive", "scan_sum_exclusive", 250, false, false));
  runs.push_back(scan("c_scan_inclusive", "scan_sum_inclusive", 96, true, false));
  runs.push_back(scan("c_scan_max", "scan_max_inclusive", 321, true, true));
  runs.push_back(histogram());
  return runs;
}
const Runs kRadix(radix_runs);

}  // namespace
}  // namespace assay::foreign::c::radix
