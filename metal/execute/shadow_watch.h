// What the policy `shadow` records for `explain`: how much each operation rounds away, and where a large error is born.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metal/execute/observer.h"
#include "metal/execute/rounding.h"
#include "metal/lane_abi.h"
#include "metal/source_location.h"

namespace assay::metal::execute {

// A number and what it would be without any rounding.
struct Shadowed {
  double value = 0, shadow = 0;
};

class ShadowWatch : public Observer {
 public:
  ShadowWatch(double large_error, std::optional<SourceLocation> rounded_line);

  // A dispatch of this kernel begins.
  void begin(const abi::Module& module, const std::string& function);

  void prepare(abi::Lane& lane) override {
    lane.weights = kernel_->weights.data();
    lane.is_watched = is_watching() ? 1 : 0;
  }

  // An operation of the kernel has been executed; `rows` are those of abi::RoundedRow.
  void rounded(const Lane& lane, std::uint32_t operation, const double* rows);
  // A component of what lanes did together at a site: `exact` is the result on the operands' values without its rounding. Returns the
  // shadow that the result gets.
  double rounded_together(const Lane& lane, std::uint32_t site, Shadowed result, double exact, std::span<const Shadowed> operands);

  // Lines ascending.
  [[nodiscard]] std::vector<LineRounding> roundings() const;
  [[nodiscard]] const std::optional<ErrorBirth>& birth() const { return birth_; }

 private:
  struct Loss {
    std::uint64_t operations = 0;
    double largest = 0, sum = 0;  // relative
  };
  // Of operations, and behind them of sites.
  struct Kernel {
    const abi::Module* module = nullptr;
    std::string function;
    std::vector<Loss> losses;
    std::vector<double> weights;
  };

  [[nodiscard]] bool is_watching() const { return !rounded_line_; }
  void look(const Lane& lane, std::uint32_t number, Shadowed result, double exact, std::span<const Shadowed> operands);
  [[nodiscard]] static SourceLocation place(const Kernel& kernel, std::uint32_t number);
  [[nodiscard]] static std::string name(const Kernel& kernel, std::uint32_t number);

  double large_error_;
  std::optional<SourceLocation> rounded_line_;
  std::map<const abi::Module*, Kernel> kernels_;
  Kernel* kernel_ = nullptr;  // of the present dispatch
  std::optional<ErrorBirth> birth_;
};

}  // namespace assay::metal::execute
