// Files with functions that cannot be compiled: the rest can be used, and a use of such a function reports why it is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metal/compile/library.h"
#include "metal/errors.h"
#include "tests/conformance/execute.h"

namespace assay::tests::broken_functions_test {
namespace {

using namespace ::testing;

constexpr const char* kFile = R"(#include <metal_stdlib>
using namespace metal;
struct Image { texture2d<float> pixels; int n; };
kernel void paint(texture2d<float, access::read> image [[texture(0)]], device float* out [[buffer(0)]]) { out[0] = image.read(uint2(0)).x; }
float sample(texture2d<float> image) { return image.read(uint2(0)).x; }
float sample_twice(thread Image& image) { return sample(image.pixels) * 2; }
float missing(float x) { return nothing_there(x); }
template <typename T> T member(T x) { return x.nothing(); }
struct Device { virtual int f() { return 1; } };
double precise(float x) { return x; }
struct Counter {
  int n;
  int wrong() thread { return nope; }
  int right() thread { return n; }
};
kernel void good(device float* out [[buffer(0)]]) { Counter c{3}; out[0] = c.right(); }
kernel void needs_missing(device float* out [[buffer(0)]]) { out[0] = missing(out[1]); }
kernel void needs_member(device float* out [[buffer(0)]]) { out[0] = member(out[1]); }
kernel void needs_wrong(device float* out [[buffer(0)]]) { Counter c{3}; out[0] = c.wrong(); }
kernel void needs_precise(device float* out [[buffer(0)]]) { out[0] = precise(1); }
kernel void wrong_itself(device float* out [[buffer(0)]]) { out[0] = typo; }
template <typename T> kernel void typed(device T* out [[buffer(0)]]) { out[0] = T(7); }
template [[host_name("typed_float")]] kernel void typed<float>(device float*);
template [[host_name("typed_nope")]] kernel void typed<Nope>(device Nope*);
template <typename T> kernel void filtered(texture2d<T> image [[texture(0)]], device T* out [[buffer(0)]]) { out[0] = T(7); }
template [[host_name("filtered_float")]] kernel void filtered<float>(texture2d<float>, device float*);
)";

std::string failure_of(const std::string& kernel) { return failure({.source = kFile, .kernel = kernel, .threads = {1, 1, 1}}); }

TEST(BrokenFunctions, DoNotBlockTheOthers) {
  EXPECT_EQ(execute({.source = kFile, .kernel = "good", .threads = {1, 1, 1}}).output[0], 0x40400000U);
  EXPECT_EQ(execute({.source = kFile, .kernel = "typed_float", .threads = {1, 1, 1}}).output[0], 0x40e00000U);
}

TEST(BrokenFunctions, AreRefusedToThoseWhoNeedThem) {
  EXPECT_THAT(failure_of("needs_missing"), HasSubstr("test.metal:7: error: use of undeclared identifier 'nothing_there'"));
  EXPECT_THAT(failure_of("needs_member"), AllOf(StartsWith("test.metal:8: error:"), HasSubstr("test.metal:18: note:")));
  EXPECT_THAT(failure_of("needs_wrong"), HasSubstr("test.metal:13: error: use of undeclared identifier 'nope'"));
  EXPECT_THAT(failure_of("needs_precise"), StartsWith("test.metal:10: error: Metal does not have 'double'"));
  EXPECT_THAT(failure_of("typed_nope"), HasSubstr("test.metal:24: error:"));
}

// The messages of others say nothing about a kernel that is wrong by itself.
TEST(BrokenFunctions, AreNotReportedForAKernelThatIsWrongItself) {
  EXPECT_THAT(failure_of("wrong_itself"), HasSubstr("test.metal:21: error: use of undeclared identifier 'typo'"));
}

TEST(BrokenFunctions, ThatAreKernelsAreListedWithTheReason) {
  const auto library = metal::Library::from_source(kFile, "test.metal");
  ASSERT_EQ(library->refused().size(), 2U);
  EXPECT_EQ(library->refused()[0].name, "paint");
  EXPECT_EQ(library->refused()[0].line, 4U);
  EXPECT_THAT(library->refused()[0].reason, AllOf(StartsWith("test.metal:4: error:"), HasSubstr("texture")));
  EXPECT_EQ(library->refused()[1].name, "filtered_float");
  EXPECT_FALSE(library->has_function("paint"));
  EXPECT_THAT(failure_of("paint"), StartsWith("test.metal:4: error: argument 'image'"));
  EXPECT_THAT(failure_of("filtered_float"), HasSubstr("texture"));
}

// Left out, each of these would let the kernel find something else of the same name.
TEST(BrokenFunctions, AreMissedWhereTheirNameMeansSomethingElseWithoutThem) {
  const std::string source = R"(#include <metal_stdlib>
using namespace metal;
struct Image { int n; };
template <typename T> struct Size { enum { value = sizeof(T) }; };
template <> struct Size<Image> { texture2d<float> t; enum { value = 100 }; };
constant int kMode = 1;
namespace inner {
constant int kMode = int(not_there(3)) + 5;
int mode() { return kMode; }
struct Other { virtual int f() { return 1; } };
}
struct Other { int a; };
namespace inner { int size() { return sizeof(Other); } }
int helper(int n);
int helper(int n) { return not_there(n); }
kernel void specialised(device int* out) { out[0] = Size<Image>::value; }
kernel void hidden(device int* out) { out[0] = inner::mode(); }
kernel void hidden_type(device int* out) { out[0] = inner::size(); }
kernel void declared_before(device int* out) { out[0] = helper(1); }
kernel void good(device int* out) { out[0] = 7; }
)";
  for (const std::string kernel : {"specialised", "hidden", "hidden_type", "declared_before"})
    EXPECT_NE(failure({.source = source, .kernel = kernel, .threads = {1, 1, 1}}), "") << kernel;
  EXPECT_EQ(execute({.source = source, .kernel = "good", .threads = {1, 1, 1}}).output[0], 7U);
  EXPECT_THAT(
      failure({.source =
                   "#include <metal_stdlib>\nstatic_assert(sizeof(int) == 5, \"no\");\nkernel void test(device int* out) { out[0] = 1; }"}),
      HasSubstr("static assertion failed"));
}

TEST(BrokenFunctions, RefuseAFileOfWhichNothingIsLeft) {
  EXPECT_THROW(
      (void)metal::Library::from_source("#include <metal_stdlib>\nkernel void f(texture2d<float> t [[texture(0)]]) {}", "test.metal"),
      metal::CompileError);
}

}  // namespace
}  // namespace assay::tests::broken_functions_test
