// Sorts the numbers of a trace by line, and counts which elements of a landmark they hold.
#include "harness/triage/sightings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace assay::harness {
namespace {

using families::Landmark;
using families::LandmarkElement;
using families::LandmarkFactor;
using metal::TracedOperation;

// Roundoffs of the types, in units of float's tolerance.
double coarseness_of(TracedOperation::Type type) {
  constexpr double of_half = 60, of_bfloat = 500;
  if (type == TracedOperation::Type::half) return of_half;
  return type == TracedOperation::Type::bfloat ? of_bfloat : 1;
}

// Few elements are met by chance if the tolerance is wide.
constexpr std::size_t kFew = 4;
constexpr double kStrict = 0.25;

bool holds(const std::vector<double>& numbers, double value, double tolerance) {
  const auto next = std::ranges::lower_bound(numbers, value - tolerance);
  return next != numbers.end() && *next <= value + tolerance;
}

double size_of_values(const ElementList& elements) {
  double size = 0;
  for (const LandmarkElement* element : elements) size = std::max(size, std::abs(element->values.front()));
  return size;
}

// `steps`: how many tolerances beside the values.
bool is_held(const std::vector<double>& numbers, const LandmarkElement& element, double factor, double tolerance, double size,
             double steps = 0) {
  // Sums of products are not rounded relative to themselves.
  constexpr double floor = 0.1;
  return std::ranges::any_of(element.values, [&](double value) {
    const double wanted = value * factor;
    const double allowed = tolerance * element.coarseness * (std::abs(wanted) + floor * size * std::abs(factor));
    return holds(numbers, wanted + steps * allowed, allowed);
  });
}

// The share of the elements that would be held if the numbers were others of the same density: what lies beside the values is met as often
// as they are by chance.
double chance_of(const std::vector<double>& numbers, const ElementList& elements, double factor, double tolerance) {
  constexpr std::size_t enough = 48;
  constexpr double first = 5, next = 3;
  if (elements.size() < kFew) tolerance *= kStrict;
  const double size = size_of_values(elements);
  const std::size_t rounds = std::max<std::size_t>(1, enough / (2 * elements.size()));
  const std::size_t stride = std::max<std::size_t>(1, elements.size() / enough);
  std::size_t met = 0, tried = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    const double steps = first + next * static_cast<double>(round);
    for (std::size_t i = 0; i < elements.size(); i += stride) {
      for (const double sign : {-1.0, 1.0}) {
        met += is_held(numbers, *elements[i], factor, tolerance, size, sign * steps) ? 1 : 0;
        ++tried;
      }
    }
  }
  return tried == 0 ? 0.0 : static_cast<double>(met) / static_cast<double>(tried);
}

// The same for inputs in half or bfloat, which are compared exactly: how often the numbers hold the negative of a value, which is as likely
// as the value itself and lies on the same grid.
double chance_of_load(const std::vector<double>& numbers, const ElementList& elements, double tolerance) {
  const auto met = std::ranges::count_if(elements, [&](const LandmarkElement* element) {
    const double value = element->values.front();
    return holds(numbers, -value, tolerance * std::abs(value));
  });
  return elements.empty() ? 0.0 : static_cast<double>(met) / static_cast<double>(elements.size());
}

void tidy(std::vector<double>& numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

}  // namespace

ElementList telling_elements(const std::vector<LandmarkElement>& elements, std::size_t row) {
  double size = 0;
  for (const LandmarkElement& element : elements) {
    if (element.row == row && std::isfinite(element.values.front())) size = std::max(size, std::abs(element.values.front()));
  }
  constexpr double tiny = 1e-4;
  ElementList telling;
  for (const LandmarkElement& element : elements) {
    const double value = element.values.front();
    if (element.row == row && std::isfinite(value) && std::abs(value) > tiny * size && value != 1.0) telling.push_back(&element);
  }
  return telling;
}

HeldElements cover(const std::vector<double>& numbers, const ElementList& elements, double factor, double tolerance, ElementList* missing) {
  HeldElements coverage{.held = 0, .all = elements.size(), .factor = factor, .factor_name = {}, .is_chance = false};
  if (numbers.empty() || elements.empty()) {
    if (missing != nullptr) *missing = elements;
    return coverage;
  }
  if (elements.size() < kFew) tolerance *= kStrict;
  const double size = size_of_values(elements);
  // A sample tells most lines from those that hold the landmark.
  constexpr std::size_t sample = 24;
  if (missing == nullptr && elements.size() > 2 * sample) {
    std::size_t held = 0;
    for (std::size_t i = 0; i < sample; ++i)
      held += is_held(numbers, *elements[i * elements.size() / sample], factor, tolerance, size) ? 1 : 0;
    if (held == 0) return coverage;
  }
  for (const LandmarkElement* element : elements) {
    if (is_held(numbers, *element, factor, tolerance, size)) {
      ++coverage.held;
    } else if (missing != nullptr) {
      missing->push_back(element);
    }
  }
  return coverage;
}

HeldElements best_cover(const std::vector<double>& numbers, const ElementList& elements, const Landmark& landmark,
                        const SightedPlace& place, double tolerance) {
  // Every input has some number that is near a computed one.
  if (place.is_input && !landmark.is_loaded) return {.held = 0, .all = elements.size()};
  // Where each element may have many values and a line many more numbers, some fit by chance.
  constexpr std::size_t many_values = 8, many_numbers = 8;
  const bool is_vague = !elements.empty() && elements.front()->values.size() >= many_values;
  if (is_vague && numbers.size() > many_numbers * elements.size()) return {.held = 0, .all = elements.size()};
  // Numbers in blocks are decoded in float.
  constexpr double exact = 1e-7, decoded = 5e-7;
  const double rounded = tolerance * place.coarseness;
  HeldElements best = cover(numbers, elements, 1, landmark.is_loaded ? (place.coarseness > 1 ? exact : decoded) : rounded);
  for (const LandmarkFactor& factor : landmark.factors) {
    if (best.held == best.all) break;
    HeldElements other = cover(numbers, elements, factor.value, rounded);
    if (other.held <= best.held) continue;
    best = std::move(other);
    best.factor_name = factor.name;
  }
  // Inputs are compared exactly, which says much of floats only.
  constexpr double few = 0.2, often = 0.5;
  const bool is_certain = landmark.is_loaded && (place.coarseness == 1 || best.factor != 1 || best.held == best.all);
  if (is_certain || best.share() < few) return best;
  const double chance = landmark.is_loaded ? chance_of_load(numbers, elements, exact) : chance_of(numbers, elements, best.factor, rounded);
  if (chance > often) {
    best.is_chance = best.share() >= landmark.enough;
    best.held = 0;
  } else if (best.held < best.all) {
    best.held = static_cast<std::size_t>(std::max(0.0, (best.share() - chance) / (1 - chance)) * static_cast<double>(best.all));
  }
  return best;
}

double nearest_number(const std::vector<double>& numbers, double value) {
  const auto next = std::ranges::lower_bound(numbers, value);
  if (next == numbers.end()) return numbers.back();
  if (next == numbers.begin() || *next - value < value - *std::prev(next)) return *next;
  return *std::prev(next);
}

std::string nearest_to(const LandmarkElement& element, const std::vector<double>& numbers) {
  if (numbers.empty()) return "this line has no number";
  return fmt::format("the nearest number is {:.6g}", nearest_number(numbers, element.values.front()));
}

Sightings::Sightings(const metal::ValueTrace& trace, const std::string& file) {
  std::map<std::tuple<std::uint32_t, std::string_view, std::uint32_t, TracedOperation::Type, TracedOperation::Kind>, std::size_t> known;
  const auto place_of = [&](std::uint32_t dispatch, const TracedOperation& operation) {
    const auto [found, is_new] =
        known.try_emplace({dispatch, operation.place.file, operation.place.line, operation.type, operation.kind}, places_.size());
    if (is_new) {
      places_.push_back({.line = operation.place.line,
                         .dispatch = dispatch,
                         .stores = operation.kind == TracedOperation::Kind::store,
                         .computes = operation.kind == TracedOperation::Kind::arithmetic,
                         .coarseness = coarseness_of(operation.type),
                         .is_input = false,
                         .is_own = operation.place.file == file});
    }
    return found->second;
  };
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, std::size_t> known_groups;
  for (const metal::TracedThread& thread : trace.threads) {
    const auto [found, is_new] =
        known_groups.try_emplace({thread.dispatch, static_cast<std::uint32_t>(thread.threadgroup.x),
                                  static_cast<std::uint32_t>(thread.threadgroup.y), static_cast<std::uint32_t>(thread.threadgroup.z)},
                                 groups_.size());
    if (is_new) groups_.push_back({thread.dispatch, {}});
    Group& group = groups_[found->second];
    for (const metal::TracedValue& value : thread.values) {
      const TracedOperation& operation = trace.operations[value.operation];
      if (operation.type == TracedOperation::Type::integer || operation.place.line == 0) continue;
      const double number = metal::number_of(value, operation.type);
      const std::size_t place = place_of(thread.dispatch, operation);
      if (group.numbers.size() <= place) group.numbers.resize(place + 1);
      if (std::isfinite(number)) group.numbers[place].push_back(number);
    }
  }
  for (Group& group : groups_) {
    group.numbers.resize(places_.size());
    for (std::vector<double>& numbers : group.numbers) tidy(numbers);
  }
}

void Sightings::mark_inputs(const std::vector<double>& inputs) {
  const std::size_t count = places_.size();
  for (std::size_t place = 0; place < count; ++place) {
    std::size_t all = 0, known = 0;
    for (const Group& group : groups_) {
      all += group.numbers[place].size();
      known += static_cast<std::size_t>(std::ranges::count_if(
          group.numbers[place], [&](double number) { return number == 0 || std::ranges::binary_search(inputs, number); }));
    }
    // Of 20 numbers, 19.
    places_[place].is_input = all != 0 && 20 * known >= 19 * all;
    if (places_[place].is_input && known < all) add_rest(place, inputs);
  }
}

void Sightings::add_rest(std::size_t place, const std::vector<double>& inputs) {
  places_.push_back(places_[place]);
  places_.back().is_input = false;
  for (Group& group : groups_) {
    std::vector<double> rest;
    std::ranges::copy_if(group.numbers[place], std::back_inserter(rest),
                         [&](double number) { return number != 0 && !std::ranges::binary_search(inputs, number); });
    group.numbers.push_back(std::move(rest));
  }
}

SightedNumbers Sightings::numbers_for(const Landmark& landmark, std::size_t row, double tolerance) const {
  constexpr double most = 0.9;
  const ElementList elements = telling_elements(landmark.elements, row);
  std::vector<bool> works(groups_.size());
  std::vector<std::uint32_t> dispatches;  // with a threadgroup that works on the row
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (std::size_t place = 0; place < places_.size() && !works[g]; ++place) {
      if (!groups_[g].numbers[place].empty())
        works[g] = best_cover(groups_[g].numbers[place], elements, landmark, places_[place], tolerance).share() >= most;
    }
    if (works[g]) dispatches.push_back(groups_[g].dispatch);
  }
  SightedNumbers merged(places_.size());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (!works[g] && std::ranges::find(dispatches, groups_[g].dispatch) != dispatches.end()) continue;
    for (std::size_t place = 0; place < places_.size(); ++place)
      merged[place].insert(merged[place].end(), groups_[g].numbers[place].begin(), groups_[g].numbers[place].end());
  }
  for (std::vector<double>& numbers : merged) tidy(numbers);
  return merged;
}

}  // namespace assay::harness
