// The options that choose a device: --device, --order, --math.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "harness/prepare/workbench.h"
#include "harness/process/runner.h"
#include "metal/devices/device.h"

namespace assay::cli {

struct ChosenDevice {
  metal::DeviceChoice device;
  std::string description;  // of a GPU, as its driver describes it
};

void add_device(CLI::App& command, Options& options);
// --device alone, for a command that needs the simulator. `why` ends the sentence that refuses anything else.
void add_simulator_only(CLI::App& command, Options& options, const char* why);

// What the options say, without asking for the device. Throws std::invalid_argument for combinations that make no sense.
[[nodiscard]] metal::DeviceChoice named_device(const Options& options);

// The same, when a GPU has answered. Throws metal::EnvironmentError if none does.
[[nodiscard]] ChosenDevice choose_device(const Options& options);

// Has kernels compiled for the device and executed on it, and names a GPU in a note. Its processes start meanwhile: one for each of
// `running.jobs`, but no more than `cases`.
void use_device(const ChosenDevice& chosen, harness::WorkbenchOptions& preparing, harness::RunOptions& running, std::size_t cases,
                std::vector<std::string>& notes);
// Says so if code for the GPU could not be made before the first case, so that every worker makes it again.
void note_missing_code(const harness::Workbench& workbench, std::vector<std::string>& notes);

}  // namespace assay::cli
