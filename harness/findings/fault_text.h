// Faults and notes in words. Only this file has these words, for output; no code reads them back.
#pragma once

#include <span>
#include <string>

#include "harness/findings/fault.h"
#include "harness/findings/verdict.h"
#include "metal/hazard.h"

namespace assay::harness {

// "kernel.metal:12: barrier divergence in flash_attn: ...": place, kind and function of a hazard, each once.
[[nodiscard]] std::string hazard_text(const metal::Hazard& hazard);

// One line, without the schedule under which the fault occurred.
[[nodiscard]] std::string text_of(const FaultDetails& details);

// All faults in one line: "under schedule reverse: 3 elements above their bound, 1 NaN; the kernel wrote to its input Q". Empty if
// there are none.
[[nodiscard]] std::string reason_of(std::span<const Fault> faults);

// The same for anything that has faults: a verdict, one of its stages, a case of a ledger.
template <typename Owner>
  requires requires(const Owner& owner) { std::span<const Fault>(owner.faults); }
[[nodiscard]] std::string reason_of(const Owner& owner) {
  return reason_of(std::span<const Fault>(owner.faults));
}

// All notes in one line; empty if there are none.
[[nodiscard]] std::string text_of(std::span<const Note> notes);

}  // namespace assay::harness
