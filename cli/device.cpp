// Reads the options that choose a device, and finds out whether the device is there.
#include "cli/device.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <stdexcept>

#include "harness/execute/gpu_pool.h"
#include "harness/execute/gpu_process.h"
#include "metal/errors.h"

namespace assay::cli {
namespace {

void require_native(const Options& options, const std::string& device) {
  const auto refuse = [&](const char* option, const std::string& value, const char* why) {
    throw std::invalid_argument(fmt::format("{} {} makes no sense with --device {}: {}", option, value, device, why));
  };
  if (options.policy != "native") refuse("--policy", options.policy, "only the simulator checks accesses and carries shadows");
  if (options.engine != Options{}.engine) refuse("--engine", options.engine, "it is the simulator's");
  if (!options.schedule.empty()) refuse("--schedule", options.schedule, "a GPU orders its simdgroups itself");
  if (options.threads != 1) refuse("--threads", fmt::to_string(options.threads), "they are threads of the simulator");
  if (options.fp_contract != "off") refuse("--fp-contract", options.fp_contract, "use --math fast");
}

}  // namespace

void add_device(CLI::App& command, Options& options) {
  command
      .add_option(
          "--device", options.device,
          "Where kernels are executed: simulator, or cuda[:N], an NVIDIA GPU through its driver (docs/DEVICES.md); default: simulator")
      ->type_name("simulator|cuda[:N]");
  command
      .add_option("--order", options.order,
                  "With --device cuda: as-written orders the lanes of a simdgroup only where the kernel says so, as GPUs do; lockstep also "
                  "at every store, as on the simulator; default: as-written")
      ->check(one_of({"as-written", "lockstep"}));
  command
      .add_option("--math", options.math,
                  "With --device cuda: fast allows approximate functions, fused multiply-adds and flushed subnormals; default: precise")
      ->check(one_of({"precise", "fast"}));
}

void add_simulator_only(CLI::App& command, Options& options, const char* why) {
  const CLI::Validator simulator(
      [why](std::string& device) {
        return device == Options{}.device ? std::string() : fmt::format("makes no sense with {}: {}", device, why);
      },
      "");
  command.add_option("--device", options.device, "Only the simulator: a GPU is refused with the reason")
      ->type_name("simulator")
      ->check(simulator);
}

metal::DeviceChoice named_device(const Options& options) {
  const auto device = metal::parse_device(options.device);
  if (!device) throw std::invalid_argument(fmt::format("--device {}: devices are simulator, cuda and cuda:N", options.device));
  metal::DeviceChoice chosen = *device;
  if (!chosen.is_gpu()) {
    if (options.order != Options{}.order) throw std::invalid_argument("--order needs --device cuda: the simulator keeps lockstep");
    if (options.math != Options{}.math)
      throw std::invalid_argument("--math needs --device cuda: the simulator rounds as the standard says");
    return chosen;
  }
  require_native(options, options.device);
  chosen.keeps_lockstep = options.order == "lockstep";
  chosen.is_fast = options.math == "fast";
  chosen.limit = std::chrono::duration<double>(options.timeout);
  return chosen;
}

ChosenDevice choose_device(const Options& options) {
  ChosenDevice chosen{named_device(options), {}};
  if (!chosen.device.is_gpu()) return chosen;
  const harness::FoundGpu found = harness::find_gpu(chosen.device);
  if (found.description.empty()) throw metal::EnvironmentError(fmt::format("--device {}: {}", options.device, found.problem));
  chosen.device.architecture = found.architecture;
  chosen.device.code_for = found.code_for;
  chosen.description = found.description;
  return chosen;
}

void use_device(const ChosenDevice& chosen, harness::WorkbenchOptions& preparing, harness::RunOptions& running, std::size_t cases,
                std::vector<std::string>& notes) {
  preparing.device = chosen.device;
  running.execution.device = chosen.device;
  if (chosen.device.is_gpu()) harness::GpuPool::of(chosen.device).start(std::min<std::size_t>(running.jobs, cases));
  if (!chosen.description.empty()) notes.push_back(fmt::format("executed on {}", chosen.description));
}

void note_missing_code(const harness::Workbench& workbench, std::vector<std::string>& notes) {
  if (!workbench.link_problem().empty())
    notes.push_back(fmt::format("every worker compiles kernels for the GPU again: {}", workbench.link_problem()));
}

}  // namespace assay::cli
