// The reader of compiled kernels: it follows their data without loading them, refuses objects that are more than a kernel, and survives any
// bytes.
#include "metal/compile/object_check.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/command.h"
#include "metal/compile/compiler.h"
#include "metal/errors.h"
#include "metal/lane_abi.h"
#include "tests/support/files.h"

namespace assay::tests::object_check_test {
namespace {

using namespace metal;
using namespace metal::compile;
using namespace ::testing;

class ObjectCheck : public TestInFolder {
 protected:
  // A shared object of C++ that is linked as kernels are.
  std::filesystem::path built(const std::string& source, const std::vector<std::string>& compiler_flags = {},
                              const std::vector<std::string>& linker_flags = {}) const {
    const std::string input = write(source, "object.cpp"), object = (folder_ / "object.o").string(),
                      output = (folder_ / "object.so").string();
    std::vector<std::string> compile = {find_toolchain().clang.string(), "-c", "-fPIC", "-O1", "-fno-exceptions", input, "-o", object};
    compile.insert(compile.end(), compiler_flags.begin(), compiler_flags.end());
    const auto compiled = base::run_command(compile);
    EXPECT_EQ(compiled.exit_code, 0) << compiled.errors;
    // The linker of Debian 13 writes no DT_HASH unless asked.
    std::vector<std::string> link = {"ld", "--hash-style=gnu", "-o", output, object};
    link.insert(link.end(), compile::linker_flags().begin(), compile::linker_flags().end());
    link.insert(link.end(), linker_flags.begin(), linker_flags.end());
    const auto linked = base::run_command(link);
    EXPECT_EQ(linked.exit_code, 0) << linked.errors;
    return output;
  }

  // The refusal; empty if there is none.
  static std::string complaint(const std::filesystem::path& path) {
    try {
      check_object(path);
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }
  std::string complaint_about(const std::string& source, const std::vector<std::string>& compiler_flags = {},
                              const std::vector<std::string>& linker_flags = {}) const {
    return complaint(built(source, compiler_flags, linker_flags));
  }
};

constexpr std::string_view kPlain = R"(
extern "C" {
double assay_math_exp(double);
struct Inner { unsigned number; const char* text; };
extern const Inner inner[2] = {{7, "seven"}, {8, "eight"}};
void* services[4];
void entry(void* lane) { *static_cast<double*>(lane) = assay_math_exp(*static_cast<double*>(lane)); }
struct Table { unsigned version; const Inner* inner; void** services; void (*entry)(void*); const char* none; };
extern const Table table = {14, inner, services, entry, nullptr};
})";

TEST_F(ObjectCheck, DataIsReadThroughItsRelocations) {
  const auto path = built(std::string(kPlain));
  EXPECT_EQ(complaint(path), "");
  const ObjectFile object = ObjectFile::read(path);
  ASSERT_NE(object.find("table"), nullptr);
  const std::uint64_t table = object.find("table")->address;
  EXPECT_EQ(object.symbol("table").size(), 40U);
  EXPECT_EQ(object.read_u32(table), 14U);
  const auto inner = object.pointer_at(table + 8);
  ASSERT_TRUE(inner);
  EXPECT_EQ(object.read_u32(*inner), 7U);
  EXPECT_EQ(object.read_string(*object.pointer_at(*inner + 8)), "seven");
  EXPECT_EQ(object.read_string(*object.pointer_at(*inner + 24)), "eight");
  EXPECT_EQ(object.pointer_at(table + 16), object.find("services")->address);
  EXPECT_EQ(object.pointer_at(table + 24), object.find("entry")->address);
  EXPECT_EQ(object.pointer_at(table + 32), 0U);
  EXPECT_EQ(object.read_u32(object.find("services")->address), 0U) << "zeros behind the file's part";

  struct Inner {
    std::uint32_t number;
    std::uint64_t text;
  };
  const auto both = object.array<Inner>(*inner, 2);
  ASSERT_TRUE(both);
  EXPECT_EQ(object.read_string(both->at(1).text), "eight");

  EXPECT_EQ(object.find("absent"), nullptr);
  EXPECT_EQ(object.find("assay_math_exp"), nullptr) << "it is not the object's own";
  EXPECT_TRUE(object.symbol("absent").empty());
  EXPECT_EQ(object.read_u32(std::uint64_t{1} << 40), std::nullopt);
  EXPECT_EQ(object.read_u32(~std::uint64_t{0}), std::nullopt);
  EXPECT_EQ(object.read_string(~std::uint64_t{0}), std::nullopt);
  EXPECT_EQ(object.pointer_at(~std::uint64_t{0} - 3), std::nullopt);
  EXPECT_FALSE(object.array<std::uint64_t>(table, ~std::size_t{0}));
}

TEST_F(ObjectCheck, BatchesOfMathMayBeCalled) {
  EXPECT_EQ(
      complaint(built("extern \"C\" { void assay_math_batch_exp(const double*, double*); void assay_math_batch_pow(const double*, const "
                      "double*, double*); void f(double* x) { assay_math_batch_exp(x, x); assay_math_batch_pow(x, x, x); } }")),
      "");
  EXPECT_THAT(complaint_about("extern \"C\" { void assay_math_batch_none(double*); void f(double* x) { assay_math_batch_none(x); } }"),
              HasSubstr("'assay_math_batch_none'"));
}

TEST_F(ObjectCheck, CodeThatLoadingRunsIsRefused) {
  EXPECT_THAT(complaint_about("volatile int n; __attribute__((constructor)) void f() { n = 1; }"), HasSubstr("an initialiser"));
  EXPECT_THAT(complaint_about("volatile int n; __attribute__((destructor)) void f() { n = 1; }"), HasSubstr("a finaliser"));
  EXPECT_THAT(complaint_about("extern \"C\" void _init() {}"), HasSubstr("an initialiser"));
  EXPECT_THAT(complaint_about("extern \"C\" void _fini() {}"), HasSubstr("a finaliser"));
  EXPECT_THAT(complaint_about("int f(); int x = f();"), HasSubstr("an initialiser"));
  EXPECT_THAT(complaint_about("void f(){} __attribute__((section(\".init_array\"), used)) void (*p)() = f;"), HasSubstr("an initialiser"));
  EXPECT_THAT(complaint_about("asm(\".section .init_array,\\\"aw\\\"\\n.quad f\\n.text\"); extern \"C\" __attribute__((used)) void f() {}"),
              HasSubstr("an initialiser"));
  EXPECT_THAT(complaint_about("extern \"C\" void start() {}", {}, {"-init", "start"}), HasSubstr("an initialiser"));
  EXPECT_THAT(
      complaint_about("extern \"C\" { static void g(){} static void (*r())() { return g; } void f() __attribute__((ifunc(\"_ZL1rv\")));}"
                      "void h() { f(); }"),
      AnyOf(HasSubstr("ifunc"), HasSubstr("resolver")));
}

TEST_F(ObjectCheck, WhatIsNotTheKernelsIsRefused) {
  const std::string used = complaint_about("extern \"C\" int system(const char*); void f() { system(\"true\"); }");
  EXPECT_THAT(used, AllOf(HasSubstr("'system'"), HasSubstr("declared and not defined")));
  EXPECT_THAT(complaint_about("int f(int); int g() { return f(2); }"), HasSubstr("'f(int)'"));
  EXPECT_THAT(complaint_about("extern \"C\" int system(const char*); void* p = (void*)system;"), HasSubstr("'system'"));
  EXPECT_THAT(complaint_about("extern \"C\" double assay_math_exp(double); extern \"C\" { void* p = (void*)assay_math_exp; }"),
              HasSubstr("stores the address of 'assay_math_exp'"));
  EXPECT_THAT(complaint_about("extern int weak __attribute__((weak)); int f() { return weak; }"), HasSubstr("'weak'"));
  EXPECT_THAT(complaint_about("thread_local int x; int* f() { return &x; }"), HasSubstr("thread-local"));
  EXPECT_THAT(complaint_about("thread_local int x; int* f() { return &x; }", {"-ftls-model=initial-exec"}), HasSubstr("thread-local"));
  EXPECT_THAT(complaint_about(std::string(kPlain), {}, {"-z", "execstack"}), HasSubstr("executable stack"));
  EXPECT_THAT(complaint_about(std::string(kPlain), {}, {"-N"}), HasSubstr("writable and executable"));
  EXPECT_THAT(complaint_about(std::string(kPlain), {}, {"--soname", "libc.so.6"}), HasSubstr("dynamic section has an entry"));
  EXPECT_THAT(complaint_about(std::string(kPlain), {}, {"-rpath", "/tmp"}), HasSubstr("other files to load"));
  EXPECT_THAT(complaint_about(std::string(kPlain), {}, {"-z", "initfirst"}), HasSubstr("dynamic section has an entry"));
  EXPECT_THAT(complaint_about(std::string(kPlain), {}, {"--dynamic-linker", "/bin/sh"}), AnyOf(HasSubstr("interpreter"), Eq("")));
  EXPECT_THAT(complaint_about(std::string(kPlain), {}, {"--defsym", "fixed=0x1234"}), HasSubstr("fixed address"));
  const std::string library = built("extern \"C\" void other() {}").string();
  std::filesystem::rename(library, folder_ / "libother.so");
  EXPECT_THAT(complaint_about(std::string(kPlain), {}, {(folder_ / "libother.so").string()}), HasSubstr("another library"));
}

TEST_F(ObjectCheck, OtherFilesAreNotRead) {
  EXPECT_THAT(complaint("/dev/zero"), HasSubstr("not a regular file"));
  EXPECT_THAT(complaint(folder_), HasSubstr("not a regular file"));
  EXPECT_THAT(complaint(folder_ / "absent"), HasSubstr("No such file"));
  EXPECT_THAT(complaint(write("", "empty")), HasSubstr("too short"));
  EXPECT_THAT(complaint(write(std::string(100, 'x'), "text")), HasSubstr("another kind of file"));
  EXPECT_THAT(complaint("/proc/self/exe"), Not(Eq("")));
}

// For any bytes there is an answer, and following an accepted object's data stays inside of it.
TEST_F(ObjectCheck, DamagedObjectsAreRefusedOrRead) {
  const std::string text = read_file(built(std::string(kPlain)));
  const auto attempt = [](std::string damaged) {
    std::vector<std::byte> bytes(damaged.size());
    std::memcpy(bytes.data(), damaged.data(), damaged.size());
    try {
      const ObjectFile object(std::move(bytes), "damaged");
      for (const auto& symbol : object.symbols()) {
        static_cast<void>(object.symbol(symbol.name));
        static_cast<void>(object.read_string(symbol.address));
        static_cast<void>(object.array<std::uint64_t>(symbol.address, 5));
        static_cast<void>(object.pointer_at(symbol.address + 8));
      }
      check_object(object);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  ASSERT_TRUE(attempt(text));
  // Section headers and what stands behind the segments are of no use to the dynamic linker.
  const ObjectFile object = ObjectFile::read(folder_ / "object.so");
  std::size_t end = 0;
  for (const auto& segment : object.segments()) end = std::max<std::size_t>(end, segment.offset + segment.file_bytes);
  for (std::size_t size = 0; size < end; size += size < 1024 ? 1 : 61) EXPECT_FALSE(attempt(text.substr(0, size))) << size;

  std::mt19937_64 random(18);
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  std::size_t refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = text;
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
      // Mostly where the headers and tables are.
      const std::size_t at = below(2) == 0 ? below(std::min<std::size_t>(text.size(), 0x400)) : below(text.size());
      constexpr std::array<unsigned char, 8> kEdges = {0x00, 0x01, 0x7f, 0x80, 0xff, 0x08, 0x10, 0x40};
      damaged[at] = static_cast<char>(below(2) == 0 ? kEdges[below(kEdges.size())] : below(256));
    }
    if (!attempt(std::move(damaged))) ++refused;
  }
  EXPECT_GT(refused, 2000U);
}

}  // namespace
}  // namespace assay::tests::object_check_test
