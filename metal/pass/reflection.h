// Describes a kernel's parameter types, as the compiler laid them out, in lines of text for the host to parse
// (compile/reflection.cpp). One line per parameter that is a pointer or a reference, followed by its pointee's fields:
//
//   argument <position> <const: 0|1> <bytes> <scalar> <count> <type name>
//   struct <bytes> <name>
//   field <offset> <bytes> <scalar> <count> <name> <type name>
//
// <scalar> is a name of metal::ScalarType; <count> how many of them the type holds.
#pragma once

#include <string>

namespace llvm {
class DISubprogram;
}

namespace assay::metal::pass {

std::string reflect(const llvm::DISubprogram& kernel);

}  // namespace assay::metal::pass
