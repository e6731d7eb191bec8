// What a file includes: headers of what is left out may stand there unused, those without which it means nothing are refused at the user's
// line, and __has_include distinguishes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "metal/compile/library.h"
#include "metal/errors.h"

namespace assay::tests::headers_test {
namespace {

using namespace ::testing;

constexpr const char* kKernel = "kernel void test(device int* out [[buffer(0)]]) { out[0] = 1; }\n";

std::string failure_of(const std::string& source, const std::string& function = "test") {
  try {
    static_cast<void>(metal::Library::from_source(source, "test.metal")->pipeline({function, {}}));
  } catch (const metal::Error& error) {
    return error.what();
  }
  return "compiled";
}

TEST(Headers, OfWhatIsLeftOutMayStandUnused) {
  std::string source;
  for (const char* header : {"stdlib",
                             "texture",
                             "texture_pub",
                             "graphics",
                             "sampler",
                             "depth",
                             "imageblocks",
                             "coordinate",
                             "interpolate",
                             "mesh",
                             "tessellation",
                             "command_buffer",
                             "function_pointers",
                             "visible_function_table",
                             "stitching",
                             "raytracing",
                             "curves",
                             "compute",
                             "simdgroup",
                             "atomic",
                             "initializer_list"}) {
    source += "#if !__has_include(<metal_" + std::string(header) + ">)\n#error not there\n#endif\n";
    source += "#include <metal_" + std::string(header) + ">\n";
  }
  EXPECT_EQ(failure_of(source + "using namespace metal;\n" + kKernel), "compiled");
}

TEST(Headers, OfTensorsAreRefusedWhereTheyAreIncluded) {
  for (const auto& [header, what] :
       {std::pair("metal_tensor", "tensors"), std::pair("metal_cooperative_tensor", "tensors"),
        std::pair("MetalPerformancePrimitives/MetalPerformancePrimitives.h", "Metal Performance Primitives")}) {
    const std::string name = header;
    EXPECT_EQ(failure_of("#include <metal_stdlib>\n\n#include <" + name + ">\n" + kKernel),
              "test.metal:3: fatal error: <" + name + "> is not supported: " + what + " are out of scope of this simulator");
    EXPECT_EQ(failure_of("#if __has_include(<" + name + ">)\n#error there\n#endif\n#include <metal_stdlib>\n" + kKernel), "compiled");
  }
  EXPECT_EQ(failure_of("#include <metal_anything>\n"), "test.metal:1: fatal error: 'metal_anything' file not found");
}

TEST(Headers, TheIncludePathToARefusedOneIsReported) {
  const auto folder = std::filesystem::temp_directory_path() / ("assay_headers_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "inner.h") << "#pragma once\n#include <metal_tensor>\n";
  std::ofstream(folder / "outer.h") << "\n\n#include \"inner.h\"\n";
  std::ofstream(folder / "kernel.metal") << "#include <metal_stdlib>\n#include \"outer.h\"\n" << kKernel;
  const std::string at = folder.string() + "/";
  try {
    static_cast<void>(metal::Library::from_file(folder / "kernel.metal"));
    FAIL() << "translated";
  } catch (const metal::CompileError& error) {
    EXPECT_EQ(std::string(error.what()), at +
                                             "inner.h:2: fatal error: <metal_tensor> is not supported: tensors are out of scope of this "
                                             "simulator\n     2 | #include <metal_tensor>\n" +
                                             at + "outer.h:3: note: included from here\n" + at +
                                             "kernel.metal:2: note: included from here");
  }
  std::filesystem::remove_all(folder);
}

TEST(Headers, WhatTheyWouldDeclareIsRefusedByNameWhereItIsUsed) {
  const std::string start = "#include <metal_stdlib>\n#include <metal_texture>\nusing namespace metal;\n";
  EXPECT_THAT(failure_of(start + "kernel void test(texture2d<float> t [[texture(0)]], device int* out) { out[0] = 1; }\n"),
              AllOf(StartsWith("test.metal:4: error:"), HasSubstr("texture"), Not(HasSubstr("compiled"))));
  const auto using_it = [&](const std::string& declaration, const std::string& use) {
    return failure_of(start + declaration + "\nkernel void test(device int* out) { out[0] = " + use + "; }\n");
  };
  EXPECT_THAT(using_it("float4 read(texture2d<float> t);", "int(read(0).x)"),
              AllOf(StartsWith("test.metal:4: error:"), HasSubstr("'texture2d'"), HasSubstr("textures are out of scope")));
  EXPECT_THAT(using_it("constexpr sampler s;", "sizeof(s)"),
              AllOf(StartsWith("test.metal:4: error:"), HasSubstr("'sampler'"), HasSubstr("samplers are out of scope")));
  // A name of the file's own is none of Metal's.
  EXPECT_THAT(using_it("int f() { return textural; }", "f()"), AllOf(HasSubstr("'textural'"), Not(HasSubstr("scope"))));
  EXPECT_EQ(failure_of(start + "float4 read(texture2d<float> t);\nconstexpr sampler s;\n" + kKernel), "compiled") << "they are unused";
  EXPECT_EQ(failure_of(start + "struct sampler { int n; };\n" + kKernel), "compiled");
}

TEST(Headers, OfTheSimdLibraryHaveItsTypes) {
  for (const char* part : {"simd", "types", "base", "vector_types", "matrix_types", "matrix", "vector", "vector_make", "common", "math",
                           "geometry", "logic", "conversion", "packed", "extern", "quaternion"}) {
    const std::string start = "#include <simd/" + std::string(part) + ".h>\n";
    EXPECT_EQ(
        failure_of(
            start +
            "kernel void test(device simd_float4x4* m [[buffer(0)]], device simd::float3* v [[buffer(1)]]) { v[0] = m[0][0].xyz; }\n"),
        "compiled")
        << part;
  }
  EXPECT_THAT(
      failure_of(std::string("#include <simd/quaternion.h>\n") + "kernel void test(device int* out) { simd_quatf q; out[0] = 1; }\n"),
      AllOf(StartsWith("test.metal:2: error:"), HasSubstr("simd_quatf")));
}

TEST(Headers, OfCThatFilesShareWithTheirHostMayBeIncluded) {
  std::string source;
  for (const char* header : {"stdint.h", "inttypes.h", "stddef.h", "stdbool.h", "limits.h", "float.h", "math.h", "assert.h", "string.h",
                             "stdlib.h", "cstdint", "cinttypes", "cstring", "cstdlib", "utility", "initializer_list"})
    source += "#include <" + std::string(header) + ">\n";
  EXPECT_EQ(failure_of(source + "kernel void test(device uint64_t* out) { std::int8_t n = INT8_MAX; out[0] = n; }\n"), "compiled");
  EXPECT_THAT(failure_of("#include <string.h>\nkernel void test(device int* out, device int* in) {\n  memcpy(out, in, 4);\n}\n"),
              AllOf(StartsWith("test.metal:3: error:"), HasSubstr("'memcpy'")));
  EXPECT_EQ(failure_of("#include <stdio.h>\n" + std::string(kKernel)), "test.metal:1: fatal error: 'stdio.h' file not found");
  EXPECT_EQ(failure_of("#ifndef __METAL_VERSION__\n#include <stdio.h>\n#endif\n" + std::string(kKernel)), "compiled");
}

}  // namespace
}  // namespace assay::tests::headers_test
