// The layers of the sandbox: namespaces, capabilities, Landlock and system call filters.
// Long because of its lists of system calls.
#include "base/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include "base/process.h"
#include "base/text.h"

namespace assay::base {
namespace {

#if defined(__SANITIZE_ADDRESS__)
#define ASSAY_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ASSAY_SANITIZED 1
#endif
#endif
#if defined(ASSAY_SANITIZED)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

SandboxMode current_mode = SandboxMode::automatic;

constexpr int kExitNotConfined = 119;

using Filter = std::vector<sock_filter>;
// Empty where libseccomp has none. Built by prepare_sandbox(), before a child needs them.
const Filter& kernel_filter();
const Filter& driver_filter();
const Filter& reader_filter();
const Filter& compiler_filter();

// ---- layers, each true if it holds afterwards; errno says why not. System calls only: they run in forked children.

bool forbid_new_privileges() { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0; }

bool drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, 2> none{};
  return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 && syscall(SYS_capset, &header, none.data()) == 0;
}

// Root with its capabilities needs no namespace of users to make others, and one without a mapping would take files from it.
bool leave_namespaces() {
  constexpr int kOthers = CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNS;
  return (geteuid() == 0 && unshare(kOthers) == 0) || unshare(kOthers | CLONE_NEWUSER) == 0;
}

int landlock_abi() { return static_cast<int>(syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION)); }

constexpr std::uint64_t kReading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
// The rights of the first version. Later ones (REFER, TRUNCATE, IOCTL_DEV) are added by number, because headers may be older than the
// kernel.
constexpr std::uint64_t kFirstRights = (std::uint64_t{1} << 13) - 1;

struct LandlockRules {
  std::uint64_t files;
  std::uint64_t network;  // version 4
  std::uint64_t scoped;   // version 6: abstract sockets, signals
};

// The ruleset's descriptor, which refuses everything that it knows; -1 where there is no Landlock.
int make_ruleset(int abi) {
  if (abi < 1) return -1;
  LandlockRules rules{kFirstRights, 0, 0};
  if (abi >= 2) rules.files |= std::uint64_t{1} << 13;
  if (abi >= 3) rules.files |= std::uint64_t{1} << 14;
  if (abi >= 5) rules.files |= std::uint64_t{1} << 15;
  if (abi >= 4) rules.network = 3;
  if (abi >= 6) rules.scoped = 3;
  const std::size_t size = abi >= 6 ? sizeof rules : abi >= 4 ? offsetof(LandlockRules, scoped) : offsetof(LandlockRules, network);
  return static_cast<int>(syscall(SYS_landlock_create_ruleset, &rules, size, 0));
}

// Closes the ruleset.
bool enter_ruleset(int ruleset) {
  if (ruleset < 0) return false;
  const bool holds = syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  const int reason = errno;
  close(ruleset);
  errno = reason;
  return holds;
}

bool close_file_system() { return enter_ruleset(make_ruleset(landlock_abi())); }

bool load_filter(const Filter& filter) {
  if (filter.empty()) {
    errno = ENOSYS;
    return false;
  }
  const sock_fprog program{static_cast<unsigned short>(filter.size()), const_cast<sock_filter*>(filter.data())};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

// A signal may go to a thread of this process only. The number of the process is not known when the main filter is built.
bool keep_signals_inside() {
  const auto own = static_cast<std::uint32_t>(getpid());
  const Filter filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, own, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return load_filter(filter);
}

bool filter_system_calls(const Filter& filter) {
  if (kSanitized) {
    errno = ENOTSUP;
    return false;
  }
  return keep_signals_inside() && load_filter(filter);
}
bool filter_those_of_kernels() { return filter_system_calls(kernel_filter()); }

// ---- filters

using Context = std::unique_ptr<void, void (*)(void*)>;

// The program of a libseccomp context; empty if it cannot be had.
Filter program_of(scmp_filter_ctx context) {
  const int file = memfd_create("assay filter", MFD_CLOEXEC);
  if (file < 0) return {};
  Filter filter;
  struct stat status{};
  if (seccomp_export_bpf(context, file) == 0 && fstat(file, &status) == 0) {
    filter.resize(static_cast<std::size_t>(status.st_size) / sizeof(sock_filter));
    if (pread(file, filter.data(), filter.size() * sizeof(sock_filter), 0) != status.st_size) filter.clear();
  }
  close(file);
  return filter;
}

// What computing, allocating and answering takes.
constexpr std::array kOfKernels = {
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(sendto),
    SCMP_SYS(recvfrom),
    SCMP_SYS(close),
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(mincore),
    SCMP_SYS(futex),
    SCMP_SYS(sched_yield),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(getrandom),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(tgkill),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(membarrier),
    SCMP_SYS(getrusage),
};

// What libraries try and can do without.
constexpr std::array kInVain = {
    SCMP_SYS(open),       SCMP_SYS(openat),   SCMP_SYS(openat2),    SCMP_SYS(access), SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2), SCMP_SYS(stat),     SCMP_SYS(lstat),      SCMP_SYS(fstat),  SCMP_SYS(newfstatat),
    SCMP_SYS(statx),      SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(prctl),  SCMP_SYS(sysinfo),
    SCMP_SYS(prlimit64),  SCMP_SYS(uname),    SCMP_SYS(ioctl),      SCMP_SYS(lseek),  SCMP_SYS(getcwd),
};

// What a library needs besides to read a file. Which one is Landlock's business.
constexpr std::array kOfReaders = {
    SCMP_SYS(open),  SCMP_SYS(openat),     SCMP_SYS(access), SCMP_SYS(stat),     SCMP_SYS(lstat),      SCMP_SYS(fstat),
    SCMP_SYS(statx), SCMP_SYS(newfstatat), SCMP_SYS(lseek),  SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getcwd),
};
constexpr std::array kOnlyOfReaders = {SCMP_SYS(pread64), SCMP_SYS(readv),     SCMP_SYS(preadv),
                                       SCMP_SYS(fcntl),   SCMP_SYS(fadvise64), SCMP_SYS(flock)};

Filter make_filter(bool reads_files) {
  // What a version of a library tries and this list lacks is no reason to call a file damaged.
  const Context context(seccomp_init(reads_files ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_KILL_PROCESS), seccomp_release);
  if (context == nullptr) return {};
  bool is_whole = true;
  const auto add = [&](std::uint32_t action, int call, auto... conditions) {
    is_whole = is_whole && seccomp_rule_add(context.get(), action, call, sizeof...(conditions), conditions...) == 0;
  };
  for (const int call : kOfKernels) add(SCMP_ACT_ALLOW, call);
  for (const int call : kInVain) {
    const bool is_allowed = reads_files && std::ranges::find(kOfReaders, call) != kOfReaders.end();
    add(is_allowed ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EACCES), call);
  }
  for (const int call : kOnlyOfReaders) {
    if (reads_files) add(SCMP_ACT_ALLOW, call);
  }
  // Memory may be made, but not code, and none that stays when it is unmapped and that nobody counts.
  add(SCMP_ACT_ALLOW, SCMP_SYS(mmap), scmp_arg_cmp{2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0},
      scmp_arg_cmp{3, SCMP_CMP_MASKED_EQ, MAP_SHARED, 0});
  add(SCMP_ACT_ALLOW, SCMP_SYS(mprotect), scmp_arg_cmp{2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0});
  // Threads, not processes. The arguments of clone3 cannot be looked at; without it, libraries take clone.
  add(SCMP_ACT_ALLOW, SCMP_SYS(clone), scmp_arg_cmp{0, SCMP_CMP_MASKED_EQ, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM});
  add(SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3));
  return is_whole ? program_of(context.get()) : Filter();
}

// What neither clang nor the linker has a use for, and an exploit of them would.
constexpr std::array kNotOfCompilers = {
    SCMP_SYS(socket),
    SCMP_SYS(socketpair),
    SCMP_SYS(connect),
    SCMP_SYS(bind),
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(pidfd_open),
    SCMP_SYS(kcmp),
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(setns),
    SCMP_SYS(unshare),
    SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(keyctl),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(kexec_load),
    SCMP_SYS(reboot),
    SCMP_SYS(swapon),
    SCMP_SYS(open_by_handle_at),
    SCMP_SYS(name_to_handle_at),
    SCMP_SYS(memfd_create),
    SCMP_SYS(personality),
    SCMP_SYS(msgget),
    SCMP_SYS(shmget),
    SCMP_SYS(semget),
    SCMP_SYS(mq_open),
    SCMP_SYS(fork),
    SCMP_SYS(vfork),
    SCMP_SYS(kill),
    SCMP_SYS(tkill),
    SCMP_SYS(rt_sigqueueinfo),
    SCMP_SYS(rt_tgsigqueueinfo),
    SCMP_SYS(pidfd_send_signal),
};

Filter make_compiler_filter() {
  const Context context(seccomp_init(SCMP_ACT_ALLOW), seccomp_release);
  if (context == nullptr) return {};
  for (const int call : kNotOfCompilers) {
    if (seccomp_rule_add(context.get(), SCMP_ACT_ERRNO(EPERM), call, 0) != 0) return {};
  }
  // They compile and link in the process that was started. As for kernels, there are threads, but no processes.
  if (seccomp_rule_add(context.get(), SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, scmp_arg_cmp{0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0}) !=
          0 ||
      seccomp_rule_add(context.get(), SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) != 0)
    return {};
  return program_of(context.get());
}

// What the driver of a GPU has no use for, and an exploit of its compiler would. It opens files and devices, makes threads and local
// sockets; Landlock and the namespaces say which.
Filter make_driver_filter() {
  const Context context(seccomp_init(SCMP_ACT_ALLOW), seccomp_release);
  if (context == nullptr) return {};
  constexpr std::array kNeeded = {SCMP_SYS(socket), SCMP_SYS(socketpair), SCMP_SYS(connect), SCMP_SYS(bind), SCMP_SYS(memfd_create)};
  bool is_whole = true;
  const auto refuse = [&](int call, auto... conditions) {
    is_whole = is_whole && seccomp_rule_add(context.get(), SCMP_ACT_ERRNO(EPERM), call, sizeof...(conditions), conditions...) == 0;
  };
  for (const int call : kNotOfCompilers) {
    if (std::ranges::find(kNeeded, call) == kNeeded.end()) refuse(call);
  }
  for (const int call : {SCMP_SYS(execve), SCMP_SYS(execveat)}) refuse(call);
  refuse(SCMP_SYS(clone), scmp_arg_cmp{0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0});
  is_whole = is_whole && seccomp_rule_add(context.get(), SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0;
  return is_whole ? program_of(context.get()) : Filter();
}

const Filter& kernel_filter() {
  static const Filter filter = make_filter(false);
  return filter;
}

const Filter& driver_filter() {
  static const Filter filter = make_driver_filter();
  return filter;
}

const Filter& reader_filter() {
  static const Filter filter = make_filter(true);
  return filter;
}

const Filter& compiler_filter() {
  static const Filter filter = make_compiler_filter();
  return filter;
}

void allow_below(int ruleset, const char* path, std::uint64_t rights) {
  const int file = open(path, O_PATH | O_CLOEXEC);
  if (file < 0) return;
  struct stat status{};
  constexpr std::uint64_t kOfFiles = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE;
  if (fstat(file, &status) == 0 && !S_ISDIR(status.st_mode)) rights &= kOfFiles;
  const landlock_path_beneath_attr rule{rights, file};
  syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  close(file);
}

using Layer = std::pair<std::string_view, bool (*)()>;
// In the order in which a process enters them: each leaves the rights that the next one needs.
constexpr std::array<Layer, 5> kLayers = {Layer{"namespaces of network, mounts, IPC and host name", leave_namespaces},
                                          Layer{"no new privileges", forbid_new_privileges}, Layer{"no capabilities", drop_capabilities},
                                          Layer{"no file system (Landlock)", close_file_system},
                                          Layer{"a list of system calls (seccomp)", filter_those_of_kernels}};

// Ends the process if a required layer cannot be entered, which sandbox_layers() found to hold: what it takes may have run out since.
template <typename Enter>
void enter(Enter layer) {
  if (layer() || current_mode != SandboxMode::required) return;
  constexpr std::string_view kWhy = "a layer of the sandbox cannot be entered\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kWhy.data(), kWhy.size());
  _exit(kExitNotConfined);
}

}  // namespace

void set_sandbox_mode(SandboxMode mode) { current_mode = mode; }
SandboxMode sandbox_mode() { return current_mode; }

void prepare_sandbox() {
  static_cast<void>(kernel_filter());
  static_cast<void>(driver_filter());
  static_cast<void>(reader_filter());
  static_cast<void>(compiler_filter());
}

void forget_environment() {
  // Where the system put it, on the stack, which a kernel can read; and where setenv() put what was changed.
  std::ifstream stream("/proc/self/stat");
  const std::string text = read_all(stream);
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  constexpr int kFirst = 3;  // the number of the field behind the name, in proc(5)
  constexpr int kEnvironmentBegin = 50;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::string skipped;
  for (int field = kFirst; field < kEnvironmentBegin; ++field) fields >> skipped;
  fields >> begin >> end;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) explicit_bzero(*entry, std::strlen(*entry));
  if (begin != 0 && begin < end) explicit_bzero(reinterpret_cast<void*>(begin), end - begin);
  clearenv();
}

void confine_kernel() {
  if (current_mode == SandboxMode::off) return;
  const rlimit none{0, 0};
  setrlimit(RLIMIT_FSIZE, &none);
  for (const auto& [name, layer] : kLayers) enter(layer);
}

void confine_driver() {
  if (current_mode == SandboxMode::off) return;
  enter(leave_namespaces);
  enter(forbid_new_privileges);
  enter(drop_capabilities);
  const int abi = landlock_abi();
  const int ruleset = make_ruleset(abi);
  if (ruleset >= 0) {
    for (const char* path : {"/usr", "/lib", "/lib64", "/bin", "/opt", "/etc", "/run", "/var/run", "/sys"})
      allow_below(ruleset, path, kReading | LANDLOCK_ACCESS_FS_EXECUTE);
    // Devices, with all their calls from version 5 of Landlock on, and the names of threads, whose file the driver opens to replace it:
    // that takes the right to truncate from version 3 on.
    const std::uint64_t writing = kReading | LANDLOCK_ACCESS_FS_WRITE_FILE | (abi >= 3 ? std::uint64_t{1} << 14 : 0);
    const std::uint64_t calls = abi >= 5 ? std::uint64_t{1} << 15 : 0;
    allow_below(ruleset, "/dev", writing | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE | calls);
    allow_below(ruleset, "/proc", writing);
  }
  enter([ruleset] { return enter_ruleset(ruleset); });
  enter([] { return filter_system_calls(driver_filter()); });
}

void confine_reader(const std::filesystem::path& file) {
  if (current_mode == SandboxMode::off) return;
  const rlimit none{0, 0};
  setrlimit(RLIMIT_FSIZE, &none);
  enter(forbid_new_privileges);
  enter(drop_capabilities);
  const int ruleset = make_ruleset(landlock_abi());
  if (ruleset >= 0) allow_below(ruleset, file.c_str(), LANDLOCK_ACCESS_FS_READ_FILE);
  enter([ruleset] { return enter_ruleset(ruleset); });
  enter([] { return filter_system_calls(reader_filter()); });
}

void confine_compiler(const Reach& reach) {
  // An array of 64 GiB in a kernel would fill the disk. Our own headers take 50 MB once they are compiled.
  const rlimit largest{kLargestFile, kLargestFile};
  setrlimit(RLIMIT_FSIZE, &largest);
  if (current_mode == SandboxMode::off) return;
  enter(leave_namespaces);
  enter(forbid_new_privileges);
  enter(drop_capabilities);
  const int abi = landlock_abi();
  const int ruleset = make_ruleset(abi);
  if (ruleset >= 0) {
    constexpr std::uint64_t kRunning = kReading | LANDLOCK_ACCESS_FS_EXECUTE;
    for (const char* path : {"/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives"})
      allow_below(ruleset, path, kRunning);
    allow_below(ruleset, "/dev/null", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE);
    for (const auto& path : reach.programs) allow_below(ruleset, path.c_str(), kRunning);
    for (const auto& path : reach.readable) allow_below(ruleset, path.c_str(), kReading);
    const std::uint64_t all = kFirstRights | (abi >= 2 ? std::uint64_t{1} << 13 : 0) | (abi >= 3 ? std::uint64_t{1} << 14 : 0);
    for (const auto& path : reach.writable) allow_below(ruleset, path.c_str(), all & ~std::uint64_t{LANDLOCK_ACCESS_FS_EXECUTE});
  }
  enter([ruleset] { return enter_ruleset(ruleset); });
  enter([] { return keep_signals_inside() && load_filter(compiler_filter()); });
}

std::vector<SandboxLayer> sandbox_layers() {
  prepare_sandbox();
  // Of each layer, errno; 0: it holds. One child enters them all, as confine_kernel() does: namespaces alone take a fifth of a millisecond.
  constexpr int kNotReached = -1;
  using Errors = std::array<int, kLayers.size()>;
  void* shared = mmap(nullptr, sizeof(Errors), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw_refused("memory for a test of the sandbox");
  Errors& errors = *new (shared) Errors;
  errors.fill(kNotReached);
  const Ending ending = Process({.name = "test of the sandbox"}, [&](int) {
                          for (std::size_t number = 0; number < kLayers.size(); ++number) {
                            errno = 0;
                            errors[number] = kLayers[number].second() ? 0 : errno == 0 ? EPERM : errno;
                          }
                        }).wait();
  std::vector<SandboxLayer> layers;
  for (std::size_t number = 0; number < kLayers.size(); ++number) {
    SandboxLayer& layer = layers.emplace_back();
    layer.name = kLayers[number].first;
    layer.holds = current_mode != SandboxMode::off && errors[number] == 0;
    if (current_mode == SandboxMode::off)
      layer.reason = "switched off";
    else if (!layer.holds)
      layer.reason = errors[number] == kNotReached ? ending.to_string() : std::system_category().message(errors[number]);
  }
  munmap(shared, sizeof(Errors));
  return layers;
}

std::string missing_layers() {
  std::string text;
  for (const SandboxLayer& layer : sandbox_layers()) {
    if (!layer.holds) text += fmt::format("{}{} ({})", text.empty() ? "" : "; ", layer.name, layer.reason);
  }
  return text;
}

}  // namespace assay::base
