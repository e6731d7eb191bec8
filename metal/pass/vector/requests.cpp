// Reads the attributes and constant arguments of calls of the runtime.
#include "metal/pass/vector/requests.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>

#include <array>

#include "metal/pass/services.h"

namespace assay::metal::pass {
namespace {

std::uint32_t number_in(const llvm::CallBase& call, llvm::StringRef attribute) {
  std::uint32_t number = 0;
  call.getFnAttr(attribute).getValueAsString().getAsInteger(10, number);
  return number;
}

}  // namespace

std::optional<abi::Service> requested_service(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (call == nullptr || !call->hasFnAttr(kServiceAttribute)) return std::nullopt;
  return static_cast<abi::Service>(number_in(*call, kServiceAttribute));
}

std::uint32_t site_of(const llvm::CallBase& call) {
  return static_cast<std::uint32_t>(llvm::cast<llvm::ConstantInt>(call.getArgOperand(1))->getZExtValue());
}

std::uint32_t operation_of_word(const llvm::CallBase& call) { return number_in(call, kOperationAttribute); }

std::uint32_t depth_in_source(const llvm::CallBase& call) { return number_in(call, kDepthAttribute); }

std::optional<WordsInPlace> words_in_place(const llvm::CallBase& call) {
  // Of metal/shader/runtime.h: scalar codes of four bytes, and the shuffles that take a second value.
  constexpr std::uint64_t kInt32 = 4;
  constexpr std::uint64_t kUint32 = 5;
  constexpr std::uint64_t kFloat = 10;
  constexpr std::uint64_t kFirstFill = 6;
  constexpr std::uint64_t kLastFill = 7;
  const auto service = requested_service(call);
  if (service != abi::kSimdReduce && service != abi::kSimdShuffle) return std::nullopt;
  std::array<std::uint64_t, 4> number{};  // (operation, type, count, width) or (mode, bytes, width, -)
  for (unsigned index = 0; index < (service == abi::kSimdReduce ? 4U : 3U); ++index) {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(2 + index));
    if (constant == nullptr) return std::nullopt;
    number[index] = constant->getZExtValue();
  }
  WordsInPlace result;
  if (service == abi::kSimdReduce) {
    if (number[1] != kInt32 && number[1] != kUint32 && number[1] != kFloat) return std::nullopt;
    result = {static_cast<std::uint32_t>(number[0] | number[1] << 8 | number[3] << 16), static_cast<std::uint32_t>(number[2]),
              call.getArgOperand(6), nullptr};
  } else {
    if (number[1] % sizeof(std::uint32_t) != 0 || (number[0] >= kFirstFill && number[0] <= kLastFill)) return std::nullopt;
    result = {static_cast<std::uint32_t>(number[0] | number[2] << 16), static_cast<std::uint32_t>(number[1] / sizeof(std::uint32_t)),
              call.getArgOperand(5), call.getArgOperand(7)};
  }
  return llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(result.words)) ? std::optional(result) : std::nullopt;
}

}  // namespace assay::metal::pass
