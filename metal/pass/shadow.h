// The policy `shadow`: for every floating-point value of a kernel, a double that is computed without the value's roundings.
//
// The pass works on a kernel that is already one function and whose meeting points are calls. A shadow is computed directly after its
// value, by the same operation in double on the operands' shadows. Decisions (comparisons, conversions to integers, floor and similar
// functions) use the values, not the shadows.
//
// In memory, a shadow lies in the cell of its address (lane_abi.h), with the bits of its value. If these bits differ from those in
// memory, the host or an integer operation has written there since, and the value becomes its own shadow. An array whose address does
// not escape its lane has an array of doubles instead, which the optimiser can split like the original.
#pragma once

#include <deque>
#include <map>
#include <tuple>

#include "metal/pass/lockstep.h"

namespace assay::metal::pass {

class Shadow {
 public:
  Shadow(Lockstep& kernel, bool explains);
  void run();

 private:
  using Builder = llvm::IRBuilder<>;

  // ---- shadow.cpp
  [[nodiscard]] llvm::Type* doubles_for(llvm::Type* type) const;
  [[nodiscard]] llvm::Value* widened(Builder& builder, llvm::Value* value) const;
  llvm::Value* of(llvm::Value* value);
  llvm::Value* make(llvm::Instruction& instruction);
  llvm::Value* make_member(llvm::ExtractValueInst& member, Builder& builder);
  llvm::Value* make_call(llvm::CallBase& call, Builder& builder);
  static llvm::CallInst* nearest_double(Builder& builder, llvm::CallBase& call, llvm::ArrayRef<llvm::Value*> arguments);
  void multiply(llvm::CallInst& product);
  llvm::Value* make_remainder(llvm::Instruction& value, Builder& builder);
  llvm::Value* same_operation(Builder& builder, llvm::Instruction& value, llvm::ArrayRef<llvm::Value*> operands);
  void fill_merges();

  // ---- shadow_bits.cpp: numbers that travel as integers
  llvm::Value* of_bits(llvm::Value* carrier, unsigned first_bit, llvm::Type* element);
  llvm::Value* find_bits(llvm::Value* carrier, unsigned first_bit, llvm::Type* element);
  llvm::Value* merged_bits(llvm::Instruction& merge, unsigned first_bit, llvm::Type* element);
  llvm::Value* of_reinterpreted(llvm::BitCastInst& cast);
  llvm::Value* masked_bits(llvm::Instruction& word, unsigned first_bit, llvm::Type* element);
  static llvm::Value* number_in(Builder& builder, llvm::Value* carrier, unsigned first_bit, llvm::Type* element);
  llvm::Value* bits_of_number(llvm::Value* number, unsigned first_bit, llvm::Type* element);
  [[nodiscard]] static bool may_carry(llvm::Value* word);
  // Requests a part of a word as large as a cell's granule, of any type.
  [[nodiscard]] llvm::Type* granule() const { return llvm::Type::getInt16Ty(context_); }
  [[nodiscard]] llvm::Type* cell_type() const {
    return llvm::StructType::get(context_, {llvm::Type::getDoubleTy(context_), llvm::Type::getInt64Ty(context_)});
  }
  void find_accounted();
  void note_lost(llvm::Instruction& instruction, llvm::Value* carrier);

  // ---- shadow_memory.cpp
  struct Array {
    llvm::AllocaInst* doubles = nullptr;
    unsigned factor = 0;  // bytes of doubles per byte of the array
  };
  void find_arrays();
  bool holds_only_words(llvm::Value* object);
  [[nodiscard]] llvm::Type* only_element(llvm::AllocaInst& variable) const;
  llvm::Value* place_in_array(Builder& builder, llvm::Value* pointer);
  llvm::Value* cell(Builder& builder, llvm::Value* pointer, std::uint64_t offset);
  llvm::Value* tag(Builder& builder, llvm::Value* number) const;
  llvm::Value* load(llvm::LoadInst& load);
  llvm::Value* from_cells(Builder& builder, llvm::Value* pointer, llvm::Value* value);
  void to_cells(Builder& builder, llvm::Value* pointer, llvm::Value* value, llvm::Value* shadow);
  void store(llvm::StoreInst& store);
  void copy(llvm::MemTransferInst& transfer);
  void fill(llvm::MemSetInst& fill);
  void call_copy(Builder& builder, llvm::Value* destination, llvm::Value* source, llvm::Value* bytes);

  // ---- shadow_rounding.cpp: what an operation rounds away, if that is to be explained
  llvm::Value* explained(llvm::Instruction& value, llvm::Value* shadow);
  llvm::Value* exact_result(Builder& builder, llvm::Instruction& value);

  Lockstep& kernel_;
  const bool explains_;
  llvm::LLVMContext& context_;
  const llvm::DataLayout& layout_;
  llvm::Value* cells_ = nullptr;             // abi::Lane::cells
  llvm::Value* shadowed_buffers_ = nullptr;  // abi::Lane::shadowed_buffers
  llvm::Value* weights_ = nullptr;           // abi::Lane::weights
  llvm::Value* is_watched_ = nullptr;        // abi::Lane::is_watched
  llvm::Value* rows_ = nullptr;              // of abi::RoundedRow
  llvm::DenseMap<llvm::Value*, llvm::Value*> shadows_;
  std::map<std::tuple<llvm::Value*, unsigned, llvm::Type*>, llvm::Value*> bits_;
  struct Merge {
    llvm::PHINode* values;
    llvm::PHINode* shadows;
    std::optional<std::pair<unsigned, llvm::Type*>> bits;  // first bit and element type, if the values are not numbers
  };
  std::deque<Merge> merges_;
  llvm::SmallPtrSet<const llvm::Value*, 16> accounted_;
  llvm::DenseMap<llvm::Value*, Array> arrays_;
  llvm::DenseMap<llvm::Value*, bool> only_words_;
};

// The instruction before which the shadow of `value` can be computed.
llvm::Instruction* behind(llvm::Instruction& value);

// Whether values of the type are numbers of a kernel, or of the library functions that it calls.
bool is_number(llvm::Type* type);

}  // namespace assay::metal::pass
