// Compiles translated sources to PTX, and reads what the pass wrote into it.
#include "metal/compile/ptx.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "metal/compile/cache.h"
#include "metal/compile/compiler.h"
#include "metal/cuda_abi.h"
#include "metal/errors.h"

namespace assay::metal::compile {
namespace {

// The target knows no extension of OpenCL by itself. These are the ones that the headers use on a CPU, where clang switches them on.
constexpr std::string_view kExtensions =
    "-cl-ext=+__opencl_c_generic_address_space,+__opencl_c_program_scope_global_variables,+cl_khr_fp64,+__opencl_c_fp64,+cl_khr_fp16,"
    "+__cl_clang_function_pointers,+__cl_clang_bitfields,+cl_khr_byte_addressable_store";

// Part of the name of a symbol that the pass defines, in front of the number; see NvptxKernel::declare_threadgroup_bytes().
constexpr std::string_view kThreadgroupBytes = "__assay_threadgroup_bytes_";

std::vector<std::string> target_flags(const PtxOptions& options) {
  std::vector<std::string> flags = {"-target", "nvptx64-nvidia-cuda",
                                    "--cuda-path=/nonexistent",  // else clang takes the version of PTX from a toolkit that it finds
                                    "-march=" + options.architecture, "-Xclang", "-target-feature", "-Xclang", "+ptx80",
                                    // `device` and `constant` are one address space there, but overloads for the two are two functions.
                                    "-Xclang", "-faddress-space-map-mangling=no", "-Xclang", std::string(kExtensions)};
  if (options.is_fast) {
    // div.full and sqrt.approx: 2 units in the last place, and 1.
    flags.insert(flags.end(), {"-ffp-contract=fast", "-Xclang", "-fdenormal-fp-math-f32=preserve-sign", "-mllvm", "-nvptx-prec-divf32=1",
                               "-mllvm", "-nvptx-prec-sqrtf32=0", "-DASSAY_FAST_MATHEMATICS=1"});
  } else {
    flags.insert(flags.end(), {"-ffp-contract=off", "-cl-fp32-correctly-rounded-divide-sqrt"});
  }
  return flags;
}

const Library& offering(const std::vector<std::shared_ptr<Library>>& libraries, const PipelineDescriptor& descriptor) {
  const auto found = std::ranges::find_if(libraries, [&](const auto& library) { return library->offers(descriptor); });
  if (found != libraries.end()) return **found;
  for (const auto& library : libraries) {
    for (const auto& refused : library->refused()) {
      if (refused.name == descriptor.function) throw CompileError(refused.reason);
    }
  }
  std::vector<std::string> names;
  for (const auto& library : libraries) names.push_back(library->name());
  throw PipelineError(fmt::format("no kernel function '{}' in {}", descriptor.function,
                                  names.empty() ? "no library at all" : fmt::format("{}", fmt::join(names, ", "))));
}

}  // namespace

std::filesystem::path Compiler::ptx(std::string_view source, std::string_view function, const PtxOptions& options) const {
  std::vector<std::string> flags = common_flags();
  std::ranges::move(target_flags(options), std::back_inserter(flags));
  const std::string marked = std::string(source) + (options.keeps_lockstep ? "\nextern \"C\" __attribute__((used)) void "
                                                                             "__assay_keeps_lockstep() {}\n"
                                                                           : "");
  const std::string name = base::Hash().add(toolchain_).add(fmt::format("{}", fmt::join(flags, " "))).add(marked).hex();
  return cache_.get(name + ".ptx", [&](const std::filesystem::path& output) {
    throw_kept_errors(name);
    // With -c, the driver would call NVIDIA's assembler.
    std::vector<std::string> command = flags;
    command.insert(command.end(), {"-include-pch", prelude(flags, "nvptx/kernel.h", "-S").string(), "-S"});
    run_clang(std::move(command), marked, function, name, output);
  });
}

PtxKernel read_ptx(const std::filesystem::path& entry) {
  PtxKernel kernel;
  kernel.text = base::read_file(entry).value_or("");
  kernel.text.resize(content_size(kernel.text));
  const auto at = kernel.text.find(kThreadgroupBytes);
  const char* end = kernel.text.data() + kernel.text.size();
  if (at == std::string::npos ||
      std::from_chars(kernel.text.data() + at + kThreadgroupBytes.size(), end, kernel.threadgroup_bytes).ec != std::errc())
    throw EnvironmentError(fmt::format("{} is no kernel: rebuild assay, or remove the file", entry.string()));
  return kernel;
}

PtxKernel compile_ptx(const Library& library, const PipelineDescriptor& descriptor, const PtxOptions& options) {
  return library.ptx(descriptor, options);
}

PtxKernel compile_ptx(const std::vector<std::shared_ptr<Library>>& libraries, const PipelineDescriptor& descriptor,
                      const PtxOptions& options) {
  return offering(libraries, descriptor).ptx(descriptor, options);
}

}  // namespace assay::metal::compile
