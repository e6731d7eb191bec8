// Loads the CUDA driver's library and calls its functions.
#include "metal/devices/cuda/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <array>
#include <filesystem>
#include <system_error>
#include <type_traits>

#include "metal/errors.h"

namespace assay::metal::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";
constexpr std::size_t kLongestLog = 8192;

constexpr int kPtx = 1;  // number of CUjitInputType

// Numbers of CUjit_option.
constexpr int kMaxRegisters = 0;
constexpr int kErrorLogBuffer = 5;
constexpr int kErrorLogBytes = 6;

// A function of the library. Every one of them returns a CUresult.
template <typename... Parameters>
class Function {
 public:
  Function(void* library, const char* name) : call_(reinterpret_cast<Call>(dlsym(library, name))) {
    if (call_ == nullptr) throw EnvironmentError(fmt::format("{} has no function {}: the driver is too old", kLibrary, name));
  }
  Status operator()(Parameters... parameters) const { return static_cast<Status>(call_(parameters...)); }

 private:
  using Call = int (*)(Parameters...);
  Call call_;
};

// Where the driver's compiler writes, and what it obeys. Stays where it is as long as the compiler works.
struct CompilerOptions {
  explicit CompilerOptions(unsigned registers)
      // The driver takes numbers in the place of pointers.
      : values{text.data(), reinterpret_cast<void*>(text.size()), reinterpret_cast<void*>(std::uintptr_t{registers})},
        count(registers == 0 ? 2 : 3) {}
  CompilerOptions(const CompilerOptions&) = delete;
  CompilerOptions& operator=(const CompilerOptions&) = delete;

  [[nodiscard]] std::string log() {
    text.back() = '\0';
    return text.data();
  }

  std::array<char, kLongestLog> text{};
  std::array<int, 3> names = {kErrorLogBuffer, kErrorLogBytes, kMaxRegisters};
  std::array<void*, 3> values;
  unsigned count;
};

class DriverLibrary {
 public:
  DriverLibrary() : handle_(dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr)
      throw EnvironmentError(fmt::format("no CUDA driver: {}; `--device cuda` needs an NVIDIA GPU and its driver", dlerror()));
  }
  // Never closed: threads of the driver may run until the process ends.
  [[nodiscard]] void* handle() const { return handle_; }

 private:
  void* handle_;
};

class LoadedDriver final : public Driver {
 public:
  Status initialise() override { return init_(0U); }
  Status version(int& version) override { return version_(&version); }
  Status count_devices(int& count) override { return count_(&count); }
  Status find_device(int number, int& device) override { return device_(&device, number); }

  Status device_name(int device, std::string& name) override {
    std::array<char, 256> text{};
    const Status status = name_(text.data(), static_cast<int>(text.size()) - 1, device);
    if (status == Status::success) name = text.data();
    return status;
  }

  Status device_memory(int device, std::size_t& bytes) override { return total_memory_(&bytes, device); }
  Status device_attribute(int device, DeviceAttribute attribute, int& value) override {
    return device_attribute_(&value, static_cast<int>(attribute), device);
  }
  Status create_context(int device, Handle& context) override { return create_context_(&context, 0U, device); }
  Status destroy_context(Handle context) override { return destroy_context_(context); }

  Status link(const std::string& ptx, unsigned registers, std::string& code, std::string& log) override {
    CompilerOptions options(registers);
    Handle state = nullptr;
    Status status = create_link_(options.count, options.names.data(), options.values.data(), &state);
    if (status != Status::success) return status;
    // The compiler wants the zero behind the text, and takes the bytes for its own while it works.
    std::string input = ptx;
    status = add_link_(state, kPtx, input.data(), input.size() + 1, "kernel.ptx", 0U, nullptr, nullptr);
    void* made = nullptr;
    std::size_t size = 0;
    if (status == Status::success) status = complete_link_(state, &made, &size);
    // It belongs to the state.
    if (status == Status::success && made != nullptr) code.assign(static_cast<const char*>(made), size);
    log = options.log();
    static_cast<void>(destroy_link_(state));
    return status;
  }

  Status load_module(const std::string& text, unsigned registers, Handle& module, std::string& log) override {
    CompilerOptions options(registers);
    const Status status = load_(&module, text.c_str(), options.count, options.names.data(), options.values.data());
    log = options.log();
    return status;
  }

  Status unload_module(Handle module) override { return unload_(module); }
  Status find_function(Handle module, const char* name, Handle& function) override { return find_(&function, module, name); }
  Status function_attribute(Handle function, FunctionAttribute attribute, int& value) override {
    return function_attribute_(&value, static_cast<int>(attribute), function);
  }
  Status set_function_attribute(Handle function, FunctionAttribute attribute, int value) override {
    return set_function_attribute_(function, static_cast<int>(attribute), value);
  }
  Status allocate(std::size_t bytes, Address& address) override { return allocate_(&address, bytes); }
  Status release(Address address) override { return release_(address); }
  Status copy_in(Address to, const void* from, std::size_t bytes) override { return copy_in_(to, from, bytes); }
  Status copy_out(void* to, Address from, std::size_t bytes) override { return copy_out_(to, from, bytes); }
  Status fill(Address to, std::uint32_t word, std::size_t words) override { return fill_(to, word, words); }

  Status launch(Handle function, const LaunchShape& shape, void* parameter) override {
    std::array<void*, 1> parameters = {parameter};
    return launch_(function, shape.blocks, 1U, 1U, shape.threads, 1U, 1U, shape.shared_bytes, nullptr, parameters.data(), nullptr);
  }

  Status create_event(Handle& event) override { return create_event_(&event, 0U); }
  Status destroy_event(Handle event) override { return destroy_event_(event); }
  Status record_event(Handle event) override { return record_event_(event, nullptr); }
  Status query_event(Handle event) override { return query_event_(event); }
  Status elapsed(Handle first, Handle last, float& milliseconds) override { return elapsed_(&milliseconds, first, last); }

  std::string file() override {
    link_map* map = nullptr;
    if (dlinfo(of_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr) return {};
    std::error_code error;
    const std::filesystem::path path = std::filesystem::canonical(map->l_name, error);
    if (error) return {};
    // Containers may give the file a name without its version.
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    return fmt::format("{} of {} bytes", path.filename().string(), error ? 0 : size);
  }

  std::string describe(Status status) override {
    const char* name = nullptr;
    const char* text = nullptr;
    static_cast<void>(error_name_(static_cast<int>(status), &name));
    static_cast<void>(error_text_(static_cast<int>(status), &text));
    return fmt::format("{}: {}", name == nullptr ? fmt::format("CUDA error {}", static_cast<int>(status)) : name,
                       text == nullptr ? "unknown to this driver" : text);
  }

 private:
  template <typename... Parameters>
  using Of = Function<Parameters...>;

  DriverLibrary library_;
  void* of_ = library_.handle();
  Of<unsigned> init_{of_, "cuInit"};
  Of<int*> version_{of_, "cuDriverGetVersion"};
  Of<int*> count_{of_, "cuDeviceGetCount"};
  Of<int*, int> device_{of_, "cuDeviceGet"};
  Of<char*, int, int> name_{of_, "cuDeviceGetName"};
  Of<std::size_t*, int> total_memory_{of_, "cuDeviceTotalMem_v2"};
  Of<int*, int, int> device_attribute_{of_, "cuDeviceGetAttribute"};
  Of<Handle*, unsigned, int> create_context_{of_, "cuCtxCreate_v2"};
  Of<Handle> destroy_context_{of_, "cuCtxDestroy_v2"};
  Of<unsigned, int*, void**, Handle*> create_link_{of_, "cuLinkCreate_v2"};
  Of<Handle, int, void*, std::size_t, const char*, unsigned, int*, void**> add_link_{of_, "cuLinkAddData_v2"};
  Of<Handle, void**, std::size_t*> complete_link_{of_, "cuLinkComplete"};
  Of<Handle> destroy_link_{of_, "cuLinkDestroy"};
  Of<Handle*, const void*, unsigned, int*, void**> load_{of_, "cuModuleLoadDataEx"};
  Of<Handle> unload_{of_, "cuModuleUnload"};
  Of<Handle*, Handle, const char*> find_{of_, "cuModuleGetFunction"};
  Of<int*, int, Handle> function_attribute_{of_, "cuFuncGetAttribute"};
  Of<Handle, int, int> set_function_attribute_{of_, "cuFuncSetAttribute"};
  Of<Address*, std::size_t> allocate_{of_, "cuMemAlloc_v2"};
  Of<Address> release_{of_, "cuMemFree_v2"};
  Of<Address, const void*, std::size_t> copy_in_{of_, "cuMemcpyHtoD_v2"};
  Of<void*, Address, std::size_t> copy_out_{of_, "cuMemcpyDtoH_v2"};
  Of<Address, unsigned, std::size_t> fill_{of_, "cuMemsetD32_v2"};
  Of<Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**, void**> launch_{of_, "cuLaunchKernel"};
  Of<Handle*, unsigned> create_event_{of_, "cuEventCreate"};
  Of<Handle> destroy_event_{of_, "cuEventDestroy_v2"};
  Of<Handle, Handle> record_event_{of_, "cuEventRecord"};
  Of<Handle> query_event_{of_, "cuEventQuery"};
  Of<float*, Handle, Handle> elapsed_{of_, "cuEventElapsedTime"};
  Of<int, const char**> error_name_{of_, "cuGetErrorName"};
  Of<int, const char**> error_text_{of_, "cuGetErrorString"};
};

}  // namespace

std::unique_ptr<Driver> load_driver() { return std::make_unique<LoadedDriver>(); }

}  // namespace assay::metal::cuda
