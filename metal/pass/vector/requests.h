// What a call of the runtime asks for, in an optimised kernel.
#pragma once

#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <optional>

#include "metal/lane_abi.h"

namespace assay::metal::pass {

// The service that a call asks the runtime for (Lockstep::call_service notes it).
[[nodiscard]] std::optional<abi::Service> requested_service(const llvm::Instruction& instruction);
// The number of the meeting point, and Site::operation of a reduction or shuffle of one word.
[[nodiscard]] std::uint32_t site_of(const llvm::CallBase& call);
[[nodiscard]] std::uint32_t operation_of_word(const llvm::CallBase& call);

// How many loops were around the meeting point in the source.
[[nodiscard]] std::uint32_t depth_in_source(const llvm::CallBase& call);

// A reduction or a shuffle of `count` words that lie in a local variable, each as if alone; `operation` as above.
struct WordsInPlace {
  std::uint32_t operation = 0;
  std::uint32_t count = 0;
  llvm::Value* words = nullptr;     // their place
  llvm::Value* argument = nullptr;  // of a shuffle
};
[[nodiscard]] std::optional<WordsInPlace> words_in_place(const llvm::CallBase& call);

}  // namespace assay::metal::pass
