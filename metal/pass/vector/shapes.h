// How the values of a kernel differ between the lanes of a SIMD-group, and which of its code only some lanes may run.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <array>
#include <cstdint>
#include <optional>

#include "metal/lane_abi.h"
#include "metal/pass/vector/requests.h"

namespace assay::metal::pass {

using LaneOffsets = std::array<std::int64_t, abi::kLanes>;

// What is known of a value. `spaced`: lane l's value is that of lane 0 plus offsets[l], modulo the width of the type; all offsets are 0
// if every lane has the same value.
struct Shape {
  enum class Kind : std::uint8_t { unknown, spaced, varying };
  Kind kind = Kind::unknown;
  bool is_absolute = false;  // the value of lane 0 is the constant `first`
  bool is_assumed = false;   // the offsets hold only if no narrower index wraps between the lanes (see Widener::holds)
  std::int64_t first = 0;
  LaneOffsets offsets{};

  [[nodiscard]] bool is_uniform() const { return kind == Kind::spaced && offsets == LaneOffsets{}; }
  [[nodiscard]] bool is_spaced() const { return kind == Kind::spaced; }
  friend bool operator==(const Shape&, const Shape&) = default;

  static Shape uniform() { return {.kind = Kind::spaced}; }
  static Shape varying() { return {.kind = Kind::varying}; }
};

// How the private copies of a local variable lie in memory. An interleaved variable has the 32 lanes' copies of one unit (an element of
// `unit` bytes) side by side. The copies of another variable follow each other as a whole, `stride` bytes apart.
struct PrivateLayout {
  bool is_interleaved = false;
  std::uint64_t unit = 0;
  std::uint64_t stride = 0;  // bytes of one lane's copy, with padding
};

class Shapes {
 public:
  // The function is one kernel as a single lane runs it, with its loops in simplified and closed form (LoopSimplify, LCSSA).
  Shapes(llvm::Function& function, llvm::LoopInfo& loops, llvm::PostDominatorTree& joins);

  [[nodiscard]] const Shape& of(const llvm::Value* value) const;
  [[nodiscard]] bool is_uniform(const llvm::Value* value) const { return of(value).is_uniform(); }
  // Whether lanes may reach the block separately.
  [[nodiscard]] bool is_divergent(const llvm::BasicBlock* block) const { return divergent_.contains(block); }
  [[nodiscard]] const PrivateLayout& layout(const llvm::AllocaInst* variable) const { return layouts_.find(variable)->second; }
  // The interleaved variable into which the pointer points; nullptr if none.
  [[nodiscard]] static const llvm::AllocaInst* variable_of(const llvm::Value* pointer);
  [[nodiscard]] bool is_interleaved(const llvm::Value* pointer) const;
  // The offset of a member of the lane (abi::Lane) to which the pointer points.
  [[nodiscard]] std::optional<std::uint64_t> member(const llvm::Value* pointer) const;
  // Whether lanes may leave the loop in different iterations.
  [[nodiscard]] bool is_divergent(const llvm::Loop* loop) const { return divergent_loops_.contains(loop); }
  // Whether the kernel uses a position in the threadgroup or grid: the shapes then hold only where threadgroups have whole rows of 32.
  [[nodiscard]] bool needs_rows() const { return needs_rows_; }

 private:
  using Block = llvm::BasicBlock;
  void find_controllers(llvm::PostDominatorTree& joins);
  void lay_out(llvm::AllocaInst& variable);
  void find_divergent_blocks();
  [[nodiscard]] bool is_divergent_loop(const llvm::Loop& loop) const;
  [[nodiscard]] bool decides_divergently(const Block& block) const;

  [[nodiscard]] Shape transfer(llvm::Instruction& instruction);
  [[nodiscard]] Shape of_phi(llvm::PHINode& phi) const;
  [[nodiscard]] Shape of_load(const llvm::LoadInst& load);
  [[nodiscard]] Shape of_member(std::uint64_t offset);
  [[nodiscard]] Shape of_call(const llvm::CallBase& call) const;
  [[nodiscard]] Shape of_cast(const llvm::CastInst& cast) const;
  [[nodiscard]] Shape of_binary(const llvm::BinaryOperator& operation) const;
  [[nodiscard]] Shape of_step(const llvm::GetElementPtrInst& step) const;
  [[nodiscard]] Shape of_select(const llvm::SelectInst& choice) const;
  [[nodiscard]] bool merges_lanes(const llvm::PHINode& phi) const;
  [[nodiscard]] bool leaves_divergent_loop(const llvm::PHINode& phi, const llvm::Value* value) const;

  llvm::Function& function_;
  llvm::LoopInfo& loops_;
  const llvm::DataLayout& data_;
  llvm::DenseMap<const Block*, llvm::SmallVector<const Block*, 2>> controlled_;  // the blocks that a block's branch decides about
  llvm::DenseMap<const llvm::Value*, Shape> shapes_;
  llvm::DenseSet<const Block*> divergent_;
  llvm::DenseSet<const llvm::Loop*> divergent_loops_;
  llvm::DenseMap<const llvm::AllocaInst*, PrivateLayout> layouts_;
  bool needs_rows_ = false;
};

}  // namespace assay::metal::pass
