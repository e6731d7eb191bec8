// Distortion of codebooks, and Newton's method for optimal ones.
#include "oracles/codebook_theory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "math/functions.h"

namespace assay::oracles {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double density(double x) { return std::isinf(x) ? 0.0 : math::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi); }

// P(x > a).
double upper_tail(double a) { return 0.5 * math::erfc(a / std::numbers::sqrt2); }

double probability(double a, double b) {
  // In the tail that both lie in, so that nothing near 1 is subtracted.
  return a >= 0.0 ? upper_tail(a) - upper_tail(b) : upper_tail(-b) - upper_tail(-a);
}

// Nodes and weights of Gauss-Legendre quadrature on [-1, 1]: exact for polynomials of degree 31, and so for the density over a
// cell to the last bits. Newton's method on the Legendre polynomial.
constexpr std::size_t kNodes = 16;
struct Rule {
  std::array<double, kNodes> node, weight;
};
Rule gauss_legendre() {
  Rule rule = {};
  const double n = static_cast<double>(kNodes);
  for (std::size_t i = 0; i < kNodes; ++i) {
    double x = math::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (n + 0.5));
    double slope = 0.0;
    for (int step = 0; step < 100; ++step) {
      double before = 1.0;
      double value = x;
      for (std::size_t k = 2; k <= kNodes; ++k) {
        const double degree = static_cast<double>(k);
        const double next = ((2.0 * degree - 1.0) * x * value - (degree - 1.0) * before) / degree;
        before = value;
        value = next;
      }
      slope = n * (x * value - before) / (x * x - 1.0);
      const double change = value / slope;
      x -= change;
      if (std::abs(change) < 1e-16) break;
    }
    rule.node[i] = x;
    rule.weight[i] = 2.0 / ((1.0 - x * x) * slope * slope);
  }
  return rule;
}

struct Cell {
  double low, high;
  double mass;  // probability
  double mean;  // conditional
};

// Wider cells would need more nodes; they hold so much that the closed form has no cancellation to speak of.
constexpr double kWide = 2.0;

Cell cell_of(double low, double high) {
  if (!(high - low < kWide)) {
    const double mass = probability(low, high);
    return {low, high, mass, (density(low) - density(high)) / mass};
  }
  static const Rule rule = gauss_legendre();
  const double middle = 0.5 * (low + high);
  const double half = 0.5 * (high - low);
  double mass = 0.0;
  double moment = 0.0;
  for (std::size_t i = 0; i < kNodes; ++i) {
    const double weight = rule.weight[i] * half * density(middle + half * rule.node[i]);
    mass += weight;
    moment += weight * half * rule.node[i];
  }
  return {low, high, mass, middle + moment / mass};
}

std::vector<Cell> cells_of(std::span<const double> centroids) {
  if (centroids.empty()) throw std::invalid_argument("a codebook needs at least one centroid");
  std::vector<Cell> cells;
  double low = -kInfinity;
  for (std::size_t i = 0; i < centroids.size(); ++i) {
    const bool is_last = i + 1 == centroids.size();
    if (!std::isfinite(centroids[i]) || (!is_last && !(centroids[i] < centroids[i + 1]))) {
      throw std::invalid_argument(fmt::format("centroid {} is {}: centroids must be finite and ascending", i, centroids[i]));
    }
    const double high = is_last ? kInfinity : 0.5 * (centroids[i] + centroids[i + 1]);
    cells.push_back(cell_of(low, high));
    low = high;
  }
  return cells;
}

double width_of(const Cell& cell) {
  if (std::isinf(cell.low) && std::isinf(cell.high)) return 1.0;
  if (std::isinf(cell.low)) return cell.high - cell.mean;
  return std::isinf(cell.high) ? cell.mean - cell.low : cell.high - cell.low;
}

// Solves the tridiagonal system in place (Thomas): diagonally dominant here, so without pivoting.
void solve(std::vector<double>& below, std::vector<double>& diagonal, std::vector<double>& above, std::vector<double>& right) {
  const std::size_t n = diagonal.size();
  for (std::size_t i = 1; i < n; ++i) {
    const double factor = below[i] / diagonal[i - 1];
    diagonal[i] -= factor * above[i - 1];
    right[i] -= factor * right[i - 1];
  }
  right[n - 1] /= diagonal[n - 1];
  for (std::size_t i = n - 1; i-- > 0;) right[i] = (right[i] - above[i] * right[i + 1]) / diagonal[i];
}

// x with P(X > x) = p, by bisection: called a few thousand times at most.
double upper_quantile(double p) {
  double low = -40.0;
  double high = 40.0;
  for (int i = 0; i < 200; ++i) {
    const double middle = 0.5 * (low + high);
    (upper_tail(middle) > p ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

double mean_squared_error(std::span<const double> centroids) {
  const std::vector<Cell> cells = cells_of(centroids);
  double sum = 0.0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    // E[x^2; cell] = mass + low density(low) - high density(high).
    const double from_low = std::isinf(cell.low) ? 0.0 : cell.low * density(cell.low);
    const double from_high = std::isinf(cell.high) ? 0.0 : cell.high * density(cell.high);
    const double c = centroids[i];
    sum += (1.0 + c * c) * cell.mass + from_low - from_high - 2.0 * c * cell.mass * cell.mean;
  }
  return sum;
}

std::vector<double> centroid_residuals(std::span<const double> centroids) {
  const std::vector<Cell> cells = cells_of(centroids);
  std::vector<double> residuals;
  for (std::size_t i = 0; i < cells.size(); ++i) residuals.push_back((centroids[i] - cells[i].mean) / width_of(cells[i]));
  return residuals;
}

std::vector<double> optimal_codebook(std::size_t levels) {
  if (levels == 0 || levels > 4096) throw std::invalid_argument(fmt::format("a codebook of {} levels: accepted are 1 to 4096", levels));
  const double n = static_cast<double>(levels);
  // Panter and Dite: the best density of centroids is proportional to the cube root of that of x, again a normal one, sqrt(3) wide.
  std::vector<double> c(levels);
  for (std::size_t i = 0; i < levels; ++i) c[i] = -std::numbers::sqrt3 * upper_quantile((static_cast<double>(i) + 0.5) / n);

  const auto worst = [](std::span<const double> centroids) {
    double largest = 0.0;
    for (const double residual : centroid_residuals(centroids)) largest = std::max(largest, std::abs(residual));
    return largest;
  };
  double residual = worst(c);
  for (int step = 0; step < 100 && residual > 1e-13; ++step) {
    const std::vector<Cell> cells = cells_of(c);
    std::vector<double> below(levels), diagonal(levels), above(levels), change(levels);
    for (std::size_t i = 0; i < levels; ++i) {
      const Cell& cell = cells[i];
      // Moving a boundary takes in mass at its distance from the mean; a centroid moves its two boundaries by half.
      const double by_low = std::isinf(cell.low) ? 0.0 : density(cell.low) * (cell.mean - cell.low) / cell.mass;
      const double by_high = std::isinf(cell.high) ? 0.0 : density(cell.high) * (cell.high - cell.mean) / cell.mass;
      below[i] = -0.5 * by_low;
      above[i] = -0.5 * by_high;
      diagonal[i] = 1.0 - 0.5 * (by_low + by_high);
      change[i] = c[i] - cell.mean;
    }
    solve(below, diagonal, above, change);
    // A full step, or as much of it as keeps the order and comes nearer.
    double length = 1.0;
    bool is_better = false;
    for (int halving = 0; halving < 40 && !is_better; ++halving, length *= 0.5) {
      std::vector<double> next(c);
      for (std::size_t i = 0; i < levels; ++i) next[i] -= length * change[i];
      if (!std::ranges::is_sorted(next, std::less_equal<>())) continue;
      const double nearer = worst(next);
      if (!(nearer < residual)) continue;
      c = std::move(next);
      residual = nearer;
      is_better = true;
    }
    if (!is_better) break;
  }
  if (!(residual <= 1e-12)) {
    throw std::runtime_error(fmt::format("no optimal codebook of {} levels: the largest residual is {} of a cell", levels, residual));
  }
  return c;
}

double panter_dite(std::size_t levels) {
  const double n = static_cast<double>(levels);
  return std::numbers::sqrt3 * std::numbers::pi / 2.0 / (n * n);
}

}  // namespace assay::oracles
