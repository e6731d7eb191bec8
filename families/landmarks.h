// Landmarks: values that every right kernel of a family holds at some point, whatever its style.
//
// Triage matches them with the values that a wrong kernel computed (harness/triage/landmarks.h). Partial sums are no landmarks: they depend
// on the order in which a kernel adds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "families/source.h"

namespace assay::families {

struct Case;

// One value of a landmark. -1 where a part of its name has no meaning.
struct LandmarkElement {
  std::size_t row = 0;  // index into Landmarks::rows
  std::int64_t key = -1, coordinate = -1;
  std::int64_t head = -1;      // the key/value head, for elements that stand for another one than the row's
  std::vector<double> values;  // a right kernel holds one of these; not empty. The first is the one to name
  double coarseness = 1;       // how much larger their rounding is than that of a sum of products
};

// A factor on all values of a landmark.
struct LandmarkFactor {
  double value = 1;
  std::string name;  // "the scale"
  // Of a fault: a step of the formula is left out, so the values are those that go into it, and right as such.
  bool is_missing = false;
};

struct Landmark {
  std::string_view name;  // "score": of one element
  // The class of a kernel's mistake that has right what this is computed from, and not this; empty if it tells none.
  std::string_view mistake;
  std::vector<LandmarkElement> elements;
  bool is_loaded = false;  // read from an input, not computed
  // Right kernels may do without: it is wrong only where a line holds all of its values times one factor.
  bool is_optional = false;
  double enough = 1;                    // the share of values that a line must hold to have reached the landmark
  std::vector<LandmarkFactor> factors;  // a right kernel may hold all values times one of these, besides 1
  std::vector<LandmarkFactor> faults;   // factors by which wrong kernels are known to be wrong
  // What a wrong kernel may hold instead: elements of other heads, or of keys that the row does not see.
  std::vector<LandmarkElement> others;
  std::vector<std::size_t> needs;  // indices of earlier landmarks from which this one is computed
  // Of exponentials, by row: the maximum for which the first values are. Times one factor they are those for another maximum.
  std::vector<double> maxima;
};

struct Landmarks {
  std::vector<std::size_t> rows;  // rows of the judged output that are described
  std::vector<Landmark> list;     // in the order in which kernels compute them
};

// The landmarks of these rows of the judged output; rows that do not exist are an internal error. Throws fixtures::FileError if a file
// contains an invalid value.
using LandmarksOf = std::function<Landmarks(const Case& test_case, const Source& source, std::span<const std::size_t> rows)>;

}  // namespace assay::families
