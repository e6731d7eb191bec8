// The registers of x86-64 and of 64-bit ARM, as Linux hands them to signal handlers.
#include "metal/execute/fault_context.h"

#if defined(__aarch64__)
#include <cstring>
#endif

namespace assay::metal::execute {

#if defined(__x86_64__)

namespace {
// From the error code that the processor gives for a page fault.
constexpr greg_t kWrites = 2;
constexpr greg_t kFetches = 16;
// From the flags: the processor traps after the next instruction.
constexpr greg_t kTrap = 256;
}  // namespace

Fault FaultContext::fault() const {
  const auto& registers = context_.uc_mcontext.gregs;
  return {.address = info_.si_addr,
          .address_known = info_.si_code != SI_KERNEL,
          .stack_pointer = reinterpret_cast<const void*>(registers[REG_RSP]),
          .instruction = reinterpret_cast<const void*>(registers[REG_RIP]),
          .is_write = (registers[REG_ERR] & kWrites) != 0,
          .signal = signal_};
}

bool FaultContext::is_fetch() const { return (context_.uc_mcontext.gregs[REG_ERR] & kFetches) != 0; }

void FaultContext::trap_after_next(bool traps) {
  auto& flags = context_.uc_mcontext.gregs[REG_EFL];
  flags = traps ? flags | kTrap : flags & ~kTrap;
}

#else

namespace {

// The record of this kind behind the registers; nullptr if there is none.
std::byte* record_of(ucontext_t& context, std::uint32_t kind, std::size_t bytes) {
  auto* records = reinterpret_cast<std::byte*>(context.uc_mcontext.__reserved);
  for (std::size_t at = 0; at + bytes <= sizeof context.uc_mcontext.__reserved;) {
    _aarch64_ctx head{};
    std::memcpy(&head, records + at, sizeof head);
    if (head.magic == kind) return records + at;
    if (head.magic == 0 || head.size == 0) break;
    at += head.size;
  }
  return nullptr;
}

ArmRegisters registers_of(ucontext_t& context) {
  static_assert(sizeof context.uc_mcontext.regs[0] == sizeof(std::uint64_t));
  std::byte* vectors = record_of(context, FPSIMD_MAGIC, sizeof(fpsimd_context));
  return {.general = reinterpret_cast<std::uint64_t*>(context.uc_mcontext.regs),
          .stack_pointer = reinterpret_cast<std::uint64_t*>(&context.uc_mcontext.sp),
          .vectors = vectors == nullptr ? nullptr : vectors + offsetof(fpsimd_context, vregs)};
}

// The processor's own word on the fault (ESR_EL1), which emulators leave out.
std::optional<std::uint64_t> syndrome_of(ucontext_t& context) {
  const std::byte* found = record_of(context, ESR_MAGIC, sizeof(esr_context));
  if (found == nullptr) return std::nullopt;
  esr_context record{};
  std::memcpy(&record, found, sizeof record);
  return record.esr;
}

constexpr std::uint64_t kClass = 26;  // the first bit of the syndrome's class
constexpr std::uint64_t kOfFetches = 0x20;
constexpr std::uint64_t kOfData = 0x24;
constexpr std::uint64_t kWrites = 1U << 6;
constexpr std::uint64_t kOfCaches = 1U << 8;  // such faults always count as writes, as DC ZVA is one

}  // namespace

bool FaultContext::is_fetch() const {
  const auto syndrome = syndrome_of(context_);
  // Without it: an instruction that was read is not where the fault is.
  if (syndrome) return *syndrome >> kClass == kOfFetches;
  return reinterpret_cast<std::uint64_t>(info_.si_addr) - context_.uc_mcontext.pc < sizeof(std::uint32_t);
}

std::optional<ArmAccess> FaultContext::access() const {
  const ArmRegisters registers = registers_of(context_);
  if (registers.vectors == nullptr || is_fetch()) return std::nullopt;
  std::uint32_t instruction = 0;
  std::memcpy(&instruction, reinterpret_cast<const void*>(context_.uc_mcontext.pc), sizeof instruction);
  return arm_access(instruction, registers);
}

void FaultContext::carry_out(const ArmAccess& access) {
  execute::carry_out(access, registers_of(context_));
  context_.uc_mcontext.pc += sizeof(std::uint32_t);
}

Fault FaultContext::fault() const {
  const auto& registers = context_.uc_mcontext;
  bool is_write = false;
  if (signal_ == SIGSEGV || signal_ == SIGBUS) {
    const auto syndrome = syndrome_of(context_);
    const auto access = syndrome ? std::nullopt : this->access();
    is_write = syndrome ? *syndrome >> kClass == kOfData && (*syndrome & (kWrites | kOfCaches)) != 0 : access && access->is_store;
  }
  // What ends a kernel on purpose is an undefined instruction on other processors, and a breakpoint on this one.
  return {.address = info_.si_addr,
          .address_known = info_.si_code != SI_KERNEL,
          .stack_pointer = reinterpret_cast<const void*>(registers.sp),
          .instruction = reinterpret_cast<const void*>(registers.pc),
          .caller = reinterpret_cast<const void*>(registers.regs[30]),
          .is_write = is_write,
          .signal = signal_ == SIGTRAP ? SIGILL : signal_};
}

#endif

}  // namespace assay::metal::execute
