// Expectations that were dear to compute, kept between runs: a kernel changes more often than what it must compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "harness/cases/case.h"
#include "kernels/variant.h"
#include "oracles/arithmetic.h"
#include "oracles/expected.h"

namespace assay::harness {

// The name of an expectation in the store: a hash of all that Job::expect may depend on. That is this build of the program and the
// mathematics of its C library, the case (without its variant's name), and what the variant says about accuracy and its own table. Only for
// a job with Job::expectation_may_be_kept and inputs that a generator makes. `which` distinguishes several expectations of one case.
[[nodiscard]] std::string expectation_name(const Case& test_case, const kernels::Variant& variant,
                                           const oracles::ArithmeticProfile& profile, std::string_view which);

// Files of one folder, sealed with the user's key, so that a file that is damaged, renamed or made by somebody else counts for nothing. The
// process of a kernel opens no files. Where nothing can be written, nothing is kept.
class ExpectationStore {
 public:
  // Bytes of all files. A gate keeps a quarter of it.
  static constexpr std::uint64_t kLimit = std::uint64_t{1} << 30;

  // Holds about `limit` bytes; the files that were used longest ago go first.
  explicit ExpectationStore(std::filesystem::path folder, std::uint64_t limit = kLimit) : folder_(std::move(folder)), limit_(limit) {}

  // What is kept under the name, else what `compute` returns. That is kept if it takes much longer than to read it back.
  [[nodiscard]] oracles::Expected get(const std::string& name, const std::function<oracles::Expected()>& compute) const;

  // Nothing if there is no intact file of that name.
  [[nodiscard]] std::optional<oracles::Expected> find(const std::string& name) const;
  void keep(const std::string& name, const oracles::Expected& expected) const;
  // Removes files beyond the limit. keep() does it every now and then.
  void tidy() const;

 private:
  std::filesystem::path folder_;
  std::uint64_t limit_;
};

// The store of this user, in the cache. nullptr if there is no place for a cache.
[[nodiscard]] std::shared_ptr<const ExpectationStore> expectations_in_cache();

}  // namespace assay::harness
