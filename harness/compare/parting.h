// Finds where the computations of two iterations of a kernel diverge: the first line whose values differ, and the keys to
// which it relates.
//
// Both run on the same case, with a trace of every value of every thread (metal/execute/value_trace.h). Their lines are aligned by
// text (line_alignment.h). For each thread, the values of aligned lines are compared in the order of execution. The result is taken
// from the first dispatch with a difference, and there from the thread that diverges first by its own clock. Traced values are those
// of floating-point operations, loads of floating-point numbers, and stores. A different index or condition shows in the first number
// that it affects.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/cases/case.h"
#include "harness/compare/line_alignment.h"
#include "harness/execute/execute.h"
#include "harness/findings/metal_fields.h"
#include "harness/prepare/workbench.h"
#include "metal/execute/value_trace.h"

namespace assay::harness {

struct SourceText {
  std::string file;
  std::vector<std::string> lines;
};

struct PartingSide {
  std::string file;
  std::uint32_t line = 0;
  std::string text;             // of the line, trimmed
  std::optional<double> value;  // none: this side does not reach the line again
};

struct ChangedText {
  LineHunk hunk;
  std::vector<std::string> old_lines, new_lines;
  bool holds_parting = false;  // contains the line that diverges
};

struct Parting {
  std::string function;
  std::uint32_t dispatch = 0;  // from 0
  metal::Size3 threadgroup = {};
  std::uint32_t thread = 0;
  PartingSide old_side, new_side;
  std::uint64_t occurrence = 0;  // how often the thread had executed the line before
  std::uint64_t agreed = 0;      // number of equal values of the thread on aligned lines before
  // The byte of the followed buffer to which the value relates, like TracedValue::read: the last one read by then. On a line in a loop
  // before the read: the next one.
  std::uint64_t read = 0;
  std::string place;  // "key 37 of KV head 0, chunk 1 of 32 keys": what was read last; empty: nothing yet, or not available for the family
  std::optional<std::uint64_t> chunk;  // of 32 keys, from 0; in families with keys
  std::vector<ChangedText> changes;    // in the kernels' files, the nearest to the parting first
  std::size_t further_changes = 0;     // number of those that are not in `changes`
  bool is_cut = false;                 // the traces were too long, and only their beginnings were compared
};

inline constexpr std::size_t kMostChanges = 3;

// Runs both cases once each. Returns nothing if no thread diverges. Throws what run_case() throws.
[[nodiscard]] std::optional<Parting> find_parting(const PreparedVariant& old_variant, const Case& old_case,
                                                  const PreparedVariant& new_variant, const Case& new_case, const fixtures::Shelf& shelf);

// The same for two given traces, for tests. The first text of each side is the kernel's own file; other texts pair by name.
[[nodiscard]] std::optional<Parting> find_parting(const metal::ValueTrace& old_trace, std::span<const SourceText> old_texts,
                                                  const metal::ValueTrace& new_trace, std::span<const SourceText> new_texts);

// Archives for the worker that finds them.
void fields(auto& archive, base::OneOf<LineHunk> auto& value) {
  auto& [old_first, old_count, new_first, new_count] = value;
  each(archive, old_first, old_count, new_first, new_count);
}

void fields(auto& archive, base::OneOf<PartingSide> auto& side) {
  auto& [file, line, text, value] = side;
  each(archive, file, line, text, value);
}

void fields(auto& archive, base::OneOf<ChangedText> auto& value) {
  auto& [hunk, old_lines, new_lines, holds_parting] = value;
  each(archive, hunk, old_lines, new_lines, holds_parting);
}

void fields(auto& archive, base::OneOf<Parting> auto& value) {
  auto& [function, dispatch, threadgroup, thread, old_side, new_side, occurrence, agreed, read, place, chunk, changes, further_changes,
         is_cut] = value;
  each(archive, function, dispatch, threadgroup, thread, old_side, new_side, occurrence, agreed, read, place, chunk, changes,
       further_changes, is_cut);
}

}  // namespace assay::harness
