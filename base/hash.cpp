// BLAKE2b-256, by libsodium.
#include "base/hash.h"

#include <fmt/format.h>
#include <sodium.h>

#include <stdexcept>

namespace assay::base {
namespace {

using State = crypto_generichash_state;

constexpr std::size_t kBytes = Hash::kHexDigits / 2;

State* state_in(std::array<std::byte, sizeof(State)>& bytes) { return reinterpret_cast<State*>(bytes.data()); }

}  // namespace

Hash::Hash() : Hash(std::span<const std::byte>()) {}

Hash::Hash(std::span<const std::byte> key) {
  static_assert(sizeof(state_) == sizeof(State) && alignof(Hash) >= alignof(State));
  // Selects the implementation for this processor, once.
  static const int ready = sodium_init();
  if (ready < 0) throw std::runtime_error("libsodium cannot be used");
  crypto_generichash_init(state_in(state_), reinterpret_cast<const unsigned char*>(key.data()), key.size(), kBytes);
}

Hash::~Hash() { sodium_memzero(state_.data(), state_.size()); }

void Hash::add_bytes(std::string_view bytes) {
  crypto_generichash_update(state_in(state_), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

Hash& Hash::add(std::string_view text) {
  add_bytes(fmt::format("{}:", text.size()));
  add_bytes(text);
  return *this;
}

std::string Hash::hex() const {
  auto copy = *this;
  std::array<unsigned char, kBytes> digest{};
  crypto_generichash_final(state_in(copy.state_), digest.data(), digest.size());
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace assay::base
