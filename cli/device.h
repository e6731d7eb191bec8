// The options that choose a device: --device, --order, --math.
#pragma once

#include <string>

#include "cli/options.h"
#include "metal/devices/device.h"

namespace assay::cli {

struct ChosenDevice {
  metal::DeviceChoice device;
  std::string description;  // of a GPU, as its driver describes it
};

void add_device(CLI::App& command, Options& options);

// What the options say, without asking for the device. Throws std::invalid_argument for combinations that make no sense.
[[nodiscard]] metal::DeviceChoice named_device(const Options& options);

// The same, when a GPU has answered. Throws metal::EnvironmentError if none does.
[[nodiscard]] ChosenDevice choose_device(const Options& options);

}  // namespace assay::cli
