// Lists what a kernel's module may have, and refuses the rest.
#include "metal/pass/permitted.h"

#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "metal/pass/lockstep.h"
#include "metal/pass/places.h"
#include "metal/provided_functions.h"

namespace assay::metal::pass {
namespace {

// LLVM intrinsics for numbers, for the kernel's own memory, and hints for the optimiser. Sorted.
constexpr auto kIntrinsics = std::to_array<std::string_view>({"abs",
                                                              "acos",
                                                              "arithmetic.fence",
                                                              "asin",
                                                              "assume",
                                                              "atan",
                                                              "bitreverse",
                                                              "bswap",
                                                              "canonicalize",
                                                              "ceil",
                                                              "convert.from.fp16",
                                                              "convert.to.fp16",
                                                              "copysign",
                                                              "cos",
                                                              "cosh",
                                                              "ctlz",
                                                              "ctpop",
                                                              "cttz",
                                                              "dbg.assign",
                                                              "dbg.declare",
                                                              "dbg.label",
                                                              "dbg.value",
                                                              "debugtrap",
                                                              "donothing",
                                                              "exp",
                                                              "exp10",
                                                              "exp2",
                                                              "expect",
                                                              "expect.with.probability",
                                                              "experimental.noalias.scope.decl",
                                                              "fabs",
                                                              "floor",
                                                              "fma",
                                                              "fmuladd",
                                                              "fptosi.sat",
                                                              "fptoui.sat",
                                                              "frexp",
                                                              "fshl",
                                                              "fshr",
                                                              "invariant.end",
                                                              "invariant.start",
                                                              "is.constant",
                                                              "is.fpclass",
                                                              "launder.invariant.group",
                                                              "ldexp",
                                                              "lifetime.end",
                                                              "lifetime.start",
                                                              "llrint",
                                                              "llround",
                                                              "log",
                                                              "log10",
                                                              "log2",
                                                              "lrint",
                                                              "lround",
                                                              "masked.load",
                                                              "masked.store",
                                                              "maximum",
                                                              "maxnum",
                                                              "memcpy",
                                                              "memcpy.inline",
                                                              "memmove",
                                                              "memset",
                                                              "memset.inline",
                                                              "minimum",
                                                              "minnum",
                                                              "nearbyint",
                                                              "objectsize",
                                                              "pow",
                                                              "powi",
                                                              "prefetch",
                                                              "ptrmask",
                                                              "rint",
                                                              "round",
                                                              "roundeven",
                                                              "sadd.sat",
                                                              "sadd.with.overflow",
                                                              "scmp",
                                                              "sin",
                                                              "sinh",
                                                              "smax",
                                                              "smin",
                                                              "smul.with.overflow",
                                                              "sqrt",
                                                              "sshl.sat",
                                                              "ssub.sat",
                                                              "ssub.with.overflow",
                                                              "stackrestore",
                                                              "stacksave",
                                                              "strip.invariant.group",
                                                              "tan",
                                                              "tanh",
                                                              "trap",
                                                              "trunc",
                                                              "uadd.sat",
                                                              "uadd.with.overflow",
                                                              "ucmp",
                                                              "umax",
                                                              "umin",
                                                              "umul.with.overflow",
                                                              "ushl.sat",
                                                              "usub.sat",
                                                              "usub.with.overflow",
                                                              "vector.extract",
                                                              "vector.insert",
                                                              "vector.reduce.add",
                                                              "vector.reduce.and",
                                                              "vector.reduce.fadd",
                                                              "vector.reduce.fmax",
                                                              "vector.reduce.fmaximum",
                                                              "vector.reduce.fmin",
                                                              "vector.reduce.fminimum",
                                                              "vector.reduce.fmul",
                                                              "vector.reduce.mul",
                                                              "vector.reduce.or",
                                                              "vector.reduce.smax",
                                                              "vector.reduce.smin",
                                                              "vector.reduce.umax",
                                                              "vector.reduce.umin",
                                                              "vector.reduce.xor",
                                                              "vector.reverse",
                                                              "vector.splice"});
static_assert(std::ranges::is_sorted(kIntrinsics));

bool is_plain_intrinsic(llvm::Intrinsic::ID id) {
  llvm::StringRef name = llvm::Intrinsic::getBaseName(id);
  name.consume_front("llvm.");
  return std::ranges::binary_search(kIntrinsics, std::string_view(name));
}

// Names that a source cannot have: the translator refuses them there.
bool is_reserved(llvm::StringRef name) {
  name.consume_front("\1");
  return name.starts_with("__assay") || name.starts_with("assay_math_");
}

// Functions that the headers of metal/shader/nvptx/ define for a GPU, with its own operations.
bool is_for_device(const llvm::Function& function) {
  return function.getName().starts_with("__assay_nvptx_") || function.getName().starts_with("assay_math_");
}
bool is_used_for_device_only(const llvm::Function& operation) {
  return llvm::all_of(operation.users(), [](const llvm::User* user) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
    return instruction != nullptr && is_for_device(*instruction->getFunction());
  });
}

// The place of a declaration or definition; line 0 if unknown.
Place declared_at(const llvm::GlobalVariable& variable) {
  llvm::SmallVector<llvm::DIGlobalVariableExpression*, 1> known;
  variable.getDebugInfo(known);
  if (known.empty()) return {variable.getParent()->getSourceFileName(), 1};
  return {known.front()->getVariable()->getFilename().str(), known.front()->getVariable()->getLine()};
}
Place declared_at(const llvm::Function& function) {
  if (const auto* declared = function.getSubprogram()) return {declared->getFilename().str(), declared->getLine()};
  return {function.getParent()->getSourceFileName(), 1};
}

// The first instruction that uses the value, perhaps through constants.
const llvm::Instruction* user_of(const llvm::Value& value) {
  for (const auto* user : value.users()) {
    if (const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user)) return instruction;
    if (llvm::isa<llvm::ConstantExpr>(user)) {
      if (const auto* instruction = user_of(*user)) return instruction;
    }
  }
  return nullptr;
}

std::string shown(const llvm::GlobalValue& value) {
  llvm::StringRef name = value.getName();
  name.consume_front("\1");
  return "'" + llvm::demangle(name.str()) + "'";
}

// Clang registers the destructor of a global object like this, in a function without a line. It does not pass the object.
void refuse_destructors(const llvm::Module& module) {
  const auto* registers = module.getFunction("__cxa_atexit");
  if (registers == nullptr) return;
  for (const auto* user : registers->users()) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
    const auto* function = call == nullptr ? nullptr : llvm::dyn_cast<llvm::Function>(call->getArgOperand(0)->stripPointerCasts());
    if (function == nullptr || function->getSubprogram() == nullptr) continue;
    refuse(declared_at(*function), "the destructor '" + function->getSubprogram()->getName() +
                                       "' of a global object would run when the kernel is unloaded: Metal does not have this");
  }
}

void check_variable(const llvm::GlobalVariable& variable) {
  if (variable.getName().starts_with("llvm.")) return;
  if (variable.isDeclaration()) {
    if (is_reserved(variable.getName()) || variable.use_empty()) return;
    const auto* user = user_of(variable);
    refuse(user == nullptr ? declared_at(variable) : place_of(*user),
           "the kernel uses " + shown(variable) + ", which is declared and not defined");
  }
  if (variable.hasSection())
    refuse(declared_at(variable), "variable " + shown(variable) + " is in a section of its own: no kernel needs one");
  if (variable.isThreadLocal())
    refuse(declared_at(variable), "variable " + shown(variable) + " is thread-local, which Metal does not know");
}

void check_declaration(const llvm::Function& function) {
  const auto* user = user_of(function);
  const Place place = user == nullptr ? declared_at(function) : place_of(*user);
  if (function.isIntrinsic()) {
    if (!is_plain_intrinsic(function.getIntrinsicID()) && !is_used_for_device_only(function))
      refuse(place, "'" + function.getName() + "' is refused: it is no operation that a kernel needs");
    return;
  }
  if (function.use_empty()) return;
  if (!is_reserved(function.getName()) && !is_provided(std::string_view(function.getName())))
    refuse(place, "the kernel uses " + shown(function) + ", which is declared and not defined");
  for (const auto& use : function.uses()) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
    if (call == nullptr || !call->isCallee(&use))
      refuse(place, "the address of " + shown(function) + " is taken, which is not the kernel's");
  }
}

void check_definition(const llvm::Function& function) {
  if (is_for_device(function)) return;
  // That of initialisers, which the optimiser evaluates; those that it cannot evaluate are refused later.
  if (function.hasSection() && function.getSection() != ".text.startup")
    refuse(declared_at(function), "function " + shown(function) + " is in a section of its own: no kernel needs one");
  if (function.hasGC() || function.hasPrefixData() || function.hasPrologueData() || function.hasPersonalityFn() ||
      function.hasFnAttribute(llvm::Attribute::Naked))
    refuse(declared_at(function), "function " + shown(function) + " is not compiled as one of a kernel");
  for (const auto& instruction : llvm::instructions(function)) {
    if (llvm::isa<llvm::IndirectBrInst, llvm::CallBrInst, llvm::InvokeInst, llvm::VAArgInst, llvm::ResumeInst>(instruction))
      refuse(place_of(instruction), "a jump to a computed address, or arguments without types: Metal does not have them");
    for (const auto& operand : instruction.operands()) {
      if (llvm::isa<llvm::BlockAddress>(operand->stripPointerCasts()))
        refuse(place_of(instruction), "the address of a label: Metal does not have it");
    }
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call == nullptr) continue;
    if (const auto* assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand())) {
      // The empty one is that of our headers, which keeps accesses in their order.
      if (!assembly->getAsmString().empty()) refuse(place_of(instruction), "assembly is refused: Metal does not have it");
    } else if (call->getCalledFunction() == nullptr && !llvm::isa<llvm::GlobalAlias>(call->getCalledOperand()->stripPointerCasts())) {
      refuse(place_of(instruction), "a call through a function pointer that is not known when the kernel is compiled");
    }
  }
}

// What stays in the object although nothing uses it.
void check_kept(const llvm::Module& module) {
  for (const char* name : {"llvm.used", "llvm.compiler.used"}) {
    const auto* list = module.getGlobalVariable(name);
    if (list == nullptr || !list->hasInitializer()) continue;
    for (const auto& entry : list->getInitializer()->operands()) {
      const auto* kept = llvm::dyn_cast<llvm::GlobalValue>(entry->stripPointerCasts());
      if (kept == nullptr || is_reserved(kept->getName()) || kept->getName() == "__truncsfbf2") continue;
      refuse({module.getSourceFileName(), 1}, shown(*kept) + " is kept although the kernel does not use it");
    }
  }
}

}  // namespace

void require_permitted(const llvm::Module& module) {
  const Place start = {module.getSourceFileName(), 1};
  if (!module.getModuleInlineAsm().empty()) refuse(start, "assembly is refused: Metal does not have it");
  for (const auto& resolved : module.ifuncs()) refuse(start, shown(resolved) + " is chosen by code that runs when the kernel is loaded");
  for (const auto& alias : module.aliases()) {
    const auto* target = alias.getAliaseeObject();
    // Constructors are aliases of each other.
    if (target == nullptr || target->isDeclaration()) refuse(start, shown(alias) + " is another name of what is not the kernel's");
  }
  if (module.getGlobalVariable("llvm.global_dtors") != nullptr) refuse(start, "a function that runs when the kernel is unloaded");
  check_kept(module);
  refuse_destructors(module);
  for (const auto& variable : module.globals()) check_variable(variable);
  for (const auto& function : module) function.isDeclaration() ? check_declaration(function) : check_definition(function);
}

}  // namespace assay::metal::pass
