// Writes parameter types and struct layouts, read from debug information, as text.
#include "metal/pass/reflection.h"

#include <llvm/ADT/APInt.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Format.h>
#include <llvm/Support/raw_ostream.h>

#include <utility>

#include "metal/pass/places.h"

namespace assay::metal::pass {
namespace {

struct Scalars {
  llvm::StringRef scalar = "other";
  std::uint64_t count = 1;
};

const llvm::DIType* strip(const llvm::DIType* type, bool* is_const = nullptr) {
  while (const auto* derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type)) {
    switch (derived->getTag()) {
      case llvm::dwarf::DW_TAG_const_type:
        if (is_const != nullptr) *is_const = true;
        [[fallthrough]];
      case llvm::dwarf::DW_TAG_typedef:
      case llvm::dwarf::DW_TAG_volatile_type:
      case llvm::dwarf::DW_TAG_restrict_type:
      case llvm::dwarf::DW_TAG_atomic_type:
      case llvm::dwarf::DW_TAG_template_alias:
        type = derived->getBaseType();
        continue;
      default:
        return type;
    }
  }
  return type;
}

llvm::StringRef scalar_of(const llvm::DIBasicType& basic) {
  const auto bits = basic.getSizeInBits();
  switch (basic.getEncoding()) {
    case llvm::dwarf::DW_ATE_boolean:
      return "boolean";
    case llvm::dwarf::DW_ATE_float:
      if (bits == 32) return "float32";
      if (bits == 16) return basic.getName().contains("bf16") ? "bfloat16" : "float16";
      return "other";
    case llvm::dwarf::DW_ATE_signed:
    case llvm::dwarf::DW_ATE_signed_char:
      return bits == 8 ? "int8" : bits == 16 ? "int16" : bits == 32 ? "int32" : "int64";
    case llvm::dwarf::DW_ATE_unsigned:
    case llvm::dwarf::DW_ATE_unsigned_char:
      return bits == 8 ? "uint8" : bits == 16 ? "uint16" : bits == 32 ? "uint32" : "uint64";
    default:
      return "other";
  }
}

// The element type of vec<T, N> and packed_vec<T, N>: the first template argument.
const llvm::DIType* vector_element(const llvm::DICompositeType& type) {
  const auto name = type.getName();
  if (!name.starts_with("vec<") && !name.starts_with("packed_vec<")) return nullptr;
  for (const auto* parameter : type.getTemplateParams()) {
    if (const auto* as_type = llvm::dyn_cast<llvm::DITemplateTypeParameter>(parameter)) return as_type->getType();
  }
  return nullptr;
}

Scalars scalars_of(const llvm::DIType* type) {
  type = strip(type);
  if (const auto* basic = llvm::dyn_cast_or_null<llvm::DIBasicType>(type)) return {scalar_of(*basic), 1};
  const auto* composite = llvm::dyn_cast_or_null<llvm::DICompositeType>(type);
  if (composite == nullptr) return {};
  if (composite->getTag() == llvm::dwarf::DW_TAG_enumeration_type) return scalars_of(composite->getBaseType());
  if (composite->getTag() == llvm::dwarf::DW_TAG_array_type) {
    auto inner = scalars_of(composite->getBaseType());
    for (const auto* element : composite->getElements()) {
      const auto* range = llvm::dyn_cast<llvm::DISubrange>(element);
      if (range == nullptr) continue;
      if (const auto* count = llvm::dyn_cast_if_present<llvm::ConstantInt*>(range->getCount())) inner.count *= count->getZExtValue();
    }
    return inner;
  }
  if (const auto* element = vector_element(*composite)) {
    auto inner = scalars_of(element);
    const auto name = composite->getName();
    const auto comma = name.rfind(',');
    std::uint64_t count = 1;
    if (comma != llvm::StringRef::npos) name.substr(comma + 1).trim(" >").consumeInteger(10, count);
    return {inner.scalar, inner.count * count};
  }
  return {};
}

// The names that Metal gives to classes: `matrix<float, 4, 4>` is float4x4, `_atomic<unsigned int>` is atomic_uint.
std::string in_metal_words(llvm::StringRef name) {
  if (name == "__bf16") return "bfloat";
  if (name.consume_front("metal_atomic_")) return "atomic_" + name.str();
  const auto shape = [](llvm::StringRef list) {
    auto [element, counts] = list.drop_back().split(',');
    const auto [columns, rows] = counts.split(',');
    std::string text = element.trim().str() == "__bf16" ? "bfloat" : element.trim().str();
    for (const auto& [c, metal] : {std::pair("unsigned int", "uint"), std::pair("unsigned char", "uchar"),
                                   std::pair("unsigned short", "ushort"), std::pair("unsigned long", "ulong")}) {
      if (text == c) text = metal;
    }
    text += columns.trim();
    return rows.empty() ? text : text + "x" + rows.trim().str();
  };
  llvm::StringRef list = name;
  if (list.consume_front("matrix<") || list.consume_front("vec<")) return shape(list);
  if (list.consume_front("packed_vec<")) return "packed_" + shape(list);
  if (list.consume_front("_atomic<")) return "atomic_" + shape(list);
  return name.str();
}

// Whether a class of our library implements one of Metal's types. The host does not see the members of these.
bool is_of_library(const llvm::DICompositeType& type) {
  const auto name = type.getName();
  return name.starts_with("matrix<") || name.starts_with("_atomic<");
}

// Number of elements of an array; 0 for other types.
std::uint64_t elements_of(const llvm::DICompositeType& type) {
  if (type.getTag() != llvm::dwarf::DW_TAG_array_type) return 0;
  std::uint64_t count = 1;
  for (const auto* element : type.getElements()) {
    const auto* range = llvm::dyn_cast<llvm::DISubrange>(element);
    if (range == nullptr) continue;
    if (const auto* number = llvm::dyn_cast_if_present<llvm::ConstantInt*>(range->getCount())) count *= number->getZExtValue();
  }
  return count;
}

std::string name_of(const llvm::DIType* type) {
  if (type == nullptr) return "void";
  if (const auto* derived = llvm::dyn_cast<llvm::DIDerivedType>(type)) {
    switch (derived->getTag()) {
      case llvm::dwarf::DW_TAG_const_type:
      case llvm::dwarf::DW_TAG_volatile_type:
        return name_of(derived->getBaseType());
      case llvm::dwarf::DW_TAG_pointer_type:
        return name_of(derived->getBaseType()) + "*";
      default:
        break;
    }
  }
  if (const auto* composite = llvm::dyn_cast<llvm::DICompositeType>(type);
      composite != nullptr && composite->getTag() == llvm::dwarf::DW_TAG_array_type) {
    return name_of(composite->getBaseType()) + "[" + std::to_string(elements_of(*composite)) + "]";
  }
  if (!type->getName().empty()) return in_metal_words(type->getName());
  return type->getTag() == llvm::dwarf::DW_TAG_union_type       ? "union"
         : type->getTag() == llvm::dwarf::DW_TAG_structure_type ? "struct"
                                                                : "unnamed";
}

// Whether the host may set the fields of such a member one by one.
bool has_fields(const llvm::DICompositeType& type) {
  const bool is_struct = type.getTag() == llvm::dwarf::DW_TAG_structure_type || type.getTag() == llvm::dwarf::DW_TAG_class_type ||
                         type.getTag() == llvm::dwarf::DW_TAG_union_type;
  return is_struct && !is_of_library(type) && vector_element(type) == nullptr;
}

std::uint64_t bytes_of(const llvm::DIType* type) {
  const auto* stripped = strip(type);
  return stripped == nullptr ? 0 : stripped->getSizeInBits() / 8;
}

// `prefix` is the host's path to the fields: `inner.`, or `either[0].` for an array. The other elements of an array follow at multiples
// of the element size.
// `count`: of the fields so far. Structs of structs can have more fields than any host could hold, so no more structs are opened then.
void write_fields(llvm::raw_ostream& out, const llvm::DICompositeType& type, std::uint64_t base, const std::string& prefix,
                  std::size_t& count) {
  constexpr std::size_t most = 4096;
  for (const auto* element : type.getElements()) {
    const auto* member = llvm::dyn_cast<llvm::DIDerivedType>(element);
    if (member == nullptr || member->isStaticMember()) continue;
    const auto offset = base + member->getOffsetInBits() / 8;
    const auto* composite = llvm::dyn_cast_or_null<llvm::DICompositeType>(strip(member->getBaseType()));
    // The host names fields of a base class or of an anonymous member without a prefix.
    if (composite != nullptr && (member->getTag() == llvm::dwarf::DW_TAG_inheritance || member->getName().empty())) {
      write_fields(out, *composite, offset, prefix, count);
      continue;
    }
    if (member->getTag() != llvm::dwarf::DW_TAG_member) continue;
    // A bit-field shares its bytes with others, so code that fills structs by name must not treat it as a separate scalar.
    const auto scalars = member->isBitField() ? Scalars{} : scalars_of(member->getBaseType());
    out << "field " << offset << ' ' << bytes_of(member->getBaseType()) << ' ' << scalars.scalar << ' ' << scalars.count << ' ' << prefix
        << member->getName() << ' ' << name_of(member->getBaseType()) << '\n';
    ++count;
    if (composite == nullptr || count > most) continue;
    const bool is_array = elements_of(*composite) != 0;
    const auto* inner = is_array ? llvm::dyn_cast_or_null<llvm::DICompositeType>(strip(composite->getBaseType())) : composite;
    if (inner != nullptr && has_fields(*inner))
      write_fields(out, *inner, offset, prefix + member->getName().str() + (is_array ? "[0]." : "."), count);
  }
}

llvm::StringRef scalar_of(const llvm::Type& type) {
  if (type.isFloatTy()) return "float32";
  if (type.isHalfTy()) return "float16";
  if (type.isBFloatTy()) return "bfloat16";
  if (type.isIntegerTy(8)) return "uint8";
  if (type.isIntegerTy(16)) return "uint16";
  if (type.isIntegerTy(32)) return "uint32";
  return type.isIntegerTy(64) ? "uint64" : "other";
}

// The scalars of a constant, in order. Returns false if they have several types, or are none.
bool add_scalars(const llvm::Constant& constant, const llvm::Type*& type, llvm::SmallVectorImpl<llvm::APInt>& bits) {
  const auto add = [&](const llvm::Type* of, llvm::APInt value) {
    if (type == nullptr) type = of;
    bits.push_back(std::move(value));
    return type == of && scalar_of(*of) != "other";
  };
  if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(&constant)) return add(number->getType(), number->getValue());
  if (const auto* number = llvm::dyn_cast<llvm::ConstantFP>(&constant))
    return add(number->getType(), number->getValueAPF().bitcastToAPInt());
  if (!llvm::isa<llvm::ConstantAggregate, llvm::ConstantDataSequential, llvm::ConstantAggregateZero>(constant)) return false;
  for (unsigned i = 0; const auto* element = constant.getAggregateElement(i); ++i) {
    if (!add_scalars(*element, type, bits)) return false;
  }
  return true;
}

// The name in the source, of a table that the compiler made: of an array that is constexpr (`_ZL9kCodebook.const`), or of the initialiser
// of one in a function (`__const._Z2cbj.kCodebook`). A number may follow.
std::string source_name(llvm::StringRef name) {
  if (name.consume_front("__const.")) name = name.split('.').second;
  const std::string whole = llvm::demangle(name.split('.').first);
  return llvm::StringRef(whole).rsplit("::").second.empty() ? whole : llvm::StringRef(whole).rsplit("::").second.str();
}

// Where a variable of this name is declared, or else where the table is first used.
Place place_of_table(const llvm::Module& module, const llvm::GlobalVariable& table, llvm::StringRef name) {
  llvm::DebugInfoFinder finder;
  finder.processModule(module);
  for (const auto* global : finder.global_variables()) {
    const auto* variable = global->getVariable();
    if (variable->getName() == name && !is_ours(*variable->getScope())) return {variable->getFilename().str(), variable->getLine()};
  }
  Place used;
  for (const auto& function : module) {
    for (const auto& instruction : llvm::instructions(function)) {
      for (const llvm::DbgVariableRecord& record : llvm::filterDbgVars(instruction.getDbgRecordRange())) {
        const auto* variable = record.getVariable();
        if (variable->getName() == name && !is_ours(*variable->getScope())) return {variable->getFilename().str(), variable->getLine()};
      }
      if (const auto* declared = llvm::dyn_cast<llvm::DbgVariableIntrinsic>(&instruction);
          declared != nullptr && declared->getVariable()->getName() == name && !is_ours(*declared->getVariable()->getScope()))
        return {declared->getVariable()->getFilename().str(), declared->getVariable()->getLine()};
      if (used.line == 0 && llvm::is_contained(instruction.operand_values(), &table)) used = place_of(instruction);
    }
  }
  return used;
}

}  // namespace

std::string reflect_tables(const llvm::Module& module) {
  constexpr std::uint64_t kLargest = 1 << 16;  // bytes
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const auto& global : module.globals()) {
    if (!global.isConstant() || !global.hasInitializer() || !global.getValueType()->isAggregateType()) continue;
    if (module.getDataLayout().getTypeAllocSize(global.getValueType()) > kLargest) continue;
    const llvm::Type* type = nullptr;
    llvm::SmallVector<llvm::APInt> bits;
    if (!add_scalars(*global.getInitializer(), type, bits) || bits.size() < 2) continue;
    llvm::SmallVector<llvm::DIGlobalVariableExpression*> places;
    global.getDebugInfo(places);
    const auto* declared = places.empty() ? nullptr : places.front()->getVariable();
    const std::string name = declared == nullptr ? source_name(global.getName()) : declared->getName().str();
    const Place place =
        declared == nullptr ? place_of_table(module, global, name) : Place{declared->getFilename().str(), declared->getLine()};
    out << "table " << place.line << ' ' << scalar_of(*type) << ' ';
    for (std::size_t i = 0; i < bits.size(); ++i) out << (i == 0 ? "" : ",") << llvm::format_hex_no_prefix(bits[i].getZExtValue(), 1);
    out << ' ' << name << ' ' << place.file << '\n';
  }
  return text;
}

std::string reflect(const llvm::DISubprogram& kernel) {
  std::string text;
  llvm::raw_string_ostream out(text);
  const auto types = kernel.getType()->getTypeArray();
  for (unsigned position = 1; position < types.size(); ++position) {
    const auto* pointer = llvm::dyn_cast_or_null<llvm::DIDerivedType>(strip(types[position]));
    if (pointer == nullptr ||
        (pointer->getTag() != llvm::dwarf::DW_TAG_pointer_type && pointer->getTag() != llvm::dwarf::DW_TAG_reference_type))
      continue;
    bool is_const = false;
    const auto* pointee = strip(pointer->getBaseType(), &is_const);
    const auto scalars = scalars_of(pointee);
    out << "argument " << position - 1 << ' ' << (is_const ? 1 : 0) << ' ' << bytes_of(pointee) << ' ' << scalars.scalar << ' '
        << scalars.count << ' ' << name_of(pointer->getBaseType()) << '\n';
    const auto* composite = llvm::dyn_cast_or_null<llvm::DICompositeType>(pointee);
    if (composite != nullptr && scalars.scalar == "other" && !is_of_library(*composite) &&
        (composite->getTag() == llvm::dwarf::DW_TAG_structure_type || composite->getTag() == llvm::dwarf::DW_TAG_class_type)) {
      // In `typedef struct {...} name;` only the typedef has a name.
      out << "struct " << bytes_of(composite) << ' '
          << (composite->getName().empty() ? name_of(pointer->getBaseType()) : name_of(composite)) << '\n';
      std::size_t count = 0;
      write_fields(out, *composite, 0, "", count);
    }
  }
  return text;
}

}  // namespace assay::metal::pass
