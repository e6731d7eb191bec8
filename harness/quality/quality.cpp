// Computes the distortion of codebooks, and compares attention on stored and on original rows.
#include "harness/quality/quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "oracles/attention.h"
#include "oracles/codebook.h"
#include "oracles/codebook_theory.h"
#include "oracles/source_attention.h"

namespace assay::harness {
namespace {

std::vector<double> codebook_table(int bits) {
  const std::span<const float> centroids = oracles::codebook(bits);
  return {centroids.begin(), centroids.end()};
}

double dot(std::span<const double> a, std::span<const double> b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

// Square root of error / exact, both sums of squares.
double root_ratio(double error, double exact) {
  if (exact > 0.0) return std::sqrt(error / exact);
  return error == 0.0 ? 0.0 : std::numeric_limits<double>::infinity();
}

double cosine(double product, double square, double other_square) {
  if (square == 0.0 && other_square == 0.0) return 1.0;
  if (square == 0.0 || other_square == 0.0) return 0.0;
  return product / std::sqrt(square) / std::sqrt(other_square);
}

}  // namespace

CodebookQuality codebook_quality(int bits) {
  const std::vector<double> table = codebook_table(bits);
  CodebookQuality quality{.bits = bits,
                          .distortion = oracles::mean_squared_error(table),
                          .optimal_distortion = oracles::mean_squared_error(oracles::optimal_codebook(table.size()))};
  for (const double residual : oracles::centroid_residuals(table))
    quality.largest_residual = std::max(quality.largest_residual, std::abs(residual));
  return quality;
}

Similarity compare_rows(std::span<const double> exact, std::span<const double> other, std::size_t row_length) {
  if (exact.empty() || exact.size() != other.size() || row_length == 0 || exact.size() % row_length != 0) {
    throw std::invalid_argument(
        fmt::format("{} and {} elements in rows of {} cannot be compared row by row", exact.size(), other.size(), row_length));
  }
  Similarity similarity;
  std::vector<double> cosines;
  double error = 0.0;
  double size = 0.0;
  for (std::size_t first = 0; first < exact.size(); first += row_length) {
    const std::span<const double> a = exact.subspan(first, row_length);
    const std::span<const double> b = other.subspan(first, row_length);
    double row_error = 0.0;
    for (std::size_t i = 0; i < row_length; ++i) row_error += (b[i] - a[i]) * (b[i] - a[i]);
    const double square = dot(a, a);
    error += row_error;
    size += square;
    if (const double nrmse = root_ratio(row_error, square); nrmse > similarity.worst_nrmse) {
      similarity.worst_nrmse = nrmse;
      similarity.worst_row = first / row_length;
    }
    cosines.push_back(cosine(dot(a, b), square, dot(b, b)));
  }
  similarity.nrmse = root_ratio(error, size);
  similarity.mean_cosine = std::accumulate(cosines.begin(), cosines.end(), 0.0) / static_cast<double>(cosines.size());
  std::ranges::sort(cosines);
  similarity.percentile_cosine = cosines[cosines.size() / 100];
  return similarity;
}

bool has_source_level(const fixtures::Fixture& fixture) { return fixture.decode != nullptr && fixture.for_every_shape; }

FixtureQuality fixture_quality(const fixtures::Fixture& fixture, const QualityRequest& request) {
  if (!has_source_level(fixture)) throw std::invalid_argument(fmt::format("fixture \"{}\" has no source level", fixture.name));
  const oracles::DecodeShape shape{.heads = request.heads,
                                   .kv_heads = request.kv_heads,
                                   .head_dim = request.head_dim,
                                   .kv_len = request.kv_len,
                                   .kv_capacity = request.kv_len,
                                   .scale = 1.0F / std::sqrt(static_cast<float>(request.head_dim))};
  static_cast<void>(oracles::visible_slots(shape));  // rejects an invalid shape before allocating memory for it
  const fixtures::DecodeInputs inputs = fixture.decode({.shape = shape,
                                                        .bits = request.bits,
                                                        .norm_layout = oracles::NormLayout::one_per_block,
                                                        .seed = request.seed,
                                                        .keeps_source = true});
  const std::vector<double> q(inputs.q.begin(), inputs.q.end());
  const oracles::SourceRows source{q, inputs.k_source, inputs.v_source};
  const std::vector<double> exact = oracles::source_attention(shape, source);
  const std::vector<double> stored = oracles::decode_attention(shape, inputs.q, inputs.cache()).value;

  FixtureQuality quality{.similarity = compare_rows(exact, stored, request.head_dim)};
  const oracles::StorageModel model{oracles::mean_squared_error(codebook_table(request.bits)), 256};
  const std::vector<double> errors = oracles::expected_storage_error(shape, source, model);
  quality.expected_nrmse = root_ratio(dot(errors, errors), dot(exact, exact));
  return quality;
}

}  // namespace assay::harness
