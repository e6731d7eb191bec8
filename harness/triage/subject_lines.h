// Lines that compute with what a mistake is about: a class says what is wrong, and the launch says which of the kernel's names that is.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "harness/mutate/source.h"
#include "harness/triage/classify.h"
#include "harness/triage/slices.h"
#include "kernels/variant.h"

namespace assay::harness {

struct SubjectLine {
  double weight = 0;    // up to 1: it names the subject itself; less: what it names is computed from it, or is a lesser part of the subject
  std::string name;     // the kernel's own name, or a function
  std::string meaning;  // what the launch gives to the name, as an expression; empty: nothing, or the same name
};

// By line, within functions. Empty if the class of the mistake has no subject (families/mistake_words.h), or the kernel names none of it.
[[nodiscard]] std::map<std::uint32_t, SubjectLine> subject_lines(const kernels::Variant& variant, const Source& source,
                                                                 const Slices& slices, const Classification& mistake);

// The one that is most suspect, also by what landmarks say; 0: there is none. `chooses_row`: whether a known mistake that reads or writes
// other rows explains the output.
[[nodiscard]] std::uint32_t most_suspect(const std::map<std::uint32_t, SubjectLine>& lines, const LineSuspicion& suspicion,
                                         bool chooses_row);

// Raises the suspicion of these lines; where nothing is known, others get a little. `is_sure`: whether the class explains the outputs.
void suspect_subject(const std::map<std::uint32_t, SubjectLine>& lines, std::uint32_t line_count, bool is_sure, LineSuspicion& suspicion);

// Whether a line assigns to an element of an array or buffer.
[[nodiscard]] bool writes_element(const Source& source, std::uint32_t line);

}  // namespace assay::harness
