// Inputs, expectations and bounds have the same bits on every machine: under other variants of the C library, under other sizes of caches,
// and as tests/golden/input_digests.txt has them from another machine.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <Eigen/Core>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/digest.h"
#include "fixtures/hdf5_file.h"
#include "harness/cases/file_contents.h"
#include "harness/cases/suite.h"
#include "oracles/any_attention.h"
#include "oracles/codebook_theory.h"
#include "oracles/source_attention.h"
#include "tests/support/command.h"

namespace assay::tests::same_bits_test {
namespace {

using Digests = std::map<std::string, std::string>;

constexpr const char* kGolden = ASSAY_SOURCE_DIR "/tests/golden/input_digests.txt";
constexpr const char* kRecord =
    "ASSAY_RECORD_INPUT_DIGESTS=1 build/release/bin/assay_unit_tests --gtest_filter=SameBits.AreThoseOfTheGoldenFile";
// glibc 2.36 chooses the variants with FMA by this feature; without AVX2 it does not use FMA either.
constexpr const char* kOtherLibrary = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-AVX2,-AVX_Fast_Unaligned_Load";

class Digest {
 public:
  void add(std::span<const std::byte> bytes) { base::add_to_digest(value_, bytes); }
  void add(std::span<const double> values) { add(std::as_bytes(values)); }
  [[nodiscard]] std::string text() const { return fmt::format("{:016x}", value_); }

 private:
  std::uint64_t value_ = base::kEmptyDigest;
};

// Every 40th case of a family's gate, twelve at most.
std::vector<harness::Case> spread_of(const families::Family& family) {
  kernels::Variant variant;
  variant.name = "some_v1";
  variant.family = family.name();
  std::vector<harness::Case> chosen;
  const std::vector<harness::Case> gate = suite_cases(harness::Suite::gate, variant, 0);
  const std::size_t step = std::max<std::size_t>(1, std::min<std::size_t>(40, gate.size() / 12));
  for (std::size_t i = 0; i < gate.size() && chosen.size() < 12; i += step) {
    if (!gate[i].fixture.starts_with("h5-")) chosen.push_back(gate[i]);
  }
  return chosen;
}

// What storage costs, apart from any kernel: weights, sums of squares, eigenvalues, tails of the normal distribution.
void add_quality(Digests& digests) {
  oracles::DecodeShape shape;
  shape.heads = 2;
  shape.kv_heads = 1;
  shape.head_dim = 256;
  shape.kv_len = shape.kv_capacity = 70;
  shape.scale = 0.0625F;
  std::vector<double> rows(71 * 256 * 2);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<double>(i * 2654435761U % 2001) / 1000.0 - 1.0;
  const std::span<const double> all = rows;
  const oracles::SourceRows source{all.subspan(0, 512), all.subspan(128, 70 * 256), all.subspan(256, 70 * 256)};
  oracles::StorageModel model;
  model.block_dim = 256;
  model.distortion = 0.009;
  Digest digest;
  digest.add(oracles::source_attention(shape, source));
  digest.add(oracles::expected_storage_error(shape, source, model));
  digest.add(oracles::storage_error_bound(shape, source, model));
  digest.add(oracles::optimal_codebook(32));
  digests["quality"] = digest.text();
}

// Attention of any shape: tanh, logarithms and sums over tiles.
void add_any_attention(Digests& digests) {
  const auto rows = [](std::size_t count, std::size_t seed) {
    std::vector<double> row(count);
    for (std::size_t i = 0; i < count; ++i) row[i] = static_cast<double>((i + seed) * 2654435761U % 2001) / 500.0 - 2.0;
    return row;
  };
  oracles::AnyAttentionShape shape;
  shape.batches = shape.kv_heads = 1;
  shape.heads = shape.queries = 2;
  shape.kv_rows = 77;
  shape.head_dim = 72;
  shape.value_dim = 20;
  shape.scale = 0.125;
  shape.softcap = 3.0;
  shape.lse = oracles::LogBase::two;
  const std::vector<double> q = rows(2 * 2 * 72, 1), k = rows(77 * 72, 5), v = rows(77 * 20, 9), sinks = rows(2, 3);
  const oracles::AnyExpected expected = oracles::any_attention(
      shape, {.q = q, .k = k, .v = v, .sinks = sinks, .bias = [](std::size_t, std::size_t, std::size_t query, std::span<double> bias) {
                for (std::size_t key = 0; key < bias.size(); ++key) bias[key] = -0.01 * static_cast<double>(key + query);
              }});
  Digest digest;
  for (const oracles::Expected* part : {&expected.output, &expected.lse}) {
    digest.add(part->value);
    digest.add(part->bound);
    digest.add(part->magnitude);
  }
  digests["any attention"] = digest.text();
}

Digests computed() {
  Digests digests;
  for (const families::Family& family : families::all_families()) {
    if (family.of_variant) continue;  // only its variants have cases
    Digest inputs, truth;
    for (const harness::Case& test_case : spread_of(family)) {
      for (const fixtures::Tensor& tensor : harness::contents_of(test_case).tensors) {
        (tensor.spec.path.starts_with("inputs/") ? inputs : truth).add(tensor.bytes);
      }
    }
    digests[std::string(family.name()) + " inputs"] = inputs.text();
    digests[std::string(family.name()) + " expectations and bounds"] = truth.text();
  }
  add_quality(digests);
  add_any_attention(digests);
  return digests;
}

// The bytes of a whole file: what deflate made of it is the same on one machine only.
std::string file_digest() {
  const auto& family = families::find_family("tq4");
  const harness::FileContents contents =
      harness::contents_of(harness::parse_case("tq4/d256/h8x2/kv300c300/ring37/win100/nwg16/gauss/s7", family));
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "file.h5";
  fixtures::write_file(file, contents.format, contents.tensors);
  const std::string bytes = read_file(file);
  Digest digest;
  digest.add(std::as_bytes(std::span(bytes)));
  return digest.text();
}

// What does depend on the processor: it shows that the conditions below are others.
std::string library_digest() {
  std::vector<double> values;
  for (int i = 1; i < 20000; ++i) values.push_back(std::exp(-0.001 * i));
  Digest digest;
  digest.add(values);
  return digest.text();
}
std::string blocked_product_digest() {
  Eigen::MatrixXd matrix(64, 4096);
  for (Eigen::Index i = 0; i < matrix.size(); ++i) matrix.data()[i] = static_cast<double>(i * 2654435761 % 2001) / 1000.0 - 1.0;
  const Eigen::MatrixXd product = matrix * matrix.transpose();
  Digest digest;
  digest.add(std::span(product.data(), static_cast<std::size_t>(product.size())));
  return digest.text();
}

// Not a test: what the tests below run in a process of its own.
TEST(SameBitsChild, DISABLED_PrintsDigests) {
  if (std::getenv("ASSAY_ODD_CACHES") != nullptr) Eigen::setCpuCacheSizes(5000, 11000, 23000);
  fmt::print("\n");
  Digests digests = computed();
  digests["file"] = file_digest();
  digests["library"] = library_digest();
  digests["blocked product"] = blocked_product_digest();
  for (const auto& [name, digest] : digests) fmt::print("digest {}={}\n", name, digest);
}

Digests in_child(const std::string& environment) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const Outcome outcome =
      run_command(environment + " '" + self + "' --gtest_also_run_disabled_tests --gtest_filter=SameBitsChild.DISABLED_PrintsDigests");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  Digests digests;
  std::istringstream lines(outcome.output);
  for (std::string line; std::getline(lines, line);) {
    if (const auto equals = line.find('='); line.starts_with("digest ") && equals != std::string::npos)
      digests[line.substr(7, equals - 7)] = line.substr(equals + 1);
  }
  return digests;
}

const Digests& here() {
  static const Digests digests = in_child("env");
  return digests;
}

void expect_same(const Digests& others, const char* depends) {
  EXPECT_GT(others.size(), 2U * std::ranges::count_if(families::all_families(), [](const auto& family) { return !family.of_variant; }));
  for (const auto& [name, digest] : here()) {
    if (name != depends) EXPECT_EQ(others.contains(name) ? others.at(name) : "none", digest) << name;
  }
}

TEST(SameBits, UnderOtherVariantsOfTheCLibrary) {
  const Digests others = in_child(kOtherLibrary);
  expect_same(others, "library");
#if defined(__x86_64__)
  // The tunable has an effect where the processor has what it takes away.
  if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2")) EXPECT_NE(others.at("library"), here().at("library"));
#endif
}

TEST(SameBits, UnderOtherSizesOfCaches) {
  const Digests others = in_child("ASSAY_ODD_CACHES=1");
  expect_same(others, "blocked product");
  EXPECT_NE(others.at("blocked product"), here().at("blocked product"));
}

TEST(SameBits, AreThoseOfTheGoldenFile) {
  const Digests now = computed();
  std::string text =
      "# Digests of inputs, expectations and bounds of a spread of cases of each family (tests/unit/same_bits_test.cpp). Recorded by\n# " +
      std::string(kRecord) + "\n";
  for (const auto& [name, digest] : now) text += digest + " " + name + "\n";
  if (std::getenv("ASSAY_RECORD_INPUT_DIGESTS") != nullptr) std::ofstream(kGolden) << text;
  EXPECT_EQ(read_file(kGolden), text)
      << "Where nothing in oracles/, fixtures/ or the suites has changed, this machine computes other bits than the one that recorded "
         "them; if a change is meant, record anew: "
      << kRecord;
}

}  // namespace
}  // namespace assay::tests::same_bits_test
