#include "harness/triage/mailbox.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <ios>

#include "metal/errors.h"

namespace assay::harness {

Mailbox::Mailbox() {
  std::string name = (std::filesystem::temp_directory_path() / "assay-compare-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw metal::EnvironmentError(fmt::format("no folder can be made as {}", name));
  folder_ = name;
}

Mailbox::~Mailbox() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

// Names hold what case names hold, slashes among it.
std::filesystem::path Mailbox::place_of(const std::string& name) const {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return folder_ / fmt::format("{:016x}-{}", hash, name.size());
}

void Mailbox::leave(const std::string& name, const Parcel& parcel) const {
  std::ofstream stream(place_of(name), std::ios::binary | std::ios::trunc);
  stream.write(reinterpret_cast<const char*>(parcel.bytes().data()), static_cast<std::streamsize>(parcel.bytes().size()));
  stream.close();
  if (!stream) throw std::runtime_error(fmt::format("{} cannot be written", place_of(name).string()));
}

std::optional<Parcel> Mailbox::take(const std::string& name) const {
  const std::filesystem::path file = place_of(name);
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  if (!stream) return std::nullopt;
  std::vector<std::byte> bytes(static_cast<std::size_t>(stream.tellg()));
  stream.seekg(0);
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!stream) return std::nullopt;
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  return Parcel(std::move(bytes));
}

}  // namespace assay::harness
