// `assay quality`: measures the error of storing rows in a codebook, apart from any kernel. Nothing is judged.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/say.h"
#include "fixtures/generators.h"
#include "harness/quality/quality.h"
#include "oracles/codebook_theory.h"

namespace assay::cli {
namespace {

struct QualityOptions {
  std::vector<int> bits = {4, 5, 6, 8};
  std::vector<std::size_t> head_dims = {256, 512};
  std::vector<std::string> fixtures;  // empty: all fixtures with unquantised rows
  std::size_t kv_len = harness::QualityRequest{}.kv_len;
  std::uint64_t seed = 0;
  bool json = false;
};

struct AttentionRow {
  std::string_view fixture;
  harness::QualityRequest request;
  harness::FixtureQuality quality;
};

std::vector<const fixtures::Fixture*> wanted_fixtures(const QualityOptions& options) {
  std::vector<const fixtures::Fixture*> wanted;
  for (const std::string& name : options.fixtures) wanted.push_back(&fixtures::find_fixture(name));
  if (!wanted.empty()) return wanted;
  for (const fixtures::Fixture& fixture : fixtures::all_fixtures()) {
    if (harness::has_source_level(fixture)) wanted.push_back(&fixture);
  }
  return wanted;
}

void print_codebooks(const std::vector<harness::CodebookQuality>& codebooks) {
  say("codebooks: mean squared error for normal coordinates of variance 1\n");
  say("  bits  distortion   of the optimum   ratio     Panter-Dite   largest residual\n");
  for (const harness::CodebookQuality& codebook : codebooks) {
    say("  {:>4}  {:.5e}  {:.5e}      {:.6f}  {:.5e}   {:.1e} of a cell\n", codebook.bits, codebook.distortion, codebook.optimal_distortion,
        codebook.ratio(), oracles::panter_dite(std::size_t{1} << codebook.bits), codebook.largest_residual);
  }
}

void print_header(const QualityOptions& options) {
  const harness::QualityRequest request;
  say("\nattention on stored keys and values, compared with attention on the unquantised rows, both in double\n");
  say("  {} query heads on {} key/value heads, {} positions, seed {}; expected: for independent errors, to first order\n", request.heads,
      request.kv_heads, options.kv_len, options.seed);
  say("  {:<18}  head_dim  bits  nrmse     expected  worst head         cosine: mean  first percentile\n", "fixture");
}

void print_row(const AttentionRow& row) {
  const harness::Similarity& similarity = row.quality.similarity;
  say("  {:<18}  {:>8}  {:>4}  {:.2e}  {:.2e}  {:.2e} (head {:>3})  {:>12.8f}  {:.8f}\n", row.fixture, row.request.head_dim,
      row.request.bits, similarity.nrmse, row.quality.expected_nrmse, similarity.worst_nrmse, similarity.worst_row, similarity.mean_cosine,
      similarity.percentile_cosine);
}

nlohmann::ordered_json json_of(const harness::CodebookQuality& codebook) {
  return {{"bits", codebook.bits},
          {"distortion", codebook.distortion},
          {"optimal_distortion", codebook.optimal_distortion},
          {"ratio", codebook.ratio()},
          {"panter_dite", oracles::panter_dite(std::size_t{1} << codebook.bits)},
          {"largest_residual", codebook.largest_residual}};
}

nlohmann::ordered_json json_of(const AttentionRow& row) {
  const harness::Similarity& similarity = row.quality.similarity;
  return {{"fixture", row.fixture},
          {"head_dim", row.request.head_dim},
          {"bits", row.request.bits},
          {"heads", row.request.heads},
          {"kv_heads", row.request.kv_heads},
          {"kv_len", row.request.kv_len},
          {"seed", row.request.seed},
          {"nrmse", similarity.nrmse},
          {"expected_nrmse", row.quality.expected_nrmse},
          {"worst_nrmse", similarity.worst_nrmse},
          {"worst_head", similarity.worst_row},
          {"cosine_mean", similarity.mean_cosine},
          {"cosine_first_percentile", similarity.percentile_cosine}};
}

int quality(const QualityOptions& options) {
  const std::vector<const fixtures::Fixture*> wanted = wanted_fixtures(options);
  std::vector<harness::CodebookQuality> codebooks;
  for (const int bits : options.bits) codebooks.push_back(harness::codebook_quality(bits));
  nlohmann::ordered_json document = {{"codebooks", nlohmann::ordered_json::array()}, {"attention", nlohmann::ordered_json::array()}};
  for (const harness::CodebookQuality& codebook : codebooks) document["codebooks"].push_back(json_of(codebook));
  if (!options.json) {
    print_codebooks(codebooks);
    print_header(options);
  }
  for (const fixtures::Fixture* fixture : wanted) {
    for (const std::size_t head_dim : options.head_dims) {
      for (const int bits : options.bits) {
        AttentionRow row{fixture->name, {.head_dim = head_dim, .bits = bits, .kv_len = options.kv_len, .seed = options.seed}, {}};
        row.quality = harness::fixture_quality(*fixture, row.request);
        if (options.json) {
          document["attention"].push_back(json_of(row));
        } else {
          print_row(row);
        }
      }
    }
  }
  if (options.json) {
    // JSON has no infinity, so it is written as null.
    say("{}\n", document.dump(2));
  } else {
    say("\nno kernel was executed; these figures have no limits and are not judged\n");
  }
  return kExitPassed;
}

}  // namespace

void add_quality(CLI::App& app, Action& action) {
  const auto [command, options] = subcommand(
      app, action, "quality",
      "Measure the error of storing keys and values in few bits, apart from any kernel: distortion of the codebooks compared with the "
      "optimum of "
      "their size, and attention on stored rows compared with attention on unquantised rows, per fixture. Nothing is judged",
      quality);
  command->add_option("--bits", options->bits, "Only codebooks of these widths: 4, 5, 6, 8")->check(CLI::IsMember({4, 5, 6, 8}));
  command->add_option("--head-dim", options->head_dims, "Only these head dimensions: 256, 512")->check(CLI::IsMember({256, 512}));
  command->add_option("--fixture", options->fixtures, "Only these fixtures (`assay list`); default: all with unquantised rows");
  command->add_option("--kv-len", options->kv_len, "Positions in the cache")->capture_default_str()->check(CLI::Range(1, 65536));
  command->add_option("--seed", options->seed, "Seed of the fixtures")->check(whole_number())->capture_default_str();
  command->add_flag("--json", options->json, "Print one JSON document instead of tables");
  command->footer(R"(examples
  assay quality                                      every codebook and fixture
  assay quality --bits 4 8 --fixture gauss needle
  assay quality --head-dim 512 --kv-len 4096 --json)");
}

}  // namespace assay::cli
