// perform() for kernels that carry shadows: moves and combines the shadows in operations that lanes do together.
#include "metal/execute/shadowed_collectives.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <vector>

#include "metal/execute/collectives.h"
#include "metal/execute/operation_codes.h"
#include "metal/execute/scalars.h"
#include "metal/execute/shadow_cells.h"
#include "metal/execute/shadow_watch.h"

namespace assay::metal::execute {

namespace {

enum class Fold { sum, product, choice };

std::optional<abi::FloatType> float_type(std::uint32_t scalar_code) {
  switch (static_cast<ScalarCode>(scalar_code)) {
    case ScalarCode::float32:
      return abi::kFloat;
    case ScalarCode::half:
      return abi::kHalf;
    case ScalarCode::bfloat:
      return abi::kBfloat;
    default:
      return std::nullopt;
  }
}

// The numbers of the lanes, by lane.
using Numbers = std::array<Shadowed, abi::kLanes>;

double settle(const SimdGroup& group, const Lane& lane, Shadowed result, double exact, std::span<const Shadowed> operands) {
  // The cast is safe: dispatches of such kernels have no other observer.
  auto* watch = static_cast<ShadowWatch*>(lane.observer);
  return watch == nullptr ? result.shadow : watch->rounded_together(lane, group.sites[lane.index], result, exact, operands);
}

// ---- stores

void store_all(SimdGroup& group, LaneMask participants) {
  perform(group, participants);
  auto& cells = ShadowCells::instance();
  for_each_lane(group, participants,
                [&](Lane& lane) { cells.copy(lane.request.pointers[0], lane.request.pointers[1], lane.request.bytes); });
}

// ---- reductions

double fold(Fold how, double a, double b) { return how == Fold::product ? a * b : a + b; }

// The shadow of lane `self`'s result, and the exact result on the values, from the operands of the lanes of its group.
Shadowed folded(const Numbers& before, LaneMask participants, Reduction operation, std::uint32_t width, std::uint32_t self, double result) {
  const std::uint32_t base = self & ~(width - 1);
  const bool is_product = operation == Reduction::product || operation == Reduction::prefix_inclusive_product ||
                          operation == Reduction::prefix_exclusive_product;
  const Fold how = operation == Reduction::min || operation == Reduction::max ? Fold::choice : is_product ? Fold::product : Fold::sum;
  const bool is_prefix = operation >= Reduction::prefix_inclusive_sum;
  const bool is_exclusive = operation == Reduction::prefix_exclusive_sum || operation == Reduction::prefix_exclusive_product;
  Shadowed total{is_product ? 1.0 : 0.0, is_product ? 1.0 : 0.0};
  for (std::uint32_t lane = base; lane < base + width; ++lane) {
    if ((participants >> lane & 1u) == 0 || (is_prefix && (lane > self || (lane == self && is_exclusive)))) continue;
    if (how == Fold::choice) {
      // The shadow of the operand that the values selected.
      if (before[lane].value == result) return {result, before[lane].shadow};
      continue;
    }
    total = {fold(how, total.value, before[lane].value), fold(how, total.shadow, before[lane].shadow)};
  }
  return how == Fold::choice ? Shadowed{result, result} : total;
}

void reduce_all(SimdGroup& group, LaneMask participants, const Request& first) {
  const auto type = float_type(first.words[1]);
  if (!type) return perform(group, participants);
  auto& cells = ShadowCells::instance();
  const auto operation = static_cast<Reduction>(first.words[0]);
  const std::uint32_t count = first.words[2];
  const std::uint32_t width = first.words[3];
  const auto place = [&](const Lane& lane, std::uint32_t component) {
    return static_cast<std::byte*>(lane.request.pointers[0]) + component * bytes_of(*type);
  };
  std::vector<Numbers> before(count);
  for_each_lane(group, participants, [&](Lane& lane) {
    for (std::uint32_t component = 0; component < count; ++component)
      before[component][lane.index] = {number_at(place(lane, component), *type), cells.read(place(lane, component), *type)};
  });
  perform(group, participants);
  std::vector<Shadowed> operands;
  for (std::uint32_t component = 0; component < count; ++component) {
    operands.clear();
    for_each_lane(group, participants, [&](Lane& lane) { operands.push_back(before[component][lane.index]); });
    std::optional<double> common;
    for_each_lane(group, participants, [&](Lane& lane) {
      const double value = number_at(place(lane, component), *type);
      // All lanes of a whole simdgroup get the same result, so it is one rounding.
      if (common && operation < Reduction::prefix_inclusive_sum && width == abi::kLanes)
        return cells.write(place(lane, component), *type, *common);
      const Shadowed result = folded(before[component], participants, operation, width, lane.index, value);
      common = settle(group, lane, {value, result.shadow}, result.value, operands);
      cells.write(place(lane, component), *type, *common);
    });
  }
}

// ---- shuffles

// First each lane sends its own number. From this, each lane learns which lane its value comes from.
void shuffle_all(SimdGroup& group, LaneMask participants, const Request& first) {
  constexpr std::uint32_t kFill = abi::kLanes;
  constexpr std::size_t kMostCells = 64 / abi::kCellGranule;
  const std::size_t bytes = first.words[1];
  const std::size_t count = (bytes + abi::kCellGranule - 1) / abi::kCellGranule;
  const bool is_filling = first.pointers[1] != nullptr;
  auto& cells = ShadowCells::instance();
  const auto cells_at = [&](const void* address) {
    return cells.data() + (reinterpret_cast<std::uintptr_t>(address) & (abi::kCellWindow - 1)) / abi::kCellGranule;
  };
  struct Sent {
    std::array<abi::Cell, kMostCells> cells;
  };
  std::vector<Sent> sent(std::size_t{2} * abi::kLanes);
  std::array<std::uint32_t, abi::kLanes> sources{}, fills{};
  std::array<std::array<void*, 2>, abi::kLanes> places{};
  for_each_lane(group, participants, [&](Lane& lane) {
    auto& request = lane.request;
    std::copy_n(cells_at(request.pointers[0]), count, sent[lane.index].cells.begin());
    if (is_filling) std::copy_n(cells_at(request.pointers[1]), count, sent[kFill + lane.index].cells.begin());
    places[lane.index] = {request.pointers[0], request.pointers[1]};
    sources[lane.index] = lane.index;
    fills[lane.index] = kFill + lane.index;
    request.pointers[0] = &sources[lane.index];
    request.pointers[1] = &fills[lane.index];
    request.words[1] = sizeof(std::uint32_t);
  });
  perform(group, participants);
  for_each_lane(group, participants, [&](Lane& lane) {
    lane.request.pointers[0] = places[lane.index][0];
    lane.request.pointers[1] = places[lane.index][1];
    lane.request.words[1] = static_cast<std::uint32_t>(bytes);
  });
  perform(group, participants);
  for_each_lane(group, participants,
                [&](Lane& lane) { std::copy_n(sent[sources[lane.index]].cells.begin(), count, cells_at(lane.request.pointers[0])); });
}

// ---- matrices

constexpr std::size_t kMatrixSide = 8;
using Matrix = std::array<std::array<Shadowed, kMatrixSide>, kMatrixSide>;

void multiply_all(SimdGroup& group, LaneMask participants) {
  Matrix a{}, b{}, c{};
  const auto elements = [&](const Lane& lane, Matrix& matrix, const MatrixOperands::Words& words, std::size_t first_shadow) {
    const std::size_t place = place_in_matrix(lane.index);
    const auto values = std::bit_cast<std::array<float, 2>>(words[place]);
    const auto* shadows = static_cast<const double*>(lane.request.pointers[0]) + first_shadow;
    for (std::size_t element = 0; element < 2; ++element)
      matrix[place * 2 / kMatrixSide][place * 2 % kMatrixSide + element] = {static_cast<double>(values[element]), shadows[element]};
  };
  for_each_lane(group, participants, [&](Lane& lane) {
    elements(lane, a, group.matrices.a, 0);
    elements(lane, b, group.matrices.b, 2);
    elements(lane, c, group.matrices.c, 4);
  });
  perform(group, participants);
  const bool is_explained = group.threadgroup->observer() != nullptr;
  std::vector<Shadowed> operands;
  for_each_lane(group, participants, [&](Lane& lane) {
    const std::size_t place = place_in_matrix(lane.index);
    const auto results = std::bit_cast<std::array<float, 2>>(group.matrices.c[place]);
    auto* shadows = static_cast<double*>(lane.request.pointers[0]);
    for (std::size_t element = 0; element < 2; ++element) {
      const std::size_t row = place * 2 / kMatrixSide;
      const std::size_t column = place * 2 % kMatrixSide + element;
      Shadowed sum = c[row][column];
      for (std::size_t k = 0; k < kMatrixSide; ++k) sum.shadow += a[row][k].shadow * b[k][column].shadow;
      if (is_explained) {
        operands.assign(1, c[row][column]);
        for (std::size_t k = 0; k < kMatrixSide; ++k) {
          sum.value += a[row][k].value * b[k][column].value;
          operands.push_back(a[row][k]);
          operands.push_back(b[k][column]);
        }
        sum.shadow = settle(group, lane, {static_cast<double>(results[element]), sum.shadow}, sum.value, operands);
      }
      shadows[element] = sum.shadow;
    }
  });
}

// ---- atomics

void update_all(SimdGroup& group, LaneMask participants, const Request& first) {
  const auto type = float_type(first.words[1]);
  if (!type) return perform(group, participants);
  auto& cells = ShadowCells::instance();
  // One lane after the other, as in perform().
  for_each_lane(group, participants, [&](Lane& lane) {
    const auto& request = lane.request;
    void* object = request.pointers[0];
    void* operand = request.pointers[1];
    const Shadowed old{number_at(object, *type), cells.read(object, *type)};
    const Shadowed mine{number_at(operand, *type), cells.read(operand, *type)};
    const std::uint32_t before = load_scalar<std::uint32_t>(object);
    perform(group, LaneMask{1} << lane.index);
    const double value = number_at(object, *type);
    const auto operation = static_cast<AtomicOperation>(request.words[0]);
    Shadowed result{value, old.shadow};
    double exact = value;
    if (operation == AtomicOperation::add || operation == AtomicOperation::subtract) {
      const double sign = operation == AtomicOperation::add ? 1.0 : -1.0;
      result.shadow = old.shadow + sign * mine.shadow;
      exact = old.value + sign * mine.value;
    } else if (operation == AtomicOperation::compare_exchange) {
      if (load_scalar<std::uint32_t>(object) != before) result.shadow = cells.read(request.pointers[2], *type);
    } else if (operation == AtomicOperation::store || operation == AtomicOperation::exchange ||
               (operation != AtomicOperation::load && value == mine.value)) {
      result.shadow = mine.shadow;
    }
    if (operation != AtomicOperation::load) {
      const std::array operands{old, mine};
      cells.write(object, *type, settle(group, lane, result, exact, operands));
    }
    cells.write(operand, *type, old.shadow);
  });
}

}  // namespace

void perform_shadowed(SimdGroup& group, LaneMask participants) {
  const auto leader = static_cast<std::size_t>(std::countr_zero(participants));
  const Request& first = group.lanes[leader].request;
  switch (static_cast<abi::Service>(group.threadgroup->module().sites[group.sites[leader]].service)) {
    case abi::kStore:
      return store_all(group, participants);
    case abi::kSimdReduce:
      return reduce_all(group, participants, first);
    case abi::kSimdShuffle:
      return shuffle_all(group, participants, first);
    case abi::kMatrixMultiply:
      return multiply_all(group, participants);
    case abi::kAtomic:
      return update_all(group, participants, first);
    default:
      return perform(group, participants);
  }
}

}  // namespace assay::metal::execute
