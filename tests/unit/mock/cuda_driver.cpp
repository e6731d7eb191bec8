// A library with the functions of the CUDA driver that assay calls, for machines without a GPU: it checks arguments, keeps memory of the
// device in that of the process, and launches nothing. What it "links" begins with "ELF of ".
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int kSuccess = 0, kInvalidValue = 1, kInvalidImage = 200, kInvalidPtx = 218;

// Numbers of CUjit_option.
constexpr int kMaxRegisters = 0, kErrorLogBuffer = 5, kErrorLogBytes = 6;

struct Options {
  char* log = nullptr;
  std::size_t log_bytes = 0;
  std::uintptr_t registers = 0;
};

Options read_options(unsigned count, const int* names, void** values) {
  Options options;
  for (unsigned i = 0; i < count; ++i) {
    if (names[i] == kErrorLogBuffer) options.log = static_cast<char*>(values[i]);
    if (names[i] == kErrorLogBytes) options.log_bytes = reinterpret_cast<std::uintptr_t>(values[i]);
    if (names[i] == kMaxRegisters) options.registers = reinterpret_cast<std::uintptr_t>(values[i]);
  }
  return options;
}

int refuse(const Options& options, const char* why) {
  if (options.log != nullptr && options.log_bytes > std::strlen(why)) std::strcpy(options.log, why);
  return kInvalidPtx;
}

struct LinkState {
  Options options;
  std::string code;
};
struct Module {
  std::string text;
};

}  // namespace

extern "C" {

int cuInit(unsigned flags) { return flags == 0 ? kSuccess : kInvalidValue; }
int cuDriverGetVersion(int* version) { return *version = 13000, kSuccess; }
int cuDeviceGetCount(int* count) { return *count = 1, kSuccess; }
int cuDeviceGet(int* device, int number) { return *device = number, kSuccess; }
int cuDeviceGetName(char* name, int size, int) { return std::strncpy(name, "Fake 100", static_cast<std::size_t>(size)), kSuccess; }
int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = std::size_t{80} << 30, kSuccess; }
int cuDeviceGetAttribute(int* value, int attribute, int) { return *value = attribute == 75 ? 9 : 0, kSuccess; }
int cuCtxCreate_v2(void** context, unsigned, int) { return *context = context, kSuccess; }
int cuCtxDestroy_v2(void*) { return kSuccess; }

int cuLinkCreate_v2(unsigned count, int* names, void** values, void** state) {
  return *state = new LinkState{read_options(count, names, values), {}}, kSuccess;
}
int cuLinkAddData_v2(void* state, int type, void* data, std::size_t size, const char* name, unsigned count, int*, void**) {
  auto& link = *static_cast<LinkState*>(state);
  constexpr int kPtx = 1;
  const auto* text = static_cast<const char*>(data);
  if (type != kPtx || name == nullptr || count != 0 || size == 0 || text[size - 1] != '\0') return kInvalidValue;
  if (std::strstr(text, ".version") == nullptr) return refuse(link.options, "ptxas fatal: no version");
  link.code = std::string("ELF of ") + text;
  if (link.options.registers != 0) link.code += " with " + std::to_string(link.options.registers);
  return kSuccess;
}
int cuLinkComplete(void* state, void** code, std::size_t* size) {
  auto& link = *static_cast<LinkState*>(state);
  *code = link.code.data();
  *size = link.code.size();
  return kSuccess;
}
// What the state owned is gone: a code that was not copied would show.
int cuLinkDestroy(void* state) {
  auto* link = static_cast<LinkState*>(state);
  link->code.assign(link->code.size(), '?');
  delete link;
  return kSuccess;
}

int cuModuleLoadDataEx(void** module, const void* data, unsigned count, int* names, void** values) {
  const auto* text = static_cast<const char*>(data);
  const Options options = read_options(count, names, values);
  if (std::strncmp(text, "ELF of ", 7) != 0 && std::strstr(text, ".version") == nullptr) return refuse(options, "ptxas fatal: no version");
  return *module = new Module{text}, kSuccess;
}
int cuModuleUnload(void* module) { return delete static_cast<Module*>(module), kSuccess; }
int cuModuleGetFunction(void** function, void* module, const char*) { return *function = module, kSuccess; }
int cuFuncGetAttribute(int* value, int, void*) { return *value = 1024, kSuccess; }
int cuFuncSetAttribute(void*, int, int) { return kSuccess; }

int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  return *address = reinterpret_cast<std::uint64_t>(std::aligned_alloc(512, bytes)), kSuccess;
}
int cuMemFree_v2(std::uint64_t address) { return std::free(reinterpret_cast<void*>(address)), kSuccess; }
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), kSuccess;
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), kSuccess;
}
int cuMemsetD32_v2(std::uint64_t to, unsigned word, std::size_t words) {
  for (std::size_t i = 0; i < words; ++i) std::memcpy(reinterpret_cast<void*>(to + i * sizeof(word)), &word, sizeof(word));
  return kSuccess;
}
int cuLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void** parameters, void**) {
  return function == nullptr || parameters == nullptr ? kInvalidImage : kSuccess;
}
int cuEventCreate(void** event, unsigned) { return *event = event, kSuccess; }
int cuEventDestroy_v2(void*) { return kSuccess; }
int cuEventRecord(void*, void*) { return kSuccess; }
int cuEventQuery(void*) { return kSuccess; }
int cuEventElapsedTime(float* milliseconds, void*, void*) { return *milliseconds = 0.25F, kSuccess; }
int cuGetErrorName(int status, const char** name) {
  return *name = status == kInvalidPtx ? "CUDA_ERROR_INVALID_PTX" : "CUDA_ERROR_OTHER", kSuccess;
}
int cuGetErrorString(int, const char** text) { return *text = "as the fake says", kSuccess; }
}
