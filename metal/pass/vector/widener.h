// Turns the code of one lane into code of a whole SIMD-group, shared by the files of this folder; see vector_kernel.cpp.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

#include <string>

#include "metal/pass/vector/shapes.h"

namespace assay::metal::pass {

class Widener {
 public:
  // `order` has the blocks of the lane's function in program order. `into` is an empty function of the same type. A kernel of the policy
  // `checked` also asks for checks of what it writes, and counts where its lanes meet.
  Widener(llvm::Function& lane, llvm::Function& into, const Shapes& shapes, llvm::LoopInfo& loops, std::vector<llvm::BasicBlock*> order,
          llvm::GlobalVariable& services, bool is_checked);

  // Returns why the kernel cannot be widened; empty if it was.
  std::string run();

 private:
  using Block = llvm::BasicBlock;
  using Value = llvm::Value;
  // A value of all lanes, by component: one vector of 32 elements for each component of the lane's own value.
  using Parts = llvm::SmallVector<Value*, 4>;

  // ---- control_flow.cpp
  struct Edge {
    Block* from;
    Block* to;
    Value* lanes;  // <32 x i1>; null: all of them
  };
  void make_slots();
  void widen_block(Block& block);
  void end_block(Block& block);
  void follow(Block& from, Block& to);
  void take_edge(const Edge& edge);
  void run_region(llvm::ArrayRef<Edge> entries);
  llvm::SmallVector<Edge> edges_of(Block& block, Value* lanes);
  std::vector<Block*> region_of(llvm::ArrayRef<Edge> entries, Block*& exit);
  void finish(const Edge& edge);
  Value* finished_lanes();
  [[nodiscard]] static bool is_met_behind(Block& block);
  Value* any(Value* lanes);
  Block* new_block(const llvm::Twine& name);
  void begin_block(Block& emitted, Value* lanes);

  // ---- values.cpp
  Value* scalar(Value* value);
  Parts wide(Value* value);
  Value* wide_one(Value* value) { return wide(value).front(); }
  Value* base(Value* value);
  Value* holds(Value* value);
  void set_scalar(llvm::Instruction& of, Value* value);
  void set_wide(llvm::Instruction& of, Parts parts);
  Parts parts_of(Value* scalar_of_all);
  Value* splat(Value* value) { return builder_.CreateVectorSplat(abi::kLanes, value); }
  Value* offsets(llvm::Type* type, const Shape& shape);
  Value* interleaved(Parts parts);
  Parts deinterleaved(Value* all, std::size_t count);
  Value* all_lanes() { return llvm::ConstantInt::getTrue(llvm::FixedVectorType::get(builder_.getInt1Ty(), abi::kLanes)); }
  Value* lanes() { return lanes_ == nullptr ? all_lanes() : lanes_; }
  Value* bits_of_lanes() { return builder_.CreateBitCast(lanes(), builder_.getInt32Ty()); }
  llvm::Type* vector_of(llvm::Type* type) { return llvm::FixedVectorType::get(type, abi::kLanes); }
  static llvm::SmallVector<llvm::Type*, 4> components(llvm::Type* type);
  static llvm::Type* stored_type(llvm::Type* type);
  static llvm::Type* stored_vector(llvm::Type* type);

  // ---- operations.cpp
  // A refusal in it names the line.
  void widen(llvm::Instruction& instruction);
  void widen_one(llvm::Instruction& instruction);
  bool widen_simple(llvm::Instruction& instruction);
  Parts reinterpreted(const Parts& parts, llvm::Type* to);
  Value* as_single(Value* stored, llvm::Type* type);
  Value* from_single(Value* single, llvm::Type* type);
  Value* rounded_to_bfloat(Value* single);
  void keep_from_trapping(llvm::MutableArrayRef<Value*> operands);
  Value* operate(llvm::Instruction& instruction, llvm::ArrayRef<Value*> operands);
  void widen_shuffle(llvm::ShuffleVectorInst& shuffle);
  void widen_insertion(llvm::InsertElementInst& insertion);
  void widen_extraction(llvm::ExtractElementInst& extraction);
  bool widen_intrinsic(llvm::CallBase& call);
  bool widen_library_function(llvm::CallBase& call);
  void lane_by_lane(llvm::Instruction& instruction);
  void for_each_lane(llvm::function_ref<void(Value* lane)> body);
  llvm::AllocaInst* array_of(llvm::Type* element);
  void release_arrays();

  // ---- memory.cpp
  void widen_load(llvm::LoadInst& load);
  void widen_store(llvm::StoreInst& store);
  void store_parts(Value* pointer, llvm::Type* type, const Parts& parts, llvm::Align align);
  Parts load_near(Value* from, llvm::Type* type, llvm::Align align);
  Parts load_if_near(llvm::LoadInst& load, Value* condition, bool is_whole);
  Parts gather(Value* pointers, llvm::Type* type, llvm::Align align);
  Value* gather_words(Value* pointers, llvm::Type* element, llvm::Align align);
  bool looked_up(llvm::LoadInst& load);
  void scatter(Value* pointers, llvm::Type* type, const Parts& parts, llvm::Align align);
  [[nodiscard]] bool is_dense(const Shape& shape, llvm::Type* type) const;
  [[nodiscard]] std::uint64_t bytes_of(llvm::Type* type) const { return data_.getTypeStoreSize(type).getFixedValue(); }
  void widen_fill(llvm::MemSetInst& fill);
  Value* pointers(Value* pointer);
  Value* stepped(llvm::GetElementPtrInst& step, Value* from, llvm::function_ref<Value*(Value*)> index_of, bool of_all);

  // ---- meetings.cpp
  bool widen_service(llvm::CallBase& call);
  bool widen_write(llvm::CallBase& call);
  [[nodiscard]] llvm::StoreInst* written_by(llvm::CallBase& call) const;
  [[nodiscard]] bool is_for_request(const llvm::StoreInst& store) const;
  Value* reduced(Value* words, std::uint32_t operation);
  Value* shuffled(Value* words, Value* argument, std::uint32_t operation);
  void set_word(llvm::CallBase& call, Value* words);
  bool widen_in_place(llvm::CallBase& call);
  void widen_product(llvm::CallBase& call);
  void meet(llvm::CallBase& call);
  void met(std::uint32_t site, bool is_collective);
  void give_up(std::uint32_t site);
  llvm::CallInst* request(abi::Service service, llvm::ArrayRef<Value*> arguments, llvm::Type* result);
  [[nodiscard]] std::optional<std::uint32_t> buffers_of(const Value* pointer) const;
  void keep(Value* pointer, std::uint64_t bytes, std::uint32_t buffers);
  Value* member_of_first(std::uint64_t offset);
  Value* butterfly(Value* values, llvm::function_ref<Value*(Value*, Value*)> combine);

  // ---- checks.cpp
  bool widen_check(llvm::CallBase& call);
  void check_access(std::uint32_t number, Value* pointer, Value* bytes);
  void count_block(std::uint32_t number);
  void give_up_if(Value* condition);

  void refuse(const llvm::Twine& reason) {
    if (refusal_.empty()) refusal_ = reason.str();
  }

  llvm::Function& lane_function_;
  llvm::Function& into_;
  const Shapes& shapes_;
  llvm::LoopInfo& loops_;
  std::vector<Block*> order_;
  llvm::DenseMap<const Block*, std::size_t> places_;  // in order_
  llvm::GlobalVariable& services_;
  const llvm::DataLayout& data_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> builder_;
  llvm::IRBuilder<> entry_;  // where variables go
  std::string refusal_;
  const bool is_checked_;

  llvm::DenseMap<const Block*, Block*> blocks_;  // of code that all lanes run together
  Value* lanes_ = nullptr;                       // those that run the current block; null: all
  bool is_local_ = false;                        // whether the current block is divergent: its values go through slots
  // Values of blocks that all lanes run, and those made in the current block.
  llvm::DenseMap<const Value*, Value*> scalars_, local_scalars_, local_bases_;
  llvm::DenseMap<const Value*, Parts> wides_, local_wides_;
  // Variables for values that cross blocks, and for the incoming values of phis.
  llvm::DenseMap<const Value*, llvm::SmallVector<llvm::AllocaInst*, 4>> slots_, incoming_;
  llvm::DenseMap<const Block*, llvm::AllocaInst*> masks_;  // the lanes that are on their way to a block
  std::vector<Block*> region_;                             // that is being run
  llvm::AllocaInst* done_ = nullptr;                       // the lanes that have returned, or are on their way to it
  llvm::DenseMap<const llvm::AllocaInst*, llvm::AllocaInst*> variables_;
  llvm::SmallVector<llvm::AllocaInst*> promotable_;
  llvm::DenseMap<llvm::Type*, llvm::SmallVector<llvm::AllocaInst*>> free_arrays_, used_arrays_;
  std::uint64_t widened_bytes_ = 0;  // of variables
};

}  // namespace assay::metal::pass
