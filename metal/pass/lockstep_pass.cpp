// The clang plugin that turns one kernel into a lane of a lockstep SIMD-group.
//
// It inlines everything into the entry point, finds the points where lanes can observe each other (SIMD-group functions,
// barriers, atomics, stores to memory that other lanes see), numbers them in program order and routes them to the
// runtime. It runs before clang's optimiser, on the control flow as written: an optimiser may move code between branches
// and loops where that changes nothing for one thread, but it would change which lanes meet.
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/Path.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Utils/FixIrreducible.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include <map>
#include <optional>
#include <string>

#include "metal/lane_abi.h"
#include "metal/pass/program_order.h"
#include "metal/pass/reconvergence.h"
#include "metal/pass/reflection.h"

namespace assay::metal::pass {
namespace {

constexpr llvm::StringLiteral kEntry = "__assay_entry";
constexpr llvm::StringLiteral kReconvergeCall = "__assay_reconverge";
constexpr llvm::StringLiteral kUnsetConstant = "__assay_unset_function_constant.";
// Present in every source file that belongs to us and not to the user; a location inside is attributed to its caller.
constexpr llvm::StringLiteral kShaderFolder = "metal/shader";

// Scalar codes of metal/shader/runtime.h.
constexpr std::uint64_t kCodeInt32 = 4;
constexpr std::uint64_t kCodeUint32 = 5;
constexpr std::uint64_t kCodeFloat = 10;

std::optional<abi::Service> service_of(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<abi::Service>>(name)
      .Case("__assay_simd_reduce", abi::kSimdReduce)
      .Case("__assay_simd_shuffle", abi::kSimdShuffle)
      .Case("__assay_simd_ballot", abi::kSimdBallot)
      .Case("__assay_simd_active", abi::kSimdActive)
      .Case("__assay_barrier", abi::kBarrier)
      .Case("__assay_matrix_multiply", abi::kMatrixMultiply)
      .Case("__assay_atomic", abi::kAtomic)
      .Case(kReconvergeCall, abi::kReconverge)
      .Default(std::nullopt);
}

struct Place {
  std::string file;
  std::uint32_t line = 0;
};

bool is_ours(llvm::StringRef file) { return file.contains(kShaderFolder); }

// The innermost place of an instruction in the user's own source.
Place place_of(const llvm::Instruction& instruction) {
  Place innermost;
  for (const auto* location = instruction.getDebugLoc().get(); location != nullptr; location = location->getInlinedAt()) {
    if (innermost.line == 0) innermost = {location->getFilename().str(), location->getLine()};
    if (!is_ours(location->getFilename()) && location->getLine() != 0) return {location->getFilename().str(), location->getLine()};
  }
  return innermost;
}

[[noreturn]] void refuse(llvm::Module& module, const Place& place, const llvm::Twine& message) {
  llvm::errs() << place.file << ':' << place.line << ": error: " << message << '\n';
  (void)module;
  std::exit(1);
}

// Where the kernel uses each constant that has no value, noted before the optimiser loses places; by the variable's name.
std::map<std::string, Place>& places_of_unset() {
  static std::map<std::string, Place> places;
  return places;
}

// What a pointer may point to. `unknown` if it was loaded from memory or merged from different origins.
struct Origin {
  enum class Kind { thread, threadgroup, buffer, program_constant, unknown } kind = Kind::unknown;
  std::uint64_t buffer = 0;
};

// Conversions that the backend calls by name after all passes have run (metal/shader/entry.h).
bool is_backend_helper(const llvm::Function& function) { return function.getName().starts_with("__trunc"); }

class Lockstep {
 public:
  Lockstep(llvm::Module& module, llvm::ModuleAnalysisManager& analyses)
      : module_(module), analyses_(analyses), context_(module.getContext()) {}

  bool run() {
    auto* entry = module_.getFunction(kEntry);
    if (entry == nullptr || entry->isDeclaration()) return false;
    reflection_ = reflect_kernel(*entry);
    inline_everything(*entry);
    entry_ = module_.getFunction(kEntry);
    lane_ = entry_->getArg(0);
    report_derived_from_unset();
    note_unset_uses();
    guard_divisions();
    simplify_loops();
    collect_sites();
    rejoin_after_writes();
    number_sites();
    if (module_.getFunction("__assay_traced") != nullptr) trace_device_accesses();
    replace_position_queries();
    emit_module();
    return true;
  }

 private:
  llvm::FunctionAnalysisManager& function_analyses() {
    return analyses_.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module_).getManager();
  }

  void run_on_entry(llvm::FunctionPassManager& passes, llvm::Function& entry) {
    auto& manager = function_analyses();
    manager.invalidate(entry, passes.run(entry, manager));
  }

  // The last call of the entry point goes to the kernel; those before it fetch its arguments.
  std::string reflect_kernel(llvm::Function& entry) {
    const llvm::DISubprogram* kernel = nullptr;
    for (auto& instruction : llvm::instructions(entry)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      const auto* callee = call == nullptr ? nullptr : call->getCalledFunction();
      if (callee == nullptr || callee->getSubprogram() == nullptr || is_ours(callee->getSubprogram()->getFilename())) continue;
      kernel = callee->getSubprogram();
    }
    return kernel == nullptr ? std::string() : reflect(*kernel);
  }

  void inline_everything(llvm::Function& entry) {
    for (auto& function : module_) {
      if (function.isDeclaration()) continue;
      function.removeFnAttr(llvm::Attribute::NoInline);
      function.removeFnAttr(llvm::Attribute::OptimizeNone);
      if (&function == &entry) continue;
      // bfloat conversion helpers are called by the backend, later and by name.
      if (is_backend_helper(function)) continue;
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
      function.setComdat(nullptr);
      function.addFnAttr(llvm::Attribute::AlwaysInline);
    }
    // A call through a function reference becomes a direct one only when the reference was inlined: again until it settles.
    for (int round = 0; round < 8; ++round) {
      llvm::AlwaysInlinerPass(/*InsertLifetime=*/false).run(module_, analyses_);
      function_analyses().clear();
      llvm::FunctionPassManager passes;
      passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
      run_on_entry(passes, entry);
      bool direct_call_left = false;
      for (auto& instruction : llvm::instructions(entry)) {
        auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (call != nullptr && call->getCalledFunction() != nullptr && !call->getCalledFunction()->isDeclaration()) direct_call_left = true;
      }
      if (!direct_call_left) break;
    }
    for (auto& instruction : llvm::instructions(entry)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call == nullptr || call->isInlineAsm()) continue;
      if (call->getCalledFunction() == nullptr)
        refuse(module_, place_of(instruction), "a call through a function pointer that is not known when the kernel is compiled");
      const auto* callee = call->getCalledFunction();
      if (callee->isDeclaration() || is_backend_helper(*callee)) continue;
      const auto* declared = callee->getSubprogram();
      refuse(module_, declared == nullptr ? place_of(instruction) : Place{declared->getFilename().str(), declared->getLine()},
             "'" + (declared == nullptr ? callee->getName() : declared->getName()) + "' calls itself, and Metal does not allow recursion");
    }
    llvm::GlobalDCEPass().run(module_, analyses_);
    analyses_.invalidate(module_, llvm::PreservedAnalyses::none());
  }

  // A namespace-scope value computed from a constant without a value is initialised at load time from an unset one.
  void report_derived_from_unset() {
    for (auto& function : module_) {
      if (&function == entry_) continue;
      const llvm::GlobalVariable* unset = nullptr;
      for (auto& instruction : llvm::instructions(function)) {
        for (auto& operand : instruction.operands()) {
          const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(operand->stripPointerCasts());
          if (variable != nullptr && variable->getName().starts_with(kUnsetConstant)) unset = variable;
        }
      }
      if (unset == nullptr) continue;
      for (auto& instruction : llvm::instructions(function)) {
        auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
        auto* target = store == nullptr ? nullptr : llvm::dyn_cast<llvm::GlobalVariable>(store->getPointerOperand()->stripPointerCasts());
        if (target == nullptr) continue;
        target->setInitializer(nullptr);
        target->setLinkage(llvm::GlobalValue::ExternalLinkage);
        target->setName(unset->getName());
        store->eraseFromParent();
        break;
      }
    }
  }

  void note_unset_uses() {
    for (auto& instruction : llvm::instructions(*entry_)) {
      for (auto& operand : instruction.operands()) {
        const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(operand->stripPointerCasts());
        if (variable != nullptr && variable->getName().starts_with(kUnsetConstant))
          places_of_unset().try_emplace(variable->getName().str(), place_of(instruction));
      }
    }
  }

  // Integer division by zero has no defined value in Metal, but it does not stop the GPU as it would this processor: the divisor
  // becomes 1 there, and where the quotient of the smallest integer by -1 would overflow.
  void guard_divisions() {
    llvm::SmallVector<llvm::BinaryOperator*> divisions;
    for (auto& instruction : llvm::instructions(*entry_)) {
      auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
      if (binary != nullptr && binary->isIntDivRem() && !llvm::isa<llvm::Constant>(binary->getOperand(1))) divisions.push_back(binary);
    }
    for (auto* division : divisions) {
      llvm::IRBuilder<> builder(division);
      auto* divisor = division->getOperand(1);
      auto* type = divisor->getType();
      auto* one = llvm::ConstantInt::get(type, 1);
      auto* bad = builder.CreateICmpEQ(divisor, llvm::Constant::getNullValue(type));
      if (division->getOpcode() == llvm::Instruction::SDiv || division->getOpcode() == llvm::Instruction::SRem) {
        auto* smallest = llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(type->getScalarSizeInBits()));
        bad = builder.CreateOr(bad, builder.CreateAnd(builder.CreateICmpEQ(divisor, llvm::Constant::getAllOnesValue(type)),
                                                      builder.CreateICmpEQ(division->getOperand(0), smallest)));
      }
      division->setOperand(1, builder.CreateSelect(bad, one, divisor));
    }
  }

  void simplify_loops() {
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::FixIrreduciblePass());
    passes.addPass(llvm::LoopSimplifyPass());
    run_on_entry(passes, *entry_);
  }

  Origin origin_of(const llvm::Value* pointer) {
    llvm::SmallVector<const llvm::Value*, 4> objects;
    llvm::getUnderlyingObjects(pointer, objects, nullptr, /*MaxLookup=*/0);
    std::optional<Origin> result;
    for (const auto* object : objects) {
      if (llvm::isa<llvm::UndefValue>(object) || llvm::isa<llvm::ConstantPointerNull>(object)) continue;
      const Origin origin = origin_of_object(object);
      if (result && (result->kind != origin.kind || result->buffer != origin.buffer)) return {};
      result = origin;
    }
    return result.value_or(Origin{});
  }

  Origin origin_of_object(const llvm::Value* object) {
    if (llvm::isa<llvm::AllocaInst>(object)) return {Origin::Kind::thread, 0};
    if (llvm::isa<llvm::GlobalVariable>(object)) return {Origin::Kind::program_constant, 0};
    const auto* call = llvm::dyn_cast<llvm::CallBase>(object);
    const auto* callee = call == nullptr ? nullptr : call->getCalledFunction();
    if (callee == nullptr) return {};
    if (callee->getName() == "__assay_threadgroup_argument" || callee->getName() == "__assay_threadgroup_variable")
      return {Origin::Kind::threadgroup, 0};
    if (callee->getName() == "__assay_buffer") {
      if (const auto* index = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(0)))
        return {Origin::Kind::buffer, index->getZExtValue()};
    }
    return {};
  }

  static void mark(std::uint32_t& buffers, const Origin& origin) {
    if (origin.kind == Origin::Kind::buffer) buffers |= 1u << origin.buffer;
    if (origin.kind == Origin::Kind::unknown) buffers = ~0u;
  }

  // Whether a write is a meeting point, and if so remembers it.
  void visit_write(llvm::Instruction& instruction, const llvm::Value* destination) {
    const Origin origin = origin_of(destination);
    if (origin.kind == Origin::Kind::thread || origin.kind == Origin::Kind::program_constant) return;
    mark(written_buffers_, origin);
    sites_.push_back(&instruction);
    writes_.push_back(&instruction);
  }

  static const llvm::Value* destination_of(const llvm::Instruction& write) {
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&write)) return store->getPointerOperand();
    if (const auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&write)) return memory->getDest();
    return llvm::cast<llvm::CallBase>(write).getArgOperand(2);  // of an atomic
  }

  // What some lanes store under a condition, all of them see behind it.
  void rejoin_after_writes() {
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context_), false);
    // Output that the kernel does not read back needs no order.
    std::vector<llvm::Instruction*> seen;
    for (auto* write : writes_) {
      const Origin origin = origin_of(destination_of(*write));
      if (origin.kind != Origin::Kind::buffer || (read_buffers_ >> origin.buffer & 1u) != 0) seen.push_back(write);
    }
    for (auto* block : rejoining_blocks(*entry_, seen, sites_)) {
      auto* call =
          llvm::CallInst::Create(type, module_.getOrInsertFunction(kReconvergeCall, type).getCallee(), "", block->getFirstInsertionPt());
      call->setDebugLoc(block->getTerminator()->getDebugLoc());
      sites_.push_back(call);
    }
  }

  void collect_sites() {
    llvm::SmallVector<llvm::Instruction*> finished_markers;
    for (auto& instruction : llvm::instructions(*entry_)) {
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        visit_write(instruction, store->getPointerOperand());
      } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
        mark(read_buffers_, origin_of(load->getPointerOperand()));
      } else if (auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(&instruction)) {
        mark(read_buffers_, origin_of(transfer->getSource()));
        visit_write(instruction, transfer->getDest());
      } else if (auto* fill = llvm::dyn_cast<llvm::MemSetInst>(&instruction)) {
        visit_write(instruction, fill->getDest());
      } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction); call != nullptr && call->getCalledFunction() != nullptr) {
        const auto name = call->getCalledFunction()->getName();
        if (name == "__assay_iteration_end") finished_markers.push_back(&instruction);
        const auto service = service_of(name);
        if (!service) continue;
        sites_.push_back(&instruction);
        if (*service == abi::kAtomic) {
          const Origin origin = origin_of(call->getArgOperand(2));
          mark(read_buffers_, origin);
          mark(written_buffers_, origin);
          if (origin.kind != Origin::Kind::threadgroup) has_device_atomics_ = true;
          writes_.push_back(&instruction);
        }
      }
    }
    for (auto* marker : finished_markers) marker->eraseFromParent();
  }

  void number_sites() {
    llvm::DominatorTree dominators(*entry_);
    llvm::LoopInfo loops(dominators);
    ordered_ = program_order(*entry_, loops, sites_);
    if (!count_iterations(*entry_, loops, sites_, *lane_)) {
      refuse(module_, place_of(*sites_.front()), "loops around a SIMD-group function nest deeper than " + llvm::Twine(abi::kMaxLoopDepth));
    }
    for (std::uint32_t number = 0; number < ordered_.size(); ++number) {
      places_.push_back(place_of(*ordered_[number].instruction));
      route_to_runtime(*ordered_[number].instruction, number);
    }
  }

  llvm::GlobalVariable& services() {
    if (services_ == nullptr) {
      auto* type = llvm::ArrayType::get(llvm::PointerType::get(context_, 0), abi::kServiceCount);
      services_ = new llvm::GlobalVariable(module_, type, false, llvm::GlobalValue::InternalLinkage, llvm::ConstantAggregateZero::get(type),
                                           "__assay_services");
      // The loader writes it: without an escape the optimiser would take the zeros for final.
      services_->setExternallyInitialized(true);
    }
    return *services_;
  }

  llvm::CallInst* call_service(llvm::IRBuilder<>& builder, abi::Service service, std::uint32_t site, llvm::ArrayRef<llvm::Value*> arguments,
                               llvm::Type* result) {
    llvm::SmallVector<llvm::Value*> all{lane_, builder.getInt32(site)};
    all.append(arguments.begin(), arguments.end());
    llvm::SmallVector<llvm::Type*> types;
    for (auto* argument : all) types.push_back(argument->getType());
    auto* slot = builder.CreateConstInBoundsGEP2_64(services_->getValueType(), services_, 0, service);
    auto* function = builder.CreateLoad(builder.getPtrTy(), slot);
    auto* call = builder.CreateCall(llvm::FunctionType::get(result, types, false), function, all);
    call->addFnAttr(llvm::Attribute::Convergent);
    call->addFnAttr(llvm::Attribute::NoUnwind);
    for (unsigned index = 0; index < all.size(); ++index) {
      if (all[index]->getType()->isPointerTy()) call->addParamAttr(index, llvm::Attribute::NoCapture);
    }
    return call;
  }

  void route_to_runtime(llvm::Instruction& instruction, std::uint32_t site) {
    services();
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction); call != nullptr && !llvm::isa<llvm::MemIntrinsic>(call)) {
      llvm::IRBuilder<> builder(&instruction);
      llvm::SmallVector<llvm::Value*> arguments(call->args());
      const auto service = *service_of(call->getCalledFunction()->getName());
      if (service == abi::kSimdReduce && route_word_reduction(*call, site)) return;
      services_of_sites_.push_back(service);
      auto* replacement = call_service(builder, service, site, arguments, call->getType());
      call->replaceAllUsesWith(replacement);
      call->eraseFromParent();
      return;
    }
    services_of_sites_.push_back(abi::kStore);
    route_write(instruction, site);
  }

  // One 32-bit scalar, as most reductions are of, travels in registers instead of through the lane's stack.
  bool route_word_reduction(llvm::CallInst& call, std::uint32_t site) {
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
    reductions_[site] = static_cast<std::uint32_t>(constant(0)->getZExtValue() | type << 8 | constant(3)->getZExtValue() << 16);
    call.eraseFromParent();
    return true;
  }

  // A write to a device buffer that the dispatch does not read stays an ordinary store: nobody can see when it happens.
  void route_write(llvm::Instruction& instruction, std::uint32_t site) {
    auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction);
    auto* destination = store != nullptr ? store->getPointerOperand() : memory->getDest();
    const Origin origin = origin_of(destination);
    llvm::Instruction* before = &instruction;
    if (origin.kind == Origin::Kind::buffer) {
      llvm::IRBuilder<> builder(&instruction);
      auto* mask = builder.CreateLoad(builder.getInt32Ty(), lane_member(builder, offsetof(abi::Lane, ordered_buffers)));
      auto* ordered = builder.CreateICmpNE(builder.CreateAnd(mask, 1u << origin.buffer), builder.getInt32(0));
      auto* block = instruction.getParent();
      auto* tail = block->splitBasicBlock(instruction.getIterator(), "assay.stored");
      auto* raw = llvm::BasicBlock::Create(context_, "assay.raw_store", entry_, tail);
      auto* meet = llvm::BasicBlock::Create(context_, "assay.ordered_store", entry_, tail);
      block->getTerminator()->eraseFromParent();
      llvm::IRBuilder<>(block).CreateCondBr(ordered, meet, raw);
      auto* copy = instruction.clone();
      auto* raw_end = llvm::IRBuilder<>(raw).CreateBr(tail);
      copy->insertBefore(raw_end);
      before = llvm::IRBuilder<>(meet).CreateBr(tail);
    }
    llvm::IRBuilder<> builder(before);
    builder.SetCurrentDebugLocation(instruction.getDebugLoc());
    if (store != nullptr) {
      auto* value = store->getValueOperand();
      auto* slot = slot_for(value->getType());
      builder.CreateStore(value, slot);
      const auto bytes = module_.getDataLayout().getTypeStoreSize(value->getType()).getFixedValue();
      call_service(builder, abi::kStore, site, {destination, slot, builder.getInt64(bytes)}, builder.getVoidTy());
    } else if (auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(memory)) {
      call_service(builder, abi::kStore, site,
                   {destination, transfer->getSource(), builder.CreateZExtOrTrunc(transfer->getLength(), builder.getInt64Ty())},
                   builder.getVoidTy());
    } else {
      auto* fill = llvm::cast<llvm::MemSetInst>(memory);
      const auto* length = llvm::dyn_cast<llvm::ConstantInt>(fill->getLength());
      if (length == nullptr) refuse(module_, place_of(instruction), "a fill of shared memory whose length is not a constant");
      auto* slot = slot_for(llvm::ArrayType::get(builder.getInt8Ty(), length->getZExtValue()));
      builder.CreateMemSet(slot, fill->getValue(), length->getZExtValue(), llvm::MaybeAlign(16));
      call_service(builder, abi::kStore, site, {destination, slot, builder.getInt64(length->getZExtValue())}, builder.getVoidTy());
    }
    instruction.eraseFromParent();
  }

  // Reports every access to device memory to the runtime; only a lane's own memory and the threadgroup's are left out.
  void trace_device_accesses() {
    llvm::SmallVector<llvm::Instruction*> accesses;
    for (auto& instruction : llvm::instructions(*entry_)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      const bool routed = call != nullptr && call->getCalledFunction() == nullptr;
      if (routed || llvm::isa<llvm::LoadInst>(instruction) || llvm::isa<llvm::StoreInst>(instruction) ||
          llvm::isa<llvm::MemIntrinsic>(instruction))
        accesses.push_back(&instruction);
    }
    for (auto* access : accesses) {
      llvm::IRBuilder<> builder(access);
      const auto trace = [&](llvm::Value* address, llvm::Value* bytes, bool is_write) {
        const auto kind = origin_of(address).kind;
        if (kind != Origin::Kind::buffer && kind != Origin::Kind::unknown) return;
        call_service(builder, abi::kTrace, 0,
                     {address, builder.CreateZExtOrTrunc(bytes, builder.getInt64Ty()), builder.getInt32(is_write ? 1 : 0)},
                     builder.getVoidTy());
      };
      const auto size_of = [&](llvm::Type* type) {
        return builder.getInt64(module_.getDataLayout().getTypeStoreSize(type).getFixedValue());
      };
      if (auto* load = llvm::dyn_cast<llvm::LoadInst>(access)) {
        if (!is_runtime_state(*load->getPointerOperand())) trace(load->getPointerOperand(), size_of(load->getType()), false);
      } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(access)) {
        if (!is_runtime_state(*store->getPointerOperand()))
          trace(store->getPointerOperand(), size_of(store->getValueOperand()->getType()), true);
      } else if (auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(access)) {
        trace(memory->getDest(), memory->getLength(), true);
        if (auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(memory)) trace(transfer->getSource(), transfer->getLength(), false);
      } else {
        trace_service(*llvm::cast<llvm::CallBase>(access), trace, builder);
      }
    }
  }

  bool is_runtime_state(const llvm::Value& address) {
    return llvm::getUnderlyingObject(&address, 0) == lane_ || llvm::getUnderlyingObject(&address, 0) == services_;
  }

  // Stores that wait for other lanes, and atomics, are calls by now: told apart by the slot that the function came from.
  template <typename Trace>
  void trace_service(llvm::CallBase& call, Trace& trace, llvm::IRBuilder<>& builder) {
    const auto* function = llvm::dyn_cast<llvm::LoadInst>(call.getCalledOperand());
    if (function == nullptr) return;
    llvm::APInt offset(64, 0);
    function->getPointerOperand()->stripAndAccumulateConstantOffsets(module_.getDataLayout(), offset, true);
    const auto service = static_cast<abi::Service>(offset.getZExtValue() / sizeof(void*));
    if (service == abi::kStore) {
      trace(call.getArgOperand(2), call.getArgOperand(4), true);
      trace(call.getArgOperand(3), call.getArgOperand(4), false);
    } else if (service == abi::kAtomic) {
      constexpr std::uint64_t kWidestAtomic = 4;
      trace(call.getArgOperand(4), builder.getInt64(kWidestAtomic), true);
    }
  }

  llvm::AllocaInst* slot_for(llvm::Type* type) {
    auto*& slot = slots_[type];
    if (slot == nullptr) {
      llvm::IRBuilder<> builder(&entry_->getEntryBlock(), entry_->getEntryBlock().getFirstInsertionPt());
      slot = builder.CreateAlloca(type, nullptr, "assay.stored_value");
      slot->setAlignment(llvm::Align(64));
    }
    return slot;
  }

  llvm::Value* lane_member(llvm::IRBuilder<>& builder, std::uint64_t offset) {
    return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), lane_, offset);
  }

  static std::uint64_t constant_argument(const llvm::CallBase& call, unsigned index, llvm::Module& module) {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(index));
    if (constant == nullptr)
      refuse(module, place_of(call), "internal: " + call.getCalledFunction()->getName() + " with an index that is not a constant");
    return constant->getZExtValue();
  }

  void replace_position_queries() {
    llvm::SmallVector<llvm::CallBase*> queries;
    for (auto& instruction : llvm::instructions(*entry_)) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call != nullptr && call->getCalledFunction() != nullptr && call->getCalledFunction()->getName().starts_with("__assay_"))
        queries.push_back(call);
    }
    // Fixed for the lane's life: read once, at the top, so that no meeting point makes the optimiser read them again.
    llvm::IRBuilder<> top(&entry_->getEntryBlock(), entry_->getEntryBlock().getFirstInsertionPt());
    llvm::MapVector<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> variables;  // id -> size, alignment
    for (auto* call : queries) {
      if (call->getCalledFunction()->getName() == "__assay_threadgroup_variable") {
        variables[constant_argument(*call, 0, module_)] = {constant_argument(*call, 1, module_), constant_argument(*call, 2, module_)};
      }
    }
    llvm::DenseMap<std::uint64_t, std::uint64_t> offsets;
    std::uint64_t used = 0;
    for (const auto& [id, shape] : variables) {
      used = llvm::alignTo(used, std::max<std::uint64_t>(shape.second, 1));
      offsets[id] = used;
      used += shape.first;
    }
    threadgroup_bytes_ = llvm::alignTo(used, 16);

    const auto load = [&](llvm::Type* type, std::uint64_t offset) { return top.CreateLoad(type, lane_member(top, offset)); };
    const auto builtin = [&](std::uint64_t which, std::uint64_t axis) {
      return load(top.getInt32Ty(), offsetof(abi::Lane, builtins) + (which * 3 + axis) * sizeof(std::uint32_t));
    };
    for (auto* call : queries) {
      const auto name = call->getCalledFunction()->getName();
      llvm::Value* value = nullptr;
      if (name == "__assay_buffer") {
        present_buffers_ |= 1u << constant_argument(*call, 0, module_);
        value = load(top.getPtrTy(), offsetof(abi::Lane, buffers) + constant_argument(*call, 0, module_) * sizeof(void*));
      } else if (name == "__assay_threadgroup_argument") {
        present_threadgroup_arguments_ |= 1u << constant_argument(*call, 0, module_);
        value = load(top.getPtrTy(), offsetof(abi::Lane, threadgroup_arguments) + constant_argument(*call, 0, module_) * sizeof(void*));
      } else if (name == "__assay_threadgroup_variable") {
        auto* base = load(top.getPtrTy(), offsetof(abi::Lane, threadgroup_memory));
        value = top.CreateConstInBoundsGEP1_64(top.getInt8Ty(), base, offsets[constant_argument(*call, 0, module_)]);
      } else if (name == "__assay_builtin") {
        value = builtin(constant_argument(*call, 0, module_), constant_argument(*call, 1, module_));
      } else if (name == "__assay_lane") {
        value = builtin(abi::kThreadIndexInSimdgroup, 0);
      } else {
        refuse(module_, place_of(*call), "internal: unknown runtime function " + name);
      }
      call->replaceAllUsesWith(value);
    }
    for (auto* call : queries) call->eraseFromParent();
  }

  llvm::Constant* text(llvm::StringRef value) {
    auto* data = llvm::ConstantDataArray::getString(context_, value);
    return new llvm::GlobalVariable(module_, data->getType(), true, llvm::GlobalValue::InternalLinkage, data, "__assay_text");
  }

  llvm::Constant* word(std::uint64_t value) { return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context_), value); }

  template <typename Range>
  llvm::Constant* table(llvm::Type* element, const Range& values) {
    auto* type = llvm::ArrayType::get(element, values.size());
    return new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::InternalLinkage, llvm::ConstantArray::get(type, values),
                                    "__assay_table");
  }

  void emit_module() {
    services();
    llvm::MapVector<llvm::StringRef, std::uint32_t> files;
    llvm::SmallVector<llvm::Constant*> sites;
    auto* loops_type = llvm::ArrayType::get(llvm::Type::getInt32Ty(context_), abi::kMaxLoopDepth);
    auto* number = word(0)->getType();
    auto* site_type = llvm::StructType::get(context_, {number, number, number, number, number, loops_type});
    for (std::size_t site = 0; site < ordered_.size(); ++site) {
      const auto& place = places_[site];
      const auto file = files.insert({place.file, static_cast<std::uint32_t>(files.size())}).first->second;
      llvm::SmallVector<llvm::Constant*> loops;
      for (const auto loop : ordered_[site].loops) loops.push_back(word(loop));
      loops.resize(abi::kMaxLoopDepth, word(0));
      sites.push_back(llvm::ConstantStruct::get(
          site_type, {word(services_of_sites_[site]), word(reductions_.lookup(static_cast<std::uint32_t>(site))), word(file),
                      word(place.line), word(ordered_[site].loops.size()), llvm::ConstantArray::get(loops_type, loops)}));
    }
    llvm::SmallVector<llvm::Constant*> names;
    for (const auto& file : files) names.push_back(text(file.first));
    auto* pointer = llvm::PointerType::get(context_, 0);
    llvm::Constant* fields[] = {word(abi::kVersion),
                                word(sites.size()),
                                table(site_type, sites),
                                table(pointer, names),
                                word(names.size()),
                                word(threadgroup_bytes_),
                                word(read_buffers_),
                                word(written_buffers_),
                                word(present_buffers_),
                                word(present_threadgroup_arguments_),
                                word(has_device_atomics_ ? 1 : 0),
                                text(reflection_),
                                services_,
                                entry_};
    auto* value = llvm::ConstantStruct::getAnon(context_, fields);
    new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::ExternalLinkage, value, "__assay_module");
  }

  llvm::Module& module_;
  llvm::ModuleAnalysisManager& analyses_;
  llvm::LLVMContext& context_;
  llvm::Function* entry_ = nullptr;
  llvm::Value* lane_ = nullptr;
  llvm::GlobalVariable* services_ = nullptr;
  llvm::DenseMap<llvm::Type*, llvm::AllocaInst*> slots_;
  std::string reflection_;
  std::vector<llvm::Instruction*> sites_;
  std::vector<llvm::Instruction*> writes_;  // those of the sites that change memory
  std::vector<OrderedSite> ordered_;
  std::vector<Place> places_;
  std::vector<abi::Service> services_of_sites_;
  llvm::DenseMap<std::uint32_t, std::uint32_t> reductions_;  // abi::Site::reduction, by site
  std::uint64_t threadgroup_bytes_ = 0;
  std::uint32_t read_buffers_ = 0;
  std::uint32_t written_buffers_ = 0;
  std::uint32_t present_buffers_ = 0;
  std::uint32_t present_threadgroup_arguments_ = 0;
  bool has_device_atomics_ = false;
};

struct LockstepPass : llvm::PassInfoMixin<LockstepPass> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
    return Lockstep(module, analyses).run() ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

// After the optimiser has removed what the constants rule out: whatever still reads an unset constant really needs it.
struct UnsetConstantPass : llvm::PassInfoMixin<UnsetConstantPass> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    for (auto& variable : module.globals()) {
      if (!variable.getName().starts_with(kUnsetConstant)) continue;
      for (const auto* user : variable.users()) {
        if (!llvm::isa<llvm::Instruction>(user)) continue;
        const auto [index, rest] = variable.getName().drop_front(kUnsetConstant.size()).split('.');
        refuse(module, places_of_unset()[variable.getName().str()], "function constant '" + rest.take_until([](char c) {
          return c == '.';
        }) + "' (index " + index + ") is used by the kernel but has no value");
      }
    }
    llvm::StripDebugInfo(module);
    return llvm::PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

}  // namespace
}  // namespace assay::metal::pass

extern "C" LLVM_ATTRIBUTE_WEAK llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "assay-lockstep", "1", [](llvm::PassBuilder& builder) {
            builder.registerPipelineStartEPCallback(
                [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) { passes.addPass(assay::metal::pass::LockstepPass()); });
            builder.registerOptimizerEarlyEPCallback(
                [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) { passes.addPass(assay::metal::pass::UnsetConstantPass()); });
          }};
}
