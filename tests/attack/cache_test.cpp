// A cache filled by another user, and kernels that look alike: a wrong kernel never runs as the right one, and nothing hangs.
#include <functional>

#include "tests/attack/attack.h"

namespace assay::tests::cache_test {
namespace {

class Cache : public Attack {
 protected:
  [[nodiscard]] std::filesystem::path cache() const { return folder_ / "cache/assay"; }
  [[nodiscard]] std::vector<std::filesystem::path> entries(const std::string& extension = ".so") const {
    std::vector<std::filesystem::path> found;
    for (const auto& file : std::filesystem::directory_iterator(cache())) {
      if (file.path().extension() == extension) found.push_back(file.path());
    }
    return found;
  }
  [[nodiscard]] Ended run(const std::string& environment = "", const std::string& before = "") const {
    return start("run --ledger none --kernel evil.metal --family fwht " + std::string(kCase), environment, before);
  }
  void expect_right(const Ended& ended) const {
    expect_no_effect(ended, false);
    EXPECT_EQ(ended.status, 0) << ended.output;
  }
};

// The entries of the right kernel under the names of those of the wrong one.
TEST_F(Cache, AnEntryUnderAnotherName) {
  write(source_of("fwht_v1"), "work/evil.metal");
  expect_right(run());
  const auto right = entries();
  ASSERT_FALSE(right.empty());
  write(wrong(source_of("fwht_v1")), "work/evil.metal");
  EXPECT_EQ(run().status, 1);
  const auto all = entries();
  ASSERT_GT(all.size(), right.size());
  std::vector<std::string> contents;
  for (const auto& from : right) contents.push_back(read_file(from));
  for (std::size_t i = 0; i < right.size(); ++i) {
    const auto restart = [&] {
      for (const auto& to : all) std::filesystem::remove(to);
      std::ofstream(right[i], std::ios::binary) << contents[i];
    };
    const std::vector<std::function<void(const std::filesystem::path&)>> deeds = {
        [&](const auto& to) { std::filesystem::copy_file(right[i], to); },
        [&](const auto& to) { std::filesystem::create_hard_link(right[i], to); },
        [&](const auto& to) { std::filesystem::create_symlink(right[i].filename(), to); }};
    for (const auto& deed : deeds) {
      restart();
      for (const auto& to : all) {
        if (to != right[i]) deed(to);
      }
      expect_no_effect(run());
    }
  }
  write(source_of("fwht_v1"), "work/evil.metal");
  expect_right(run());
}

struct Deed {
  std::string name;
  std::function<void(const std::filesystem::path&, const std::filesystem::path&)> act;  // on an entry; the second is the test's folder
};
void PrintTo(const Deed& deed, std::ostream* stream) { *stream << deed.name; }
class Entries : public Cache, public ::testing::WithParamInterface<Deed> {};

void overwrite(const std::filesystem::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }
std::string with_flipped(std::string bytes, std::size_t place) {
  if (place < bytes.size()) bytes[place] = static_cast<char>(bytes[place] ^ 1);
  return bytes;
}

// Neither kind of entry is believed, and both are made again.
TEST_P(Entries, AreMadeAgain) {
  write(wrong(source_of("fwht_v1")), "work/evil.metal");
  ASSERT_EQ(run().status, 1);
  for (const char* extension : {".so", ".pch"}) {
    for (const auto& entry : entries(extension)) GetParam().act(entry, folder_);
  }
  const Ended ended = run();
  expect_no_effect(ended);
  EXPECT_EQ(ended.status, 1) << "the kernel was not compiled again";
  expect_named(ended, {"1 failed"});
}
INSTANTIATE_TEST_SUITE_P(
    Attack, Entries,
    ::testing::Values(
        Deed{"Empty", [](const auto& file, const auto&) { overwrite(file, ""); }},
        Deed{"Truncated", [](const auto& file, const auto&) { std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2); }},
        Deed{"WithoutItsLastByte",
             [](const auto& file, const auto&) { std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1); }},
        Deed{"WithAByteMore", [](const auto& file, const auto&) { std::ofstream(file, std::ios::binary | std::ios::app) << "x"; }},
        Deed{"WithABitFlippedAtTheStart", [](const auto& file, const auto&) { overwrite(file, with_flipped(read_file(file), 24)); }},
        Deed{"WithABitFlippedInTheMiddle",
             [](const auto& file, const auto&) { overwrite(file, with_flipped(read_file(file), std::filesystem::file_size(file) / 2)); }},
        Deed{"WithABitFlippedAtTheEnd",
             [](const auto& file, const auto&) { overwrite(file, with_flipped(read_file(file), std::filesystem::file_size(file) - 1)); }},
        Deed{"Garbage", [](const auto& file, const auto&) { overwrite(file, std::string(20000, '\xcc')); }},
        Deed{"Huge", [](const auto& file, const auto&) { std::filesystem::resize_file(file, 8ULL << 30U); }},
        Deed{"LinkToItsCopy",
             [](const auto& file, const auto& folder) {
               const auto copy = folder / "outside" / file.filename();
               std::filesystem::rename(file, copy);
               std::filesystem::create_symlink(copy, file);
             }},
        Deed{"LinkToASecret",
             [](const auto& file, const auto& folder) {
               std::filesystem::remove(file);
               std::filesystem::create_symlink(folder / "outside/secret.txt", file);
             }},
        Deed{"LinkToZero",
             [](const auto& file, const auto&) {
               std::filesystem::remove(file);
               std::filesystem::create_symlink("/dev/zero", file);
             }},
        Deed{"LinkToACanary",
             [](const auto& file, const auto& folder) {
               std::filesystem::remove(file);
               std::filesystem::create_symlink(folder / "canary/made", file);
             }},
        Deed{"Fifo",
             [](const auto& file, const auto&) {
               std::filesystem::remove(file);
               mkfifo(file.c_str(), 0600);
             }},
        Deed{"WritableByAll", [](const auto& file, const auto&) { chmod(file.c_str(), 0777); }},
        Deed{"OfSomebodyElse", [](const auto& file, const auto&) { static_cast<void>(chown(file.c_str(), 12345, 12345)); }},
        Deed{"Unreadable", [](const auto& file, const auto&) { chmod(file.c_str(), 0); }}),
    [](const auto& info) { return info.param.name; });

// A folder in the place of an entry cannot be made again, but is not believed either.
TEST_F(Cache, AFolderInThePlaceOfAnEntry) {
  write(wrong(source_of("fwht_v1")), "work/evil.metal");
  ASSERT_EQ(run().status, 1);
  for (const char* extension : {".so", ".pch"}) {
    for (const auto& entry : entries(extension)) {
      std::filesystem::remove(entry);
      std::filesystem::create_directories(entry / "full");
    }
  }
  expect_no_effect(run());
}

TEST_F(Cache, AFolderThatOthersMayWriteInto) {
  write(source_of("fwht_v1"), "work/evil.metal");
  expect_right(run());
  for (const mode_t mode : {0777, 0770, 01777}) {
    chmod(cache().c_str(), mode);
    const Ended ended = run();
    expect_no_effect(ended, false);
    struct stat now{};
    ASSERT_EQ(stat(cache().c_str(), &now), 0);
    EXPECT_TRUE((now.st_mode & 022U) == 0 || ended.status == 2 || ended.output.find("cache") != std::string::npos)
        << "used as it is, and nothing said: " << std::oct << mode << "\n"
        << ended.output;
  }
}
TEST_F(Cache, AFolderOfSomebodyElse) {
  if (getuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  write(wrong(source_of("fwht_v1")), "work/evil.metal");
  ASSERT_EQ(run().status, 1);
  ASSERT_EQ(chown(cache().c_str(), 12345, 12345), 0);
  const Ended ended = run();
  expect_no_effect(ended);
  expect_named(ended, {"cache"});
}
// Users link their caches to other disks. What is in there is believed no more than elsewhere.
TEST_F(Cache, AFolderThatIsALink) {
  std::filesystem::remove_all(cache());
  std::filesystem::create_directory(folder_ / "elsewhere");
  std::filesystem::create_directory_symlink(folder_ / "elsewhere", cache());
  write(wrong(source_of("fwht_v1")), "work/evil.metal");
  expect_no_effect(run());
}
TEST_F(Cache, AFileInThePlaceOfTheFolder) {
  std::filesystem::remove_all(cache());
  write("a file", "cache/assay");
  write(wrong(source_of("fwht_v1")), "work/evil.metal");
  expect_no_effect(run());
}
TEST_F(Cache, VariablesThatNameNoFolder) {
  write(wrong(source_of("fwht_v1")), "work/evil.metal");
  for (const std::string value : {"''", "/dev/null", "/proc/self/fd", "/proc/1", "relative", "'a b\n::error::c'",
                                  "\"$(printf '\\033[31m')\"", "/proc/nonexistent/deeply", "'%s%n%s'", "-Xclang"}) {
    const Ended ended = run("XDG_CACHE_HOME=" + value + " HOME=" + (folder_ / "state").string());
    expect_no_effect(ended);
    if (HasFailure()) std::printf("%s\n", value.c_str());
  }
}
TEST_F(Cache, KeysThatAreNone) {
  write(source_of("fwht_v1"), "work/evil.metal");
  const std::filesystem::path key = folder_ / "state/assay/key";
  const auto expect_harmless = [&](const char* what) {
    expect_no_effect(run(), false);
    if (HasFailure()) std::printf("%s\n", what);
    std::filesystem::remove_all(key);
  };
  expect_harmless("as it is");
  for (const std::size_t length : {0U, 1U, 31U, 33U, 1000000U}) {
    write(std::string(length, 'k'), "state/assay/key");
    expect_harmless("of another length");
  }
  for (const char* target : {"/dev/zero", "/dev/null", "/proc/self/environ"}) {
    std::filesystem::create_symlink(target, key);
    expect_harmless(target);
  }
  ASSERT_EQ(mkfifo(key.c_str(), 0600), 0);
  expect_harmless("a pipe");
  std::filesystem::create_directory(key);
  expect_harmless("a folder");
}
TEST_F(Cache, AKeyThatAllCanReadIsNotUsedSilently) {
  write(source_of("fwht_v1"), "work/evil.metal");
  write(std::string(32, 'k'), "state/assay/key");
  chmod((folder_ / "state/assay/key").c_str(), 0666);
  const Ended ended = run();
  expect_no_effect(ended, false);
  expect_named(ended, {"key"});
}

// Signals that the caller ignores, and descriptors that it closed.
TEST_F(Cache, SignalsInheritedAsIgnored) {
  for (const std::string signals : {"CHLD", "PIPE", "ALRM", "XCPU XFSZ", "SEGV BUS FPE ILL TRAP SYS ABRT", "TERM INT HUP QUIT USR1 USR2"}) {
    for (const auto& entry : entries()) std::filesystem::remove(entry);
    write(wrong(source_of("fwht_v1")), "work/evil.metal");
    expect_no_effect(run("", "trap '' " + signals + "; "));
    write(source_of("fwht_v1"), "work/evil.metal");
    expect_right(run("", "trap '' " + signals + "; "));
    if (HasFailure()) std::printf("%s\n", signals.c_str());
  }
}
TEST_F(Cache, ACrashWithIgnoredSignals) {
  write(hostile("", "*(volatile device int*)8 = 1;"), "work/evil.metal");
  const Ended ended = run("", "trap '' CHLD SEGV BUS; ");
  expect_no_effect(ended);
  expect_named(ended, {"crash", "invalid access"});
}

// Two kernels that differ where a careless key would not look.
class Alike : public Cache {
 protected:
  // The same size and the same time of change.
  void expect_told_apart(const std::string& file, const std::string& right_text, const std::string& wrong_text) const {
    ASSERT_EQ(right_text.size(), wrong_text.size());
    const auto time = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
    for (int turn = 0; turn < 2; ++turn) {
      write(right_text, file);
      std::filesystem::last_write_time(folder_ / file, time);
      expect_right(run());
      write(wrong_text, file);
      std::filesystem::last_write_time(folder_ / file, time);
      expect_no_effect(run());
    }
  }
  static std::string scaled(const std::string& factor) {
    return replaced_once(source_of("fwht_v1"), "x[e] *= scale;", "x[e] *= scale * " + factor + ";");
  }
};
TEST_F(Alike, SourcesOfTheSameSizeAndTime) { expect_told_apart("work/evil.metal", scaled("1.0f"), scaled("1.5f")); }
TEST_F(Alike, HeadersOfTheSameSizeAndTime) {
  write("#include \"factor.h\"\n" + scaled("FACTOR"), "work/evil.metal");
  expect_told_apart("work/factor.h", "#define FACTOR 1.0f\n", "#define FACTOR 1.5f\n");
}
TEST_F(Alike, HeadersOfHeaders) {
  write("#include \"a.h\"\n" + scaled("FACTOR"), "work/evil.metal");
  write("#include \"b.h\"\n", "work/a.h");
  expect_told_apart("work/b.h", "#define FACTOR 1.0f\n", "#define FACTOR 1.5f\n");
}
TEST_F(Alike, EmbeddedFiles) {
  write("constant float kFactor[] = {\n#embed \"factor.bin\"\n};\n" + scaled("(kFactor[0] - 48.0f)"), "work/evil.metal");
  write("1", "work/factor.bin");
  const Ended first = run();
  expect_no_effect(first, false);
  write("2", "work/factor.bin");
  expect_no_effect(run());
}
TEST_F(Alike, HeadersThatAppear) {
  write("#if __has_include(\"factor.h\")\n#include \"factor.h\"\n#else\n#define FACTOR 1.0f\n#endif\n" + scaled("FACTOR"),
        "work/evil.metal");
  expect_right(run());
  write("#define FACTOR 1.5f\n", "work/factor.h");
  expect_no_effect(run());
  std::filesystem::remove(folder_ / "work/factor.h");
  expect_right(run());
}
TEST_F(Alike, HeadersThatAppearInAnEarlierFolder) {
  for (const char* name : {"work/first", "work/second"}) std::filesystem::create_directory(folder_ / name);
  write("#include <factor.h>\n" + scaled("FACTOR"), "work/evil.metal");
  write("#define FACTOR 1.0f\n", "work/second/factor.h");
  const std::string command = "run --ledger none --kernel evil.metal --family fwht -I first -I second " + std::string(kCase);
  expect_right(start(command));
  write("#define FACTOR 1.5f\n", "work/first/factor.h");
  expect_no_effect(start(command));
}
TEST_F(Alike, MacrosThatRunIntoEachOther) {
  write("#ifndef F\n#define F 1.0f\n#endif\n" + scaled("F"), "work/evil.metal");
  const std::string command = "run --ledger none --kernel evil.metal --family fwht " + std::string(kCase);
  expect_right(start(command + " -D F=1.0f"));
  expect_no_effect(start(command + " -D F=1.0f+0.5f"));
  expect_right(start(command + " -D A=1 -D F=1.0f"));
  expect_no_effect(start(command + " -D A=1-DF=1.0f -D F=1.5f"));
  expect_no_effect(start(command + " -D F=1.0f -D A=1 -D 'F=(1.5f)'"));
}
TEST_F(Alike, FoldersOfTheSameName) {
  for (const char* name : {"work/a", "work/b"}) std::filesystem::create_directory(folder_ / name);
  write(scaled("1.0f"), "work/a/evil.metal");
  write(scaled("1.5f"), "work/b/evil.metal");
  const std::string command = "run --ledger none --family fwht " + std::string(kCase) + " --kernel ";
  expect_right(start(command + "a/evil.metal"));
  expect_no_effect(start(command + "b/evil.metal"));
}
TEST_F(Alike, LinesAndFilesThatLie) {
  const std::string lie = "#line 1 \"other.metal\"\n";
  expect_told_apart("work/evil.metal", lie + scaled("1.0f"), lie + scaled("1.5f"));
}
TEST_F(Alike, ConstantsOfFunctions) {
  write(replaced_once(scaled("(F == 1 ? 1.0f : 1.5f)"), "using namespace metal;\n",
                      "using namespace metal;\nconstant int F [[function_constant(8)]];\nconstant int G [[function_constant(80)]];\n"),
        "work/evil.metal");
  const std::string command = "run --ledger none --kernel evil.metal --family fwht " + std::string(kCase);
  expect_right(start(command + " --constant F=1 --constant G=11"));
  expect_no_effect(start(command + " --constant F=11 --constant G=1"));
  expect_no_effect(start(command + " --constant 8=111 --constant 80=1"));
}
TEST_F(Alike, TheSameFileUnderTwoPolicies) {
  const std::string kernel = replaced_once(source_of("fwht_v1"), "x[e] *= scale;",
                                           "x[e] *= scale; if (lane == 0 && e == 0) data[params.num_heads * D + 40000] = 1;");
  write(kernel, "work/evil.metal");
  for (const std::string policy : {"native", "checked", "shadow"})
    expect_no_effect(start("run --ledger none --kernel evil.metal --family fwht " + std::string(kCase) + " --policy " + policy));
}

}  // namespace
}  // namespace assay::tests::cache_test
