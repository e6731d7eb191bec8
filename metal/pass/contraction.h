// Fuses a*b + c into one operation that rounds once, where the source was compiled with `--fp-contract fast`.
#pragma once

namespace llvm {
class Module;
}  // namespace llvm

namespace assay::metal::pass {

// Replaces float and double sums and differences that may be contracted and have a product as an operand. Afterwards nothing may be
// contracted: code generation chooses by the code around a sum, which differs between the forms of a kernel, and so would their results.
// Of two products, that of the first operand is fused.
void fuse_sums_of_products(llvm::Module& module);

}  // namespace assay::metal::pass
