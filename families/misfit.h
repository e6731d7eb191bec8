// Why a kernel is none for a case.
#pragma once

#include <string>
#include <string_view>

namespace assay::families {

// What a kernel and its parameters disagree about: a field or a constant by name, and both sides in a sentence.
struct Misfit {
  std::string_view field;
  std::string message;
};

}  // namespace assay::families
