// Tries edits on failing cases, most of them without compiling each (edit_schema.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/mutate/operators.h"
#include "harness/mutate/source.h"
#include "harness/triage/edit_schema.h"
#include "harness/triage/laboratory.h"
#include "harness/triage/suspects.h"

namespace assay::harness {

class EditTrials {
 public:
  // `laboratory`, `source` and what `search` refers to must outlive the object.
  EditTrials(const Laboratory& laboratory, const Source& source, const EditSearch& search);

  // How many edits the next call of promising() should get: so many that it takes a small part of the budget.
  [[nodiscard]] std::size_t at_once() const;
  // An edit may cause an endless loop.
  [[nodiscard]] static std::chrono::duration<double> patience() { return std::chrono::seconds(2); }

  // The same edits in an order that also says what they cost: those that must be compiled alone come later.
  [[nodiscard]] std::vector<Edit> spread(std::vector<Edit> ordered) const;

  // The edits, by index, with which the first failing case passes and no passing case fails. Behind EditSearch::budget, counted from the
  // constructor, no more are tried.
  [[nodiscard]] std::vector<std::size_t> promising(std::span<const Edit> edits);

  // Of all that were tried, edits with which the first failing case fails by less than half, and the first ones that change its output: one
  // of two mistakes may be undone. The likely ones first.
  [[nodiscard]] std::vector<Edit> half_right() const;

 private:
  // Edits of one schema, by index, and the schema compiled.
  struct Chunk {
    std::vector<std::size_t> edits;
    EditSchemata::Schema schema = {};
    std::optional<Laboratory> laboratory = {};
  };
  struct Changing {
    Edit edit;
    double error = 0;
    std::size_t order = 0;
  };
  void keep_changing(std::span<const Edit> edits, const Chunk& chunk, std::span<const Laboratory::Trial> trials);

  // `alone` gets those that should be tried alone.
  [[nodiscard]] std::vector<Chunk> compiled_chunks(std::span<const Edit> edits, std::vector<std::size_t> some,
                                                   std::vector<std::size_t>& alone) const;
  void compile(std::span<Laboratory> laboratories) const;
  // Whether the chunk could be tried.
  [[nodiscard]] bool try_chunk(std::span<const Edit> edits, Chunk& chunk, std::vector<std::size_t>& found);
  void try_alone(std::span<const Edit> edits, std::span<const std::size_t> some, std::vector<std::size_t>& found) const;

  const Laboratory& laboratory_;
  const Source& source_;
  const EditSearch& search_;
  EditSchemata schemata_;
  std::chrono::steady_clock::time_point end_;
  std::uint64_t digest_ = 0;                     // of the first failing case
  std::chrono::duration<double> patience_ = {};  // with one run of it
  std::vector<Changing> changing_;
  std::size_t tried_ = 0;        // edits of earlier calls of promising()
  double seconds_per_edit_ = 0;  // of the last call of promising(); 0 before it
};

}  // namespace assay::harness
