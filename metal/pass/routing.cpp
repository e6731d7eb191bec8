// Replaces meeting points by calls into the runtime.
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/IntrinsicInst.h>

#include "metal/pass/lockstep.h"
#include "metal/pass/services.h"

namespace assay::metal::pass {
namespace {

// Scalar codes of metal/shader/runtime.h.
constexpr std::uint64_t kCodeInt32 = 4;
constexpr std::uint64_t kCodeUint32 = 5;
constexpr std::uint64_t kCodeFloat = 10;
// Shuffle modes from this one on take a second value.
constexpr std::uint64_t kFirstFillMode = 6;
constexpr std::uint64_t kLastFillMode = 7;

}  // namespace

llvm::GlobalVariable& Lockstep::services() {
  if (services_ == nullptr) {
    auto* type = llvm::ArrayType::get(llvm::PointerType::get(context_, 0), abi::kServiceCount);
    services_ = new llvm::GlobalVariable(module_, type, false, llvm::GlobalValue::InternalLinkage, llvm::ConstantAggregateZero::get(type),
                                         "__assay_services");
    // The runtime writes this variable. Without external initialisation the optimiser would treat its zeros as the final value.
    services_->setExternallyInitialized(true);
  }
  return *services_;
}

llvm::CallInst* Lockstep::call_service(llvm::IRBuilder<>& builder, abi::Service service, std::uint32_t site,
                                       llvm::ArrayRef<llvm::Value*> arguments, llvm::Type* result) {
  llvm::SmallVector<llvm::Value*> all{lane_, builder.getInt32(site)};
  all.append(arguments.begin(), arguments.end());
  llvm::SmallVector<llvm::Type*> types;
  for (auto* argument : all) types.push_back(argument->getType());
  auto* slot = builder.CreateConstInBoundsGEP2_64(services().getValueType(), &services(), 0, service);
  auto* function = builder.CreateLoad(builder.getPtrTy(), slot);
  auto* call = builder.CreateCall(llvm::FunctionType::get(result, types, false), function, all);
  call->addFnAttr(llvm::Attribute::Convergent);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  call->addFnAttr(llvm::Attribute::get(context_, kServiceAttribute, llvm::utostr(service)));
  if (service <= abi::kReconverge && site < ordered_.size())
    call->addFnAttr(llvm::Attribute::get(context_, kDepthAttribute, llvm::utostr(ordered_[site].loops.size())));
  // The runtime returns the checked address as the result of the call.
  for (unsigned index = 0; index < all.size(); ++index) {
    if (all[index]->getType()->isPointerTy() && service != abi::kAccess) call->addParamAttr(index, llvm::Attribute::NoCapture);
  }
  return call;
}

void Lockstep::route_to_runtime(llvm::Instruction& instruction, std::uint32_t site) {
  services();
  if (is_checked_) note_access(instruction, site);
  if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction); call != nullptr && !llvm::isa<llvm::MemIntrinsic>(call)) {
    llvm::IRBuilder<> builder(&instruction);
    llvm::SmallVector<llvm::Value*> arguments(call->args());
    const auto service = *service_of(call->getCalledFunction()->getName());
    // Shadows are passed in memory, not in registers.
    const bool in_registers = shadows_ == abi::kNoShadows;
    if (service == abi::kSimdReduce && in_registers && route_word_reduction(*call, site)) return;
    if (service == abi::kSimdShuffle && in_registers && route_word_shuffle(*call, site)) return;
    if (service == abi::kMatrixMultiply && !in_registers) return route_shadowed_product(*call, site);
    services_of_sites_.push_back(service);
    auto* replacement = call_service(builder, service, site, arguments, call->getType());
    call->replaceAllUsesWith(replacement);
    call->eraseFromParent();
    return;
  }
  services_of_sites_.push_back(abi::kStore);
  route_write(instruction, site);
}

// A 32-bit scalar, the most common operand, is passed in registers instead of through the lane's stack.
bool Lockstep::route_word_reduction(llvm::CallInst& call, std::uint32_t site) {
  const auto constant = [&](unsigned index) { return llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(index)); };
  for (const unsigned index : {0u, 1u, 2u, 3u}) {
    if (constant(index) == nullptr) return false;
  }
  if (!constant(2)->isOne()) return false;
  const auto type = constant(1)->getZExtValue();
  if (type != kCodeInt32 && type != kCodeUint32 && type != kCodeFloat) return false;
  llvm::IRBuilder<> builder(&call);
  auto* slot = call.getArgOperand(4);
  auto* value = builder.CreateLoad(builder.getInt32Ty(), slot);
  auto* result = call_service(builder, abi::kSimdReduceWord, site, {value}, builder.getInt32Ty());
  builder.CreateStore(result, slot);
  services_of_sites_.push_back(abi::kSimdReduceWord);
  operations_[site] = static_cast<std::uint32_t>(constant(0)->getZExtValue() | type << 8 | constant(3)->getZExtValue() << 16);
  result->addFnAttr(llvm::Attribute::get(context_, kOperationAttribute, llvm::utostr(operations_[site])));
  call.eraseFromParent();
  return true;
}

// In registers too, for the same reason.
bool Lockstep::route_word_shuffle(llvm::CallInst& call, std::uint32_t site) {
  const auto constant = [&](unsigned index) { return llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(index)); };
  for (const unsigned index : {0u, 1u, 2u}) {
    if (constant(index) == nullptr) return false;
  }
  const auto mode = constant(0)->getZExtValue();
  if (constant(1)->getZExtValue() != sizeof(std::uint32_t) || (mode >= kFirstFillMode && mode <= kLastFillMode)) return false;
  llvm::IRBuilder<> builder(&call);
  auto* slot = call.getArgOperand(3);
  auto* value = builder.CreateLoad(builder.getInt32Ty(), slot);
  auto* result = call_service(builder, abi::kSimdShuffleWord, site, {value, call.getArgOperand(5)}, builder.getInt32Ty());
  builder.CreateStore(result, slot);
  services_of_sites_.push_back(abi::kSimdShuffleWord);
  operations_[site] = static_cast<std::uint32_t>(mode | constant(2)->getZExtValue() << 16);
  result->addFnAttr(llvm::Attribute::get(context_, kOperationAttribute, llvm::utostr(operations_[site])));
  call.eraseFromParent();
  return true;
}

void Lockstep::route_shadowed_product(llvm::CallInst& call, std::uint32_t site) {
  constexpr unsigned kOperands = 6;  // two elements each of a, b and c
  llvm::IRBuilder<> builder(&call);
  llvm::SmallVector<llvm::Value*> arguments(call.args());
  arguments.push_back(slot_for(llvm::ArrayType::get(builder.getDoubleTy(), kOperands)));
  services_of_sites_.push_back(abi::kMatrixMultiply);
  auto* replacement = call_service(builder, abi::kMatrixMultiply, site, arguments, call.getType());
  call.replaceAllUsesWith(replacement);
  call.eraseFromParent();
  shadowed_products_.push_back(replacement);
}

void Lockstep::route_write(llvm::Instruction& instruction, std::uint32_t site) {
  auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
  auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction);
  auto* destination = store != nullptr ? store->getPointerOperand() : memory->getDest();
  auto* copied = llvm::dyn_cast<llvm::MemTransferInst>(&instruction);
  auto* source = copied == nullptr ? nullptr : is_checked_ ? checked_source(*copied) : copied->getSource();
  llvm::IRBuilder<> builder(&instruction);
  if (store != nullptr) {
    auto* value = store->getValueOperand();
    auto* slot = slot_for(value->getType());
    builder.CreateStore(value, slot);
    const auto bytes = module_.getDataLayout().getTypeStoreSize(value->getType()).getFixedValue();
    call_service(builder, abi::kStore, site, {destination, slot, builder.getInt64(bytes)}, builder.getVoidTy());
  } else if (copied != nullptr) {
    call_service(builder, abi::kStore, site, {destination, source, builder.CreateZExtOrTrunc(copied->getLength(), builder.getInt64Ty())},
                 builder.getVoidTy());
  } else {
    auto* fill = llvm::cast<llvm::MemSetInst>(memory);
    const auto* length = llvm::dyn_cast<llvm::ConstantInt>(fill->getLength());
    if (length == nullptr) refuse(place_of(instruction), "a fill of shared memory whose length is not a constant");
    auto* slot = slot_for(llvm::ArrayType::get(builder.getInt8Ty(), length->getZExtValue()));
    builder.CreateMemSet(slot, fill->getValue(), length->getZExtValue(), llvm::MaybeAlign(16));
    call_service(builder, abi::kStore, site, {destination, slot, builder.getInt64(length->getZExtValue())}, builder.getVoidTy());
  }
  instruction.eraseFromParent();
}

llvm::AllocaInst* Lockstep::slot_for(llvm::Type* type) {
  auto*& slot = slots_[type];
  if (slot == nullptr) {
    llvm::IRBuilder<> builder(&entry_->getEntryBlock(), entry_->getEntryBlock().getFirstInsertionPt());
    slot = builder.CreateAlloca(type, nullptr, "assay.stored_value");
    slot->setAlignment(llvm::Align(64));
  }
  return slot;
}

llvm::Value* Lockstep::lane_member(llvm::IRBuilder<>& builder, std::uint64_t offset) {
  return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), lane_, offset);
}

}  // namespace assay::metal::pass
