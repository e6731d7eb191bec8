// Why a kernel does not support a case.
#pragma once

#include <string>
#include <string_view>

namespace assay::families {

// The field or constant about which a kernel and its parameters disagree, and both sides in a sentence.
struct Misfit {
  std::string_view field;
  std::string message;
};

}  // namespace assay::families
