// Kernels that are more than a kernel: assembly, sections, code that runs on loading, memory that is not theirs, work without end.
#include "tests/attack/attack.h"

namespace assay::tests::shapes_test {
namespace {

class Shapes : public Rows {};

TEST_P(Shapes, HaveNoEffectAndAreNamed) {
  const Ended ended = attack(GetParam());
  expect_no_effect(ended);
  expect_named(ended, GetParam().words);
}

const std::string kCode = "static void f() { *(volatile int*)0 = 1; }\n";

INSTANTIATE_TEST_SUITE_P(
    Attack, Shapes,
    ::testing::Values(
        Row{"InlineAsm", "", "__asm volatile(\"syscall\");", {"asm"}},
        Row{"InlineAsmPasted", "#define P(a, b) a##b", "P(__a, sm__) volatile(\"syscall\");", {"asm"}},
        Row{"InlineAsmEmpty", "", "asm(\"\");", {"asm"}}, Row{"InlineAsmGoto", "", "asm goto(\"jmp %l0\" :::: end); end:;", {"asm"}},
        Row{"FileAsm", "__asm__(\".section .init_array,\\\"aw\\\"\\n.quad 0x1234\\n.text\");", "", {"asm"}},
        Row{"IncbinOfAFile", "__asm__(\".incbin \\\"@OUTSIDE@/secret.txt\\\"\");", "", {"asm"}},
        Row{"Naked", "__attribute__((naked)) void f() { __asm(\"ret\"); }", "f();", {"asm", "naked"}},
        Row{"RegisterVariable", "", "register unsigned long s __asm(\"rsp\"); row[0] = s;", {"asm", "register"}},
        Row{"Constructor", "__attribute__((constructor)) " + kCode, "", {"constructor"}},
        Row{"ConstructorGnu", "[[gnu::constructor]] " + kCode, "", {"constructor"}},
        Row{"ConstructorUnderscored", "__attribute__((__constructor__(101))) " + kCode, "", {"constructor"}},
        Row{"Destructor", "__attribute__((destructor)) " + kCode, "", {"destructor"}},
        Row{"ConstructorByPragma",
            "#pragma clang attribute push(__attribute__((constructor)), apply_to = function)\n" + kCode + "#pragma clang attribute pop",
            "",
            {"constructor", "pragma"}},
        Row{"DynamicInitialiser",
            kCode + "static int g() { f(); return 1; }\nint x = g();",
            "row[0] = x;",
            {"initial", "evil.metal:", "'x'"}},
        Row{"GlobalDestructor", kCode + "struct S { ~S() { f(); } };\nS s;", "", {"destructor", "initial", "'s'", "evil.metal:"}},
        Row{"Section", kCode + "__attribute__((section(\".init_array\"), used)) void (*p)() = f;", "", {"section", "init_array"}},
        Row{"SectionGnu",
            kCode + "[[gnu::section(\".fini_\" \"array\"), gnu::used]] static void (*p)() = f;",
            "",
            {"section", "fini_array"}},
        Row{"SectionByPragma",
            kCode + "#pragma clang section data=\".init_array\"\n__attribute__((used)) void (*p)() = f;",
            "",
            {"section", "pragma"}},
        Row{"SectionByPragmaOperator",
            kCode + "_Pragma(\"clang section data=\\\".init_array\\\"\") __attribute__((used)) void (*p)() = f;",
            "",
            {"section", "ragma"}},
        Row{"SectionAlone", kCode + "__attribute__((section(\".init_array\"))) void (*p)() = f;", "", {"section", "init_array"}},
        Row{"SectionOfTheKernelsConstant",
            "__attribute__((section(\".init_array\"))) constant ulong p[] = {0x1234};",
            "row[0] = p[lane & 0];",
            {"section", "init_array"}},
        Row{"SectionByPragmaAlone",
            kCode + "#pragma clang section bss=\".bss\" data=\".init_array\" rodata=\".init_array\"\nvoid (*p)() = f;",
            "if (p != nullptr) row[0] = 1;",
            {"section", "pragma"}},
        Row{"SectionGnuAlone", kCode + "[[gnu::section(\".fini_\" \"array\")]] void (*p)() = f;", "", {"section", "fini_array"}},
        Row{"SectionOfAFunction", "__attribute__((section(\".init\"))) void f() {}", "f();", {"section"}},
        Row{"Retained", "__attribute__((retain)) constant int kept = 1;", "", {"retain"}},
        Row{"MutableGlobal", "static int turns = 0;", "row[0] = ++turns;", {"turns", "global", "address space", "constant"}},
        Row{"MutableGlobalWithLinkage", "unsigned long turns = 0;", "row[0] = ++turns;", {"turns", "global", "address space", "constant"}},
        Row{"GlobalOfTheNameOfTheEnvironment",
            "unsigned long environ = 0;",
            "row[0] = environ != 0 ? float(777 * 1001) : 0.0f; return;",
            {"256 above bound"},
            "show"},
        Row{"GlobalOfTheNameOfAStream", "unsigned long stdout = 0, stderr = 0;", "stdout = 1; stderr = 1;", {"stdout", "stderr"}},
        Row{"ThreadLocal", "static thread_local int turns = 0;", "row[0] = ++turns;", {"turns", "thread_local", "thread-local"}},
        Row{"StaticInAFunction", "", "static int turns = 0; row[0] = ++turns;", {"turns", "static", "evil.metal:"}},
        Row{"Ifunc",
            "typedef void v();\nstatic v* r() { return nullptr; }\nvoid f() __attribute__((ifunc(\"_ZL1rv\")));",
            "f();",
            {"ifunc"}},
        Row{"TargetClones",
            "__attribute__((target_clones(\"avx2\", \"default\"))) int f() { return 1; }",
            "row[0] = f();",
            {"target", "ifunc"}},
        Row{"Alias", "void f() __attribute__((alias(\"system\")));", "f();", {"alias"}},
        Row{"Weakref", "static void f() __attribute__((weakref(\"system\")));", "f();", {"weakref", "system"}},
        Row{"FsSegment", "", "row[0] = *(__attribute__((address_space(257))) int*)0x28;", {"address_space", "address space"}},
        Row{"PragmaComment", "#pragma comment(lib, \"/tmp/evil.so\")", "", {"comment", "pragma", "1 failed"}},
        Row{"PragmaCrash", "#pragma clang __debug crash", "", {"evil.metal", "__debug"}},
        Row{"PragmaFatal", "#pragma clang __debug llvm_fatal_error", "", {"evil.metal", "__debug"}},
        Row{"PointerFromAnInteger", "", "((void (*)())0x400000)();", {"crash", "pointer", "call"}},
        Row{"NullWrite", "", "*(volatile device int*)8 = 1;", {"crash", "unmapped", "0x8"}},
        Row{"Trap", "", "__builtin_trap();", {"trap", "crash", "met an instruction that ends it"}},
        Row{"EndlessLoop", "", "volatile int go = 1; while (go) {}", {"timeout"}, "run --ledger none --timeout 2"},
        Row{"EndlessRecursion",
            "__attribute__((noinline)) int f(volatile int* n) { int m = *n + 1; return f(&m) + m; }",
            "int n = 0; row[0] = f(&n);",
            {"crash", "stack", "recurs"},
            "run --ledger none --timeout 5"},
        Row{"WritesConstantInput", "", "*(device uint*)&params = 0;", {"crash", "const", "read-only", "failed"}},
        Row{"WritesAroundParameters",
            "",
            "for (long i = -4096; i < 4096; ++i) ((volatile device uint*)&params)[i] = 0;",
            {"crash", "unmapped", "failed"}},
        Row{"WritesAroundOutput",
            "",
            "for (long i = -65536; i < 65536; ++i) ((volatile device float*)data)[i] = 0;",
            {"crash", "unmapped", "failed"}},
        Row{"WritesUpTheStack", "", "volatile long here = 0; for (long i = 0; i < 1 << 20; ++i) (&here)[i] = 0;", {"crash", "failed"}},
        Row{"WritesThroughPointersOfTheStack",
            "",
            "volatile long here = 0; for (long i = 0; i < 512; ++i) { const long p = (&here)[i]; if (p > 0x7f0000000000 && p < "
            "0x800000000000 && p % 8 == "
            "0) *(volatile long*)p = 0; }",
            {"crash", "failed"}},
        Row{"LooksForTheEnvironment",
            "",
            "volatile char here = 0; for (long i = 0; i < 1l << 30; ++i) if ((&here)[i] == 'G' && (&here)[i + 1] == 'I' && (&here)[i + 2] "
            "== 'T' && (&here)[i "
            "+ 3] == 'H' && (&here)[i + 6] == '_') { row[0] = float(777 * 1001); return; }",
            {"crash", "failed", "time limit"},
            "show --timeout 5"},
        Row{"TemplateRecursion",
            "template <int N> struct T { static constexpr int v = T<N + 1>::v; };\nconstant int x = T<0>::v;",
            "",
            {"evil.metal:", "recursive"}},
        Row{"TemplatesOfTwoToTheForty",
            "template <int N, long K> struct T { static constexpr long v = T<N - 1, 2 * K>::v + T<N - 1, 2 * K + 1>::v; };\ntemplate <long "
            "K> struct T<0, K> { static constexpr "
            "long v = K; };\nconstant long x = T<40, 0>::v;",
            "",
            {"evil.metal", "memory", "time"}},
        Row{"ConstexprLoop", "constexpr int f() { int n = 0; while (true) ++n; return n; }\nconstant int x = f();", "", {"evil.metal:"}},
        Row{"MacrosOfTwoToTheForty",
            "#define A(x) x x x x x x x x x x x x x x x x\n#define B(x) A(A(A(A(A(x)))))\n#define C(x) B(B(x))\nC(;)",
            "",
            {"evil.metal", "memory", "time"}},
        Row{"IncludesItself", "#include \"evil.metal\"\n#include \"evil.metal\"", "", {"evil.metal", "nested"}},
        Row{"HugeArray",
            "constant int x[1l << 28] = {1};",
            "row[0] = x[head];",
            {"evil.metal", "memory", "large", "time", "more than 512 MiB"}}),
    name_of);

class Files : public Rows {};

TEST_P(Files, AreNotReadAndTheMessageNamesThem) {
  std::filesystem::create_symlink(folder_ / "outside/secret.txt", folder_ / "work/link.txt");
  std::filesystem::create_symlink(folder_ / "outside", folder_ / "work/folder");
  ASSERT_EQ(mkfifo((folder_ / "work/pipe").c_str(), 0600), 0);
  write("", "work/huge.h");
  std::filesystem::resize_file(folder_ / "work/huge.h", 8ULL << 30U);
  const Ended ended = attack(GetParam());
  expect_no_effect(ended);
  expect_named(ended, GetParam().words);
  if (GetParam().name != "HasIncludeHuge") EXPECT_EQ(ended.output.find("error: there"), std::string::npos) << "whether it exists leaked";
}

std::vector<Row> file_rows() {
  std::vector<Row> rows;
  const std::vector<std::pair<std::string, std::string>> files = {{"Absolute", "@OUTSIDE@/secret.txt"},
                                                                  {"Parent", "../outside/secret.txt"},
                                                                  {"Link", "link.txt"},
                                                                  {"LinkedFolder", "folder/secret.txt"},
                                                                  {"Pipe", "pipe"},
                                                                  {"Huge", "huge.h"},
                                                                  {"Folder", "folder"},
                                                                  {"Environ", "/proc/self/environ"},
                                                                  {"Zero", "/dev/zero"},
                                                                  {"Stdout", "/dev/stdout"},
                                                                  {"Stdin", "/dev/stdin"},
                                                                  {"Descriptor", "/proc/self/fd/1"},
                                                                  {"Parents", "/proc/1/environ"},
                                                                  {"Passwd", "/etc/passwd"}};
  for (const auto& [name, file] : files) {
    const std::vector<std::string> words = {std::filesystem::path(file).filename().string()};
    rows.push_back({"Include" + name, "#include \"" + file + "\"", "", words});
    rows.push_back({"Embed" + name, "constant uchar x[] = {\n#embed \"" + file + "\" limit(64)\n};", "row[0] = x[0];", words});
    rows.push_back({"Line" + name, "#line 1 \"" + file + "\"\nstatic_assert(sizeof(int) == 5);", "", words});
    rows.push_back({"MarkerOf" + name, "# 1 \"" + file + "\" 1\nstatic_assert(sizeof(int) == 5);", "", words});
    // A file of the kernel's own folder may be looked for.
    const std::vector<std::string> found = name == "Huge" ? std::vector<std::string>{"error: there"} : words;
    rows.push_back({"HasEmbed" + name, "#if __has_embed(\"" + file + "\")\n#error there\n#endif", "", {"__has_embed"}});
    rows.push_back({"HasInclude" + name, "#if __has_include(\"" + file + "\")\n#error there\n#endif", "", found});
  }
  return rows;
}
INSTANTIATE_TEST_SUITE_P(Attack, Files, ::testing::ValuesIn(file_rows()), name_of);

class Names : public Rows {};
// A part that the kernel does not need is left out, so a broken one is no failure.
TEST_P(Names, AreWrittenOut) { expect_no_effect(attack(GetParam()), GetParam().name != "SourceLine"); }
INSTANTIATE_TEST_SUITE_P(
    Attack, Names,
    ::testing::Values(Row{"ErrorDirective", "#error ::error::pwned", "", {}},
                      Row{"LineEscape", "#line 1 \"\\033[31m\"\nint x = y;", "", {}},
                      Row{"LineWorkflow", "#line 1 \"::error::x\"\nint x = y;", "", {}},
                      Row{"AssertNewline", "static_assert(false, \"x\\n::error::pwned\\033[2J\");", "", {}},
                      Row{"SourceLine", "::error nothing;", "", {}, "compile"},
                      Row{"HostName",
                          "[[host_name(\"\\n::error::x\\033[31m\")]] kernel void k(device int* x [[buffer(0)]]) { x[0] = y; }",
                          "",
                          {},
                          "compile"}),
    name_of);

class OnLoading : public Rows {};
TEST_P(OnLoading, NothingRunsInTheCommand) {
  const Ended ended = attack(GetParam());
  expect_no_effect(ended, false);
}
std::vector<Row> loading() {
  std::vector<Row> rows;
  for (const std::string command : {"list", "support", "show", "compile"}) {
    rows.push_back({command + "Constructor", "__attribute__((constructor)) " + kCode, "", {}, command});
    rows.push_back({command + "FileAsm", "__asm__(\".section .init_array,\\\"aw\\\"\\n.quad 0x1234\\n.text\");", "", {}, command});
    rows.push_back({command + "Section", kCode + "__attribute__((section(\".init_array\"), used)) void (*p)() = f;", "", {}, command});
  }
  return rows;
}
INSTANTIATE_TEST_SUITE_P(Attack, OnLoading, ::testing::ValuesIn(loading()), name_of);

}  // namespace
}  // namespace assay::tests::shapes_test
