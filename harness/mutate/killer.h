// What killed a mutant when it was last tried, kept beside its source in the cache of compiled kernels: where a new judge best begins.
//
// Who judges next need not be the one who judged then: a killer is a hint, and nothing is concluded from it.
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

// Where the cache keeps what belongs to a mutant of this text; it need not exist. Throws metal::EnvironmentError if there is no cache.
[[nodiscard]] std::filesystem::path mutant_folder(const std::string& mutated);

// Writes a file that is whole or absent, whoever else writes it, and the folders it needs. Throws metal::EnvironmentError.
void write_whole(const std::filesystem::path& file, const std::string& text);

// Nothing if none is known, or if what is kept cannot be read.
[[nodiscard]] std::optional<Killer> recall_killer(const std::string& mutated);
void remember_killer(const std::string& mutated, const Killer& killer);

}  // namespace assay::harness
