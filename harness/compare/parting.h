// Where the computations of two iterations of a kernel part: the first line whose values differ, and which keys it was about.
//
// Both are run on the same case with a trace of every value of every thread (metal/execute/value_trace.h). Their lines are aligned by their
// text (line_alignment.h); of each thread the values of aligned lines are held against each other in the order of execution, and the thread
// that parts first by its own clock, in the first dispatch where one does, tells the place. Values are those of operations in
// floating point, loads of such numbers and stores: an index or a condition that differs shows in the first number that it leads to.
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
  std::string text;             // of the line, without the blanks around it
  std::optional<double> value;  // none: this side does not come to the line again
};

struct ChangedText {
  LineHunk hunk;
  std::vector<std::string> old_lines, new_lines;
  bool holds_parting = false;  // the line that parts is one of these
};

struct Parting {
  std::string function;
  std::uint32_t dispatch = 0;  // from 0
  metal::Size3 threadgroup = {};
  std::uint32_t thread = 0;
  PartingSide old_side, new_side;
  std::uint64_t occurrence = 0;  // how often the thread had executed the line before
  std::uint64_t agreed = 0;      // values of the thread on aligned lines that were the same before
  // The byte of the followed buffer that the value is about, as TracedValue::read: the last that was read by then; on a line that a loop
  // comes to before it reads, the next.
  std::uint64_t read = 0;
  std::string place;  // "key 37 of KV head 0, chunk 1 of 32 keys": what was read last; empty: nothing yet, or the family has no such
  std::optional<std::uint64_t> chunk;  // of 32 keys, from 0; of families with keys
  std::vector<ChangedText> changes;    // of the kernels' files; nearest to the parting first
  std::size_t further_changes = 0;     // that are not in `changes`
  bool is_cut = false;                 // the traces were too long: what is told was found in their beginnings
};

inline constexpr std::size_t kMostChanges = 3;

// Runs both cases once each, in this process. Nothing if no thread parts. Throws as encode_case().
[[nodiscard]] std::optional<Parting> find_parting(const PreparedVariant& old_variant, const Case& old_case,
                                                  const PreparedVariant& new_variant, const Case& new_case, const fixtures::Shelf& shelf);

// The same of two traces, for tests. The first text of each side is the kernel's own file; others pair by their name.
[[nodiscard]] std::optional<Parting> find_parting(const metal::ValueTrace& old_trace, std::span<const SourceText> old_texts,
                                                  const metal::ValueTrace& new_trace, std::span<const SourceText> new_texts);

// As archives they travel from the worker that found them.
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
