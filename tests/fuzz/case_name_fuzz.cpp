// Case names: any text is a case whose name reads back as itself, or is refused with std::invalid_argument. The first word decides the
// family, as the name of a variant does: "tqhb..." is one of tqhb's.
#include <stdexcept>
#include <string>
#include <string_view>

#include "harness/cases/case.h"
#include "harness/cases/file_case.h"
#include "harness/cases/minimum.h"
#include "harness/cases/selection.h"
#include "tests/fuzz/fuzz_target.h"

namespace assay::tests {
namespace {

const families::Family& family_of(std::string_view variant) {
  const families::Family* longest = &families::find_family("tq4");
  std::size_t length = 0;
  for (const families::Family& family : families::all_families()) {
    if (!variant.starts_with(family.name()) || family.name().size() <= length) continue;
    longest = &family;
    length = family.name().size();
  }
  return *longest;
}

void check(std::string_view name) {
  const families::Family& family = family_of(harness::variant_of(name));
  const harness::Case test_case = harness::parse_case(name, family);
  const std::string printed = harness::format_case(test_case);
  require(harness::parse_case(printed, family) == test_case, "a printed name reads back as the same case");
  require(harness::format_case(harness::parse_case(printed, family)) == printed, "printing it again changes nothing");
  require(harness::variant_of(printed) == test_case.variant, "a printed name begins with the variant");
  require(harness::glob_match("*", name) && harness::glob_match(printed, printed), "a name without wildcards matches itself");
  require(test_case.values.size() == family.axes.size(), "every axis has a value");
  for (std::size_t i = 0; i < test_case.values.size(); ++i) require(family.axes[i].holds(test_case.values[i]), "a value lies in its axis");
  note_outcome(family.name());
  note_outcome(harness::is_on_file(test_case) ? "on a file" : test_case.fixture);
  for (std::size_t i = 0; i < test_case.values.size(); ++i) {
    if (test_case.values[i] != family.axes[i].initial) note_outcome(family.axes[i].name);
  }
}

void check_shard(std::string_view text) {
  try {
    const harness::Shard shard = harness::parse_shard(text);
    require(shard.index < shard.count, "a shard is one of those that there are");
    note_outcome("shard");
  } catch (const std::invalid_argument& error) {
    note_outcome(error.what());
  }
}

}  // namespace
}  // namespace assay::tests

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const std::string_view name = tests::text_of(data, size);
  try {
    tests::check(name);
  } catch (const std::invalid_argument& error) {
    // The first part of the message holds the name, which says nothing of the kind.
    const std::string_view text = error.what();
    tests::note_outcome(text.substr(std::min(text.size(), name.size() + 8)));
  }
  tests::check_shard(name);
  // A pattern of the user's over names that are not: the time it takes must not explode.
  static_cast<void>(harness::glob_match(name, "tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7"));
  return 0;
}
