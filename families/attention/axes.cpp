// The axes of family `attention`.
#include "families/attention/axes.h"

#include <string_view>

#include "families/attention/contract.h"
#include "families/attention/shape.h"

namespace assay::families::attention {
namespace {

// Rows of the smallest type, 32 coordinates of q4_0, that have more than 2^33 bytes.
constexpr std::int64_t kMostRoom = std::int64_t{1} << 29U;

}  // namespace

const std::vector<Axis>& axes() {
  static const std::vector<Axis> axes = [] {
    const auto size = [](std::string_view name, std::int64_t most, Weight weight = Weight::factor) {
      return Axis{.name = name, .minimum = 0, .maximum = most, .initial = 1, .weight = weight, .tried = Tried::counts, .simplest = 1};
    };
    const auto choice = [](std::string_view name, std::size_t count) {
      return Axis{.name = name,
                  .minimum = 0,
                  .maximum = static_cast<std::int64_t>(count) - 1,
                  .initial = 0,
                  .weight = Weight::choice,
                  .tried = Tried::simplest};
    };
    std::vector<Axis> all = {size("b", 64), size("h", 4096), size("g", 4096, Weight::extent), size("lq", 1 << 17), size("lk", 1 << 21)};
    all.back().brief = "n";
    all.back().is_length = true;
    all.push_back({.name = "dk", .minimum = 1, .maximum = 4096, .initial = 128, .brief = "d", .weight = Weight::factor});
    all.push_back({.name = "dv", .minimum = 1, .maximum = 4096, .initial = 128, .weight = Weight::extent});
    all.push_back(choice("type", kStorageWords.size()));
    all.push_back(choice("k_type", kKeyTypeWords.size()));
    all.push_back(choice("v_type", kKeyTypeWords.size()));
    all.push_back(choice("out_type", kOutTypeWords.size()));
    all.push_back({.name = "mask", .minimum = 0, .maximum = 7, .initial = 0, .weight = Weight::choice});
    all.push_back({.name = "window", .minimum = 0, .maximum = 1 << 21, .initial = 0, .weight = Weight::start});
    all.push_back(choice("mask_type", kOutTypeWords.size()));
    all.push_back(choice("mask_planes", kPlaneWords.size()));
    all.push_back(choice("mask_gaps", 2));
    all.push_back(choice("offset", kOffsetWords.size()));
    all.push_back({.name = "softcap", .minimum = 0, .maximum = 1 << 20, .initial = 0, .weight = Weight::choice, .tried = Tried::simplest});
    all.push_back(choice("sinks", kSinkWords.size()));
    all.push_back(choice("scale", 2));
    all.push_back({.name = "cache", .minimum = 0, .maximum = 3, .initial = 0, .weight = Weight::choice});
    all.push_back({.name = "room", .minimum = 0, .maximum = kMostRoom, .initial = 0, .weight = Weight::extent});
    all.push_back({.name = "ring_start", .minimum = 0, .maximum = kMostRoom, .initial = 0, .weight = Weight::start});
    all.push_back({.name = "page_size", .minimum = 1, .maximum = 4096, .initial = 16, .weight = Weight::extent});
    all.push_back({.name = "layout", .minimum = 0, .maximum = 2, .initial = 0, .weight = Weight::choice});
    all.push_back(choice("shared_kv", 2));
    all.push_back(choice("ragged", kRaggedWords.size()));
    all.push_back(choice("gaps", kGapWords.size()));
    for (const std::string_view name : {"blocks", "nsg"}) {
      Axis axis = size(name, 1024, Weight::repeat);
      axis.is_launch_choice = true;
      axis.is_simdgroups = name == "nsg";
      all.push_back(axis);
    }
    Axis far = choice("far", 2);
    far.may_be_absent = true;
    all.push_back(far);
    return all;
  }();
  return axes;
}

}  // namespace assay::families::attention
