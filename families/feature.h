// What a case may have or not. Where only cases with it fail, the mistake is likely in what it needs.
#pragma once

#include <string_view>

namespace assay::families {

struct Case;

struct Feature {
  std::string_view name;  // "a soft cap", to follow "cases with"
  std::string_view kind;  // the class of mistakes.h of most mistakes in it; empty: they are of many classes
  bool (*has)(const Case& test_case);
};

}  // namespace assay::families
