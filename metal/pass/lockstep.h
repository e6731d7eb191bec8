// The transformation of one kernel, shared by the files of this folder; see lockstep_pass.cpp.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Passes/PassBuilder.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "metal/lane_abi.h"
#include "metal/pass/places.h"
#include "metal/pass/program_order.h"
#include "metal/pass/whole_kernel.h"

namespace assay::metal::pass {

// The call that stands for abi::kReconverge until it is routed.
inline constexpr llvm::StringLiteral kReconvergeCall = "__assay_reconverge";

// The memory that a pointer may point to. `unknown` if the pointer was loaded from memory or merged from different origins.
struct Origin {
  enum class Kind { thread, threadgroup, buffer, program_constant, unknown } kind = Kind::unknown;
  std::uint64_t buffer = 0;
};

class Shadow;

class Lockstep : public WholeKernel {
 public:
  Lockstep(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) : WholeKernel(module, analyses) {}

  // Returns false if the module has no entry point, so is not a kernel.
  bool run();

 private:
  friend class Shadow;

  // ---- lockstep_pass.cpp
  // Conversions that the backend calls later, by name.
  [[nodiscard]] bool stays_a_call(const llvm::Function& function) const override { return function.getName().starts_with("__trunc"); }
  std::string reflect_kernel(llvm::Function& entry);

  // ---- meeting_points.cpp
  Origin origin_of(const llvm::Value* pointer);
  Origin origin_of_object(const llvm::Value* object);
  static void mark(std::uint32_t& buffers, const Origin& origin);
  void visit_write(llvm::Instruction& instruction, const llvm::Value* destination);
  void rejoin_after_writes();
  void collect_sites();
  void number_sites();

  // ---- routing.cpp
  llvm::GlobalVariable& services();
  llvm::CallInst* call_service(llvm::IRBuilder<>& builder, abi::Service service, std::uint32_t site, llvm::ArrayRef<llvm::Value*> arguments,
                               llvm::Type* result);
  void route_to_runtime(llvm::Instruction& instruction, std::uint32_t site);
  bool route_word_reduction(llvm::CallInst& call, std::uint32_t site);
  bool route_word_shuffle(llvm::CallInst& call, std::uint32_t site);
  void route_write(llvm::Instruction& instruction, std::uint32_t site);
  void route_shadowed_product(llvm::CallInst& call, std::uint32_t site);
  llvm::AllocaInst* slot_for(llvm::Type* type);
  llvm::Value* lane_member(llvm::IRBuilder<>& builder, std::uint64_t offset);

  // ---- tracing.cpp
  void trace_device_accesses();
  bool is_runtime_state(const llvm::Value& address);
  using Trace = std::function<void(llvm::Value* address, llvm::Value* bytes, bool is_write)>;
  void trace_service(llvm::CallBase& call, const Trace& trace, llvm::IRBuilder<>& builder);

  // ---- recording.cpp
  void record_values();

  // ---- checking.cpp
  struct AccessNote {
    std::uint32_t kind, alignment, object, bytes;
  };
  void leave_out_padding();
  void remove_unused_reads();
  std::optional<std::uint32_t> object_of(const llvm::Value* pointer);
  std::uint32_t variable_object(const llvm::CallBase& call, std::uint32_t id);
  static std::uint32_t atomic_kind(const llvm::CallBase& call);
  static std::uint64_t atomic_bytes(const llvm::CallBase& call);
  void note_access(const llvm::Instruction& instruction, std::uint32_t site);
  llvm::Value* checked_source(llvm::Instruction& reader, llvm::Value* pointer, llvm::Value* bytes, std::uint32_t kind,
                              llvm::MaybeAlign alignment);
  llvm::Value* checked_source(llvm::MemTransferInst& transfer);
  using Readers = llvm::SmallVector<llvm::WeakTrackingVH>;
  Readers readers();
  void check_reads(const Readers& readers);
  llvm::Value* lower_access_check(llvm::CallInst& check);
  void lower_checks();
  void copy_for_vectors();
  llvm::Value* quick_of(std::uint32_t access);

  // ---- locals.cpp
  void watch_locals();
  struct LocalAccesses {
    llvm::AllocaInst* variable;
    std::vector<llvm::Instruction*> all;  // loads and stores
  };
  void keep_local_accesses_inside(llvm::ArrayRef<LocalAccesses> arrays);
  void watch_local(llvm::AllocaInst& variable, llvm::ArrayRef<llvm::LoadInst*> reads, llvm::ArrayRef<llvm::Instruction*> writes,
                   llvm::ArrayRef<llvm::CallInst*> unset);

  // ---- provenance.cpp
  void list_buffers_of_lines();

  // ---- narrowing.cpp
  bool decides_access(const llvm::Value& value);
  void find_narrowings();
  void watch_narrowings();

  // ---- alignment.cpp
  struct LooseAccess {
    llvm::Instruction* instruction;
    llvm::Value* pointer;
    llvm::Align wanted;
    std::uint32_t kind;
    std::uint64_t bytes;
  };
  void relax_alignments();
  void watch_alignments();
  void relax(llvm::Instruction& instruction, llvm::Value* pointer, llvm::Align wanted, std::uint32_t kind, std::uint64_t bytes);
  static std::uint64_t buffer_alignment(const llvm::CallBase& call);
  llvm::Align known_alignment(const llvm::Value* pointer, bool trusts_bindings);
  llvm::Align alignment_of_steps(const llvm::GEPOperator& place);
  llvm::Value* base_of(llvm::Value* pointer, llvm::Align wanted);
  [[nodiscard]] llvm::Align wanted_alignment(const llvm::Instruction& instruction, bool of_source, llvm::Align otherwise) const;

  // ---- arithmetic.cpp
  static std::optional<abi::Operation> operation_of(const llvm::Instruction& instruction);
  static abi::FloatType float_type_of(const llvm::Type& type);
  struct Watched {
    llvm::Instruction* instruction;
    std::uint32_t number;  // into `arithmetic_`
  };
  // Operations that one test covers, and the instruction before which the test stands. A stretch crosses no call, so no operand must be
  // kept across one.
  struct Stretch {
    llvm::Instruction* end;
    llvm::SmallVector<Watched> all;
  };
  std::vector<Stretch> find_stretches(llvm::SmallVectorImpl<llvm::BasicBlock*>& counted);
  void watch_arithmetic();
  void lower_arithmetic_checks();

  // ---- module.cpp
  void describe_variables(const ThreadgroupVariables& placed);
  void replace_position_queries();
  llvm::Constant* text(llvm::StringRef value);
  llvm::Constant* word(std::uint64_t value);
  llvm::Constant* table(llvm::Type* element, llvm::ArrayRef<llvm::Constant*> values);
  void emit_module();

  llvm::Value* lane_ = nullptr;
  llvm::GlobalVariable* services_ = nullptr;
  llvm::DenseMap<llvm::Type*, llvm::AllocaInst*> slots_;
  std::string reflection_;
  std::vector<llvm::Instruction*> sites_;
  std::vector<llvm::Instruction*> writes_;  // the sites that change memory
  std::vector<OrderedSite> ordered_;
  std::vector<Place> places_;
  std::vector<abi::Service> services_of_sites_;
  llvm::DenseMap<std::uint32_t, std::uint32_t> operations_;  // abi::Site::operation, by site
  abi::ShadowKind shadows_ = abi::kNoShadows;
  std::vector<llvm::CallInst*> shadowed_products_;  // of matrices; their last argument has room for the shadows of a, b and c
  std::vector<Place> lost_shadows_;
  llvm::SmallVector<llvm::WeakTrackingVH> narrowings_;  // conversions that may lose bits of an index
  std::vector<LooseAccess> loose_;                      // accesses of unknown alignment; null where the instruction was removed
  std::map<std::pair<const llvm::Instruction*, bool>, llvm::Align> wanted_;  // the alignment that the program relies on there, and whether
                                                                             // the access is the source of a copy
  llvm::Value* quick_ = nullptr;                                             // abi::Lane::quick
  std::map<std::uint32_t, AccessNote> site_accesses_;                        // of the meeting points that access memory
  std::vector<std::pair<AccessNote, Place>> further_accesses_;               // all other accesses, numbered after the sites
  struct Variable {
    std::uint64_t offset = 0, size = 0;
    std::string name;
  };
  std::map<std::uint32_t, std::uint32_t> variable_numbers_;  // by the identity that the headers gave to a threadgroup variable
  std::vector<Variable> variables_;                          // by number
  std::vector<std::pair<abi::Operation, Place>> arithmetic_;
  std::uint64_t block_count_ = 0;
  std::array<std::uint64_t, abi::kMaxBuffers> alignments_{};  // required by the kernel's arguments, by buffer
  std::uint32_t read_buffers_ = 0;
  std::uint32_t written_buffers_ = 0;
  std::uint32_t present_buffers_ = 0;
  std::uint32_t present_threadgroup_arguments_ = 0;
  bool has_device_atomics_ = false;
  std::uint64_t max_total_threads_ = 0;
};

}  // namespace assay::metal::pass
