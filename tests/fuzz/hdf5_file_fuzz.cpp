// Fixture files through the process of their own that reads them: for any behaviour of the HDF5 library, the answer is a
// description and tensors of the size that was asked for, or a FileError that names the file.
//
// The child is forked for every input, so that a crash of the library ends it and not the fuzzer; libFuzzer sees what the answer is, and
// not what the library did. Instrumenting that would find its bugs, which are not ours to mend.
#include <hdf5.h>

#include <string>
#include <string_view>
#include <vector>

#include "fixtures/hdf5_file.h"
#include "tests/fuzz/fuzz_target.h"

namespace assay::tests {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;  // of the tensors that are read: larger ones take the time of small ones

void check(const std::filesystem::path& file) {
  const fixtures::FileDescription description = fixtures::describe_file(file);
  note_outcome("described");
  std::vector<fixtures::TensorSpec> wanted;
  std::uint64_t total = 0;
  for (const fixtures::TensorSpec& spec : description.tensors) {
    if (spec.bytes() > kMostBytes - total) continue;
    total += spec.bytes();
    wanted.push_back(spec);
    note_outcome(to_string(spec.element));
  }
  const std::vector<fixtures::Tensor> tensors = fixtures::read_tensors(file, wanted);
  note_outcome("read");
  require(tensors.size() == wanted.size(), "every tensor is read");
  for (std::size_t i = 0; i < tensors.size(); ++i)
    require(tensors[i].spec == wanted[i] && tensors[i].bytes.size() == wanted[i].bytes(), "a tensor has its size");
}

}  // namespace
}  // namespace assay::tests

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  H5open();  // once, and not in every child
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const std::filesystem::path& file = tests::scratch_file(tests::text_of(data, size));
  try {
    tests::check(file);
  } catch (const fixtures::FileError& error) {
    const std::string_view text = error.what();
    tests::require(text.starts_with(file.string()), "a message begins with the file");
    tests::note_outcome(text.substr(file.string().size()));
  }
  return 0;
}
