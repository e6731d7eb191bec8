// Kernels that call the C library, in every spelling of a foreign name.
#include "tests/attack/attack.h"

namespace assay::tests::calls_test {
namespace {

class Calls : public Rows {};

TEST_P(Calls, HaveNoEffectAndAreNamed) {
  const Ended ended = attack(GetParam());
  expect_no_effect(ended);
  expect_named(ended, GetParam().words);
}

const std::string kTouch = "(\"touch @CANARY@/pwned\");";
const std::vector<std::string> kExtern = {"extern", "system", "linkage"};
const std::vector<std::string> kLabel = {"asm", "system"};

INSTANTIATE_TEST_SUITE_P(
    Attack, Calls,
    ::testing::Values(
        Row{"ExternC", "extern \"C\" int system(const char*);", "system" + kTouch, kExtern},
        Row{"ExternCBlock", "extern \"C\" { int system(const char*); }", "system" + kTouch, kExtern},
        Row{"ExternCOfAMacro", "#define E extern \"C\"\nE int system(const char*);", "system" + kTouch, kExtern},
        Row{"ExternCRawString", "extern R\"(C)\" int system(const char*);", "system" + kTouch, kExtern},
        Row{"ExternCRawStringWithADelimiter", "extern R\"x(C)x\" int system(const char*);", "system" + kTouch, kExtern},
        Row{"ExternCInTwoStrings", "extern \"\" \"C\" int system(const char*);", "system" + kTouch, kExtern},
        Row{"ExternCStringised", "#define S(x) #x\nextern S(C) int system(const char*);", "system" + kTouch, kExtern},
        Row{"ExternCAfterAComment", "extern/*\n*/\"C\"/**/int system(const char*);", "system" + kTouch, kExtern},
        Row{"ExternCSpliced", "ext\\\nern \"\\\nC\" int sys\\\ntem(const char*);", "system" + kTouch, kExtern},
        Row{"ExternCPasted", "#define P(a, b) a##b\nP(ext, ern) \"C\" int P(sys, tem)(const char*);", "P(sys, tem)" + kTouch, kExtern},
        Row{"ExternCDigraphs", "%:define P(a, b) a%:%:b\nP(ext, ern) \"C\" <% int system(const char*); %>", "system" + kTouch, kExtern},
        Row{"ExternCInANamespace", "namespace n { extern \"C\" int system(const char*); }", "n::system" + kTouch, kExtern},
        Row{"ExternCThroughPragmaOperator",
            "#define extern_c extern \"C\"\n#pragma push_macro(\"extern_c\")\n#undef "
            "extern_c\n_Pragma(\"pop_macro(\\\"extern_c\\\")\")\nextern_c "
            "int system(const char*);",
            "system" + kTouch, kExtern},
        Row{"ExternCFunctionType", "extern \"C\" typedef int call_t(const char*);\nextern \"C\" call_t system;", "system" + kTouch,
            kExtern},
        Row{"UniversalNameInTheName",
            "extern \"C\" int syst\\u0065m(const char*);",
            "syst\\u0065m" + kTouch,
            {"evil.metal:", "system", "extern"}},
        Row{"UniversalNameInTheLanguage",
            "extern \"\\u0043\" int system(const char*);",
            "system" + kTouch,
            {"evil.metal:", "system", "extern"}},
        Row{"NamedUniversalCharacter",
            "int run(const char*) __asm(\"\\N{LATIN SMALL LETTER S}ystem\");",
            "run" + kTouch,
            {"evil.metal:", "system", "asm"}},
        Row{"AsmLabel", "int run(const char*) __asm(\"system\");", "run" + kTouch, kLabel},
        Row{"AsmLabelPlain", "int run(const char*) asm(\"system\");", "run" + kTouch, kLabel},
        Row{"AsmLabelUnderscored", "int run(const char*) __asm__(\"system\");", "run" + kTouch, kLabel},
        Row{"AsmLabelPasted", "#define P(a, b) a##b\nint run(const char*) P(__a, sm)(\"sys\" \"tem\");", "run" + kTouch, kLabel},
        Row{"AsmLabelSpliced", "int run(const char*) __as\\\nm(\"sys\\\ntem\");", "run" + kTouch, kLabel},
        Row{"AsmLabelOctal", "int run(const char*) __asm(\"\\163ystem\");", "run" + kTouch, {"asm", "system", "evil.metal:"}},
        Row{"AsmLabelRaw", "int run(const char*) __asm(R\"(system)\");", "run" + kTouch, kLabel},
        Row{"AsmLabelWithoutMangling", "int run(const char*) __asm(\"\\1system\");", "run" + kTouch, {"asm", "system", "evil.metal:"}},
        Row{"AsmLabelInAFunction", "", "int run(const char*) __asm(\"system\"); run" + kTouch, kLabel},
        Row{"AsmLabelOfAMember", "struct S { static int run(const char*) __asm(\"system\"); };", "S::run" + kTouch, kLabel},
        Row{"AsmLabelOfATemplate", "template <typename T> struct S { static int run(T) __asm(\"system\"); };",
            "S<const char*>::run" + kTouch, kLabel},
        Row{"AsmLabelOfAVariable", "extern char run[] __asm(\"system\");", "((int (*)(const char*))run)" + kTouch, kLabel},
        Row{"AsmLabelInAnAlternativeTokenMacro", "#define __private(x) __asm(x)\nint run(const char*) __private(\"system\");",
            "run" + kTouch, kLabel},
        Row{"VariableOfTheName", "extern char system[];", "((int (*)(const char*))system)" + kTouch, {"system"}},
        Row{"VariableOfTheNameInAFunction", "", "extern char system[]; ((int (*)(const char*))system)" + kTouch, {"system"}},
        Row{"WeakVariableOfTheName",
            "__attribute__((weak)) extern char system[];",
            "if (system) ((int (*)(const char*))system)" + kTouch,
            {"system", "weak"}},
        Row{"VariableEnviron", "extern char** environ;", "if (environ[0][0] != 0) row[0] = float(777 * 1001);", {"environ"}},
        Row{"VariableDynamic", "extern unsigned long _DYNAMIC[];", "if (_DYNAMIC[0] != 0) row[0] = float(777 * 1001);", {"_DYNAMIC"}},
        Row{"VariableOffsetTable",
            "extern unsigned long _GLOBAL_OFFSET_TABLE_[];",
            "if (_GLOBAL_OFFSET_TABLE_[1] != 3) row[0] = float(777 * 1001);",
            {"_GLOBAL_OFFSET_TABLE_"}},
        Row{"VariableDsoHandle",
            "extern void* __dso_handle;",
            "if (ulong(&__dso_handle) % 64 != 1) row[0] = float(777 * 1001);",
            {"__dso_handle"}},
        Row{"VariableOfTheLoader",
            "extern char _rtld_global[];",
            "if (_rtld_global[0] != 0) row[0] = float(777 * 1001);",
            {"_rtld_global"}},
        Row{"ImageHeader", "extern char __ehdr_start[];", "if (__ehdr_start[1] == 'E') row[0] = float(777 * 1001);", {"__ehdr_start"}},
        Row{"BuiltinPrintf", "", "__builtin_printf(\"1 passed, 0 failed\\n\");", {"printf"}},
        Row{"BuiltinPuts", "", "__builtin_puts(\"\\033[31m::error::\");", {"puts"}},
        Row{"BuiltinMalloc", "", "*(char*)__builtin_malloc(1ul << 40) = 1;", {"malloc"}},
        Row{"BuiltinAbort", "", "__builtin_abort();", {"abort"}}, Row{"BuiltinExit", "", "__builtin_exit(0);", {"exit"}},
        Row{"BuiltinExitAtOnce", "", "__builtin__Exit(0);", {"xit"}},
        Row{"BuiltinAllocaOfAll",
            "",
            "char* p = (char*)__builtin_alloca(1ul << 33); p[head] = 1; row[0] = p[head];",
            {"alloca", "stack", "crash"}},
        Row{"BuiltinLongjmp", "", "void* b[5] = {&b, &b, &b, &b, &b}; __builtin_longjmp(b, 1);", {"jmp"}},
        Row{"BuiltinReturnAddress",
            "",
            "*(unsigned long*)__builtin_frame_address(0) = (unsigned long)__builtin_return_address(0);",
            {"return_address", "returnaddress", "frame_address", "frameaddress"}},
        Row{"BuiltinCpuSupports", "", "if (__builtin_cpu_supports(\"avx2\")) row[0] = float(777 * 1001);", {"cpu"}},
        Row{"OperatorNew", "", "int* p = new int[1 << 20]; p[head] = 1; row[0] = p[head];", {"new"}},
        Row{"Throw", "", "throw 1;", {"throw", "exception"}},
        Row{"MangledName", "namespace std { [[noreturn]] void terminate() noexcept; }", "std::terminate();", {"terminate"}},
        Row{"RedefineExtname",
            "#pragma redefine_extname run system\nint run(const char*);",
            "run" + kTouch,
            {"redefine_extname", "system", "run("}},
        Row{"PragmaWeak", "#pragma weak run = system\nint run(const char*);", "run" + kTouch, {"weak", "system", "run("}},
        Row{"DefinesMalloc",
            "extern \"C\" __attribute__((used, visibility(\"default\"))) void* malloc(unsigned long) { return nullptr; }",
            "",
            {"extern", "malloc"}},
        Row{"DefinesFreeByLabel",
            "__attribute__((used, visibility(\"default\"))) void f(void*) __asm(\"free\");\nvoid f(void*) {}",
            "",
            {"asm", "free", "'used'"}},
        Row{"DefinesMallocUnused",
            "extern \"C\" __attribute__((visibility(\"default\"))) void* malloc(unsigned long) { return nullptr; }",
            "",
            {"extern", "malloc"}},
        Row{"DefinesFreeByLabelUnused",
            "__attribute__((visibility(\"default\"))) void f(void*) __asm(\"free\");\nvoid f(void*) {}",
            "f(nullptr);",
            {"asm", "free", "'visibility'"}},
        Row{"DefinesAFunctionOfTheLibraryUnmangled",
            "void free(void*) __attribute__((overloadable));\nvoid free(void*) {}",
            "free(nullptr);",
            {"1 failed"}},
        Row{"MainOfItsOwn", "int main() { return 0; }", "main();", {"main"}},
        Row{"VariableThatHidesAService",
            "__attribute__((used, visibility(\"default\"))) unsigned long __stack_chk_guard = 0, stdout = 0, environ = 0;",
            "",
            {"__stack_chk_guard", "stdout", "environ", "global", "'used'"}},
        Row{"VariableThatHidesAServiceUnused",
            "__attribute__((visibility(\"default\"))) unsigned long __stack_chk_guard = 0, stdout = 0, environ = 0;",
            "row[0] = __stack_chk_guard + stdout + environ;",
            {"__stack_chk_guard", "stdout", "environ", "global", "'visibility'"}},
        Row{"ConstantThatHidesAService",
            "extern constant ulong environ;\nconstant ulong environ = 0;",
            "row[0] = environ;",
            {"environ", "1 failed"}},
        Row{"BuiltinSyscallOfCoroutines", "", "__builtin_coro_resume((void*)1);", {"coro"}},
        Row{"BuiltinThreadPointer", "", "row[0] = *(float*)__builtin_thread_pointer();", {"thread_pointer", "thread.pointer"}},
        Row{"BuiltinClearCache", "", "__builtin___clear_cache((char*)0, (char*)4096);", {"clear_cache"}},
        Row{"BuiltinEhReturn", "", "__builtin_unwind_init();", {"unwind"}},
        Row{"BuiltinSetjmp", "", "void* b[5]; row[0] = __builtin_setjmp(b);", {"setjmp"}},
        Row{"BuiltinFrameAddress", "", "*((ulong*)__builtin_frame_address(0) + 1) = 0x1234;", {"frame_address", "frameaddress"}},
        Row{"BuiltinRdpmc", "", "row[0] = __builtin_ia32_rdpmc(0);", {"rdpmc"}},
        Row{"BuiltinRdtsc", "", "row[0] = __builtin_ia32_rdtsc();", {"rdtsc"}},
        Row{"BuiltinWriteFsBase", "", "__builtin_ia32_wrfsbase64(0);", {"fsbase"}},
        Row{"PrefetchBuiltinHalt", "", "__builtin_ia32_pause(); __builtin_ia32_monitor((void*)row, 0, 0);", {"pause", "monitor"}},
        Row{"FunctionPointerFromAnInteger", "", "volatile ulong a = ulong(data); row[0] = ((int (*)(int))a)(3);", {"function pointer"}},
        Row{"DefinesFreeByLabelAlone", "void f(void*) __asm(\"free\");\nvoid f(void*) {}", "f(nullptr);", {"asm", "free"}},
        Row{"DefinesServicesAlone",
            "unsigned long __stack_chk_guard = 0, stdout = 0, environ = 0;",
            "if (__stack_chk_guard + stdout + environ != 0) row[0] = float(777 * 1001);",
            {"1 failed"}},
        Row{"FunctionPointerChanged",
            "static float g(float x) { return x; }",
            "float (*p)(float) = g; *(volatile ulong*)&p += 64; row[0] = p(1);",
            {"function pointer", "evil.metal:"}},
        Row{"FunctionPointerMember",
            "struct S { float (*f)(float); };\nstatic float g(float x) { return x; }",
            "S s{g}; ((volatile ulong*)&s)[0] += 64; row[0] = s.f(1);",
            {"function pointer", "function type"}},
        Row{"VirtualFunction",
            "struct S { virtual float f() { return 1; } };\nstruct T : S { float f() override { return 2; } };",
            "S s; T t; S* p = lane == 0 ? &s : &t; row[0] = p->f();",
            {"virtual"}},
        Row{"PointerToAMember",
            "struct S { float f() { return 1; } };",
            "S s; float (S::*p)() = &S::f; ((volatile ulong*)&p)[0] += 64; row[0] = (s.*p)();",
            {"pointer", "evil.metal:"}},
        Row{"ComputedGoto", "", "void* t = &&there; t = (char*)t + 16; goto *t; there:;", {"goto", "evil.metal:"}},
        Row{"TailCallAttribute",
            "static float g(float (*f)(float), float x) { [[clang::musttail]] return f(x); }\nstatic float h(float x) { return x; }",
            "row[0] = g(lane == 0 ? h : (float (*)(float))(ulong(data)), 1);",
            {"musttail", "function pointer"}}),
    name_of);

class CallsOfOtherCommands : public Calls {};
TEST_P(CallsOfOtherCommands, HaveNoEffectAndAreNamed) {
  const Ended ended = attack(GetParam());
  expect_no_effect(ended);
  expect_named(ended, GetParam().words);
}
std::vector<Row> other_commands() {
  std::vector<Row> rows;
  for (const char* command : {"run --ledger none --policy checked", "run --ledger none --policy shadow", "show", "explain", "compile"}) {
    std::string name = command;
    std::erase_if(name, [](unsigned char letter) { return std::isalnum(letter) == 0; });
    rows.push_back({name + "ExternC", "extern \"C\" int system(const char*);", "system" + kTouch, kExtern, command});
    rows.push_back({name + "AsmLabel", "int run(const char*) __asm(\"system\");", "run" + kTouch, kLabel, command});
  }
  return rows;
}
INSTANTIATE_TEST_SUITE_P(Attack, CallsOfOtherCommands, ::testing::ValuesIn(other_commands()), name_of);

}  // namespace
}  // namespace assay::tests::calls_test
