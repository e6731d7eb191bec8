// The table of families.
#include "families/registry.h"

#include <array>

#include "families/bf16_prefill/contract.h"
#include "families/bf16_vec/contract.h"
#include "families/dequantize/contract.h"
#include "families/fwht/contract.h"
#include "families/quantize/contract.h"
#include "families/reduce/contract.h"
#include "families/tq4/contract.h"
#include "families/tqhb/contract.h"

namespace assay::families {
namespace {

constexpr std::array kContracts = {kTq4Contract,        kTqhbContract,        kReduceContract,  kFwhtContract,    kQuantizeContract,
                                   kDequantizeContract, kBf16PrefillContract, kBf16VecContract, kBf16PadContract, kBf16BlkContract};

}  // namespace

kernels::Contracts contracts() { return kContracts; }

const kernels::FamilyContract& contract(std::string_view name) { return kernels::require_contract(kContracts, name); }

}  // namespace assay::families
