// Builds the kernel of a table of rows, runs it and compares each row.
#include "tests/conformance/rows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>
#include <sstream>

#include "metal/buffer.h"
#include "metal/compile/library.h"
#include "metal/devices/simulator.h"
#include "metal/errors.h"
#include "tests/support/both_engines.h"
#include "tests/support/ptx.h"

namespace assay::tests {

namespace {

constexpr std::uint32_t kLanes = 32;

constexpr std::string_view kPreamble = "#include <metal_stdlib>\nusing namespace metal;\n";

// Behind the prologue, whose own names they must not touch.
constexpr std::string_view kMacros = R"(
#define F(k) as_type<float>(i[k])
#define I(k) as_type<int>(i[k])
#define U(k) (i[k])
#define H(k) as_type<half>(ushort(i[k]))
#define B(k) as_type<bfloat>(ushort(i[k]))
#define PUT(k, v) o[k] = as_type<uint>(v)
#define PUTH(k, v) o[k] = uint(as_type<ushort>(v))
)";

// What a row's own slice of the output holds where nothing was written.
constexpr std::uint32_t kUnwritten = metal::kPoisonWord;

std::string hex(std::uint32_t word) { return fmt::format("0x{:08x} ({:g})", word, std::bit_cast<float>(word)); }

}  // namespace

std::vector<Words> run_kernel(std::string_view source, std::string_view name, std::vector<Words> buffers, std::uint32_t threads,
                              std::uint32_t threads_per_threadgroup) {
  const auto library = metal::Library::from_source(source, "conformance.metal");
  metal::Simulator simulator({library});
  using Storage = std::vector<std::unique_ptr<metal::Buffer>>;
  const auto make = [&] {
    Storage made;
    for (const Words& words : buffers) made.push_back(metal::Buffer::of(std::span<const std::uint32_t>(words)));
    return made;
  };
  const auto encode = [&](metal::ComputeEncoder& encoder, const Storage& bound) {
    encoder.set_pipeline({std::string(name), {}});
    for (std::uint32_t index = 0; index < bound.size(); ++index) encoder.set_buffer(index, {bound[index].get(), 0});
    encoder.dispatch_threads({threads, 1, 1}, {std::min(threads, threads_per_threadgroup), 1, 1});
  };
  expect_ptx(*library, {std::string(name), {}});
  const Storage storage = make();
  encode(simulator, storage);
  expect_same_on_fibers({library}, {}, simulator, encode, storage, make());
  for (const auto& hazard : simulator.hazards()) ADD_FAILURE() << "hazard: " << hazard.message;
  for (std::size_t index = 0; index < buffers.size(); ++index) {
    const auto words = storage[index]->as<std::uint32_t>();
    buffers[index].assign(words.begin(), words.end());
  }
  return buffers;
}

std::string compile_error(std::string_view source, std::string_view kernel) {
  try {
    const auto library = metal::Library::from_source(source, "conformance.metal");
    (void)library->pipeline({std::string(kernel), {}});
  } catch (const metal::CompileError& error) {
    return error.what();
  }
  return {};
}

namespace {

// The lines of `text` that the compiler's messages point at.
std::string quote_lines(const std::string& text, std::string_view message) {
  constexpr std::string_view kMark = "conformance.metal:";
  std::string quoted;
  for (auto at = message.find(kMark); at != std::string_view::npos; at = message.find(kMark, at + 1)) {
    const int wanted = std::atoi(message.data() + at + kMark.size());
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      if (number == wanted) quoted += fmt::format("\n{}: {}", number, line);
    }
  }
  return quoted;
}

// All rows as one kernel; row r owns a slice of either buffer.
struct Table {
  std::size_t in_stride = 1;
  std::size_t out_stride = 1;
  std::string text;
};

void append_row(Table& table, std::size_t r, const std::string& construct, const std::string& body) {
  table.text += fmt::format("// {}\n{{ device uint* o = out + {}; device const uint* i = in + {}; (void)o; (void)i;\n{}\n}}\n", construct,
                            r * table.out_stride, r * table.in_stride, body);
}

}  // namespace

void check_rows(std::string_view table_name, const std::vector<Row>& rows, std::string_view prologue) {
  ASSERT_FALSE(rows.empty()) << table_name << ": a table without rows tests nothing";
  Table table;
  for (const Row& row : rows) {
    ASSERT_FALSE(row.expected.empty()) << row.construct << ": a row without an expectation tests nothing";
    ASSERT_FALSE(row.source.empty()) << row.construct;
    table.in_stride = std::max(table.in_stride, row.inputs.size());
    table.out_stride = std::max(table.out_stride, row.expected.size() + 1);
  }
  // Rows view their slice as vectors too.
  table.out_stride = (table.out_stride + 3) / 4 * 4;
  // All 32 lanes evaluate every row, each in its own place, unless rows share memory. What they add to the pointers is not known when the
  // kernel is compiled, so nothing is the same in all lanes.
  table.text = fmt::format(
      "{}{}{}\nkernel void rows(device uint* out [[buffer(0)]], device const uint* in [[buffer(1)]], device const uint* row_spread "
      "[[buffer(2)]], uint row_lane [[thread_index_in_simdgroup]]) {{\nout += row_lane * row_spread[0];\nin += row_lane * row_spread[1];\n",
      kPreamble, prologue, kMacros);
  const bool shares = std::ranges::any_of(rows, [](const Row& row) { return row.body.find("threadgroup ") != std::string::npos; });
  const std::uint32_t lanes = shares ? 1 : kLanes;
  Words in(rows.size() * table.in_stride, 0);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    append_row(table, r, rows[r].construct, rows[r].body);
    std::copy(rows[r].inputs.begin(), rows[r].inputs.end(), in.begin() + static_cast<std::ptrdiff_t>(r * table.in_stride));
  }
  table.text += "}\n";

  std::vector<Words> results;
  try {
    in.resize((in.size() + 3) / 4 * 4);
    const Words spread = {static_cast<std::uint32_t>(rows.size() * table.out_stride), static_cast<std::uint32_t>(in.size())};
    Words of_all;
    for (std::size_t lane = 0; lane < lanes; ++lane) of_all.insert(of_all.end(), in.begin(), in.end());
    results = run_kernel(table.text, "rows", {Words(lanes * rows.size() * table.out_stride, kUnwritten), of_all, spread}, lanes, lanes);
  } catch (const metal::Error& error) {
    FAIL() << table_name << ": " << error.what() << quote_lines(table.text, error.what());
  }
  // Of each word, the first lane's that is wrong.
  const auto wrong = [&](std::size_t r, std::size_t k, std::uint32_t expected) {
    const auto word = [&](std::size_t lane) { return results[0][(lane * rows.size() + r) * table.out_stride + k]; };
    std::size_t lane = 0;
    while (lane + 1 < lanes && word(lane) == expected) ++lane;
    return word(lane);
  };
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t k = 0; k < rows[r].expected.size(); ++k) {
      const std::uint32_t actual = wrong(r, k, rows[r].expected[k]);
      EXPECT_EQ(actual, rows[r].expected[k]) << table_name << ": " << rows[r].construct << ", word " << k << ": is " << hex(actual)
                                             << ", should be " << hex(rows[r].expected[k]) << " by " << rows[r].source << "\n"
                                             << rows[r].body;
    }
    // The word behind shows that a row writes no more than it declares.
    EXPECT_EQ(wrong(r, rows[r].expected.size(), kUnwritten), kUnwritten)
        << table_name << ": " << rows[r].construct << " writes more words than it expects";
  }
}

void check_lane_rows(std::string_view table_name, const std::vector<LaneRow>& rows, std::string_view prologue) {
  ASSERT_FALSE(rows.empty()) << table_name << ": a table without rows tests nothing";
  Table table;
  table.in_stride = kLanes;
  table.out_stride = kLanes;
  table.text = fmt::format(
      "{}{}{}\nkernel void rows(device uint* out [[buffer(0)]], device const uint* in [[buffer(1)]], uint lane "
      "[[thread_index_in_simdgroup]]) {{\n",
      kPreamble, prologue, kMacros);
  Words in;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    ASSERT_EQ(rows[r].inputs.size(), kLanes) << rows[r].construct;
    append_row(table, r, rows[r].construct, rows[r].body);
    in.insert(in.end(), rows[r].inputs.begin(), rows[r].inputs.end());
  }
  table.text += "}\n";

  std::vector<Words> results;
  try {
    results = run_kernel(table.text, "rows", {Words(rows.size() * kLanes, kUnwritten), in}, kLanes, kLanes);
  } catch (const metal::Error& error) {
    FAIL() << table_name << ": " << error.what() << quote_lines(table.text, error.what());
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Words expected = rows[r].expected(rows[r].inputs);
    ASSERT_EQ(expected.size(), kLanes) << rows[r].construct;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::uint32_t actual = results[0][r * kLanes + lane];
      EXPECT_EQ(actual, expected[lane]) << table_name << ": " << rows[r].construct << ", lane " << lane << ": is " << hex(actual)
                                        << ", should be " << hex(expected[lane]) << " by " << rows[r].source << "\n"
                                        << rows[r].body;
    }
  }
}

}  // namespace assay::tests
