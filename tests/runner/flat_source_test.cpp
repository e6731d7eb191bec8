// The text of a library with everything that it includes: it is the library's, also where no file can be opened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "harness/bundle/flat_source.h"
#include "metal/compile/library.h"
#include "tests/support/files.h"

namespace assay::tests::flat_source_test {
namespace {

namespace fs = std::filesystem;
using namespace ::testing;

class FlatSource : public TestInFolder {
 protected:
  std::string flat(const std::string& main, metal::CompileOptions options = {}) const {
    const auto library = metal::Library::from_file(write(main, "main.metal"), options);
    return harness::flat_source(*library);
  }
};

constexpr const char* kKernel =
    "\nkernel void f(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = VALUE; }\n";

TEST_F(FlatSource, ContainsWhatIsIncludedAndStandsAlone) {
  fs::create_directory(folder_ / "shared");
  write("#pragma once\n#define VALUE (FIRST + SECOND)\n", "shared/value.h");
  write("#include \"second.h\"\n#include \"second.h\"\n#define FIRST 1\n", "first.h");
  write("#ifndef SECOND\n#define SECOND 2\n#endif\n", "second.h");
  metal::CompileOptions options;
  options.include_directories = {folder_ / "shared"};
  options.definitions = {"HOST=3", "PLAIN", "TWICE(x)=((x) * 2)"};
  const std::string text = flat(std::string("#include <metal_stdlib>\nusing namespace metal;\n#include \"first.h\"\n#include <value.h>\n"
                                            "#include \"value.h\"\nstatic_assert(TWICE(HOST) + PLAIN == 7, \"macros\");") +
                                    kKernel,
                                options);
  EXPECT_THAT(text, AllOf(HasSubstr("#include <metal_stdlib>"), Not(HasSubstr("#include \"")), HasSubstr("#define HOST 3\n"),
                          HasSubstr("#define PLAIN 1\n"), HasSubstr("#define TWICE(x) ((x) * 2)\n"), HasSubstr("#line 4 \"main.metal\"")));
  const auto alone = metal::Library::from_source(text, "alone");
  EXPECT_TRUE(alone->has_function("f"));
  static_cast<void>(alone->pipeline({"f", {}}));
}

// A hostile kernel must not carry files of this machine away; the compiler would not let it include them either.
TEST_F(FlatSource, TakesNothingFromOutsideOfItsFolders) {
  TemporaryFolder other;
  std::ofstream(other.path() / "secret.h") << "#define VALUE 42\n";
  const std::string outside = "#define VALUE 1\n#if 0\n#include \"" + (other.path() / "secret.h").string() + "\"\n#endif\n";
  EXPECT_THAT(flat(outside + kKernel), Not(HasSubstr("42")));
  fs::create_symlink(other.path() / "secret.h", folder_ / "link.h");
  EXPECT_THAT(flat(std::string("#define VALUE 1\n#if 0\n#include \"link.h\"\n#endif\n") + kKernel), Not(HasSubstr("42")));
}

TEST_F(FlatSource, AFileThatIncludesItselfNeedsAGuard) {
  write("#pragma once\n#include \"again.h\"\n#define VALUE 5\n", "again.h");
  EXPECT_TRUE(metal::Library::from_source(flat(std::string("#include \"again.h\"") + kKernel), "alone")->has_function("f"));
  write("#if DEPTH < 1\n#undef DEPTH\n#define DEPTH 1\n#include \"again.h\"\n#endif\n", "again.h");
  EXPECT_THAT([&] { static_cast<void>(flat(std::string("#define DEPTH 0\n#define VALUE 5\n#include \"again.h\"") + kKernel)); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("again.h: includes itself without an include guard")));
}

}  // namespace
}  // namespace assay::tests::flat_source_test
