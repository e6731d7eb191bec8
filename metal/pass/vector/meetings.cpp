// Meeting points of a SIMD-group that runs as vectors: the lanes are there already.
#include "metal/pass/vector/widener.h"

#include <llvm/Analysis/ValueTracking.h>

namespace assay::metal::pass {
namespace {

// Reduction operations of metal/shader/runtime.h.
constexpr std::uint32_t kSum = 0;
constexpr std::uint32_t kMin = 2;
constexpr std::uint32_t kMax = 3;
constexpr std::uint32_t kFloatCode = 10;
// Shuffle modes.
constexpr std::uint32_t kShuffleIndex = 0;
constexpr std::uint32_t kShuffleXor = 1;
constexpr std::uint32_t kShuffleUp = 2;
constexpr std::uint32_t kShuffleDown = 3;
constexpr std::uint32_t kShuffleBroadcast = 8;

constexpr unsigned kFirstArgument = 2;  // after the lane and the site

}  // namespace

llvm::Value* Widener::member_of_first(std::uint64_t offset) {
  return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), into_.getArg(0), offset);
}

llvm::CallInst* Widener::request(abi::Service service, llvm::ArrayRef<Value*> arguments, llvm::Type* result) {
  llvm::SmallVector<Value*> all{into_.getArg(0)};
  all.append(arguments.begin(), arguments.end());
  llvm::SmallVector<llvm::Type*> types;
  for (auto* argument : all) types.push_back(argument->getType());
  auto* slot = builder_.CreateConstInBoundsGEP2_64(services_.getValueType(), &services_, 0, service);
  auto* call = builder_.CreateCall(llvm::FunctionType::get(result, types, false), builder_.CreateLoad(builder_.getPtrTy(), slot), all);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  for (unsigned index = 0; index < all.size(); ++index) {
    if (all[index]->getType()->isPointerTy()) call->addParamAttr(index, llvm::Attribute::NoCapture);
  }
  return call;
}

// Stops the threadgroup, which then runs again lane by lane. Does not return.
void Widener::give_up(std::uint32_t site) {
  auto* call = request(abi::kVectorGiveUp, {builder_.getInt32(site)}, builder_.getVoidTy());
  call->addFnAttr(llvm::Attribute::Cold);
}

// Counts a meeting of the lanes that run the block, and lets another SIMD-group run if the schedule says so.
void Widener::met(std::uint32_t site, bool is_collective) {
  const auto add = [&](std::uint64_t offset, Value* amount) {
    auto* counter = member_of_first(offset);
    builder_.CreateStore(builder_.CreateAdd(builder_.CreateLoad(builder_.getInt64Ty(), counter), amount), counter);
  };
  add(offsetof(abi::Lane, meetings), builder_.getInt64(1));
  if (is_collective) {
    if (is_checked_) request(abi::kVectorMet, {builder_.getInt32(site)}, builder_.getVoidTy());
    add(offsetof(abi::Lane, collectives), builder_.getInt64(1));
    if (lanes_ != nullptr) {
      auto* here = builder_.CreateOr(bits_of_lanes(), finished_lanes());
      add(offsetof(abi::Lane, divergent_collectives),
          builder_.CreateZExt(builder_.CreateICmpNE(here, builder_.getInt32(~0U)), builder_.getInt64Ty()));
    }
  }
  auto* yields =
      builder_.CreateICmpNE(builder_.CreateLoad(builder_.getInt32Ty(), member_of_first(offsetof(abi::Lane, yields))), builder_.getInt32(0));
  auto* other = new_block("yield");
  auto* on = new_block("met");
  builder_.CreateCondBr(yields, other, on);
  builder_.SetInsertPoint(other);
  request(abi::kVectorYield, {builder_.getInt32(site)}, builder_.getVoidTy())->addFnAttr(llvm::Attribute::Cold);
  builder_.CreateBr(on);
  builder_.SetInsertPoint(on);
}

// The buffers to which a pointer may lead, by their bits: none for threadgroup memory. No value if that is not known.
std::optional<std::uint32_t> Widener::buffers_of(const Value* pointer) const {
  constexpr std::uint64_t kBuffers = offsetof(abi::Lane, buffers);
  constexpr std::uint64_t kArguments = offsetof(abi::Lane, threadgroup_arguments);
  llvm::SmallVector<const Value*, 4> objects;
  llvm::getUnderlyingObjects(pointer, objects, nullptr, /*MaxLookup=*/0);
  std::uint32_t buffers = 0;
  for (const auto* object : objects) {
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(object);
    const auto offset = load == nullptr ? std::nullopt : shapes_.member(load->getPointerOperand());
    if (!offset) return std::nullopt;
    if (*offset >= kBuffers && *offset < kBuffers + sizeof(abi::Lane::buffers)) {
      buffers |= 1U << (*offset - kBuffers) / sizeof(void*);
    } else if ((*offset < kArguments || *offset >= kArguments + sizeof(abi::Lane::threadgroup_arguments)) &&
               *offset != offsetof(abi::Lane, threadgroup_memory)) {
      return std::nullopt;
    }
  }
  return buffers;
}

// Keeps what the lanes are about to overwrite, if one of the buffers is also read.
void Widener::keep(Value* pointer, std::uint64_t bytes, std::uint32_t buffers) {
  auto* all = pointers(pointer);
  auto* kept = builder_.CreateLoad(builder_.getInt32Ty(), member_of_first(offsetof(abi::Lane, kept_buffers)));
  auto* ask = new_block("keep");
  auto* on = new_block("kept");
  builder_.CreateCondBr(builder_.CreateICmpNE(builder_.CreateAnd(kept, buffers), builder_.getInt32(0)), ask, on);
  builder_.SetInsertPoint(ask);
  auto* addresses = array_of(builder_.getPtrTy());
  builder_.CreateStore(all, addresses);
  request(abi::kVectorKeep, {bits_of_lanes(), addresses, builder_.getInt64(bytes)}, builder_.getVoidTy());
  builder_.CreateBr(on);
  builder_.SetInsertPoint(on);
  release_arrays();
}

// The store that puts what the request writes into its slot, just before; null if the request is another, or writes to memory that is
// not known.
llvm::StoreInst* Widener::written_by(llvm::CallBase& call) const {
  auto* slot = llvm::dyn_cast<llvm::AllocaInst>(call.getArgOperand(kFirstArgument + 1));
  const auto* bytes = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(kFirstArgument + 2));
  if (slot == nullptr || bytes == nullptr || !buffers_of(call.getArgOperand(kFirstArgument))) return nullptr;
  for (auto* before = call.getPrevNode(); before != nullptr; before = before->getPrevNode()) {
    auto* store = llvm::dyn_cast<llvm::StoreInst>(before);
    if (store == nullptr) {
      if (before->mayWriteToMemory()) return nullptr;
      continue;
    }
    if (store->getPointerOperand() != slot) {
      if (shapes_.member(store->getPointerOperand())) continue;
      if (llvm::getUnderlyingObject(store->getPointerOperand()) == slot) return nullptr;
      continue;
    }
    auto* type = store->getValueOperand()->getType();
    return bytes_of(type) == bytes->getZExtValue() && !type->isAggregateType() ? store : nullptr;
  }
  return nullptr;
}

// Whether a store only fills the slot of the request that follows it, which then does without.
bool Widener::is_for_request(const llvm::StoreInst& store) const {
  if (!llvm::isa<llvm::AllocaInst>(store.getPointerOperand())) return false;
  for (auto* next = store.getNextNode(); next != nullptr; next = next->getNextNode()) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(next);
    if (call == nullptr || requested_service(*call) != abi::kStore || call->getArgOperand(kFirstArgument + 1) != store.getPointerOperand())
      continue;
    return written_by(const_cast<llvm::CallBase&>(*call)) == &store;
  }
  return false;
}

bool Widener::widen_write(llvm::CallBase& call) {
  auto* store = written_by(call);
  if (store == nullptr) return false;
  // The alignment is tested where it is not known (pass/alignment.cpp); a misaligned store is not done here.
  auto* pointer = call.getArgOperand(kFirstArgument);
  auto* type = store->getValueOperand()->getType();
  const Parts parts = wide(store->getValueOperand());
  if (const auto buffers = *buffers_of(pointer); buffers != 0) keep(pointer, bytes_of(type), buffers);
  store_parts(pointer, type, parts, llvm::Align(1));
  met(site_of(call), false);
  return true;
}

// Combines neighbours, then pairs of neighbours, and so on, as metal/execute/reductions.cpp does.
llvm::Value* Widener::butterfly(Value* values, llvm::function_ref<Value*(Value*, Value*)> combine) {
  for (int count = abi::kLanes / 2; count > 0; count /= 2) {
    const Parts halves = deinterleaved(values, 2);
    values = combine(halves[0], halves[1]);
  }
  return builder_.CreateExtractElement(values, std::uint64_t{0});
}

// The reduction of one word of each lane, in all lanes.
llvm::Value* Widener::reduced(Value* words, std::uint32_t operation) {
  const std::uint32_t what = operation & 0xff;
  const std::uint32_t type = operation >> 8 & 0xff;
  const std::uint32_t width = operation >> 16;
  if (lanes_ == nullptr && width == abi::kLanes && type == kFloatCode && (what == kSum || what == kMin || what == kMax)) {
    auto* values = builder_.CreateBitCast(words, vector_of(builder_.getFloatTy()));
    auto* result = butterfly(values, [&](Value* a, Value* b) -> Value* {
      if (what == kSum) return builder_.CreateFAdd(a, b);
      // If one is NaN, the other one (minimum and maximum of metal/execute/scalars.h).
      auto* wins = what == kMin ? builder_.CreateFCmpOLT(b, a) : builder_.CreateFCmpOGT(b, a);
      return builder_.CreateSelect(builder_.CreateOr(wins, builder_.CreateFCmpUNO(a, a)), b, a);
    });
    return splat(builder_.CreateBitCast(result, builder_.getInt32Ty()));
  }
  auto* array = array_of(builder_.getInt32Ty());
  builder_.CreateStore(words, array);
  request(abi::kVectorReduceWord, {bits_of_lanes(), builder_.getInt32(operation), array}, builder_.getVoidTy());
  auto* loaded = builder_.CreateLoad(vector_of(builder_.getInt32Ty()), array);
  release_arrays();
  return loaded;
}

llvm::Value* Widener::shuffled(Value* words, Value* argument, std::uint32_t operation) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(argument);
  if (lanes_ == nullptr && operation >> 16 == abi::kLanes && constant != nullptr && constant->getZExtValue() < abi::kLanes) {
    const auto by = static_cast<int>(constant->getZExtValue());
    const auto mode = operation & 0xff;
    llvm::SmallVector<int> mask;
    for (int lane = 0; lane < static_cast<int>(abi::kLanes); ++lane) {
      // From beyond the group, a lane's own value.
      const int from = mode == kShuffleXor ? lane ^ by : mode == kShuffleDown ? lane + by : mode == kShuffleUp ? lane - by : by;
      mask.push_back(from < 0 || from >= static_cast<int>(abi::kLanes) ? lane : from);
    }
    if (mode == kShuffleXor || mode == kShuffleDown || mode == kShuffleUp || mode == kShuffleIndex || mode == kShuffleBroadcast)
      return builder_.CreateShuffleVector(words, mask);
  }
  auto* array = array_of(builder_.getInt32Ty());
  auto* arguments = array_of(builder_.getInt32Ty());
  builder_.CreateStore(words, array);
  builder_.CreateStore(builder_.CreateZExtOrTrunc(wide_one(argument), vector_of(builder_.getInt32Ty())), arguments);
  request(abi::kVectorShuffleWord, {bits_of_lanes(), builder_.getInt32(operation), array, arguments}, builder_.getVoidTy());
  auto* loaded = builder_.CreateLoad(vector_of(builder_.getInt32Ty()), array);
  release_arrays();
  return loaded;
}

// The result of a meeting, of which one number is left if it is the same in all lanes that meet.
void Widener::set_word(llvm::CallBase& call, Value* words) {
  if (!shapes_.is_uniform(&call)) return set_wide(call, {words});
  auto* first = lanes_ == nullptr ? static_cast<Value*>(builder_.getInt32(0))
                                  : builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits_of_lanes(), builder_.getTrue());
  set_scalar(call, builder_.CreateExtractElement(words, first));
}

// Of words in an interleaved variable.
bool Widener::widen_in_place(llvm::CallBase& call) {
  const auto request = words_in_place(call);
  if (!request || !shapes_.is_interleaved(request->words)) return false;
  const Shape& shape = shapes_.of(request->words);
  if (!shape.is_spaced() || shape.is_assumed || !is_dense(shape, builder_.getInt32Ty())) {
    refuse("a SIMD-group function of what lies at different places of a local variable");
    return true;
  }
  auto* first = base(request->words);
  for (std::uint32_t word = 0; word < request->count; ++word) {
    auto* place = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), first, word * sizeof(std::uint32_t) * abi::kLanes);
    auto* words = builder_.CreateAlignedLoad(vector_of(builder_.getInt32Ty()), place, llvm::Align(4));
    auto* results =
        request->argument == nullptr ? reduced(words, request->operation) : shuffled(words, request->argument, request->operation);
    if (lanes_ == nullptr) {
      builder_.CreateAlignedStore(results, place, llvm::Align(4));
    } else {
      builder_.CreateMaskedStore(results, place, llvm::Align(4), lanes_);
    }
  }
  met(site_of(call), true);
  return true;
}

// An 8x8 product. In the order of the lanes' elements, each quarter of a matrix is a block of 4 rows and 4 columns, row by row
// (place_in_matrix of metal/execute/matrix.h). So the products need no other order.
void Widener::widen_product(llvm::CallBase& call) {
  constexpr int kBlock = 4;
  constexpr int kSide = 8;
  constexpr int kElements = kBlock * kBlock;
  auto* all = llvm::FixedVectorType::get(builder_.getFloatTy(), 2 * abi::kLanes);
  const auto quarters = [&](unsigned operand) {
    auto* values = builder_.CreateBitCast(wide_one(call.getArgOperand(kFirstArgument + operand)), all);
    llvm::SmallVector<Value*, 4> result;
    for (int first = 0; first < 4 * kElements; first += kElements) {
      llvm::SmallVector<int> mask;
      for (int element = first; element < first + kElements; ++element) mask.push_back(element);
      result.push_back(builder_.CreateShuffleVector(values, mask));
    }
    return result;
  };
  const auto repeated = [&](Value* block, llvm::function_ref<int(int)> from) {
    llvm::SmallVector<int> mask;
    for (int element = 0; element < kElements; ++element) mask.push_back(from(element));
    return builder_.CreateShuffleVector(block, mask);
  };
  const auto a = quarters(0);
  const auto b = quarters(1);
  auto sums = quarters(2);
  for (int k = 0; k < kSide; ++k) {
    std::array<Value*, 2> columns{};
    std::array<Value*, 2> rows{};
    for (const std::size_t half : {0, 1}) {
      const auto block_of_k = static_cast<std::size_t>(k / kBlock);
      columns[half] = repeated(a[2 * half + block_of_k], [&](int element) { return element / kBlock * kBlock + k % kBlock; });
      rows[half] = repeated(b[2 * block_of_k + half], [&](int element) { return k % kBlock * kBlock + element % kBlock; });
    }
    for (std::size_t quarter = 0; quarter < sums.size(); ++quarter) {
      sums[quarter] = builder_.CreateIntrinsic(sums[quarter]->getType(), llvm::Intrinsic::fma,
                                               {columns[quarter / 2], rows[quarter % 2], sums[quarter]});
    }
  }
  const auto joined = [&](Value* first, Value* second) {
    const auto count = static_cast<int>(llvm::cast<llvm::FixedVectorType>(first->getType())->getNumElements());
    llvm::SmallVector<int> mask;
    for (int element = 0; element < 2 * count; ++element) mask.push_back(element);
    return builder_.CreateShuffleVector(first, second, mask);
  };
  auto* result = joined(joined(sums[0], sums[1]), joined(sums[2], sums[3]));
  set_wide(call, {builder_.CreateBitCast(result, vector_of(builder_.getInt64Ty()))});
  auto* counter = member_of_first(offsetof(abi::Lane, products));
  builder_.CreateStore(builder_.CreateAdd(builder_.CreateLoad(builder_.getInt64Ty(), counter), builder_.getInt64(1)), counter);
  met(site_of(call), true);
}

// Any other meeting: the runtime performs it on the requests of the lanes. Each argument is an array of 32 words of 64 bits.
void Widener::meet(llvm::CallBase& call) {
  const unsigned count = call.arg_size() - kFirstArgument;
  auto* word = builder_.getInt64Ty();
  auto* words = vector_of(word);
  auto* arguments = array_of(llvm::ArrayType::get(word, std::max(count, 1U)));
  for (unsigned index = 0; index < count; ++index) {
    auto* value = wide_one(call.getArgOperand(kFirstArgument + index));
    value =
        value->getType()->getScalarType()->isPointerTy() ? builder_.CreatePtrToInt(value, words) : builder_.CreateZExtOrTrunc(value, words);
    builder_.CreateStore(value, builder_.CreateConstInBoundsGEP1_64(words, arguments, index));
  }
  auto* results = array_of(word);
  request(abi::kVectorMeet, {builder_.getInt32(site_of(call)), bits_of_lanes(), finished_lanes(), arguments, results},
          builder_.getVoidTy());
  if (!call.getType()->isVoidTy()) {
    set_word(call, builder_.CreateTrunc(builder_.CreateLoad(words, results), vector_of(call.getType())));
  }
  release_arrays();
}

bool Widener::widen_service(llvm::CallBase& call) {
  switch (*requested_service(call)) {
    case abi::kSimdReduceWord:
      set_word(call, reduced(wide_one(call.getArgOperand(kFirstArgument)), operation_of_word(call)));
      met(site_of(call), true);
      return true;
    case abi::kSimdShuffleWord:
      set_word(call,
               shuffled(wide_one(call.getArgOperand(kFirstArgument)), call.getArgOperand(kFirstArgument + 1), operation_of_word(call)));
      met(site_of(call), true);
      return true;
    case abi::kMatrixMultiply:
      if (lanes_ == nullptr) {
        widen_product(call);
      } else {
        meet(call);
      }
      return true;
    case abi::kStore:
      // With checks on, the runtime writes lane by lane, so that each lane is compared with those before it.
      if (is_checked_ || !widen_write(call)) meet(call);
      return true;
    case abi::kReconverge:
      met(site_of(call), false);
      return true;
    case abi::kMisaligned:
    case abi::kUnset:
    case abi::kNarrowed:
      give_up(0);
      return true;
    case abi::kSimdReduce:
    case abi::kSimdShuffle:
      if (!widen_in_place(call)) meet(call);
      return true;
    case abi::kFence:
      if (!shapes_.is_uniform(call.getArgOperand(kFirstArgument))) return false;
      request(abi::kFence, {builder_.getInt32(0), scalar(call.getArgOperand(kFirstArgument))}, builder_.getVoidTy());
      return true;
    case abi::kSimdBallot:
    case abi::kSimdActive:
    case abi::kBarrier:
    case abi::kAtomic:
      meet(call);
      return true;
    default:
      return false;
  }
}

}  // namespace assay::metal::pass
