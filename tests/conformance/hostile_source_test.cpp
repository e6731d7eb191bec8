// Sources that reach beyond the kernel: each spelling is refused by name and line, and what kernels legitimately write compiles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "metal/compile/library.h"
#include "metal/errors.h"
#include "metal/pipeline_descriptor.h"
#include "tests/support/files.h"

namespace assay::tests::hostile_source_test {
namespace {

using namespace ::testing;

constexpr std::string_view kHead = "#include <metal_stdlib>\nusing namespace metal;\n";
constexpr std::string_view kKernel =
    "\nkernel void k(device float* o [[buffer(0)]], device const float* i [[buffer(1)]]) { o[0] = i[0]; }\n";

class HostileSource : public TestInFolder {
 protected:
  // What is said against the kernel `k` of a source; empty if it compiles.
  std::string complaint(const std::string& source, const metal::CompileOptions& options = {}) const {
    return complaint_of_file(write(source), options);
  }
  static std::string complaint_of_file(const std::string& file, const metal::CompileOptions& options = {}) {
    try {
      static_cast<void>(metal::Library::from_file(file, options)->pipeline({"k", {}}));
      return {};
    } catch (const metal::Error& error) {
      return error.what();
    }
  }

  // `text` stands in line 3, before the kernel, or in place of its statement.
  std::string outside(const std::string& text) const { return complaint(std::string(kHead) + text + std::string(kKernel)); }
  std::string inside(const std::string& text) const {
    return complaint(std::string(kHead) + "kernel void k(device float* o [[buffer(0)]], uint t [[thread_position_in_grid]]) { " + text +
                     " }\n");
  }

  struct Form {
    std::string text;
    std::string named;  // what the message names
  };
  void expect_refused_outside(const std::vector<Form>& forms) const {
    for (const auto& [text, named] : forms) {
      EXPECT_THAT(outside(text), AllOf(HasSubstr("kernel.metal:3: "), HasSubstr("error: "), HasSubstr(named))) << text;
    }
  }
};

TEST_F(HostileSource, LanguageLinkageIsRefused) {
  expect_refused_outside({
      {"extern \"C\" int system(const char*);", "extern \"C\""},
      {"extern \"C\" { int system(const char*); }", "extern \"C\""},
      {"extern \"C++\" int system(const char*);", "extern \"C++\""},
      {"extern u8\"C\" int system(const char*);", "extern \"C\""},
      {"extern R\"(C)\" int system(const char*);", "extern R\"(C)\""},
      {"extern\\\n\"C\" int system(const char*);", "extern \"C\""},
      {"#define X extern\n#line 3\nX \"C\" int system(const char*);", "extern \"C\""},
      {"namespace a { extern \"C\" { constant int x = 1; } }", "extern \"C\""},
  });
}

TEST_F(HostileSource, AssemblyIsRefused) {
  expect_refused_outside({
      {"asm(\".section .init_array\");", "'asm'"},
      {"__asm(\".section .init_array\");", "'__asm'"},
      {"__asm__(\".section .init_array\");", "'__asm__'"},
      {"__asm__ volatile(\"\");", "'__asm__'"},
      {"as\\\nm(\".text\");", "'asm'"},
      {"int f(int) __asm(\"system\");", "'__asm'"},
      {"int f(int) asm(\"system\");", "'asm'"},
      {"constant int x __asm__(\"environ\") = 1;", "'__asm__'"},
      {"extern constant int x __asm__(\"environ\");", "'__asm__'"},
      {"#define A(x) __as##x\n#line 3\nA(m)(\".text\");", "'__asm'"},
      {"inline void f() { __asm__(\"syscall\"); }", "'__asm__'"},
      {"struct S { void f() { asm(\"nop\"); } };", "'asm'"},
      {"template <typename T> T f(T x) { asm volatile(\"nop\"); return x; }", "'asm'"},
  });
  EXPECT_THAT(inside("asm volatile(\"syscall\" ::: \"memory\"); o[t] = 1;"), AllOf(HasSubstr("kernel.metal:3: "), HasSubstr("'asm'")));
  EXPECT_THAT(outside("int \\u0061sm;"), HasSubstr("kernel.metal:3: "));
  EXPECT_THAT(outside("int x\\u00e9;"), AnyOf(HasSubstr("kernel.metal:3: "), Eq("")));
}

TEST_F(HostileSource, AttributesThatPlaceOrRunCodeAreRefused) {
  expect_refused_outside({
      {"__attribute__((constructor)) void f() {}", "'constructor'"},
      {"__attribute__((constructor(101))) void f() {}", "'constructor'"},
      {"__attribute__((__constructor__)) void f() {}", "'__constructor__'"},
      {"__attribute((constructor)) void f() {}", "'constructor'"},
      {"__attribute__((destructor)) void f() {}", "'destructor'"},
      {"__attribute__((always_inline, destructor)) inline void f() {}", "'destructor'"},
      {"__attribute__((, destructor)) void f() {}", "'destructor'"},
      {"__attribute__((section(\".init_array\"))) constant int x = 1;", "'section'"},
      {"void f() __attribute__((section(\"x\")));", "'section'"},
      {"struct __attribute__((packed)) S { int x __attribute__((section(\"x\"))); };", "'section'"},
      {"void f() __attribute__((alias(\"g\")));", "'alias'"},
      {"void f() __attribute__((weakref(\"system\")));", "'weakref'"},
      {"void f() __attribute__((weak));", "'weak'"},
      {"void f() __attribute__((ifunc(\"g\")));", "'ifunc'"},
      {"__attribute__((naked)) void f() {}", "'naked'"},
      {"__attribute__((used)) void f() {}", "'used'"},
      {"__attribute__((retain)) void f() {}", "'retain'"},
      {"__attribute__((visibility(\"default\"))) void f() {}", "'visibility'"},
      {"__attribute__((target(\"avx512f\"))) void f() {}", "'target'"},
      {"__attribute__((init_priority(101))) constant int x = 1;", "'init_priority'"},
      {"__attribute__((interrupt)) void f() {}", "'interrupt'"},
      {"typedef int __attribute__((address_space(256))) seg;", "'address_space'"},
      {"typedef int __attribute__((opencl_global_host)) seg;", "'opencl_global_host'"},
      {"__attribute__((tls_model(\"initial-exec\"))) int x;", "'tls_model'"},
      {"__attribute__((annotate(\"x\"))) void f() {}", "'annotate'"},
      {"__attribute__((assay_device_member)) void f() {}", "'assay_device_member'"},
      {"#define A(x) __attribute__((x))\n#line 3\nA(destructor) void f() {}\n", "'destructor'"},
      {"__declspec(dllexport) void f() {}", "'dllexport'"},
      {"__declspec(allocate(\"x\")) int x;", "'allocate'"},
      {"[[gnu::constructor]] void f() {}", "'constructor'"},
      {"[[gnu::destructor]] void f() {}", "'destructor'"},
      {"[[__gnu__::__section__(\"x\")]] void f() {}", "'__section__'"},
      {"[[gnu::unused, gnu::section(\"x\")]] void f() {}", "'section'"},
      {"[[using gnu: section(\"x\")]] void f() {}", "'section'"},
      {"[[clang::section(\"x\")]] void f() {}", "'section'"},
      {"[[_Clang::annotate(\"x\")]] void f() {}", "'annotate'"},
      {"[ [gnu::section(\"x\")]] void f() {}", "attribute list"},
      {"[[, gnu::section(\"x\")]] void f() {}", "attribute list"},
      {"<:<:gnu::section(\"x\"):>:> void f() {}", "digraph '<:'"},
      {"[<:gnu::section(\"x\")]] void f() {}", "digraph"},
  });
  EXPECT_THAT(inside("int x __attribute__((cleanup(f))) = 1; o[t] = x;"), AllOf(HasSubstr("kernel.metal:3: "), HasSubstr("'cleanup'")));
  EXPECT_THAT(inside("int x<:2:>; o[t] = x<:0:>;"), HasSubstr("digraph '<:'"));
  EXPECT_THAT(inside("if (t) <% o[t] = 1; %>"), HasSubstr("digraph"));
}

TEST_F(HostileSource, PragmasAndDirectivesOfMacrosAreRefused) {
  expect_refused_outside({
      {"#pragma clang section text=\".init\"", "clang section"},
      {"#pragma  clang   section bss=\"x\"", "clang section"},
      {"_Pragma(\"clang section text=\\\"x\\\"\")", "clang section"},
      {"#pragma weak f = system", "weak"},
      {"#pragma redefine_extname f system", "redefine_extname"},
      {"#pragma clang attribute push(__attribute__((destructor)), apply_to = function)", "clang attribute"},
      {"#pragma GCC visibility push(default)", "GCC visibility"},
      {"#pragma init_seg(lib)", "init_seg"},
      {"#pragma code_seg(\"x\")", "code_seg"},
      {"#pragma data_seg(\".init_array\")", "data_seg"},
      {"#pragma comment(lib, \"c\")", "comment"},
      {"__pragma(weak f)", "weak"},
      {"%:pragma weak f", "weak"},
      {"#ident \"x\"", "#ident"},
      {"#sccs \"x\"", "#"},
  });
  for (const char* text :
       {"#define H #\nH include \"/etc/passwd\"", "#define H %:\nH include \"/etc/passwd\"", "#define H #\nH pragma weak f",
        "#define H #\nH 1 \"/proc/self/environ\"", "#define H #\nint x; H include \"/etc/passwd\""}) {
    EXPECT_THAT(outside(text), AllOf(HasSubstr("kernel.metal:4: "), Not(HasSubstr("root:")))) << text;
  }
  // Two strings to a lexer that does not know the prefix: what is between them would be hidden.
  EXPECT_THAT(outside("constant int x = sizeof(u8R\"(\")\" asm(\".text\") \"\");"), HasSubstr("kernel.metal:3: "));
}

TEST_F(HostileSource, BuiltinsBeyondTheKernelAreRefused) {
  for (const char* call : {"__builtin_return_address(0)",
                           "__builtin_frame_address(0)",
                           "__builtin_extract_return_addr(o)",
                           "__builtin_thread_pointer()",
                           "__builtin_alloca(8)",
                           "__builtin_setjmp(o)",
                           "__builtin_longjmp(o, 1)",
                           "__builtin_ia32_rdtsc()",
                           "__builtin_readcyclecounter()",
                           "__builtin_eh_return(0, o)",
                           "__builtin_unwind_init()",
                           "__builtin_printf(\"x\")",
                           "__builtin_abort()",
                           "__builtin_exit(0)",
                           "__builtin_malloc(8)",
                           "__builtin_operator_new(8)",
                           "__builtin_os_log_format(o, \"\")",
                           "__builtin_stack_save()",
                           "__builtin_fopen(0, 0)",
                           "__builtin_ia32_xsetbv(0, 0)",
                           "__builtin___clear_cache(0, 0)",
                           "__builtin_call_with_static_chain(f(), o)",
                           "__builtin_init_dwarf_reg_size_table(o)",
                           "__builtin_coro_done(o)"}) {
    const std::string name = std::string(call).substr(0, std::string(call).find('('));
    EXPECT_THAT(inside("(void)" + std::string(call) + "; o[t] = 1;"), AllOf(HasSubstr("kernel.metal:3: "), HasSubstr("'" + name + "'")));
  }
  for (const char* word : {"__assay_barrier(0, 0);", "__assay::builtin<uint>(0);", "int assay_math_exp;", "ASSAY_LIBRARY1(x)",
                           "int assay_name_global;", "constant char* p = __assay_shader_file;"}) {
    EXPECT_THAT(inside(std::string(word) + " o[t] = 1;"), AllOf(HasSubstr("kernel.metal:3: "), HasSubstr("name of assay's own"))) << word;
  }
  EXPECT_THAT(outside("int __assay_module;"), HasSubstr("'__assay_module'"));
}

// What no list of words finds: the pass sees the module.
TEST_F(HostileSource, CodeAndDataOfOthersAreRefused) {
  EXPECT_THAT(complaint(std::string(kHead) +
                        "extern constant char environ[];\nkernel void k(device char* o [[buffer(0)]]) { o[0] = environ[3]; }\n"),
              AllOf(HasSubstr("kernel.metal:4: "), HasSubstr("'environ'"), HasSubstr("declared and not defined")));
  EXPECT_THAT(complaint(std::string(kHead) + "int system(int);\nkernel void k(device int* o [[buffer(0)]]) { o[0] = system(3); }\n"),
              AllOf(HasSubstr("kernel.metal:4: "), HasSubstr("'system"), HasSubstr("declared and not defined")));
  EXPECT_THAT(inside("printf(\"x\"); o[t] = 1;"), HasSubstr("kernel.metal:3: "));
  EXPECT_THAT(inside("thread int* p = new int(3); o[t] = *p;"), HasSubstr("kernel.metal:3: "));
  EXPECT_THAT(inside("auto f = (void (*)(int))(ulong)t; f(3); o[t] = 1;"), HasSubstr("kernel.metal:3: "));
  EXPECT_THAT(inside("auto f = reinterpret_cast<int (*)(const char*)>(0x1234ul); o[t] = f(\"true\");"), HasSubstr("kernel.metal:3: "));
  EXPECT_THAT(inside("auto p = &&here; here: o[t] = (ulong)p;"), HasSubstr("kernel.metal:3: "));
  EXPECT_THAT(inside("goto *(void*)(ulong)t;"), HasSubstr("kernel.metal:3: "));
  EXPECT_THAT(inside("__thread int x; o[t] = x;"), HasSubstr("kernel.metal:3: "));
  EXPECT_THAT(inside("_Thread_local int x; o[t] = x;"), HasSubstr("kernel.metal:3: "));
  EXPECT_THAT(complaint(std::string(kHead) + "int f();\nconstant int x = f();\nkernel void k(device int* o [[buffer(0)]]) { o[0] = x; }\n"),
              HasSubstr("kernel.metal:4: "));
  EXPECT_THAT(complaint(std::string(kHead) + "struct S { ~S() { *(volatile device int*)8 = 1; } };\nS s;\n"
                                             "kernel void k(device int* o [[buffer(0)]]) { o[0] = 1; }\n"),
              AllOf(HasSubstr("kernel.metal:3: "), HasSubstr("the destructor '~S'"), HasSubstr("unloaded")));
  EXPECT_THAT(complaint(std::string(kHead) + "struct S { ~S() {} int x; };\nconstant S s = {1};\n"
                                             "kernel void k(device int* o [[buffer(0)]]) { o[0] = s.x; }\n"),
              AnyOf(HasSubstr("error: "), Eq("")));
}

TEST_F(HostileSource, FilesElsewhereAreNotIncluded) {
  const std::filesystem::path folder = folder_ / "kernel";
  std::filesystem::create_directories(folder / "below");
  std::ofstream(folder_ / "above.h") << "constant int secret = 1;\n#error secret\n";
  std::ofstream(folder / "below/good.h") << "#include \"../beside.h\"\n";
  std::ofstream(folder / "beside.h") << "constant int good = 1;\n";
  std::filesystem::create_symlink(folder_ / "above.h", folder / "out.h");
  std::filesystem::create_symlink("beside.h", folder / "in.h");
  std::filesystem::create_directory_symlink(folder_, folder / "up");
  ASSERT_EQ(mkfifo((folder / "pipe.h").c_str(), 0600), 0);
  const auto test_case = [&](const std::string& text, const metal::CompileOptions& options = {}) {
    std::ofstream(folder / "kernel.metal") << text << kKernel;
    return complaint_of_file((folder / "kernel.metal").string(), options);
  };
  for (const std::string& text :
       {std::string("#include \"/etc/passwd\""), std::string("#include \"../above.h\""),
        "#include \"" + (folder_ / "above.h").string() + "\"", std::string("#include \"below/../../above.h\""),
        std::string("#include \"out.h\""), std::string("#include \"up/above.h\""), std::string("#include_next \"/etc/passwd\""),
        std::string("#import \"/etc/passwd\""), std::string("#include </etc/passwd>"), std::string("#include \"/proc/self/environ\""),
        std::string("#include \"/dev/zero\""), std::string("#include \"/dev/stdout\""), std::string("#include \"pipe.h\""),
        std::string("#if __has_include(\"/etc/passwd\")\n#endif"), std::string("#if __has_include(\"pipe.h\")\n#endif"),
        std::string("%:include \"/etc/passwd\""), std::string("#embed \"/etc/passwd\""),
        std::string("constant unsigned char x[] = {\n#embed \"kernel.metal\"\n};")}) {
    EXPECT_THAT(test_case(text),
                AllOf(ContainsRegex("kernel.metal:[12]: (fatal )?error: "), Not(HasSubstr("secret")), Not(HasSubstr("root:"))))
        << text;
  }
  EXPECT_EQ(test_case("#include \"below/good.h\"\n#include \"in.h\""), "");
  EXPECT_EQ(test_case("#include \"beside.h\"\n#if __has_include(\"absent.h\")\n#error\n#endif"), "");
  std::ofstream(folder_ / "above.h") << "constant int offered = 1;\n";
  metal::CompileOptions options;
  options.include_directories = {folder_};
  EXPECT_EQ(test_case("#include <above.h>", options), "");
  EXPECT_EQ(test_case("#include \"../above.h\"\n#include \"out.h\"", options), "");

  std::filesystem::create_symlink("/etc/passwd", folder / "link.metal");
  EXPECT_THAT(complaint_of_file((folder / "link.metal").string()), AllOf(HasSubstr("a link that leads out"), Not(HasSubstr("root:"))));
}

TEST_F(HostileSource, LinesOfOtherFilesAreNotShown) {
  setenv("ASSAY_TEST_TOKEN", "seven-secrets", 1);
  std::ofstream(folder_ / "other") << "seven-secrets\n";
  const std::string other = (folder_ / "other").string();
  for (const std::string& name :
       {std::string("/proc/self/environ"), std::string("/etc/passwd"), std::string("/dev/zero"), std::string("/dev/stdin")}) {
    for (const std::string& marker :
         {"#line 1 \"" + name + "\"", "# 1 \"" + name + "\"", "# 1 \"" + name + "\" 1", "# 1 \"" + name + "\" 1 3"}) {
      for (const std::string& mistake :
           {"static_assert(false, \"\");", "kernel void k() { nonsense(); }", "int f() { return g; }", "#error x", "asm(\"\");"}) {
        const std::string message = complaint(marker + "\n" + mistake + "\n" + std::string(kKernel));
        EXPECT_THAT(message, AllOf(Not(HasSubstr("seven-secrets")), Not(HasSubstr("root:")))) << marker << mistake;
      }
    }
  }
  unsetenv("ASSAY_TEST_TOKEN");
  EXPECT_THAT(complaint("#line 40 \"generated.py\"\nkernel void k() { nonsense(); }\n"), HasSubstr("<generated.py>:40: error: "));
  EXPECT_THAT(complaint("\nkernel void k() { nonsense(); }\n"), HasSubstr("     2 | kernel void k() { nonsense(); }"));
}

// A file that poses as one of our headers is checked against the same lists.
TEST_F(HostileSource, NoFilePosesAsAHeaderOfOurs) {
  for (const std::string& name :
       {std::string("metal_stdlib"), (kRoot / "metal/shader/kernel.h").string(), (kRoot / "metal/shader/include/metal_stdlib").string()}) {
    for (const char* flags : {"", " 1", " 1 3", " 3 4"}) {
      const std::string marker = "# 1 \"" + name + "\"" + flags + "\n";
      EXPECT_THAT(complaint(marker + "extern \"C\" int system(const char*);" + std::string(kKernel)), HasSubstr("extern \"C\"")) << marker;
      EXPECT_THAT(complaint(marker + "__attribute__((destructor)) void f() {}" + std::string(kKernel)), HasSubstr("'destructor'"))
          << marker;
    }
  }
}

TEST_F(HostileSource, WhatKernelsWriteCompiles) {
  for (const char* text : {
           "__attribute__((always_inline)) inline float f(float x) { return x; }",
           "__attribute__((__always_inline__, const)) inline float f(float x) { return x; }",
           "static inline __attribute__((flatten, hot)) float f(float x) { return x; }",
           "__attribute__((noinline)) float f(float x) { return x; }",
           "inline float f(float x __attribute__((unused))) { return 1; }",
           "struct __attribute__((packed)) S { char a; int b; };",
           "struct __attribute__((aligned(16))) S { int b; };",
           "typedef float V __attribute__((ext_vector_type(4)));",
           "typedef float V __attribute__((vector_size(16)));",
           "[[gnu::always_inline]] inline float f(float x) { return x; }",
           "[[clang::optnone]] float f(float x) { return x; }",
           "[[using gnu: always_inline, hot]] inline float f(float x) { return x; }",
           "[[nodiscard, maybe_unused]] inline float f(float x) { return x; }",
           "struct [[gnu::packed]] S { char a; int b; };",
           "METAL_FUNC float f(float x) { return x; }",
           "struct alignas(16) S { int b; };",
           "#pragma once",
           "#pragma mark - sums",
           "#pragma METAL internals : enable",
           "#pragma METAL fp math_mode(safe)",
           "#pragma STDC FP_CONTRACT OFF",
           "#pragma clang diagnostic push\n#pragma clang diagnostic ignored \"-Wunused-variable\"\n#pragma clang diagnostic pop",
           "#pragma GCC diagnostic ignored \"-Wunused\"",
           "#pragma pack(push, 1)\nstruct S { char a; int b; };\n#pragma pack(pop)",
           "#pragma region x\n#pragma endregion",
           "#line 7",
           "#line 7 \"generated.metal\"",
           "#define S(x) #x\nconstant char text[] = S(#include);",
           "constant char text[] = \"asm extern \\\"C\\\" __attribute__((constructor))\";",
           "// asm(\"\") extern \"C\" __attribute__((constructor))",
           "extern constant float table[2];\nconstant float table[2] = {1, 2};",
           "inline float f(float x) { return __builtin_sqrtf(__builtin_fabsf(x)); }",
           "inline int f(int x) { return __builtin_popcount(x) + __builtin_clz(x); }",
           "inline float f(float x) { if (__builtin_expect(x > 0, 1)) return x; __builtin_unreachable(); }",
           "template <typename T> struct P { T x; };\nconstant int z = sizeof(P<::metal::uint>);",
           "struct S { constexpr S(int a) : x(a) {} int x; };\nconstant S s(3);",
           "inline float f(float x) { float v[2] = {x, x}; return [&](int i) { return v[i]; }(1); }",
       }) {
    EXPECT_EQ(outside(text), "") << text;
  }
}

TEST_F(HostileSource, CannotFillTheDisk) {
  EXPECT_THAT(complaint(std::string(kHead) + "constant int big[1l << 34] = {1};\n" +
                        "kernel void k(device float* o [[buffer(0)]], uint i [[thread_position_in_grid]]) { o[i] = big[i]; }\n"),
              HasSubstr("its code and data take more than 512 MiB"));
}

}  // namespace
}  // namespace assay::tests::hostile_source_test
