// The case that killed a mutant when it was last tried, stored beside its source in the cache of compiled kernels. The next trial
// starts with it.
//
// The next trial may use other cases or policies, so a killer is only a hint.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "metal/policy.h"

namespace assay::harness {

struct Killer {
  metal::Policy policy = metal::Policy::native;
  std::string case_name;
};

// The folder of the cache for a mutant of this text; it may not exist yet. Throws metal::EnvironmentError if there is no cache.
[[nodiscard]] std::filesystem::path mutant_folder(const std::string& mutated);

// Writes a file, and the folders that it needs, such that it is complete or absent even if others write it
// too. Throws metal::EnvironmentError.
void write_whole(const std::filesystem::path& file, const std::string& text);

// Empty if no killer is known, or if the stored one cannot be read.
[[nodiscard]] std::optional<Killer> recall_killer(const std::string& mutated);
void remember_killer(const std::string& mutated, const Killer& killer);

}  // namespace assay::harness
