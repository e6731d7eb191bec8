// Describes a kernel's parameter types, with the compiler's layout, as lines of text that the host parses (compile/module.cpp).
//
// One line per parameter that is a pointer or a reference, followed by the fields of its pointee:
//
//   argument <position> <const: 0|1> <bytes> <scalar> <count> <type name>
//   struct <bytes> <name>
//   field <offset> <bytes> <scalar> <count> <name> <type name>
//
// <scalar> is a name of metal::ScalarType; <count> is the number of scalars that the type holds.
#pragma once

#include <string>

namespace llvm {
class DISubprogram;
}

namespace assay::metal::pass {

std::string reflect(const llvm::DISubprogram& kernel);

}  // namespace assay::metal::pass
