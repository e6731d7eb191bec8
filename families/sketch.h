// A first variant.toml for a kernel file that has none: what a family recognises in it, and what only its author knows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metal/argument_layout.h"

namespace assay::families {

struct SketchedConstant {
  std::string name;
  std::uint32_t index = 0;
  std::string type_name;
};

// A kernel file as a family sees it.
struct SketchSubject {
  std::string source;                            // file name
  std::vector<metal::ArgumentLayout> functions;  // those that compile
  std::vector<SketchedConstant> constants;       // function constants
};

struct Sketch {
  double likeness = 0;                 // 0 .. 1: how much of what the family needs was recognised
  std::string toml;                    // a complete variant.toml; questions stand in it as comments
  std::vector<std::string> inferred;   // "q is argument 'queries'"
  std::vector<std::string> questions;  // what must be checked or filled in, each a sentence
};

}  // namespace assay::families
