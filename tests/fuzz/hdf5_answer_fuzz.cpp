// What the process that reads a fixture file answers, as if the file had taken it over: any bytes are a description, or refused with
// base::DamagedArchive. From the description on everything happens in the process of the user: what the file says it is, which must be a
// case or a FileError, and the shapes that its tensors then need.
//
// The HDF5 library itself is no target of this kind: it crashes on damaged files, which is known, and what the other process is for
// (fixtures/hdf5_file.h). hdf5_file_fuzz.cpp goes through that process.
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "fixtures/hdf5_answer.h"
#include "harness/cases/file_case.h"
#include "tests/fuzz/fuzz_target.h"

namespace assay::tests {
namespace {

constexpr std::string_view kFile = "folder/fuzz.h5";

// As harness::load_file() does before it reads a tensor.
void check_case(const harness::FileCase& test_case) {
  const harness::Case& value = test_case.value;
  note_outcome(value.family->name());
  for (std::size_t i = 0; i < value.values.size(); ++i)
    require(value.family->axes[i].holds(value.values[i]), "what a file says lies in its axis");
  harness::require_agreement(value, kFile, test_case);
  const families::Family& family = *value.family;
  try {
    family.validate(value);
  } catch (const std::invalid_argument& refusal) {
    note_outcome(refusal.what());
    return;
  }
  note_outcome("valid");
  for (const fixtures::TensorSpec& spec : family.files.inputs(value)) require(spec.bytes() > 0, "an input has some bytes");
  for (const std::uint64_t size : family.files.output_shape(value)) require(size > 0, "an output has some elements");
}

void check(std::span<const std::byte> packed) {
  const auto description = base::from_bytes<fixtures::FileDescription>(packed);
  note_outcome("unpacked");
  require(base::to_bytes(description).size() <= packed.size(), "a description is no larger than what it came from");
  for (const fixtures::TensorSpec& spec : description.tensors) {
    require(description.find(spec.path) != nullptr, "a tensor is found by its path");
    note_outcome(to_string(spec.element));
  }
  try {
    check_case(harness::read_file_case(kFile, description));
  } catch (const fixtures::FileError& error) {
    require(std::string_view(error.what()).starts_with(kFile), "a message begins with the file");
    note_outcome(error.what());
  }
}

}  // namespace
}  // namespace assay::tests

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  try {
    tests::check(std::as_bytes(std::span(data, size)));
  } catch (const base::DamagedArchive& error) {
    tests::note_outcome(error.what());
  }
  return 0;
}
