// Finds the functions of a kernel file that play a family's parts, whatever they are called.
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
  std::vector<std::string> notes;                                // which functions were chosen, if not by the family's names
};

// Binds the functions of `keys`, for which entries decide. A function of the name that [entry] or the family gives is taken; a described
// variant must have it. A lone file may call its functions otherwise: among those whose arguments bind, the one whose name speaks for the
// key
// ("...256..." for d256) or for no key at all. Throws metal::PipelineError or metal::AbiMismatch, with file, line and
// function, if the file has none or the choice is not unique.
[[nodiscard]] Discovery discover(const kernels::Variant& variant, const metal::Library& library,
                                 const std::set<kernels::FunctionKey>& keys);

// How well a function's name speaks for the entry `key`: the number of its words that it has; nullopt if it speaks for another entry or
// leaves out a word that is not a number (a kernel may serve every head dimension, but not every mode).
[[nodiscard]] std::optional<std::size_t> speaks_for(std::string_view function, std::string_view key,
                                                    const kernels::FamilyContract& contract);

// The values as a function constant of the declared type: one, or the components of a vector. Throws std::invalid_argument if that cannot
// hold them.
[[nodiscard]] metal::FunctionConstant constant_of(std::span<const metal::FieldValue> values,
                                                  const metal::FunctionConstantDeclaration& declared);

// Adds the values of the variant's [constants] to those that the family sets. Throws kernels::VariantError for one that the file does not
// declare, that the family sets itself, or whose type it does not fit.
void add_constants(const kernels::FamilyContract& contract, const kernels::Variant& variant, const metal::Library& library,
                   metal::PipelineDescriptor& function);

// Compiles and binds one function of the library; constants that it does not declare are left out.
[[nodiscard]] kernels::BoundKernel bind_function(const kernels::FamilyContract& contract, const kernels::Variant& variant,
                                                 const metal::Library& library, metal::PipelineDescriptor function);

}  // namespace assay::harness
