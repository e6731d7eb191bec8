// What a runner returned for a bundle, checked against the bundle, and put into the buffers that the judge reads.
#include "harness/bundle/returned.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/digest.h"
#include "harness/execute/execute.h"
#include "metal/errors.h"

namespace assay::harness {
namespace {

constexpr const char* kResults = "results.json";

void require_buffers(const BundleFolder& folder, std::size_t number, const ReturnedCase& returned, const BundleCase& made) {
  const auto fail = [&](const std::string& what) {
    throw BundleError(folder.path() / kResults, fmt::format("cases[{}] ({}): {}", number, made.name, what));
  };
  std::vector<bool> is_returned(made.buffers.size());
  for (const ReturnedBuffer& one : returned.buffers) {
    if (one.buffer >= made.buffers.size()) fail(fmt::format("has buffer {}; the case has {} buffers", one.buffer, made.buffers.size()));
    if (is_returned[one.buffer]) fail(fmt::format("has buffer {} twice", one.buffer));
    is_returned[one.buffer] = true;
    const std::string name = returned_file(number, one.buffer);
    const std::string contents = folder.read(name, made.buffers[one.buffer].bytes);
    if (base::digest_of(contents) != one.digest)
      throw BundleError(folder.path() / name, fmt::format("is not what the runner wrote: its digest is {:016x}, that in {} is {:016x}",
                                                          base::digest_of(contents), kResults, one.digest));
  }
  if (returned.refusal) return;
  for (std::size_t buffer = 0; buffer < made.buffers.size(); ++buffer) {
    if (!is_returned[buffer] && made.buffers[buffer].role != families::BufferRole::input)
      fail(fmt::format("lacks buffer {}, '{}'", buffer, made.buffers[buffer].argument));
  }
}

std::string functions_of(const BundleCase& made) {
  std::string names;
  for (const BundlePipeline& pipeline : made.pipelines) names += fmt::format("{}{}", names.empty() ? "" : ", ", pipeline.function);
  return names;
}

}  // namespace

std::string returned_file(std::size_t number, std::size_t buffer) { return fmt::format("outputs/{}-{}.bin", number, buffer); }

void check_returned(const BundleFolder& folder, const Returned& returned, std::span<const BundleCase> cases,
                    std::span<const std::string> ids) {
  for (std::size_t i = 0; i < std::min(cases.size(), returned.cases.size()); ++i) {
    const ReturnedCase& one = returned.cases[i];
    if (one.name != cases[i].name || one.id != ids[i])
      throw BundleError(folder.path() / kResults, fmt::format("cases[{}] is {} with the id {}, but the bundle has {} with the id {} there",
                                                              i, one.name, one.id, cases[i].name, ids[i]));
    require_buffers(folder, i, one, cases[i]);
  }
  if (cases.size() != returned.cases.size())
    throw BundleError(folder.path() / kResults,
                      fmt::format("has {} cases, but the bundle has {}: the runner did not finish", returned.cases.size(), cases.size()));
}

std::function<void(const Case&, const JobMemory&)> put_returned(const BundleFolder& folder, std::shared_ptr<const Returned> returned,
                                                                std::shared_ptr<const std::vector<BundleCase>> cases) {
  return [folder, returned = std::move(returned), cases = std::move(cases)](const Case& test_case, const JobMemory& memory) {
    const auto found = std::ranges::find(*cases, format_case(test_case), &BundleCase::name);
    if (found == cases->end()) throw std::logic_error(fmt::format("the bundle has no {}", format_case(test_case)));
    const auto number = static_cast<std::size_t>(found - cases->begin());
    const ReturnedCase& one = returned->cases[number];
    if (one.refusal && one.refusal->stage != kStages[3])
      throw metal::EncodeError(
          fmt::format("refused where it was executed, on {}: {}: {}", returned->executed_on, one.refusal->stage, one.refusal->text));
    if (one.refusal)
      throw KernelDied(fault::DeviceFault{functions_of(*found), fmt::format("{}, on {}", one.refusal->text, returned->executed_on)});
    const std::vector<BundlePlace> places = places_of(memory.job());
    for (const ReturnedBuffer& buffer : one.buffers) {
      const BundlePlace& place = places.at(buffer.buffer);
      const std::span<std::byte> bytes = memory.view(place.buffer, place.pass).buffer->bytes();
      const std::string contents = folder.read(returned_file(number, buffer.buffer), bytes.size());
      std::memcpy(bytes.data(), contents.data(), contents.size());
    }
  };
}

}  // namespace assay::harness
