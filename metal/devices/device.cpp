// The names of devices.
#include "metal/devices/device.h"

#include <fmt/format.h>

#include "base/text.h"

namespace assay::metal {

std::optional<DeviceChoice> parse_device(std::string_view text) {
  DeviceChoice device;
  if (text == "simulator") return device;
  device.kind = DeviceChoice::Kind::cuda;
  if (text == "cuda") return device;
  constexpr std::string_view kNumbered = "cuda:";
  if (!text.starts_with(kNumbered)) return std::nullopt;
  const auto number = base::number_of<unsigned>(text.substr(kNumbered.size()));
  if (!number) return std::nullopt;
  device.number = *number;
  return device;
}

std::string to_string(const DeviceChoice& device) {
  if (!device.is_gpu()) return "simulator";
  return device.number == 0 ? "cuda" : fmt::format("cuda:{}", device.number);
}

}  // namespace assay::metal
