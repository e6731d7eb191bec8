// Stores and reads the killer of a mutant in the cache.
#include "harness/mutate/killer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "base/hash.h"
#include "harness/mutate/trial_result.h"
#include "metal/compile/cache.h"
#include "metal/errors.h"

namespace assay::harness {
namespace {

constexpr std::string_view kKillerName = "killer";

}  // namespace

std::filesystem::path mutant_folder(const std::string& mutated) {
  return metal::compile::Cache({}).directory() / "mutants" / base::Hash().add(mutated).hex();
}

void write_whole(const std::filesystem::path& file, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  const std::filesystem::path temporary =
      fmt::format("{}.{}.{}", file.string(), getpid(), std::chrono::steady_clock::now().time_since_epoch().count());
  std::ofstream stream(temporary, std::ios::binary);
  stream << text;
  stream.close();
  if (stream) std::filesystem::rename(temporary, file, error);
  if (!stream || error) throw metal::EnvironmentError(fmt::format("cannot write {}; is the disk full?", file.string()));
}

std::optional<Killer> recall_killer(const std::string& mutated) {
  std::ifstream stream(mutant_folder(mutated) / kKillerName);
  std::string policy;
  Killer killer;
  if (!(stream >> policy >> killer.case_name)) return std::nullopt;
  try {
    killer.policy = metal::parse_policy(policy);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
  return killer;
}

void remember_killer(const std::string& mutated, const Killer& killer) {
  write_whole(mutant_folder(mutated) / kKillerName, fmt::format("{} {}\n", to_string(killer.policy), killer.case_name));
}

}  // namespace assay::harness
