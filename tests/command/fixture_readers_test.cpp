// The corpus is readable by others: h5dump and h5py see the attributes, shapes and ranges that `assay fixture info` prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "fixtures/shelf.h"
#include "tests/support/command.h"

namespace assay::tests::fixture_readers_test {
namespace {

using testing::HasSubstr;

// Prints a file as `assay fixture info` does, from the second line on, with single blanks.
constexpr const char* kInfoInPython = R"(
import sys, h5py, numpy
with h5py.File(sys.argv[1], "r") as file:
    for name, value in sorted(file["format"].attrs.items()):
        print(name, value.decode() if isinstance(value, bytes) else value)
    for group in ["inputs", "expected", "bound"]:
        for name, data in sorted(file[group].items()):
            assert data.chunks and data.compression == "gzip" and data.fletcher32, data
            values = data[()]
            element = data.attrs.get("element", str(data.dtype))
            element = element.decode() if isinstance(element, bytes) else element
            if element == "uint8":
                values = values.astype(int)
            elif element == "half":
                values = values.view(numpy.float16).astype(float)
            elif element == "bfloat":
                values = (values.astype(numpy.uint32) << 16).view(numpy.float32).astype(float)
            print(f"{group}/{name}", element, list(data.shape), f"{numpy.nanmin(values):.6g} .. {numpy.nanmax(values):.6g}", end="")
            nans = int(numpy.isnan(values).sum())
            print(f", {nans} NaN" if nans else "")
)";

// Without its first line, and with runs of blanks as one.
std::string squeezed(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  std::string result;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string word;
    for (bool is_first = true; words >> word; is_first = false) result += (is_first ? "" : " ") + word;
    result += '\n';
  }
  return result;
}

TEST(CorpusReaders, H5dumpShowsEveryFile) {
  if (run_command("h5dump --version").status != 0) GTEST_SKIP() << "h5dump is not installed (Debian: hdf5-tools)";
  for (const std::filesystem::path& file : fixtures::Shelf().corpus_files()) {
    const Outcome header = run_command("h5dump -H -p '" + file.string() + "'");
    EXPECT_EQ(header.status, 0) << header.output;
    for (const char* text : {"GROUP \"inputs\"", "ATTRIBUTE \"case\"", "COMPRESSION DEFLATE", "CHECKSUM FLETCHER32"})
      EXPECT_THAT(header.output, HasSubstr(text)) << file;
    EXPECT_EQ(run_command("h5dump -y -d /expected/output '" + file.string() + "' >/dev/null").status, 0) << file;
  }
}

TEST(CorpusReaders, H5pySeesWhatAssaySees) {
  if (run_command("/usr/bin/python3 -c 'import h5py'").status != 0) GTEST_SKIP() << "h5py is not installed (Debian: python3-h5py)";
  const std::filesystem::path script = std::filesystem::temp_directory_path() / ("assay_info_" + std::to_string(getpid()) + ".py");
  std::ofstream(script) << kInfoInPython;
  for (const std::filesystem::path& file : fixtures::Shelf().corpus_files()) {
    const Outcome theirs = run_command("/usr/bin/python3 '" + script.string() + "' '" + file.string() + "'");
    ASSERT_EQ(theirs.status, 0) << theirs.output;
    EXPECT_EQ(squeezed("\n" + theirs.output), squeezed(run_assay("fixture info '" + file.string() + "'").output)) << file;
  }
  std::filesystem::remove(script);
}

}  // namespace
}  // namespace assay::tests::fixture_readers_test
