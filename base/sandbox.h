// Takes from a process the rights that it does not need, before it handles what strangers wrote.
//
// Each layer works alone. A machine may lack some of them: containers often forbid namespaces, older kernels have no Landlock.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace assay::base {

// `automatic`: every layer that this machine has. `required`: all layers; a process that cannot enter one ends. `off`: none, for measuring
// and debugging.
enum class SandboxMode { automatic, required, off };

// Of this process and the children that it forks later; `automatic` at the start.
void set_sandbox_mode(SandboxMode mode);
[[nodiscard]] SandboxMode sandbox_mode();

struct SandboxLayer {
  std::string_view name;
  bool holds = false;
  std::string reason;  // why it does not
};

// What confine_kernel() achieves on this machine, found out by trying each layer in a child.
[[nodiscard]] std::vector<SandboxLayer> sandbox_layers();

// Those that do not hold, with their reasons; empty if all do.
[[nodiscard]] std::string missing_layers();

// Must be called before the functions below are, in the parent: builds the filters of system calls, which takes some milliseconds.
void prepare_sandbox();

// Overwrites the environment of this process, which may hold secrets of a CI job, in memory. Its children inherit nothing either.
void forget_environment();

// For a process that runs kernels, when it has opened and loaded everything. Afterwards it has no capabilities and cannot gain any, sees no
// network, opens no file, starts no process, sends no signal to another one, and makes no memory executable. It may allocate, compute,
// start threads, and use the descriptors that it has. A system call outside of that ends it with SIGSYS, or fails where libraries try it in
// vain.
void confine_kernel();

// For a process that runs kernels on a GPU, before it loads the GPU's driver. The kernels make no system calls; the driver, which compiles
// and loads them, needs its devices, its libraries, threads and memory. Afterwards this process has no capabilities and cannot gain any,
// sees no network, reads the files of the system only (no home, no temporary folder), writes below /dev and /proc only, starts no program
// and sends no signal to another process.
void confine_driver();

// For a process in which a library reads this file of a stranger. Afterwards it opens no other file, writes none, and has otherwise the
// rights of a process that runs kernels. Makes system calls only, if prepare_sandbox() was called.
void confine_reader(const std::filesystem::path& file);

// Files and folders, with all that is below. Those that do not exist are left out.
struct Reach {
  std::vector<std::filesystem::path> programs;  // besides those of the system
  std::vector<std::filesystem::path> readable;
  std::vector<std::filesystem::path> writable;
};

// Bytes of the largest file that a confined compiler may write.
inline constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 29;

// For a compiler that this process becomes by exec. It reads the system's libraries and programs and what `reach` says, has no network and
// no capabilities, cannot look into other processes, and writes no file of more than kLargestFile. Makes system calls only, if
// prepare_sandbox() was called.
void confine_compiler(const Reach& reach);

}  // namespace assay::base
