// Tells LLVM's uniformity analysis what differs between the lanes of a kernel.
#include "metal/pass/nvptx/uniformity.h"

#include <llvm/Analysis/CycleAnalysis.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/TargetTransformInfoImpl.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IntrinsicInst.h>

#include <limits>

#include "metal/lane_abi.h"
#include "metal/pass/nvptx/nvptx_kernel.h"

namespace assay::metal::pass::nvptx {
namespace {

// Codes of metal/shader/runtime.h.
constexpr std::uint64_t kFirstScan = 7;
constexpr std::uint64_t kBroadcastFirst = 9;

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();
std::uint64_t number(const llvm::CallBase& call, unsigned index) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(index));
  return constant == nullptr ? kUnknown : constant->getZExtValue();
}

bool differs(std::uint64_t position) {
  switch (position) {
    case abi::kThreadPositionInGrid:
    case abi::kThreadPositionInThreadgroup:
    case abi::kThreadIndexInThreadgroup:
    case abi::kThreadIndexInSimdgroup:
    case abi::kThreadIndexInQuadgroup:
    case abi::kQuadgroupIndexInThreadgroup:
      return true;
    default:
      return position == kUnknown;
  }
}

// Whether a call of ours returns the same value to all lanes that meet at it, whatever their arguments are.
bool is_same_for_all(const llvm::CallBase& call) {
  llvm::StringRef name = callee_of(call);
  if (name == "__assay_builtin") return !differs(number(call, 0));
  if (!name.consume_front(kSite)) return false;
  if (name == "reduce") return number(call, 0) < kFirstScan && number(call, 2) == abi::kLanes;
  if (name == "shuffle") return number(call, 0) == kBroadcastFirst && number(call, 1) == abi::kLanes;
  if (name == "ballot") return number(call, 1) == abi::kLanes;
  return name == "active" && number(call, 0) == abi::kLanes;
}

// Whether the result follows from the arguments.
bool is_function_of_arguments(const llvm::CallBase& call) {
  if (llvm::isa<llvm::IntrinsicInst>(call)) return true;
  const auto name = callee_of(call);
  return name.starts_with("assay_math_") || name == "fmod" || name == "memcmp" || name == "__assay_buffer" ||
         name.starts_with("__assay_threadgroup") || name.starts_with(kWithoutRounding);
}

// Lanes of a kernel that lacks a barrier may read different values there. If a branch on one counted as the same for all, lanes would wait
// for others that never come.
bool is_threadgroup_load(const llvm::Value& value) {
  const auto* load = llvm::dyn_cast<llvm::LoadInst>(&value);
  return load != nullptr && load->getPointerAddressSpace() == kSharedSpace;
}

class Lanes : public llvm::TargetTransformInfoImplCRTPBase<Lanes> {
 public:
  explicit Lanes(const llvm::DataLayout& layout) : TargetTransformInfoImplCRTPBase<Lanes>(layout) {}

  // The names are LLVM's.
  // NOLINTBEGIN(readability-identifier-naming)
  [[nodiscard]] bool hasBranchDivergence(const llvm::Function* = nullptr) const { return true; }
  [[nodiscard]] bool isSourceOfDivergence(const llvm::Value* value) const {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(value);
    if (call == nullptr) return llvm::isa<llvm::AllocaInst>(value) || is_threadgroup_load(*value);
    return !is_same_for_all(*call) && !is_function_of_arguments(*call);
  }
  [[nodiscard]] bool isAlwaysUniform(const llvm::Value* value) const {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(value);
    return call != nullptr && is_same_for_all(*call);
  }
  // NOLINTEND(readability-identifier-naming)
};

}  // namespace

Uniformity::Uniformity(llvm::Function& kernel) {
  analyses_.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
  analyses_.registerPass([] {
    return llvm::TargetIRAnalysis(
        [](const llvm::Function& function) { return llvm::TargetTransformInfo(Lanes(function.getParent()->getDataLayout())); });
  });
  analyses_.registerPass([] { return llvm::DominatorTreeAnalysis(); });
  analyses_.registerPass([] { return llvm::CycleAnalysis(); });
  analyses_.registerPass([] { return llvm::UniformityInfoAnalysis(); });
  info_ = &analyses_.getResult<llvm::UniformityInfoAnalysis>(kernel);
}

}  // namespace assay::metal::pass::nvptx
