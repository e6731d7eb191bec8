// Records for `explain`, under the policy `shadow`, how much each operation rounds away, and where a large error originates.
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

// A number, and its value without any rounding.
struct Shadowed {
  double value = 0, shadow = 0;
};

class ShadowWatch : public Observer {
 public:
  ShadowWatch(double large_error, std::optional<SourceLocation> rounded_line);

  // Call it at the start of a dispatch of this kernel.
  void begin(const abi::Module& module, const std::string& function);

  void prepare(abi::Lane& lane) override {
    lane.weights = kernel_->weights.data();
    lane.is_watched = is_watching() ? 1 : 0;
  }

  // Called after an operation of the kernel; `rows` are those of abi::RoundedRow.
  void rounded(const Lane& lane, std::uint32_t operation, const double* rows);
  // Called for a component of an operation that lanes do together at a site. `exact` is the unrounded result on the operands' values.
  // Returns the shadow of the result.
  double rounded_together(const Lane& lane, std::uint32_t site, Shadowed result, double exact, std::span<const Shadowed> operands);

  // By ascending line.
  [[nodiscard]] std::vector<LineRounding> roundings() const;
  [[nodiscard]] const std::optional<ErrorBirth>& birth() const { return birth_; }

 private:
  struct Loss {
    std::uint64_t operations = 0;
    double largest = 0, sum = 0;  // relative
  };
  // Indexed by operation, then by site.
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
  Kernel* kernel_ = nullptr;  // of the current dispatch
  std::optional<ErrorBirth> birth_;
};

}  // namespace assay::metal::execute
