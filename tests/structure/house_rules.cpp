// The tables of the rules, and the checks of one source and of the root against them.
#include "tests/structure/house_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <string>

#include "tests/structure/include_scan.h"

namespace assay::tests {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 11> kFolders = {"base",     "math",    "metal",   "kernels", "oracles", "fixtures",
                                                       "families", "harness", "reports", "cli",     "tests"};

struct FolderRule {
  std::string_view folder;
  std::vector<std::string_view> may_include;
};

const std::vector<FolderRule>& folder_rules() {
  static const std::vector<FolderRule> rules = {
      {"base", {}},
      {"math", {}},
      {"metal", {"base", "math"}},
      {"kernels", {"base", "math", "metal"}},
      {"oracles", {"base", "math"}},
      {"fixtures", {"base", "oracles"}},
      {"families", {"base", "math", "metal", "kernels", "oracles", "fixtures"}},
      {"harness", {"base", "math", "metal", "kernels", "oracles", "fixtures", "families"}},
      {"reports", {"base", "harness"}},
      {"cli", {"base", "metal", "kernels", "oracles", "fixtures", "families", "harness", "reports"}},
      {"tests", {kFolders.begin(), kFolders.end()}},
  };
  return rules;
}

// Each may use only itself and those before it.
constexpr std::array<std::string_view, 13> kHarnessRooms = {"cases",    "judge",  "quality", "findings", "prepare", "execute", "process",
                                                            "dispatch", "bundle", "ledger",  "mutate",   "compare", "triage"};

// The layers of metal/, each of which may use only itself, those before it, and the files of metal/'s root: what all layers share.
constexpr std::array<std::string_view, 4> kMetalLayers = {"translate", "compile", "execute", "devices"};
// What clang reads and loads beside them: the pass uses itself and the root, and no layer includes either.
constexpr std::array<std::string_view, 2> kBesideMetalLayers = {"pass", "shader"};

// Launch code knows the encoder it drives, never what stands behind it.
constexpr std::array<std::string_view, 4> kSeenByLaunchCode = {"metal/devices/encoder.h", "metal/argument_layout.h", "metal/buffer.h",
                                                               "metal/errors.h"};

// An outside package enters the house through one door; tests may use any.
struct Package {
  std::string_view prefix;  // of the include
  std::string_view door;    // a folder, or a folder below one; empty: anywhere
  std::string_view second_door = {};
};
constexpr std::array<Package, 26> kPackages = {{
    {"fmt/", ""},
    {"sodium", "base"},
    {"seccomp", "base"},
    {"linux/", "base"},  // the sandbox calls the system's kernel
    {"mpfr", "math"},
    {"gmp", "math"},
    {"llvm/", "metal/pass"},
    {"llvm-c/", "metal/pass"},
    {"clang/", "metal/pass"},
    {"clang-c/", "metal/pass"},
    {"toml++/", "kernels"},
    {"Eigen/", "oracles"},
    {"unsupported/Eigen/", "oracles"},
    {"hdf5", "fixtures"},
    {"H5", "fixtures"},
    {"sqlite3", "harness"},
    {"nlohmann/", "reports", "cli"},  // reports write JSON, the command reads the manifests that users write
    {"pugixml", "reports"},
    {"CLI/", "cli"},
    {"gtest/", "tests"},
    {"gmock/", "tests"},
    {"benchmark/", "tests"},
    {"objc/", "tests"},  // of the mocked Metal, which has the names of Apple's headers
    {"Foundation/", "tests"},
    {"Metal/", "tests"},
    {"sanitizer/", "metal"},
}};

// Headers of the system that are not C++'s own.
constexpr std::array<std::string_view, 22> kSystemHeaders = {
    "ucontext.h", "cxxabi.h",  "dlfcn.h", "elf.h",    "link.h",  "errno.h", "malloc.h", "fcntl.h",  "fenv.h", "poll.h",   "pty.h",
    "termios.h",  "pthread.h", "sched.h", "signal.h", "spawn.h", "stdio.h", "stdlib.h", "string.h", "time.h", "unistd.h", "unwind.h"};

bool is_system_header(std::string_view target) {
  return std::find(kSystemHeaders.begin(), kSystemHeaders.end(), target) != kSystemHeaders.end() || target.starts_with("sys/") ||
         target.ends_with("intrin.h");
}

bool contains(Names names, std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); }

bool is_launch_code(std::string_view path) {
  const std::string_view stem = path.substr(0, path.rfind('.'));
  return path.starts_with("families/") && (stem.ends_with("/launch") || stem.ends_with("_launch"));
}

// Faulty twins stand with their family, and are compiled into the tests only.
std::string_view rules_of(std::string_view path) {
  return path.starts_with("families/") && path.ends_with("twins.cpp") ? "tests" : path.substr(0, path.find('/'));
}

bool is_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

std::string_view first_part(std::string_view path) { return path.substr(0, path.find('/')); }

// The folder of metal/ that a path is in; empty for a file of its root.
std::string_view metal_part(std::string_view path) {
  const std::string_view rest = path.substr(std::string_view("metal/").size());
  return rest.find('/') == std::string_view::npos ? std::string_view() : first_part(rest);
}

// Which of `rooms` the path is in, counted from 0.
std::optional<std::size_t> room_of(std::string_view path, std::string_view folder, Names rooms) {
  if (first_part(path) != folder) return std::nullopt;
  const auto room = std::find(rooms.begin(), rooms.end(), first_part(path.substr(folder.size() + 1)));
  if (room == rooms.end()) return std::nullopt;
  return static_cast<std::size_t>(room - rooms.begin());
}

const Package* package_of(std::string_view target) {
  const auto package = std::find_if(kPackages.begin(), kPackages.end(), [&](const Package& p) { return target.starts_with(p.prefix); });
  return package == kPackages.end() ? nullptr : &*package;
}

class SourceCheck {
 public:
  explicit SourceCheck(std::string_view path) : path_(path), folder_(rules_of(path)) {}

  std::vector<Violation> run(std::string_view text) {
    if (!contains(kFolders, folder_)) {
      report(0, fmt::format("stands in no folder of the house: {}", fmt::join(kFolders, ", ")));
      return std::move(violations_);
    }
    // The stand-ins for Metal's own headers may be a lone #error.
    const bool is_stand_in = is_below(path_, "metal/shader/include");
    if (path_.ends_with(".h") && !is_stand_in && text.find("#pragma once") == std::string_view::npos)
      report(0, "a header needs #pragma once");
    if (folder_ == "harness" && !room_of(path_, "harness", kHarnessRooms)) {
      report(0, fmt::format("stands in no room of harness/: {}", fmt::join(kHarnessRooms, ", ")));
    }
    if (folder_ == "metal" && !metal_part(path_).empty() && !contains(kMetalLayers, metal_part(path_)) &&
        !contains(kBesideMetalLayers, metal_part(path_))) {
      report(0, fmt::format("stands in no layer of metal/: {}; or {}", fmt::join(kMetalLayers, ", "), fmt::join(kBesideMetalLayers, ", ")));
    }
    if (folder_ != "tests" && !is_below(path_, "metal/shader")) check_code(text);
    for (const Include& include : includes_of(text)) {
      if (is_below(path_, "metal/shader")) {
        shader_include(include);
      } else {
        host_include(include);
      }
    }
    return std::move(violations_);
  }

 private:
  void report(unsigned line, std::string message) { violations_.push_back({std::string(path_), line, std::move(message)}); }

  void check_code(std::string_view text) {
    unsigned number = 0;
    for (std::size_t start = 0; start < text.size();) {
      const std::size_t end = std::min(text.find('\n', start), text.size());
      const std::string_view line = text.substr(start, end - start);
      const std::string code(line.substr(0, line.find("//")));
      ++number;
      if (folder_ != "math") own_bits(number, code);
      if (folder_ != "base") own_process(number, code);
      start = end + 1;
    }
  }

  // What starts a process, or ends one, past what children may take and keep.
  void own_process(unsigned number, const std::string& code) {
    static const std::regex pattern(
        R"((^|[^\w.>])((fork|vfork|clone3?|posix_spawnp?|exec[lv][pe]*|popen|system|waitpid|waitid|wait4|kill)\s*\())");
    std::smatch found;
    if (std::regex_search(code, found, pattern))
      report(number, fmt::format("'{}' starts or ends a process: base/process.h is where that is done", found[2].str()));
  }

  // What computes other bits on another processor or with another library.
  void own_bits(unsigned number, const std::string& code) {
    static const std::regex pattern(
        R"(std::((exp|exp2|expm1|log|log2|log10|log1p|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|asinh|acosh|atanh|pow|cbrt|hypot|)"
        R"(erf|erfc|lgamma|tgamma)[fl]?\s*[({]|\w+_distribution\b)|setCpuCacheSizes)");
    static const std::regex of_eigen(R"(\.(exp|log|log10|log1p|expm1|sin|cos|tan|sinh|cosh|tanh|pow|erf|erfc|rsqrt|lazyProduct)\()");
    std::smatch found;
    if (std::regex_search(code, found, pattern) || (folder_ == "oracles" && std::regex_search(code, found, of_eigen)))
      report(number, fmt::format("'{}' has other bits on other machines: math/functions.h has those that have not", found.str()));
  }

  // What a kernel sees is compiled without any system header: it may only reach its neighbours, and the headers of one target those of all.
  void shader_include(const Include& include) {
    constexpr std::string_view kAbove = "../";
    const bool is_of_all = is_below(path_, "metal/shader/nvptx") && include.target.starts_with(kAbove);
    if (include.form == Include::Form::computed) {
      report(include.line, fmt::format("computed include: {}", include.target));
    } else if (include.target.find("..", is_of_all ? kAbove.size() : 0) != std::string::npos) {
      report(include.line, fmt::format("relative include \"{}\"", include.target));
    } else if (include.form == Include::Form::angled && !include.target.starts_with("metal_") && !include.target.starts_with("assay_")) {
      report(include.line, fmt::format("a shader header sees no <{}>", include.target));
    } else if (include.form == Include::Form::quoted && contains(kFolders, first_part(include.target)) &&
               !include.target.starts_with("metal/shader/")) {
      report(include.line, fmt::format("a shader header sees no \"{}\"", include.target));
    }
  }

  void host_include(const Include& include) {
    const std::string_view target = include.target;
    if (include.form == Include::Form::computed) {
      report(include.line, fmt::format("computed include: {}", target));
      return;
    }
    if (target.starts_with("./") || target.starts_with("../") || target.find("/../") != std::string_view::npos || target.starts_with("/")) {
      report(include.line, fmt::format("\"{}\" is not written from the root", target));
      return;
    }
    if (contains(kFolders, first_part(target)) && target.find('/') != std::string_view::npos) {
      room_include(include);
    } else if (const Package* package = package_of(target)) {
      package_include(include, *package);
    } else if (include.form == Include::Form::quoted) {
      report(include.line, fmt::format("\"{}\" is not written from the root", target));
    } else if (target.find_first_of("./") != std::string_view::npos && !is_system_header(target)) {
      report(include.line, fmt::format("<{}> is of no package that the house knows", target));
    }
  }

  void room_include(const Include& include) {
    const std::string_view target = include.target;
    const std::string_view room = first_part(target);
    const auto rule = std::find_if(folder_rules().begin(), folder_rules().end(), [&](const FolderRule& r) { return r.folder == folder_; });
    if (include.form == Include::Form::angled) report(include.line, fmt::format("<{}> is our own: quotes, not brackets", target));
    if (room != folder_ && !contains(rule->may_include, room)) {
      report(include.line, fmt::format("{}/ must not include \"{}\"; it may include: {}", folder_, target,
                                       rule->may_include.empty() ? "nothing" : fmt::format("{}", fmt::join(rule->may_include, ", "))));
    }
    if (is_launch_code(path_) && room == "metal" && !contains(kSeenByLaunchCode, target)) {
      report(include.line,
             fmt::format("launch code must not include \"{}\"; of metal/ it sees: {}", target, fmt::join(kSeenByLaunchCode, ", ")));
    } else if (folder_ == "kernels" && target == "metal/devices/simulator.h") {
      report(include.line, "kernels/ knows the encoder, not the simulator");
    }
    if (is_below(target, "metal/shader") && folder_ != "metal" && folder_ != "tests") {
      report(include.line, fmt::format("\"{}\" is for kernels to see", target));
    }
    keep_order(include, "harness", kHarnessRooms);
    keep_order(include, "metal", kMetalLayers);
    if (folder_ == "metal" && room == "metal") metal_include(include);
  }

  void keep_order(const Include& include, std::string_view folder, Names rooms) {
    const auto mine = room_of(path_, folder, rooms);
    const auto theirs = room_of(include.target, folder, rooms);
    if (mine && theirs && *theirs > *mine) {
      report(include.line, fmt::format("{}/{} comes before {}/{} and must not include \"{}\"", folder, rooms[*mine], folder, rooms[*theirs],
                                       include.target));
    }
  }

  void metal_include(const Include& include) {
    const std::string_view mine = metal_part(path_);
    const std::string_view theirs = metal_part(include.target);
    if (theirs.empty() || mine == theirs) return;
    if (mine.empty()) {
      report(include.line, fmt::format("the root of metal/ is its lowest layer and must not include \"{}\"", include.target));
    } else if (contains(kBesideMetalLayers, mine) || contains(kBesideMetalLayers, theirs)) {
      report(include.line, fmt::format("metal/{} stands beside the layers: metal/{} must not include \"{}\"",
                                       contains(kBesideMetalLayers, mine) ? mine : theirs, mine, include.target));
    }
  }

  void package_include(const Include& include, const Package& package) {
    const bool second = !package.second_door.empty();
    const bool enters = is_below(path_, package.door) || (second && is_below(path_, package.second_door));
    if (folder_ != "tests" && !package.door.empty() && !enters) {
      report(include.line, fmt::format("\"{}\" enters the house in {}/{} only", include.target, package.door,
                                       second ? fmt::format(" and {}/", package.second_door) : ""));
    }
    if (folder_ == "oracles" && path_.ends_with(".h") && include.target.find("Eigen/") != std::string::npos) {
      report(include.line, "headers of oracles/ do not show Eigen");
    }
  }

  std::string_view path_;
  std::string_view folder_;
  std::vector<Violation> violations_;
};

}  // namespace

std::string Violation::to_string() const {
  return line == 0 ? fmt::format("{}: {}", file, message) : fmt::format("{}:{}: {}", file, line, message);
}

std::span<const std::string_view> folders() { return kFolders; }

bool is_too_long(std::string_view text) {
  const std::string_view top = text.substr(0, text.find("#include"));
  return std::count(text.begin(), text.end(), '\n') > static_cast<std::ptrdiff_t>(kLongestSource) && !top.starts_with("// Long because ") &&
         top.find("\n// Long because ") == std::string_view::npos;
}

std::vector<Violation> check_source(std::string_view path, std::string_view text) { return SourceCheck(path).run(text); }

std::vector<Violation> check_root(std::span<const std::string> directories) {
  constexpr std::array<std::string_view, 5> kOther = {"cmake", "docs", "python", "runners", "tools"};
  std::vector<Violation> violations;
  for (const std::string& directory : directories) {
    if (directory.starts_with('.') || directory.starts_with("build")) continue;
    if (contains(kFolders, directory) || contains(kOther, directory)) continue;
    violations.push_back({directory, 0, fmt::format("no folder of the house: {}, {}", fmt::join(kFolders, ", "), fmt::join(kOther, ", "))});
  }
  return violations;
}

}  // namespace assay::tests
