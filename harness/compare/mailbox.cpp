// Writes and reads the files of a mailbox.
#include "harness/compare/mailbox.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <ios>
#include <stdexcept>

#include "base/hash.h"
#include "metal/errors.h"

namespace assay::harness {

Mailbox::Mailbox() {
  std::string name = (std::filesystem::temp_directory_path() / "assay-compare-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw metal::EnvironmentError(fmt::format("cannot create folder {}", name));
  folder_ = name;
}

Mailbox::~Mailbox() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

// Hashed, because names of cases contain slashes.
std::filesystem::path Mailbox::place_of(const std::string& name) const { return folder_ / base::Hash().add(name).hex(); }

void Mailbox::leave_bytes(const std::string& name, std::span<const std::byte> bytes) const {
  std::ofstream stream(place_of(name), std::ios::binary | std::ios::trunc);
  stream.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  if (!stream) throw std::runtime_error(fmt::format("{} cannot be written", place_of(name).string()));
}

std::optional<base::Bytes> Mailbox::take_bytes(const std::string& name) const {
  const std::filesystem::path file = place_of(name);
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  if (!stream) return std::nullopt;
  base::Bytes bytes(static_cast<std::size_t>(stream.tellg()));
  stream.seekg(0);
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!stream) return std::nullopt;
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  return bytes;
}

}  // namespace assay::harness
