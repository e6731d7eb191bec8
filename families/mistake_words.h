// Usual names in kernels, and what is wrong where a repair changes them.
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace assay::families {

// A part of a name, in lower case, and a class of mistakes.h.
using MistakeWord = std::pair<std::string_view, std::string_view>;

// Parts of names that a repair changes; the more telling ones first.
[[nodiscard]] std::span<const MistakeWord> mistake_words();

// Parts of names of buffers, for repairs that change where a buffer is read or written; the first that fits counts. '^' is the beginning of
// a name.
[[nodiscard]] std::span<const MistakeWord> buffer_words();

// A name of the cases' numbers and tensors, which a launch gives to a kernel, and the word for it in Mistake::says.
struct SubjectName {
  std::string_view name, word;
  // Whether the mistake is that the number is taken as the launch gives it: a line that only takes it tells more than those that compute
  // with it.
  bool is_taken = false;
  bool only_named = false;  // whether the mistake is only about it if its sentence has the word
};

// What mistakes of a class are about.
struct MistakeSubject {
  std::string_view kind;                    // a class of mistakes.h
  std::span<const SubjectName> names;       // the more telling ones first
  std::span<const std::string_view> calls;  // functions of Metal: where the kernel uses none of the names, or as well
  bool limits_loops = false;                // heads of loops are more telling than other lines
  // A wrong row, key, head or half of a byte is taken: lines that compute which one tell more than those that read.
  bool chooses_rows = false;
  std::span<const std::string_view> marks = {};  // numbers and other words by which a line is known that does what is wrong
};

// nullptr if the class is about nothing that has a name.
[[nodiscard]] const MistakeSubject* subject_of(std::string_view kind);

}  // namespace assay::families
