// Checks of the policy `checked`, as calls that stand for them until each form of the kernel gets code of its own for them: the lane's
// form at once (Lockstep::lower_checks), the form of a SIMD-group after the optimiser has run (settle_arithmetic_checks,
// vector/checks.cpp).
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <vector>

namespace assay::metal::pass {

// (number of the access, address, bytes) -> address to use: before a read.
inline constexpr llvm::StringLiteral kCheckAccess = "assay.check_access";
// (number of the operation, result, operands ...): after a floating-point operation.
inline constexpr llvm::StringLiteral kCheckArithmetic = "assay.check_arithmetic";
// (number of the block): once for each time that a lane runs the block.
inline constexpr llvm::StringLiteral kCountBlock = "assay.count_block";
// (whether something is to be reported): then the threadgroup runs lane by lane.
inline constexpr llvm::StringLiteral kGiveUpIf = "assay.give_up_if";

// The copy of a checked kernel of which its vector form is made.
inline constexpr llvm::StringLiteral kVectorLane = "__assay_vector_lane";
// Marks a choice between a local variable and a place for accesses outside of it.
inline constexpr llvm::StringLiteral kInsideMark = "assay.inside";

[[nodiscard]] bool is_call_of(const llvm::Value& value, llvm::StringRef name);
[[nodiscard]] std::uint32_t number_of_check(const llvm::CallInst& check);
llvm::CallInst* stand_for_check(llvm::IRBuilder<>& builder, llvm::StringRef name, llvm::Type* result,
                                llvm::ArrayRef<llvm::Value*> arguments);

// The checks of a function that follow each other directly, so that one test covers them.
using ChecksTogether = std::vector<llvm::CallInst*>;
[[nodiscard]] std::vector<ChecksTogether> arithmetic_checks_of(llvm::Function& function);
// Whether a component of any result is a NaN or an infinity.
llvm::Value* any_not_finite(llvm::IRBuilder<>& builder, const ChecksTogether& checks);

// Replaces the checks of arithmetic by code that gives up where an operation makes a NaN of other numbers, or an infinity of finite ones.
void settle_arithmetic_checks(llvm::Function& function);

}  // namespace assay::metal::pass
