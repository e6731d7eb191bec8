// The key of this user, which seals what the program writes for itself and trusts later: cache entries and verdicts of ledgers.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "base/hash.h"

namespace assay::base {

// There is no key, and none can be made. The text names the file and the remedy.
class UserKeyError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// $ASSAY_KEY, else $XDG_STATE_HOME/assay/key, else ~/.local/state/assay/key. Not in the cache, which may be deleted or restored from
// elsewhere at any time.
[[nodiscard]] std::filesystem::path user_key_file();

// A hash with the user's key, for one purpose: what is sealed for another one has another hash. The first call makes the file, with 32
// random bytes that only the user may read. The key is read on every call and does not stay in memory, where a kernel could find it.
[[nodiscard]] Hash user_seal(std::string_view purpose);

}  // namespace assay::base
