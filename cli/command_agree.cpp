// `assay agree`: executes cases on two devices and compares every bit.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/device.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/workspace.h"
#include "harness/compare/agreement.h"

namespace assay::cli {
namespace {

using harness::CaseAgreement;
using harness::PartingReason;

struct AgreeOptions {
  Options common;
  std::string devices = "simulator,cuda";
};

// Tells how far it is. The differences come at the end, in the order of the cases.
class Listener final : public harness::RunListener {
 public:
  explicit Listener(const InterruptGuard& interrupt) : interrupt_(interrupt) {}
  void started(const harness::Case&) override {}
  void finished(const harness::Verdict&, const harness::Summary& so_far) override {
    constexpr std::size_t kInterval = 500;
    if (so_far.finished() % kInterval != 0) return;
    say("{} of {} cases\n", so_far.finished(), so_far.selected);
    std::fflush(stdout);
  }
  bool tick() override { return !interrupt_.end_at_once(); }

 private:
  const InterruptGuard& interrupt_;
};

std::string_view explanation(PartingReason reason) {
  switch (reason) {
    case PartingReason::none:
      return "";
    case PartingReason::race:
      return "a race: the GPU gives other bits each time";
    case PartingReason::lockstep:
      return "a barrier is missing: they agree once lanes wait for each other at every store (--order lockstep)";
    case PartingReason::atomics:
      return "the order of atomic operations";
    case PartingReason::hazard:
      return "a hazard that the simulator reports ends the kernel on the GPU";
    case PartingReason::no_output:
      return "a device has no output";
    case PartingReason::unexplained:
      return "no reason found";
  }
  return "";
}

void say_difference(const CaseAgreement& it, const std::string& first, const std::string& other) {
  say("{} {}\n", it.reason == PartingReason::unexplained || it.reason == PartingReason::no_output ? "differs" : "explained", it.name);
  if (it.parted) {
    say("  {} of {} elements differ, the first: {}[{}] is {} on {} and {} on {}\n", it.elements - it.equal, it.elements,
        it.parted->argument, it.parted->index, harness::element_text(it.parted->type, it.parted->first), first,
        harness::element_text(it.parted->type, it.parted->other), other);
  }
  const auto side = [](harness::Status status, const std::string& words) {
    return words.empty() ? std::string(to_string(status)) : fmt::format("{}: {}", to_string(status), words);
  };
  if (it.is_within_bounds)
    say("  both are within the bounds\n");
  else
    say("  {} {}; {} {}\n", first, side(it.first_status, it.first_words), other, side(it.other_status, it.other_words));
  say("  reason: {}\n", explanation(it.reason));
}

metal::DeviceChoice device_named(const Options& common, std::string_view name, std::vector<std::string>& notes) {
  Options options = common;
  options.device = name;
  if (options.device == "simulator") {
    options.order = Options{}.order;
    options.math = Options{}.math;
  }
  const ChosenDevice chosen = choose_device(options);
  if (!chosen.description.empty()) notes.push_back(fmt::format("{} is {}", name, chosen.description));
  return chosen.device;
}

int summarise(const harness::AgreedCases& agreed, const std::string& first, const std::string& other, bool was_stopped) {
  std::map<PartingReason, std::size_t> reasons;
  std::uint64_t elements = 0;
  std::uint64_t equal = 0;
  for (const CaseAgreement& one : agreed.cases) {
    ++reasons[one.reason];
    elements += one.elements;
    equal += one.equal;
    if (!one.agrees()) say_difference(one, first, other);
  }
  say("{} case{} on {} and {}: {} agree bit for bit; {} of {} written elements equal", agreed.cases.size(),
      agreed.cases.size() == 1 ? "" : "s", first, other, reasons[PartingReason::none], equal, elements);
  for (const auto& [reason, count] : reasons) {
    if (reason != PartingReason::none) say("; {} {}", count, harness::to_string(reason));
  }
  if (agreed.skipped != 0) say("; {} skipped", agreed.skipped);
  say("\n");
  if (reasons[PartingReason::unexplained] + reasons[PartingReason::no_output] != 0) return kExitFailed;
  if (was_stopped) return kExitInterrupted;
  return elements == 0 ? kExitNothingPassed : kExitPassed;
}

int agree(const AgreeOptions& options) {
  const InterruptGuard interrupt;
  const std::vector<std::string_view> names = base::split(options.devices, ',');
  if (names.size() != 2 || names[0] == names[1])
    throw std::invalid_argument(fmt::format("--devices {}: two different devices are compared, such as simulator,cuda", options.devices));
  Workspace workspace = open_workspace(options.common);
  select(workspace, options.common, options.common.words);
  harness::AgreementOptions agreement;
  agreement.first = device_named(options.common, names[0], workspace.notes);
  agreement.other = device_named(options.common, names[1], workspace.notes);
  agreement.running = run_options(options.common);
  harness::WorkbenchOptions preparing = workbench_options(options.common, workspace);
  preparing.device = agreement.other.is_gpu() ? agreement.other : agreement.first;
  agreement.running.execution.device = preparing.device;
  const harness::Workbench workbench(workspace.catalogue, workspace.selection.cases, preparing);
  note_missing_code(workbench, workspace.notes);
  for (const std::string& note : workspace.notes) say("note: {}\n", note);
  std::fflush(stdout);
  Listener listener(interrupt);
  const harness::AgreedCases agreed = harness::find_agreement(workspace.selection.cases, workbench, agreement, interrupt.stop(), listener);
  return summarise(agreed, std::string(names[0]), std::string(names[1]), interrupt.stop());
}

}  // namespace

void add_agree(CLI::App& app, Action& action) {
  const auto [command, options] =
      subcommand(app, action, "agree", "Execute cases on two devices and compare every written element bit for bit", agree);
  command->add_option("CASE", options->common.words, "Case name, glob or suite");
  command->add_option("--devices", options->devices, "The two devices: simulator, cuda, cuda:N")
      ->type_name("DEVICE,DEVICE")
      ->capture_default_str();
  add_selection(*command, options->common);
  add_execution(*command, options->common);
  add_device(*command, options->common);
  command->remove_option(command->get_option("--device"));
  command->remove_option(command->get_option("--schedule"));
  command->remove_option(command->get_option("--policy"));
  add_jobs(*command, options->common, "cases to run");
  command->footer(R"(examples
  assay agree smoke --devices simulator,cuda
  assay agree 'tq4_v1/*' --devices simulator,cuda --order lockstep
  assay agree smoke --devices cuda:0,cuda:1

exit status
  0 all agree, or a reason for every difference was found   1 some differ without a reason
  2 bad usage or environment   4 nothing was compared   130 stopped by Ctrl-C or SIGTERM)");
}

}  // namespace assay::cli
