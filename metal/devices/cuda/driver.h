// The part of the CUDA driver that assay uses, as an interface: the library implements it, and tests mock it.
//
// No header of CUDA is needed. The numbers are those of the driver's stable binary interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace assay::metal::cuda {

using Handle = void*;           // of a context, module, function or event
using Address = std::uint64_t;  // in device memory

// What a call returned. Only the values that assay tells apart have names.
enum class Status : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  no_device = 100,
  invalid_device = 101,
  not_ready = 600,
  illegal_address = 700,
  out_of_resources = 701,
  launch_timeout = 702,
  first_kernel_fault = 710,  // a failed assertion; up to 719, a trap
  last_kernel_fault = 719,
};

// Whether a kernel has damaged its context, which then refuses everything.
[[nodiscard]] constexpr bool is_kernel_fault(Status status) {
  return status == Status::illegal_address || status == Status::launch_timeout ||
         (status >= Status::first_kernel_fault && status <= Status::last_kernel_fault);
}

enum class DeviceAttribute : int { major = 75, minor = 76, largest_block_memory = 97 };
enum class FunctionAttribute : int { most_threads = 0, registers = 4, dynamic_memory = 8 };

// A launch of one-dimensional blocks in one dimension.
struct LaunchShape {
  std::uint32_t blocks = 1;
  std::uint32_t threads = 1;
  std::uint32_t shared_bytes = 0;  // dynamic shared memory
};

// Each call returns the status of the function of the driver that it names. Results are unchanged where it is not `success`.
class Driver {
 public:
  Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  virtual ~Driver() = default;

  virtual Status initialise() = 0;                                                         // cuInit
  virtual Status version(int& version) = 0;                                                // cuDriverGetVersion: 13000 is 13.0
  virtual Status count_devices(int& count) = 0;                                            // cuDeviceGetCount
  virtual Status find_device(int number, int& device) = 0;                                 // cuDeviceGet
  virtual Status device_name(int device, std::string& name) = 0;                           // cuDeviceGetName
  virtual Status device_memory(int device, std::size_t& bytes) = 0;                        // cuDeviceTotalMem
  virtual Status device_attribute(int device, DeviceAttribute attribute, int& value) = 0;  // cuDeviceGetAttribute
  virtual Status create_context(int device, Handle& context) = 0;                          // cuCtxCreate, which makes it current
  virtual Status destroy_context(Handle context) = 0;                                      // cuCtxDestroy
  // cuLinkCreate, cuLinkAddData, cuLinkComplete: compiles PTX for the GPU of the context, with at most `registers` per thread (0: as many
  // as there are). `log`: what the driver's compiler said.
  virtual Status link(const std::string& ptx, unsigned registers, std::string& code, std::string& log) = 0;
  // cuModuleLoadDataEx of code that link() made, or of PTX, which is compiled with at most `registers` per thread.
  virtual Status load_module(const std::string& text, unsigned registers, Handle& module, std::string& log) = 0;
  virtual Status unload_module(Handle module) = 0;                                                     // cuModuleUnload
  virtual Status find_function(Handle module, const char* name, Handle& function) = 0;                 // cuModuleGetFunction
  virtual Status function_attribute(Handle function, FunctionAttribute attribute, int& value) = 0;     // cuFuncGetAttribute
  virtual Status set_function_attribute(Handle function, FunctionAttribute attribute, int value) = 0;  // cuFuncSetAttribute
  virtual Status allocate(std::size_t bytes, Address& address) = 0;                                    // cuMemAlloc
  virtual Status release(Address address) = 0;                                                         // cuMemFree
  virtual Status copy_in(Address to, const void* from, std::size_t bytes) = 0;                         // cuMemcpyHtoD
  virtual Status copy_out(void* to, Address from, std::size_t bytes) = 0;                              // cuMemcpyDtoH
  virtual Status fill(Address to, std::uint32_t word, std::size_t words) = 0;                          // cuMemsetD32
  // cuLaunchKernel of a function with one parameter.
  virtual Status launch(Handle function, const LaunchShape& shape, void* parameter) = 0;
  virtual Status create_event(Handle& event) = 0;                              // cuEventCreate
  virtual Status destroy_event(Handle event) = 0;                              // cuEventDestroy
  virtual Status record_event(Handle event) = 0;                               // cuEventRecord
  virtual Status query_event(Handle event) = 0;                                // cuEventQuery: `not_ready` while it runs
  virtual Status elapsed(Handle first, Handle last, float& milliseconds) = 0;  // cuEventElapsedTime
  // The name and size of the library's file: "libcuda.so.580.95.05 of 96000000 bytes". Empty if it is not known.
  [[nodiscard]] virtual std::string file() = 0;
  // "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
  [[nodiscard]] virtual std::string describe(Status status) = 0;  // cuGetErrorName, cuGetErrorString
};

// The driver of this machine, not initialised. Throws EnvironmentError if libcuda.so.1 is not there or lacks a function.
[[nodiscard]] std::unique_ptr<Driver> load_driver();

}  // namespace assay::metal::cuda
