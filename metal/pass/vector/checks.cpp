// Checks of a SIMD-group: the runtime looks at the accesses of all lanes at once.
#include "metal/pass/checks.h"

#include <llvm/IR/MDBuilder.h>

#include "metal/pass/vector/widener.h"

namespace assay::metal::pass {

// Asks the runtime whether the lanes may access so many bytes; it does not return if something has to be reported.
void Widener::check_access(std::uint32_t number, Value* pointer, Value* bytes) {
  const auto* length = llvm::dyn_cast<llvm::ConstantInt>(bytes);
  if (length == nullptr) return refuse("a copy of memory whose length is not a constant");
  const Shape& shape = shapes_.of(pointer);
  const std::int64_t step = shape.is_spaced() ? shape.offsets[1] - shape.offsets[0] : 0;
  bool is_regular = shape.is_spaced();
  for (std::size_t lane = 0; is_regular && lane < abi::kLanes; ++lane)
    is_regular = shape.offsets[lane] == step * static_cast<std::int64_t>(lane);
  const auto ask_regular = [&] {
    request(abi::kVectorAccess,
            {bits_of_lanes(), builder_.getInt32(number), base(pointer), builder_.getInt64(static_cast<std::uint64_t>(step)),
             builder_.getInt64(length->getZExtValue())},
            builder_.getVoidTy());
  };
  const auto ask_each = [&](Value* all) {
    auto* addresses = array_of(builder_.getPtrTy());
    builder_.CreateStore(all, addresses);
    request(abi::kVectorAccesses, {bits_of_lanes(), builder_.getInt32(number), addresses, builder_.getInt64(length->getZExtValue())},
            builder_.getVoidTy());
    release_arrays();
  };
  if (!is_regular) return ask_each(pointers(pointer));
  auto* condition = holds(pointer);
  if (condition == nullptr) return ask_regular();
  static_cast<void>(base(pointer));  // computed before the ways part
  auto* all = pointers(pointer);
  auto* near = new_block("near");
  auto* apart = new_block("far");
  auto* asked = new_block("asked");
  builder_.CreateCondBr(condition, near, apart);
  builder_.SetInsertPoint(near);
  ask_regular();
  builder_.CreateBr(asked);
  builder_.SetInsertPoint(apart);
  ask_each(all);
  builder_.CreateBr(asked);
  builder_.SetInsertPoint(asked);
}

void Widener::count_block(std::uint32_t number) {
  auto* counts = builder_.CreateLoad(builder_.getPtrTy(), member_of_first(offsetof(abi::Lane, block_counts)));
  auto* word = builder_.getInt64Ty();
  auto* count = builder_.CreateConstInBoundsGEP1_64(word, counts, number);
  Value* lanes = builder_.getInt64(abi::kLanes);
  if (lanes_ != nullptr) lanes = builder_.CreateZExt(builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits_of_lanes()), word);
  builder_.CreateStore(builder_.CreateAdd(builder_.CreateLoad(word, count), lanes), count);
}

void Widener::give_up_if(Value* condition) {
  if (shapes_.is_uniform(condition)) {
    condition = scalar(condition);
  } else {
    auto* of_lanes = wide_one(condition);
    condition = any(lanes_ == nullptr ? of_lanes : builder_.CreateAnd(of_lanes, lanes_));
  }
  auto* reported = new_block("reported");
  auto* on = new_block("on");
  builder_.CreateCondBr(condition, reported, on, llvm::MDBuilder(context_).createUnlikelyBranchWeights());
  builder_.SetInsertPoint(reported);
  give_up(0);
  builder_.CreateBr(on);
  builder_.SetInsertPoint(on);
}

bool Widener::widen_check(llvm::CallBase& call) {
  if (is_call_of(call, kCheckAccess)) {
    check_access(number_of_check(llvm::cast<llvm::CallInst>(call)), call.getArgOperand(1), call.getArgOperand(2));
  } else if (is_call_of(call, kCountBlock)) {
    count_block(number_of_check(llvm::cast<llvm::CallInst>(call)));
  } else if (is_call_of(call, kGiveUpIf)) {
    give_up_if(call.getArgOperand(0));
  } else {
    return false;
  }
  return true;
}

}  // namespace assay::metal::pass
