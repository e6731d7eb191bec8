// Finds the functions of a kernel file that implement a family's entries, under any names.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/findings/fault.h"
#include "kernels/binding.h"
#include "kernels/contract.h"
#include "kernels/variant.h"
#include "metal/compile/library.h"

namespace assay::harness {

struct Discovery {
  std::map<kernels::FunctionKey, kernels::BoundKernel> kernels;
  std::map<std::string, fault::NoFunction, std::less<>> absent;  // by entry
  std::vector<std::string> notes;                                // the chosen functions, if they do not have the family's names
};

// Binds the functions for `keys`, by their entries. Takes the function of the name that [entry] or the family gives; a described
// variant must have it. A lone file may use other names: of its functions whose arguments bind, the one whose name matches the key is
// taken ("...256..." for d256), else one whose name matches no key at all. Throws metal::PipelineError or metal::AbiMismatch, with
// file, line and function, if the file has no such function or the choice is not unique.
[[nodiscard]] Discovery discover(const kernels::Variant& variant, const metal::Library& library,
                                 const std::set<kernels::FunctionKey>& keys);

// How well a function's name matches the entry `key`: the number of the key's words in the name. nullopt if the name matches another
// entry, or lacks a word of the key that is not a number (a kernel may serve every head dimension, but not every mode).
[[nodiscard]] std::optional<std::size_t> speaks_for(std::string_view function, std::string_view key,
                                                    const kernels::FamilyContract& contract);

// The values as a function constant of the declared type: one number, or the components of a vector. Throws std::invalid_argument if
// the type cannot represent them.
[[nodiscard]] metal::FunctionConstant constant_of(std::span<const metal::FieldValue> values,
                                                  const metal::FunctionConstantDeclaration& declared);

// One function of the library with its constants: those of `key` that the library declares, and the variant's [constants]. Throws
// kernels::VariantError for a constant of the variant that the file does not declare, that the family sets itself, or whose type the value
// does not fit.
[[nodiscard]] metal::PipelineDescriptor pipeline_of(const kernels::FamilyContract& contract, const kernels::Variant& variant,
                                                    const metal::Library& library, std::string function, const kernels::FunctionKey& key);

// Compiles and binds one function of the library.
[[nodiscard]] kernels::BoundKernel bind_function(const kernels::FamilyContract& contract, const kernels::Variant& variant,
                                                 const metal::Library& library, std::string function, const kernels::FunctionKey& key);

}  // namespace assay::harness
