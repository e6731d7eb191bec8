// One case of a variant of family `custom`: the layouts of its tensors, and its inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "families/family.h"
#include "fixtures/tensor.h"
#include "kernels/expression.h"
#include "kernels/variant.h"

namespace assay::families {

// What the closures of a variant's family share.
struct CustomVariant {
  explicit CustomVariant(const kernels::Variant& of);

  kernels::Variant variant;
  std::filesystem::path folder;
  std::vector<std::string> words;  // "rows{rows}", by axis

  [[nodiscard]] const kernels::CustomDescription& description() const { return *variant.custom; }
};

// The names of a case in expressions: axes, and tensors once their layouts are known.
class CustomNames final : public kernels::Names {
 public:
  CustomNames(const kernels::CustomDescription& description, std::span<const std::int64_t> values);
  void add(std::string name, kernels::NamedTensor tensor) { tensors_.insert_or_assign(std::move(name), std::move(tensor)); }
  [[nodiscard]] std::optional<kernels::Value> value(std::string_view name) const override;
  [[nodiscard]] const kernels::NamedTensor* tensor(std::string_view name) const override;
  [[nodiscard]] std::vector<std::string> all() const override;

 private:
  std::map<std::string, std::int64_t, std::less<>> values_;
  std::map<std::string, kernels::NamedTensor, std::less<>> tensors_;
};

struct CustomLayout {
  const kernels::CustomTensor* tensor = nullptr;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> places;  // of each element in the buffer, in row-major order; empty: one after the other from 0 on
  std::uint64_t count = 0;            // elements
  std::uint64_t extent = 0;           // elements of the buffer, with gaps

  [[nodiscard]] std::uint64_t place(std::uint64_t element) const { return places.empty() ? element : places[element]; }
  [[nodiscard]] std::size_t width() const { return metal::size_of(tensor->type); }
  [[nodiscard]] std::size_t row_length() const { return shape.back(); }
};

// Throws std::invalid_argument for expressions without a value, sizes that no tensor has, and elements that share a place.
class CustomCase {
 public:
  CustomCase(const CustomVariant& of, const Case& test_case);

  [[nodiscard]] const CustomVariant& variant() const { return *of_; }
  [[nodiscard]] const std::shared_ptr<const CustomNames>& names() const { return names_; }
  [[nodiscard]] const std::vector<CustomLayout>& layouts() const { return layouts_; }  // in the order of [tensors]
  [[nodiscard]] std::vector<const CustomLayout*> outputs() const;
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::span<const std::int64_t> values() const { return values_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  // The recorded file of the case, for a variant with such files.
  [[nodiscard]] std::filesystem::path recorded() const;

  // The values of the inputs, by tensor; empty for outputs. Throws fixtures::FileError for a recorded file that cannot be used.
  [[nodiscard]] std::vector<std::vector<double>> inputs() const;

 private:
  [[nodiscard]] std::vector<double> generated(const CustomLayout& layout) const;

  const CustomVariant* of_;
  std::vector<std::int64_t> values_;
  std::string fixture_;
  std::uint64_t seed_;
  std::string name_;
  std::shared_ptr<const CustomNames> names_;
  std::vector<CustomLayout> layouts_;
};

// A floating-point type; nullptr for integers.
[[nodiscard]] const oracles::OutputFormat* format_of(metal::ScalarType type);
// The number rounded to the type, which is a floating-point type.
[[nodiscard]] double rounded_to(metal::ScalarType type, double value);
// The bytes of a number that the type represents; and the reverse.
void store(metal::ScalarType type, double value, std::span<std::byte> to);
[[nodiscard]] double load(metal::ScalarType type, std::span<const std::byte> from);
// Whether a value of this size can be rounded to a finite number of the type; for integers, whether it is one of them.
[[nodiscard]] bool can_hold(metal::ScalarType type, double value);

}  // namespace assay::families
