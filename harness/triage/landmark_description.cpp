// Describes the first landmark that a kernel does not reach: by a factor, by the part that it holds, or by what is right before it.
#include "harness/triage/landmark_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "harness/triage/landmark_numbers.h"
#include "harness/triage/localise.h"

namespace assay::harness {
namespace {

using families::Landmark;
using families::LandmarkElement;

// Says where a match parts.
class Describer : public LandmarkNumbers {
 public:
  using LandmarkNumbers::LandmarkNumbers;

  [[nodiscard]] std::optional<LandmarkFinding> find() const {
    if (std::ranges::none_of(matched_, &MatchedLandmark::is_reached)) return std::nullopt;
    // First what is certain: all values are wrong by one factor, or wrong although they are computed from right ones.
    for (std::size_t i = 0; i < matched_.size(); ++i) {
      LandmarkFinding finding;
      if (!is_wrong(i) || (!parts_at(i) && !(knows_needs(i) && describe_factor(i, finding)))) continue;
      for (std::size_t need = 0; need < i; ++need) {
        if (!is_number_of_key(landmarks_.list[need]) || !is_wrong(need) || !match_.needs(i, need)) continue;
        if (LandmarkFinding of_need = describe(need); of_need.line != 0) return of_need;
      }
      return describe(i);
    }
    for (std::size_t i = 0; i < matched_.size(); ++i) {
      if (!is_wrong(i) || (landmarks_.list[i].is_optional && !landmarks_.list[i].is_loaded)) continue;
      LandmarkFinding finding = describe(i);
      // Kernels need not hold decoded keys and values.
      if (landmarks_.list[i].is_loaded && finding.line == 0) continue;
      return finding;
    }
    return describe_misplaced();
  }

 private:
  [[nodiscard]] LandmarkFinding started(std::size_t wrong) const {
    LandmarkFinding finding;
    finding.file = file_;
    finding.landmark = landmarks_.list[wrong].name;
    finding.mistake = landmarks_.list[wrong].mistake;
    finding.all = matched_.size();
    while (finding.first_wrong < finding.all && (!is_wrong(finding.first_wrong) || landmarks_.list[finding.first_wrong].is_optional))
      ++finding.first_wrong;
    std::set<std::uint32_t> executed;
    for (std::size_t i = 0; i < matched_.size(); ++i) {
      // What is computed from the wrong one only seems right.
      if (i == wrong || !matched_[i].is_reached || match_.depends(i, wrong)) continue;
      if (matched_[i].whole.empty()) continue;
      (landmarks_.list[i].is_loaded ? finding.right_loads : finding.right).push_back(matched_[i].first.second);
      if (is_needed(wrong, i)) finding.needed.emplace_back(matched_[i].whole.begin(), matched_[i].whole.end());
    }
    for (const SightedPlace& place : sightings_.places()) {
      if (place.is_own) executed.insert(place.line);
    }
    finding.executed.assign(executed.begin(), executed.end());
    add_settled(wrong, finding);
    return finding;
  }

  // Lines that compute or store something right that the wrong one is not computed from: what they do is known.
  void add_settled(std::size_t wrong, LandmarkFinding& finding) const {
    std::set<std::uint32_t> lines;
    for (std::size_t i = 0; i < matched_.size(); ++i) {
      if (!matched_[i].is_reached || !matched_[i].is_strong || match_.depends(wrong, i) || match_.depends(i, wrong)) continue;
      for (const Sighting& sighting : matched_[i].sightings) {
        const SightedPlace& place = sightings_.places()[sighting.place];
        if (sighting.held == sighting.all && (place.computes || place.stores)) lines.insert(place.line);
      }
    }
    finding.settled.assign(lines.begin(), lines.end());
  }

  // Lines that load other inputs wrongly, or hold other values that are wrong although they are computed from right ones: what they have in
  // common with the first is wrong.
  void add_other_wrong(std::size_t wrong, LandmarkFinding& finding) const {
    for (std::size_t i = wrong + 1; i < matched_.size() && finding.has_factor; ++i) {
      LandmarkFinding other;
      if (is_wrong(i) && !match_.depends(i, wrong) && describe_factor(i, other)) finding.also_wrong.push_back(other.line);
    }
    for (std::size_t i = wrong + 1; i < matched_.size() && landmarks_.list[wrong].is_loaded; ++i) {
      if (!landmarks_.list[i].is_loaded || !matched_[i].says_something || matched_[i].is_reached || match_.is_excused(i)) continue;
      LandmarkFinding other;
      if (describe_part(i, other) || describe_other(landmarks_.list[i], other)) finding.also_wrong.push_back(other.line);
    }
    std::erase(finding.also_wrong, finding.line);
  }

  [[nodiscard]] LandmarkFinding describe(std::size_t wrong) const {
    LandmarkFinding finding = started(wrong);
    const Landmark& landmark = landmarks_.list[wrong];
    const bool found = describe_factor(wrong, finding) || describe_vanished(wrong, finding) ||
                       (landmark.is_loaded && describe_unrounded(wrong, finding)) || describe_part(wrong, finding) ||
                       (landmark.is_loaded && (describe_other(landmark, finding) || describe_exchanged(wrong, finding)));
    if (!found && describe_handed_over(wrong, finding)) return finding;
    if (!found) {
      finding.is_missing = is_keyless(wrong);
      finding.sentence = finding.is_missing
                             ? fmt::format("no line holds anything of the keys that{} sees{}", row_names_[0].empty() ? " a row" : in_row(0),
                                           right_before(wrong))
                             : fmt::format("no line holds the {} that a right kernel has{}", plural(landmark), right_before(wrong));
      constexpr double little = 0.3, much = 0.8;
      finding.confidence = parts_at(wrong) ? much : little;
    }
    add_other_wrong(wrong, finding);
    constexpr double half = 0.5;
    finding.is_sure = (finding.has_factor && knows_needs(wrong)) || parts_at(wrong) ||
                      (landmark.is_loaded && finding.confidence >= half && has_several(wrong));
    finding.is_load = landmark.is_loaded || reads_wrong_place(wrong);
    finding.is_place = finding.is_place || reads_wrong_place(wrong);
    for (std::size_t i = 0; i < matched_.size() && finding.is_load; ++i) {
      const bool is_right =
          i != wrong && landmarks_.list[i].is_loaded && matched_[i].is_reached && matched_[i].first.second == finding.line;
      finding.is_shared = finding.is_shared || is_right;
    }
    std::erase(finding.right, finding.line);
    std::erase(finding.right_loads, finding.line);
    std::erase(finding.settled, finding.line);
    return finding;
  }

  // A place that holds a part of the values.
  [[nodiscard]] bool describe_part(std::size_t wrong, LandmarkFinding& finding) const {
    const Landmark& landmark = landmarks_.list[wrong];
    std::vector<Sighting> sightings = matched_[wrong].sightings;
    // A line that has what it is computed from holds some of it by chance.
    std::erase_if(sightings, [&](const Sighting& sighting) {
      const std::uint32_t line = sightings_.places()[sighting.place].line;
      return !landmark.is_loaded && std::ranges::any_of(landmark.needs, [&](std::size_t need) {
        return matched_[need].is_reached && !landmarks_.list[need].is_loaded && matched_[need].whole.contains(line);
      });
    });
    if (!landmark.is_loaded) std::erase_if(sightings, [&](const Sighting& sighting) { return is_in_front(wrong, sighting.place); });
    // Where each element may have one of many values, many are met by chance.
    constexpr std::size_t many_values = 8;
    const bool is_vague = !landmark.elements.empty() && landmark.elements.front().values.size() >= many_values;
    const double least = landmark.is_loaded ? 0.2 : is_vague ? 0.75 : 0.4;
    if (sightings.empty() || sightings.front().share() < least || sightings.front().held < 2) return describe_few(wrong, finding);
    // Loads hold inputs alone; elsewhere some may occur by chance.
    const auto loads = std::ranges::find_if(sightings, [&](const Sighting& sighting) {
      return landmark.is_loaded && sightings_.places()[sighting.place].is_input && sighting.share() >= least;
    });
    if (landmark.is_optional && loads == sightings.end()) return false;
    const std::size_t place = (loads == sightings.end() ? sightings.begin() : loads)->place;
    finding.line = sightings_.places()[place].line;
    ElementList missing;
    std::size_t of_row = 0, all = 0;
    for (std::size_t row = 0; row < landmarks_.rows.size() && missing.empty(); ++row) {
      of_row = row;
      const ElementList telling = telling_elements(landmark.elements, row);
      all = telling.size();
      const HeldElements best = best_cover(numbers_[row][place], telling, landmark, sightings_.places()[place], match_.tolerance());
      static_cast<void>(cover(numbers_[row][place], telling, best.factor, match_.tolerance_of(place), &missing));
    }
    if (missing.empty()) return false;
    const std::set<std::size_t> lost = lost_keys(landmark, of_row, missing);
    // Where whole keys are left out, others may be taken instead, but not by this line.
    const bool is_left_out = !lost.empty() && is_number_of_key(landmark) && are_skipped(wrong, lost);
    if (!lost.empty() && !is_left_out && landmark.is_loaded && reads_others(landmark, of_row, place)) {
      const std::string_view plural_end = lost.size() == 1 ? "" : "s";
      finding.sentence = fmt::format("this line reads other rows in place of key{} {}{}", plural_end, ranges_text(lost), in_row(of_row));
    } else if (!lost.empty()) {
      finding.is_missing = is_left_out || !landmark.is_loaded || !reads_other_input_of_keys(wrong);
      finding.is_inside = !are_last(landmark, of_row, lost);
      finding.sentence = fmt::format("this line never holds the {} of key{} {}{}", plural(landmark), lost.size() == 1 ? "" : "s",
                                     ranges_text(lost), in_row(of_row));
    } else {
      const LandmarkElement& first = *missing.front();
      finding.sentence =
          fmt::format("{} of {} {} are wrong here{}: {} should be {:.6g}, and {}", missing.size(), all, plural(landmark), in_row(of_row),
                      named(landmark, first), first.values.front(), nearest_to(first, numbers_[of_row][place]));
    }
    finding.is_place = landmark.is_loaded && 2 * missing.size() > all && !has_right_coordinate(landmark, of_row, missing);
    finding.confidence = sightings.front().share();
    return true;
  }

  // Whether its line comes before all that has what the wrong one is computed from.
  [[nodiscard]] bool is_in_front(std::size_t wrong, std::size_t place) const {
    const SightedPlace& where = sightings_.places()[place];
    std::pair<std::uint32_t, std::uint32_t> last = {};
    for (std::size_t need = 0; need < wrong; ++need) {
      if (is_needed(wrong, need) && matched_[need].is_reached && !matched_[need].whole.empty()) last = std::max(last, matched_[need].first);
    }
    return std::pair(where.dispatch, where.line) < last;
  }

  // Whether a place reads as many numbers of the tensor as the row needs: other rows in place of those that are missing.
  [[nodiscard]] bool reads_others(const Landmark& landmark, std::size_t row, std::size_t place) const {
    std::set<double> wanted;
    for (const LandmarkElement* element : telling_elements(landmark.elements, row)) wanted.insert(element->values.front());
    std::set<double> others;
    for (const LandmarkElement& other : landmark.others) {
      const double number = other.values.front();
      if (!wanted.contains(number) && std::ranges::binary_search(numbers_[row][place], number)) others.insert(number);
    }
    std::size_t held = 0;
    for (const double number : wanted) held += std::ranges::binary_search(numbers_[row][place], number) ? 1 : 0;
    return 2 * others.size() >= wanted.size() - held;
  }

  // Whether another input is read for every key: then the loops are right, and the line reads a row twice.
  [[nodiscard]] bool reads_other_input_of_keys(std::size_t wrong) const {
    for (std::size_t i = 0; i < matched_.size(); ++i) {
      const Landmark& other = landmarks_.list[i];
      if (i != wrong && other.is_loaded && matched_[i].is_reached && !other.elements.empty() && other.elements.front().key >= 0)
        return true;
    }
    return false;
  }

  // Whether some coordinate is right for all keys: then what is wrong is the place within a row, and not that of the row.
  [[nodiscard]] static bool has_right_coordinate(const Landmark& landmark, std::size_t row, const ElementList& missing) {
    std::set<std::int64_t> all, wrong, keys;
    for (const LandmarkElement* element : telling_elements(landmark.elements, row)) {
      all.insert(element->coordinate);
      keys.insert(element->key);
    }
    for (const LandmarkElement* element : missing) wrong.insert(element->coordinate);
    constexpr std::size_t several = 4;
    return keys.size() >= several && wrong.size() < all.size();
  }

  // A place that loads other elements of the same tensor.
  [[nodiscard]] bool describe_other(const Landmark& landmark, LandmarkFinding& finding) const {
    std::vector<double> tensor;
    for (const LandmarkElement& other : landmark.others) tensor.push_back(other.values.front());
    if (tensor.empty()) return false;
    std::ranges::sort(tensor);
    const auto is_of_tensor = [&](double number) { return std::ranges::binary_search(tensor, number); };
    std::size_t best = 0, best_count = 0;
    for (std::size_t place = 0; place < sightings_.places().size(); ++place) {
      const std::vector<double>& numbers = numbers_.front()[place];
      const auto count = static_cast<std::size_t>(std::ranges::count_if(numbers, is_of_tensor));
      constexpr std::size_t few = 8;
      if (!sightings_.places()[place].is_own || count < few || 20 * count < 19 * numbers.size() || count <= best_count) continue;
      best = place;
      best_count = count;
    }
    if (best_count == 0) return false;
    finding.line = sightings_.places()[best].line;
    finding.is_place = true;
    finding.sentence = fmt::format("this line reads other {} than{} needs{}", plural(landmark), in_row(0), read_instead(landmark, best));
    constexpr double much = 0.7;
    finding.confidence = much;
    return true;
  }

  // ": those of key 3 of key/value head 1" if a row of another key or head explains what was read.
  [[nodiscard]] std::string read_instead(const Landmark& landmark, std::size_t place) const {
    std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::size_t, std::size_t>> rows;
    for (const LandmarkElement& other : landmark.others) {
      auto& [held, all] = rows[{other.head, other.key}];
      held += std::ranges::binary_search(numbers_.front()[place], other.values.front()) ? 1 : 0;
      ++all;
    }
    for (const auto& [name, counts] : rows) {
      if (counts.first == counts.second) return fmt::format(": those of key {} of key/value head {}", name.second, name.first);
    }
    return "";
  }

  // The values are those of the input, before or after a rounding that a right kernel does not do or does.
  [[nodiscard]] bool describe_unrounded(std::size_t wrong, LandmarkFinding& finding) const {
    constexpr double of_half = 5e-4, exact = 1e-6;
    constexpr std::size_t many = 32;
    for (std::size_t place = 0; place < sightings_.places().size(); ++place) {
      bool fits = sightings_.places()[place].is_own;
      for (std::size_t row = 0; row < landmarks_.rows.size() && fits; ++row) {
        const ElementList telling = telling_elements(landmarks_.list[wrong].elements, row);
        fits = telling.size() >= many && numbers_[row][place].size() < 2 * telling.size() &&
               cover(numbers_[row][place], telling, 1, of_half).held == telling.size() &&
               // A table with an entry that is slightly off leaves the other values as they are.
               2 * cover(numbers_[row][place], telling, 1, exact).held < telling.size();
      }
      if (!fits) continue;
      finding.line = sightings_.places()[place].line;
      const LandmarkElement& first = landmarks_.list[wrong].elements.front();
      finding.sentence = fmt::format("the {} here are not rounded as they should be: {} should be {:.9g}, and the nearest number is {:.9g}",
                                     plural(landmarks_.list[wrong]), named(landmarks_.list[wrong], first), first.values.front(),
                                     nearest_number(numbers_.front()[place], first.values.front()));
      constexpr double much = 0.8;
      finding.confidence = much;
      return true;
    }
    return false;
  }

  // The other tensor of keys and values is read twice, and this one not at all.
  [[nodiscard]] bool describe_exchanged(std::size_t wrong, LandmarkFinding& finding) const {
    const auto is_like = [&](const Landmark& landmark) {
      const LandmarkElement& own = landmarks_.list[wrong].elements.front();
      return landmark.is_loaded && !landmark.elements.empty() && landmark.elements.front().key >= 0 && own.key >= 0 &&
             (landmark.elements.front().coordinate < 0) == (own.coordinate < 0);
    };
    for (std::size_t i = 0; i < matched_.size(); ++i) {
      if (i == wrong || !matched_[i].is_reached || !is_like(landmarks_.list[i])) continue;
      std::set<std::pair<std::uint32_t, std::uint32_t>> lines;
      for (const Sighting& sighting : matched_[i].sightings) {
        const SightedPlace& place = sightings_.places()[sighting.place];
        if (!place.computes && !place.stores && sighting.held == sighting.all && sighting.factor_name.empty())
          lines.insert({place.dispatch, place.line});
      }
      if (lines.size() < 2) continue;
      // Keys are needed before values.
      finding.line = (i < wrong ? *lines.rbegin() : *lines.begin()).second;
      finding.sentence =
          fmt::format("this line reads {}, and no line reads the {}", plural(landmarks_.list[i]), plural(landmarks_.list[wrong]));
      finding.is_shared = true;
      constexpr double much = 0.8;
      finding.confidence = much;
      return true;
    }
    return false;
  }

  // What the kernel hands over to a later dispatch of another source is right, but not what that computes from it.
  [[nodiscard]] bool describe_handed_over(std::size_t wrong, LandmarkFinding& finding) const {
    if (wrong + 1 != matched_.size() || !parts_at(wrong)) return false;
    std::uint32_t own = 0, others = 0;
    for (const SightedPlace& place : sightings_.places())
      (place.is_own ? own : others) = std::max(place.is_own ? own : others, place.dispatch);
    if (others <= own) return false;
    std::size_t most = 0;
    for (const std::size_t need : landmarks_.list[wrong].needs) {
      if (!matched_[need].is_reached) continue;
      for (const Sighting& sighting : matched_[need].sightings) {
        const SightedPlace& place = sightings_.places()[sighting.place];
        if (!place.stores || sighting.held != sighting.all || sighting.all <= most) continue;
        most = sighting.all;
        finding.line = place.line;
        finding.sentence = fmt::format("this line stores the right {}, but in a wrong place for the dispatch that reads them",
                                       plural(landmarks_.list[need]));
      }
    }
    constexpr double much = 0.7;
    finding.confidence = much;
    finding.is_sure = true;
    std::erase(finding.right, finding.line);
    return most != 0;
  }

  // Everything is right somewhere, but the output is not.
  [[nodiscard]] std::optional<LandmarkFinding> describe_misplaced() const {
    const std::size_t last = matched_.size() - 1;
    if (!matched_[last].is_reached || !matched_[last].is_strong) return std::nullopt;
    LandmarkFinding finding = started(last);
    for (const Sighting& sighting : matched_[last].sightings) {
      const SightedPlace& place = sightings_.places()[sighting.place];
      if (sighting.held == sighting.all && (finding.line == 0 || place.stores)) finding.line = place.line;
      if (sighting.held == sighting.all && place.stores) break;
    }
    finding.is_place = finding.is_load = true;
    finding.sentence = "this line has the right output, so it stores it in a wrong place, or another thread overwrites it";
    // Few different values are met by chance.
    constexpr std::size_t many = 32;
    std::set<double> different;
    for (const LandmarkElement& element : landmarks_.list[last].elements) different.insert(element.values.front());
    // Where one key is seen, its value is the output, wherever it is.
    finding.is_sure = different.size() >= many && knows_needs(last);
    constexpr double much = 0.7;
    finding.confidence = much;
    std::erase(finding.right, finding.line);
    return finding;
  }
};

}  // namespace

std::optional<LandmarkFinding> describe_landmarks(const LandmarkMatch& match, const std::string& file,
                                                  const std::vector<std::string>& row_names) {
  return Describer(match, file, row_names).find();
}

}  // namespace assay::harness
