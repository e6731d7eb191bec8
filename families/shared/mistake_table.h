// Helpers for writing tables of known mistakes: a row is a change of type `Change` to the family's model `Of`.
#pragma once

#include <any>
#include <array>
#include <functional>
#include <numbers>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "families/mistakes.h"

namespace assay::families {

// Factors that kernels omit or apply twice.
[[nodiscard]] inline std::vector<double> usual_factors(const Model&) {
  return {1.0 / 512,
          1.0 / 256,
          1.0 / 16,
          0.044194173824159216,
          0.25,
          0.5,
          std::numbers::sqrt2 / 2,
          0.9,
          1.1,
          std::numbers::sqrt2,
          2.0,
          4.0,
          16.0,
          22.627416997969522,
          256.0,
          512.0,
          -1.0};
}

struct SkippedWeight {
  double weight = 0, below_maximum = 0;  // a weight, and how far below the maximum its score is: -ln(weight)
};

// Below what kernels skip weights.
inline constexpr std::array<SkippedWeight, 5> kSkippedWeights = {{{1e-2, 2 * std::numbers::ln10},
                                                                  {1e-3, 3 * std::numbers::ln10},
                                                                  {1e-4, 4 * std::numbers::ln10},
                                                                  {1e-5, 5 * std::numbers::ln10},
                                                                  {1e-6, 6 * std::numbers::ln10}}};

template <typename Of, typename Change>
class MistakeTable {
 public:
  // Adds one change, given as a function that makes it.
  template <typename Make>
    requires requires(const Make& make, Change& change) { make(change); }
  void add(std::string_view kind, std::string says, const Make& make, int rank = 0) {
    add_row(kind, std::move(says), [make](Change& change, double) { make(change); }, rank);
  }

  // One member with another value.
  template <typename Member>
  void add(std::string_view kind, std::string says, Member Change::* member, std::type_identity_t<Member> value, int rank = 0) {
    add(kind, std::move(says), [member, value](Change& change) { change.*member = value; }, rank);
  }

  // The same with a factor that is searched for, starting with the given ones.
  template <typename Make>
  void add_factor(std::string_view kind, std::string says, std::function<std::vector<double>(const Model&)> factors, const Make& make,
                  int rank = 0) {
    add_row(kind, std::move(says), make, rank);
    rows_.back().factors = std::move(factors);
  }

  [[nodiscard]] std::vector<Mistake> take() { return std::move(rows_); }

 private:
  using MakeWithFactor = std::function<void(Change&, double)>;

  void add_row(std::string_view kind, std::string says, const MakeWithFactor& make, int rank) {
    const auto predict = [make](const Model& model, double factor, const MakeWithFactor* other, double other_factor) {
      Change change;
      make(change, factor);
      if (other != nullptr) (*other)(change, other_factor);
      return static_cast<const Of&>(model).evaluate(change);
    };
    rows_.push_back({.kind = kind,
                     .says = std::move(says),
                     .predict = [predict](const Model& model, double factor) { return predict(model, factor, nullptr, 1); },
                     .rank = rank,
                     .change = make,
                     .predict_both =
                         [predict](const Model& model, double factor, const Mistake& other, double other_factor) {
                           return predict(model, factor, std::any_cast<MakeWithFactor>(&other.change), other_factor);
                         }});
  }

  std::vector<Mistake> rows_;
};

}  // namespace assay::families
