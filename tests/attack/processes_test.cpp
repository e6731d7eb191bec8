// Processes around a hostile kernel as seen from outside, what they inherit, and whether their limits hold.
#include <hdf5.h>
#include <sys/prctl.h>

#include <future>
#include <map>

#include "tests/attack/attack.h"

namespace assay::tests::processes_test {
namespace {

class Processes : public Attack {
 protected:
  static std::map<std::string, std::string> status_of(pid_t process) {
    std::ifstream stream("/proc/" + std::to_string(process) + "/status");
    std::map<std::string, std::string> fields;
    for (std::string line; std::getline(stream, line);) {
      const std::size_t colon = line.find(':');
      if (colon != std::string::npos)
        fields[line.substr(0, colon)] = line.substr(std::min(line.size(), line.find_first_not_of(" \t", colon + 1)));
    }
    return fields;
  }
  // What the oracle says, as a fixture file has it.
  [[nodiscard]] std::vector<double> expectation(const std::string& name) const {
    EXPECT_EQ(start("fixture generate " + name + " -o '" + (folder_ / "fixture.h5").string() + "'").status, 0);
    const hid_t file = H5Fopen((folder_ / "fixture.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t set = H5Dopen2(file, "/expected/output", H5P_DEFAULT);
    const hid_t space = H5Dget_space(set);
    std::vector<double> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Sclose(space);
    H5Dclose(set);
    H5Fclose(file);
    return values;
  }
  static std::vector<std::string> descriptors_of(pid_t process) {
    std::vector<std::string> found;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd", none))
      found.push_back(std::filesystem::read_symlink(entry.path(), none).string());
    return found;
  }
  static long ticks_of(pid_t process) {
    std::ifstream stream("/proc/" + std::to_string(process) + "/stat");
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    std::istringstream rest(text.substr(std::min(text.size(), text.rfind(')') + 1)));
    std::string skipped;
    for (int i = 0; i < 11; ++i) rest >> skipped;
    long ticks = 0;
    rest >> ticks;
    return ticks;
  }
  // The process below the running command that computes most: that of the kernel, or the compiler.
  [[nodiscard]] pid_t busiest(long least) const {
    for (int turn = 0; turn < 400; ++turn) {
      for (const pid_t process : descendants()) {
        if (ticks_of(process) > least) return process;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return 0;
  }
  [[nodiscard]] std::string run(const std::string& options = "") const {
    return "run --ledger none --kernel evil.metal --family fwht " + std::string(kCase) + options;
  }
  void endless() const { write(hostile("", "volatile int go = 1; while (go) {}"), "work/evil.metal"); }
};

TEST_F(Processes, OfAKernelHasNothing) {
  endless();
  const std::string secret = (folder_ / "outside/secret.txt").string();
  auto running = std::async(std::launch::async, [&] {
    return start(run(" --timeout 3"), "", "exec 5<'" + secret + "' 6>>'" + secret + "' 7<'" + secret + "'; ulimit -c unlimited; umask 0; ");
  });
  const pid_t process = busiest(100);
  EXPECT_NE(process, 0) << "no busy process";
  auto status = status_of(process);
  EXPECT_EQ(status["NoNewPrivs"], "1");
  EXPECT_EQ(status["Seccomp"], "2");
  EXPECT_EQ(status["Threads"], "1");
  for (const char* set : {"CapEff", "CapPrm", "CapInh", "CapAmb"})
    EXPECT_EQ(status[set].find_first_not_of('0'), std::string::npos) << set << status[set];
  EXPECT_NE(status["Cpus_allowed_list"], "");
  std::error_code none;
  for (const char* kind : {"net", "mnt", "ipc", "uts"}) {
    const std::string path = std::string("ns/") + kind;
    EXPECT_NE(std::filesystem::read_symlink("/proc/" + std::to_string(process) + "/" + path, none),
              std::filesystem::read_symlink("/proc/self/" + path, none))
        << kind;
  }
  for (const std::string& descriptor : descriptors_of(process)) {
    EXPECT_EQ(descriptor.find("secret"), std::string::npos) << "a descriptor of the shell is open";
    EXPECT_EQ(descriptor.find("ledger"), std::string::npos);
    EXPECT_EQ(descriptor.find("/assay_test_"), std::string::npos) << descriptor;
  }
  EXPECT_EQ(read_file("/proc/" + std::to_string(process) + "/environ").find(kToken), std::string::npos)
      << "the token is in its environment";
  // seccomp forbids it to start processes. A limit of their number would count those of the user elsewhere.
  const std::string limits = read_file("/proc/" + std::to_string(process) + "/limits");
  for (const char* limit : {"Max core file size", "Max file size"}) {
    std::smatch found;
    const bool is_there = std::regex_search(limits, found, std::regex(std::string(limit) + " +([a-z0-9]+)"));
    EXPECT_TRUE(is_there && found[1] == "0") << limit << ": " << (is_there ? found[1].str() : limits);
  }
  // Only its own object and the system's libraries are mapped; nothing is both writable and executable.
  std::istringstream maps(read_file("/proc/" + std::to_string(process) + "/maps"));
  for (std::string line; std::getline(maps, line);) {
    EXPECT_EQ(line.find(" rwx"), std::string::npos) << line;
    EXPECT_EQ(line.find("secret"), std::string::npos) << line;
  }
  const Ended ended = running.get();
  expect_no_effect(ended);
  expect_named(ended, {"timeout"});
}

// The memory of the kernel's process as seen from outside: neither token nor key, nor what the judge expects of this case or the one
// before.
class Memories : public Processes {
 protected:
  void SetUp() override {
    write(replaced_once(source_of("fwht_v1"), "x[e] *= scale;", "x[e] *= scale; volatile int go = 1; while (D == 512 && go) {}"),
          "work/evil.metal");
    secrets_ = {{"the token", kToken}, {"the key", read_file(folder_ / "state/assay/key")}};
    ASSERT_EQ(secrets_[1].second.size(), 32U);
  }
  void expect_of(const std::string& name) {
    const std::vector<double> expected = expectation("fwht/" + name);
    const std::vector<float> floats(expected.begin(), expected.end());
    secrets_.emplace_back("in double, the expectation of " + name, std::string(reinterpret_cast<const char*>(expected.data() + 8), 64));
    secrets_.emplace_back("in float, the expectation of " + name, std::string(reinterpret_cast<const char*>(floats.data() + 8), 32));
  }
  void expect_none_during(const std::string& cases) const {
    auto running = std::async(std::launch::async,
                              [&] { return start("run --ledger none --jobs 1 --timeout 4 --kernel evil.metal --family fwht " + cases); });
    const pid_t process = busiest(100);
    EXPECT_NE(process, 0);
    std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
    std::ifstream memory("/proc/" + std::to_string(process) + "/mem", std::ios::binary);
    std::string found;
    std::size_t read = 0;
    for (std::string line; std::getline(maps, line);) {
      unsigned long begin = 0, end = 0;
      char mode[8] = {};
      if (std::sscanf(line.c_str(), "%lx-%lx %7s", &begin, &end, mode) != 3 || mode[0] != 'r' || end - begin > 256UL << 20U) continue;
      std::string bytes(end - begin, '\0');
      memory.clear();
      memory.seekg(static_cast<std::streamoff>(begin));
      memory.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      read += static_cast<std::size_t>(memory.gcount());
      for (const auto& [what, secret] : secrets_) {
        if (bytes.find(secret) != std::string::npos) found += what + " is in " + line + "\n";
      }
    }
    EXPECT_GT(read, 1U << 20U) << "its memory could not be read";
    EXPECT_EQ(found, "");
    const Ended ended = running.get();
    expect_no_effect(ended, false);
    EXPECT_EQ(ended.status, 1);
  }
  std::vector<std::pair<std::string, std::string>> secrets_;
};
TEST_F(Memories, HaveNoSecret) {
  for (const char* name : {"d256/h1/standalone/gauss/s1", "d512/h1/standalone/gauss/s1"}) expect_of(name);
  expect_none_during("evil/d256/h1/standalone/gauss/s1 evil/d512/h1/standalone/gauss/s1");
}
TEST_F(Memories, HaveNoExpectationOfAFile) {
  expect_of("d512/h1/standalone/gauss/s1");
  expect_none_during("--fixture ../fixture.h5");
}

// In plain Metal: from its stack over the pointers that lie there to the stack of the process, above which its environment lies.
TEST_F(Processes, AKernelThatLooksForTheTokenFindsNone) {
  write(hostile("static ulong in_main_stack(ulong v) { return (v >> 36) == 0x7ff; }", R"(
if (lane == 0 && head == 0) {
  volatile thread ulong here[4];
  here[0] = 0;
  const ulong base = (ulong)&here[0] & ~7ul, top = (base + 4096) & ~4095ul;
  for (int i = 0; i < 64; ++i) data[i] = 0.0f;
  ulong w = 0;
  for (ulong p = base; p < top && w == 0; p += 8) {
    const ulong v = *(volatile thread ulong*)p;
    if (in_main_stack(v)) { w = v; break; }
    if ((v >> 44) == 0x5 || (v >> 44) == 0x7) {
      const ulong end = (v + 4096) & ~4095ul;
      for (ulong q = v & ~7ul; q < end; q += 8) {
        const ulong u = *(volatile thread ulong*)q;
        if (in_main_stack(u)) { w = u; break; }
      }
    }
  }
  for (ulong p = w; w != 0 && p < w + (1ul << 20); ++p) {
    volatile thread char* c = (volatile thread char*)p;
    if (c[0] == 'G' && c[1] == 'I' && c[2] == 'T' && c[3] == 'H' && c[4] == 'U' && c[5] == 'B' && c[6] == '_' && c[7] == 'T') {
      for (int j = 0; j < 8; ++j) data[8 + j] = 1000.0f * (900 + j) + float(c[13 + j]);
      break;
    }
  }
}
return;
)"),
        "work/evil.metal");
  const Ended ended = start("show --timeout 5 --kernel evil.metal --family fwht " + std::string(kCase));
  expect_no_effect(ended);
  // "secret-t", a letter per element.
  for (const char* letter : {"902099", "903114", "904101", "905116"})
    EXPECT_EQ(ended.output.find(letter), std::string::npos) << "a letter of the token is printed\n" << ended.output;
}

TEST_F(Processes, OfTheCompilerHasNoSecret) {
  write(hostile(
            "template <int N, long K> struct T { static constexpr long v = T<N - 1, 2 * K>::v + T<N - 1, 2 * K + 1>::v; };\ntemplate <long "
            "K> struct T<0, K> { static constexpr long v = K; };\nconstant long x = T<18, 0>::v;",
            "row[0] = x;"),
        "work/evil.metal");
  const std::string secret = (folder_ / "outside/secret.txt").string();
  auto running =
      std::async(std::launch::async, [&] { return start(run(" --timeout 3"), "", "exec 5<'" + secret + "' 7<'" + secret + "'; "); });
  pid_t compiler = 0;
  for (int turn = 0; turn < 400 && compiler == 0; ++turn) {
    for (const pid_t process : descendants()) {
      if (read_file("/proc/" + std::to_string(process) + "/comm").starts_with("clang") && ticks_of(process) > 20) compiler = process;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_NE(compiler, 0) << "no compiler seen";
  if (compiler != 0) {
    auto status = status_of(compiler);
    EXPECT_EQ(status["NoNewPrivs"], "1");
    EXPECT_EQ(status["Seccomp"], "2");
    EXPECT_EQ(status["CapEff"].find_first_not_of('0'), std::string::npos) << status["CapEff"];
    EXPECT_EQ(read_file("/proc/" + std::to_string(compiler) + "/environ").find(kToken), std::string::npos);
    for (const std::string& descriptor : descriptors_of(compiler)) EXPECT_EQ(descriptor.find("secret"), std::string::npos);
    kill(process_, SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    kill(process_, SIGTERM);
  }
  const Ended ended = running.get();
  EXPECT_EQ(ended.left_behind, 0);
  EXPECT_NE(ended.status, 0);
}

// However the command ends, its descendants end with it.
TEST_F(Processes, EndWithTheirSupervisor) {
  endless();
  for (const int signal : {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGSEGV}) {
    auto running = std::async(std::launch::async, [&] { return start(run(" --timeout 25")); });
    const pid_t kernel = busiest(30);
    EXPECT_NE(kernel, 0);
    kill(process_, signal);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (signal == SIGTERM || signal == SIGINT) kill(process_, signal);
    const Ended ended = running.get();
    EXPECT_EQ(ended.left_behind, 0) << "after signal " << signal;
    EXPECT_FALSE(ended.stopped) << "after signal " << signal;
    EXPECT_NE(ended.status, 0);
  }
}
TEST_F(Processes, EndWithTheirWorker) {
  endless();
  auto running = std::async(std::launch::async, [&] { return start(run(" --timeout 3")); });
  const pid_t kernel = busiest(30);
  const auto parent = static_cast<pid_t>(std::stol("0" + status_of(kernel)["PPid"]));
  EXPECT_NE(parent, process_.load()) << "the judge is the supervisor";
  if (parent > 1 && parent != process_) kill(parent, SIGKILL);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  // It may be dead and not yet waited for.
  EXPECT_TRUE(status_of(kernel)["State"].substr(0, 1).find_first_of("RSDTt") == std::string::npos) << status_of(kernel)["State"];
  const Ended ended = running.get();
  expect_no_effect(ended);
}
TEST_F(Processes, OfAKernelThatIsKilledIsNoPass) {
  write(hostile("", "volatile int n = 0; while (n < 400000000) n = n + 1;"), "work/evil.metal");
  auto running = std::async(std::launch::async, [&] { return start(run(" --timeout 10")); });
  const pid_t kernel = busiest(30);
  EXPECT_NE(kernel, 0);
  if (kernel != 0 && kernel != process_) kill(kernel, SIGKILL);
  expect_no_effect(running.get());
}
TEST_F(Processes, OfAKernelThatIsStoppedIsATimeout) {
  endless();
  auto running = std::async(std::launch::async, [&] { return start(run(" --timeout 3")); });
  const pid_t kernel = busiest(30);
  EXPECT_NE(kernel, 0);
  if (kernel != 0 && kernel != process_) kill(kernel, SIGSTOP);
  const Ended ended = running.get();
  expect_no_effect(ended);
  expect_named(ended, {"timeout"});
}

TEST_F(Processes, LeaveNoCore) {
  write(hostile("", "*(volatile device int*)8 = 1;"), "work/evil.metal");
  const Ended ended = start(run(), "", "ulimit -c unlimited; ");
  expect_no_effect(ended);
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(folder_ / "work")) files.push_back(file.path().filename().string());
  EXPECT_THAT(files, ::testing::ElementsAre("evil.metal"));
}

// Standard descriptors that are closed are not given to a database, whose file messages would then overwrite.
TEST_F(Processes, WithClosedDescriptors) {
  write(wrong(source_of("fwht_v1")), "work/evil.metal");
  const std::string log = (folder_ / "log").string();
  for (const std::string closed : {"<&-", "<&- >&-", "<&- >&- 2>&-", "2>&-"}) {
    std::error_code none;
    std::filesystem::remove(folder_ / "work/l.sqlite", none);
    const std::string command = "env -C '" + (folder_ / "work").string() + "' XDG_CACHE_HOME='" + (folder_ / "cache").string() +
                                "' XDG_STATE_HOME='" + (folder_ / "state").string() + "' '" + ASSAY_BINARY_DIR +
                                "/bin/assay' run --kernel evil.metal --family fwht " + kCase + " --ledger l.sqlite " + closed +
                                "; echo ended with $?; exit 0; ";
    const Ended ended = start("", "", command);
    EXPECT_EQ(ended.left_behind, 0);
    const Ended report = start("report --ledger l.sqlite");
    EXPECT_EQ(report.status, 0) << closed << report.output;
    expect_named(report, {"1 not passed"});
  }
}

// Everything of the sandbox that the command line promises.
TEST_F(Processes, AreSaidToBeConfined) {
  const Ended doctor = start("doctor");
  expect_no_effect(doctor, false);
  expect_named(doctor, {"sandbox"});
}
TEST_F(Processes, RequireRefusesWithoutALayer) {
  // Without user namespaces for this user; where the command still has all of its layers, it may run.
  write(source_of("fwht_v1"), "work/evil.metal");
  const Ended ended = start(run(" --sandbox require"), "", "");
  expect_no_effect(ended, false);
  EXPECT_TRUE(ended.status == 0 || (ended.status == 2 && ended.output.find("sandbox") != std::string::npos)) << ended.output;
}
TEST_F(Processes, TheSandboxCannotBeSwitchedOffByTheEnvironment) {
  endless();
  auto running = std::async(std::launch::async, [&] {
    return start(run(" --timeout 3"), "ASSAY_SANDBOX=off SANDBOX=off ASSAY_SANDBOX_OFF=1 LD_BIND_NOW=1 MALLOC_PERTURB_=1");
  });
  const pid_t process = busiest(100);
  EXPECT_EQ(status_of(process)["Seccomp"], "2");
  expect_no_effect(running.get());
}
TEST_F(Processes, VariablesOfTheCompilerAreNotItsOwn) {
  write("#ifdef EVIL_H\n#error there\n#endif\n" + wrong(source_of("fwht_v1")), "work/evil.metal");
  write("#define EVIL_H 1\n", "outside/evil.h");
  const std::string outside = (folder_ / "outside").string();
  for (const std::string& variable : std::vector<std::string>{
           "CPATH=" + outside, "C_INCLUDE_PATH=" + outside, "CPLUS_INCLUDE_PATH=" + outside, "CCC_OVERRIDE_OPTIONS='+-DEVIL_H +-v'",
           "CC_PRINT_OPTIONS=1 CC_PRINT_OPTIONS_FILE=" + (folder_ / "canary/log").string(),
           "CC_LOG_DIAGNOSTICS=1 CC_LOG_DIAGNOSTICS_FILE=" + (folder_ / "canary/log").string(),
           "DEPENDENCIES_OUTPUT=" + (folder_ / "canary/deps").string(), "SUNPRO_DEPENDENCIES=" + (folder_ / "canary/deps").string(),
           "COMPILER_PATH=" + outside + " LIBRARY_PATH=" + outside, std::string("LD_DEBUG=all LD_DEBUG_OUTPUT=/dev/null"),
           "CLANG_CRASH_DIAGNOSTICS_DIR=" + (folder_ / "canary").string(), std::string("LC_ALL=tr_TR.UTF-8 LANG=xx TZ=:/etc/passwd"),
           std::string("SOURCE_DATE_EPOCH=x"), std::string("CLANG_CONFIG_FILE_USER_DIR=") + outside}) {
    const Ended ended = start(run(), variable);
    expect_no_effect(ended);
    EXPECT_EQ(ended.output.find("error: there"), std::string::npos) << variable;
    if (HasFailure()) std::printf("%s\n", variable.c_str());
  }
}

}  // namespace
}  // namespace assay::tests::processes_test
