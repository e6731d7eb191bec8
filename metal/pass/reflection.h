// Describes a kernel's parameter types, with the compiler's layout, as lines of text that the host parses (compile/module.cpp).
//
// One line per parameter that is a pointer or a reference, followed by the fields of its pointee:
//
//   argument <position> <const: 0|1> <bytes> <scalar> <count> <type name>
//   struct <bytes> <name>
//   field <offset> <bytes> <scalar> <count> <name> <type name>
//
// <scalar> is a name of metal::ScalarType; <count> is the number of scalars that the type holds.
//
// One line per constant table that the kernel reads, an array of scalars or of vectors of them:
//
//   table <line> <scalar> <bits of every element, in hexadecimal, separated by commas> <name> <file>
//
// The line is that of the declaration, or else of the first use; 0 if the compiler knows neither. Names are those in the source.
//
// One line per line of the kernel that accesses memory which lanes share (pass/provenance.cpp):
//
//   buffers <bits of the buffers; bit 31: other memory too> <line> <file>
#pragma once

#include <string>

namespace llvm {
class DISubprogram;
class Module;
}  // namespace llvm

namespace assay::metal::pass {

std::string reflect(const llvm::DISubprogram& kernel);
std::string reflect_tables(const llvm::Module& module);

}  // namespace assay::metal::pass
