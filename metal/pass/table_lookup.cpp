// Replaces lookups in small constant tables by vector instructions.
#include "metal/pass/table_lookup.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

#include <array>
#include <optional>

namespace assay::metal::pass {
namespace {

constexpr unsigned kTableLength = 16;  // two registers of eight floats
constexpr unsigned kIndexBits = 4;
constexpr unsigned kTableElements = 4;
constexpr std::size_t kMostSources = 2;  // the most integers that hold the indices: inserting more into a vector costs as much as it saves

// An index: (source >> shift) & 15. The kernel's mask or the width of the source limits it to 15.
struct Field {
  llvm::Value* source = nullptr;
  std::uint64_t shift = 0;
};

using Table = llvm::GlobalVariable;

std::optional<Field> field_of(llvm::Value* index, const llvm::DataLayout& layout) {
  using namespace llvm::PatternMatch;
  if (llvm::computeKnownBits(index, layout).countMaxActiveBits() > kIndexBits) return std::nullopt;
  llvm::Value* inner = nullptr;
  while (match(index, m_ZExt(m_Value(inner))) || match(index, m_And(m_Value(inner), m_SpecificInt(kTableLength - 1)))) index = inner;
  Field field{index, 0};
  const llvm::APInt* shift = nullptr;
  if (match(index, m_LShr(m_Value(inner), m_APInt(shift)))) field = {inner, shift->getZExtValue()};
  while (match(field.source, m_ZExt(m_Value(inner)))) field.source = inner;
  if (field.source->getType()->getIntegerBitWidth() > 32 || field.shift >= 32) return std::nullopt;
  return field;
}

// The constant table that a load reads, and the index.
std::optional<std::pair<Table*, llvm::Value*>> lookup_of(llvm::Value* value) {
  auto* load = llvm::dyn_cast<llvm::LoadInst>(value);
  if (load == nullptr || !load->isSimple() || !load->getType()->isFloatTy()) return std::nullopt;
  auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(load->getPointerOperand());
  if (address == nullptr) return std::nullopt;
  auto* table = llvm::dyn_cast<Table>(address->getPointerOperand());
  if (table == nullptr || !table->isConstant() || !table->hasDefinitiveInitializer()) return std::nullopt;
  const auto* array = llvm::dyn_cast<llvm::ArrayType>(table->getValueType());
  if (array == nullptr || !array->getElementType()->isFloatTy() || array->getNumElements() != kTableLength) return std::nullopt;
  if (address->getSourceElementType() == array && address->getNumIndices() == 2 &&
      llvm::PatternMatch::match(address->getOperand(1), llvm::PatternMatch::m_Zero()))
    return std::pair{table, address->getOperand(2)};
  if (address->getSourceElementType()->isFloatTy() && address->getNumIndices() == 1) return std::pair{table, address->getOperand(1)};
  return std::nullopt;
}

bool has_feature(const llvm::Function& function, llvm::StringRef feature) {
  llvm::SmallVector<llvm::StringRef> features;
  function.getFnAttribute("target-features").getValueAsString().split(features, ',');
  return llvm::is_contained(features, feature);
}

// Elements [first, first + 8) of the table.
llvm::Constant* eight_of(const Table& table, unsigned first) {
  llvm::SmallVector<llvm::Constant*> elements;
  for (unsigned i = 0; i < kTableLength / 2; ++i) elements.push_back(table.getInitializer()->getAggregateElement(first + i));
  return llvm::ConstantVector::get(elements);
}

class Rewriter {
 public:
  explicit Rewriter(llvm::Function& function) : function_(function), has_two_tables_(has_feature(function, "+avx512vl")) {}

  bool run() {
    if (!has_two_tables_ && !has_feature(function_, "+avx2")) return false;
    llvm::SmallVector<llvm::WeakTrackingVH> ends;
    for (auto& instruction : llvm::instructions(function_)) {
      if (auto* last = llvm::dyn_cast<llvm::InsertElementInst>(&instruction); last != nullptr && rewrite(*last)) ends.emplace_back(last);
    }
    for (auto& end : ends) llvm::RecursivelyDeleteTriviallyDeadInstructions(end);
    return !ends.empty();
  }

 private:
  // The four values that a chain of insertions ending in `last` combines.
  static std::optional<std::array<llvm::Value*, kTableElements>> elements_of(llvm::InsertElementInst& last) {
    const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(last.getType());
    if (type == nullptr || type->getNumElements() != kTableElements || !type->getElementType()->isFloatTy()) return std::nullopt;
    std::array<llvm::Value*, kTableElements> elements{};
    for (llvm::Value* vector = &last; auto* insertion = llvm::dyn_cast<llvm::InsertElementInst>(vector);
         vector = insertion->getOperand(0)) {
      const auto* position = llvm::dyn_cast<llvm::ConstantInt>(insertion->getOperand(2));
      if (position == nullptr || position->uge(kTableElements)) return std::nullopt;
      auto*& element = elements[position->getZExtValue()];
      if (element == nullptr) element = insertion->getOperand(1);
    }
    if (llvm::is_contained(elements, nullptr)) return std::nullopt;
    return elements;
  }

  bool rewrite(llvm::InsertElementInst& last) {
    const auto elements = elements_of(last);
    if (!elements) return false;
    Table* table = nullptr;
    std::array<Field, kTableElements> fields;
    llvm::SmallPtrSet<llvm::Value*, kTableElements> sources;
    for (unsigned i = 0; i < kTableElements; ++i) {
      const auto lookup = lookup_of((*elements)[i]);
      if (!lookup || (table != nullptr && lookup->first != table)) return false;
      table = lookup->first;
      const auto field = field_of(lookup->second, function_.getDataLayout());
      if (!field) return false;
      fields[i] = *field;
      sources.insert(field->source);
    }
    if (sources.size() > kMostSources) return false;
    llvm::IRBuilder<> builder(&last);
    last.replaceAllUsesWith(permuted(builder, *table, indices(builder, fields)));
    return true;
  }

  // The indices as <8 x i32>. Bits above the fourth are ignored, and the upper half is unused.
  static llvm::Value* indices(llvm::IRBuilder<>& builder, const std::array<Field, kTableElements>& fields) {
    auto* type = llvm::FixedVectorType::get(builder.getInt32Ty(), 2 * kTableElements);
    llvm::Value* vector = llvm::PoisonValue::get(type);
    llvm::SmallVector<llvm::Constant*> shifts(2 * kTableElements, builder.getInt32(0));
    for (unsigned i = 0; i < kTableElements; ++i) {
      vector = builder.CreateInsertElement(vector, builder.CreateZExt(fields[i].source, builder.getInt32Ty()), i);
      shifts[i] = builder.getInt32(static_cast<std::uint32_t>(fields[i].shift));
    }
    return builder.CreateLShr(vector, llvm::ConstantVector::get(shifts));
  }

  llvm::Value* permuted(llvm::IRBuilder<>& builder, const Table& table, llvm::Value* indices) const {
    auto* low = eight_of(table, 0);
    auto* high = eight_of(table, kTableLength / 2);
    llvm::Value* eight = nullptr;
    if (has_two_tables_) {
      eight = builder.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_ps_256, {}, {low, indices, high});
    } else {
      auto* of_low = builder.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permps, {}, {low, indices});
      auto* of_high = builder.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permps, {}, {high, indices});
      auto* sign = builder.CreateShl(indices, 32 - kIndexBits);
      eight = builder.CreateSelect(builder.CreateICmpSLT(sign, llvm::Constant::getNullValue(sign->getType())), of_high, of_low);
    }
    return builder.CreateShuffleVector(eight, llvm::ArrayRef<int>{0, 1, 2, 3});
  }

  llvm::Function& function_;
  bool has_two_tables_;
};

}  // namespace

llvm::PreservedAnalyses TableLookupPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  return Rewriter(function).run() ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace assay::metal::pass
