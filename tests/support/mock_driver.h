// The CUDA driver as a mock. It can behave like a GPU whose memory is that of this process and whose kernels are functions of the test.
#pragma once

#include <gmock/gmock.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "metal/cuda_abi.h"
#include "metal/devices/cuda/driver.h"
#include "metal/devices/cuda/zero_scan.h"

namespace assay::tests {

class MockDriver : public metal::cuda::Driver {
 public:
  using Address = metal::cuda::Address;
  using DeviceAttribute = metal::cuda::DeviceAttribute;
  using FunctionAttribute = metal::cuda::FunctionAttribute;
  using Handle = metal::cuda::Handle;
  using LaunchShape = metal::cuda::LaunchShape;
  using Status = metal::cuda::Status;

  MOCK_METHOD(Status, initialise, (), (override));
  MOCK_METHOD(Status, version, (int&), (override));
  MOCK_METHOD(Status, count_devices, (int&), (override));
  MOCK_METHOD(Status, find_device, (int, int&), (override));
  MOCK_METHOD(Status, device_name, (int, std::string&), (override));
  MOCK_METHOD(Status, device_memory, (int, std::size_t&), (override));
  MOCK_METHOD(Status, device_attribute, (int, DeviceAttribute, int&), (override));
  MOCK_METHOD(Status, create_context, (int, Handle&), (override));
  MOCK_METHOD(Status, destroy_context, (Handle), (override));
  MOCK_METHOD(Status, link, (const std::string&, unsigned, std::string&, std::string&), (override));
  MOCK_METHOD(Status, load_module, (const std::string&, unsigned, Handle&, std::string&), (override));
  MOCK_METHOD(Status, unload_module, (Handle), (override));
  MOCK_METHOD(Status, find_function, (Handle, const char*, Handle&), (override));
  MOCK_METHOD(Status, function_attribute, (Handle, FunctionAttribute, int&), (override));
  MOCK_METHOD(Status, set_function_attribute, (Handle, FunctionAttribute, int), (override));
  MOCK_METHOD(Status, allocate, (std::size_t, Address&), (override));
  MOCK_METHOD(Status, release, (Address), (override));
  MOCK_METHOD(Status, copy_in, (Address, const void*, std::size_t), (override));
  MOCK_METHOD(Status, copy_out, (void*, Address, std::size_t), (override));
  MOCK_METHOD(Status, fill, (Address, std::uint32_t, std::size_t), (override));
  MOCK_METHOD(Status, launch, (Handle, const LaunchShape&, void*), (override));
  MOCK_METHOD(Status, create_event, (Handle&), (override));
  MOCK_METHOD(Status, destroy_event, (Handle), (override));
  MOCK_METHOD(Status, record_event, (Handle), (override));
  MOCK_METHOD(Status, query_event, (Handle), (override));
  MOCK_METHOD(Status, elapsed, (Handle, Handle, float&), (override));
  MOCK_METHOD(std::string, file, (), (override));
  MOCK_METHOD(std::string, describe, (Status), (override));

  // Before the PTX in what link() makes.
  inline static const std::string kLinked{"ELF\0of", 6};

  // A kernel: gets the PTX of its module and its parameter. What it returns is what the next query of an event returns.
  using Kernel = std::function<Status(const std::string& ptx, const metal::cuda_abi::Launch&, const LaunchShape&)>;

  // One GPU with memory; every launch executes `kernel` at once.
  void behave(Kernel kernel) {
    using ::testing::_;
    kernel_ = std::move(kernel);
    ON_CALL(*this, version(_)).WillByDefault([](int& version) { return version = 13000, Status::success; });
    ON_CALL(*this, count_devices(_)).WillByDefault([](int& count) { return count = 1, Status::success; });
    ON_CALL(*this, find_device(_, _)).WillByDefault([](int number, int& device) { return device = number, Status::success; });
    ON_CALL(*this, device_name(_, _)).WillByDefault([](int, std::string& name) { return name = "Mock 100", Status::success; });
    ON_CALL(*this, device_memory(_, _)).WillByDefault([](int, std::size_t& bytes) {
      return bytes = std::size_t{80} << 30, Status::success;
    });
    ON_CALL(*this, device_attribute(_, _, _)).WillByDefault([](int, DeviceAttribute attribute, int& value) {
      return value = attribute == DeviceAttribute::major ? 9 : 0, Status::success;
    });
    ON_CALL(*this, create_context(_, _)).WillByDefault([](int, Handle& context) {
      return context = reinterpret_cast<Handle>(1), Status::success;
    });
    ON_CALL(*this, link(_, _, _, _)).WillByDefault([](const std::string& ptx, unsigned, std::string& code, std::string&) {
      return code = kLinked + ptx, Status::success;
    });
    ON_CALL(*this, load_module(_, _, _, _)).WillByDefault([this](const std::string& text, unsigned, Handle& module, std::string&) {
      if (watches_loads_) watches_loads_(text);
      modules_.push_back(text.starts_with(kLinked) ? text.substr(kLinked.size()) : text);
      return module = reinterpret_cast<Handle>(modules_.size()), Status::success;
    });
    ON_CALL(*this, find_function(_, _, _)).WillByDefault([](Handle module, const char*, Handle& function) {
      return function = module, Status::success;
    });
    ON_CALL(*this, function_attribute(_, _, _)).WillByDefault([](Handle, FunctionAttribute, int& value) {
      return value = 1024, Status::success;
    });
    ON_CALL(*this, allocate(_, _)).WillByDefault([this](std::size_t bytes, Address& address) {
      address = reinterpret_cast<Address>(std::aligned_alloc(512, bytes));
      memory_end_ = address + bytes;
      return Status::success;
    });
    ON_CALL(*this, release(_)).WillByDefault([](Address address) { return std::free(pointer(address)), Status::success; });
    ON_CALL(*this, copy_in(_, _, _)).WillByDefault([](Address to, const void* from, std::size_t bytes) {
      return std::memcpy(pointer(to), from, bytes), Status::success;
    });
    ON_CALL(*this, copy_out(_, _, _)).WillByDefault([](void* to, Address from, std::size_t bytes) {
      return std::memcpy(to, pointer(from), bytes), Status::success;
    });
    ON_CALL(*this, fill(_, _, _)).WillByDefault([](Address to, std::uint32_t word, std::size_t words) {
      for (std::size_t i = 0; i < words; ++i) std::memcpy(pointer(to + i * sizeof word), &word, sizeof word);
      return Status::success;
    });
    ON_CALL(*this, launch(_, _, _)).WillByDefault([this](Handle function, const LaunchShape& shape, void* parameter) {
      if (modules_[reinterpret_cast<std::size_t>(function) - 1] == metal::cuda::ZeroScan::ptx()) return scan(shape, parameter);
      metal::cuda_abi::Launch launch;
      std::memcpy(&launch, parameter, sizeof launch);
      ended_ = kernel_(modules_[reinterpret_cast<std::size_t>(function) - 1], launch, shape);
      return Status::success;
    });
    ON_CALL(*this, query_event(_)).WillByDefault([this](Handle) { return ended_; });
    ON_CALL(*this, elapsed(_, _, _)).WillByDefault([](Handle, Handle, float& milliseconds) {
      return milliseconds = 0.5F, Status::success;
    });
    ON_CALL(*this, describe(_)).WillByDefault([](Status status) { return "CUDA_ERROR_" + std::to_string(static_cast<int>(status)); });
  }

  // Called with every text that a module is loaded from.
  void watch_loads(std::function<void(const std::string&)> watch) { watches_loads_ = std::move(watch); }

  // Of the newest allocation.
  [[nodiscard]] Address memory_end() const { return memory_end_; }

  static void* pointer(Address address) { return reinterpret_cast<void*>(address); }

 private:
  static Status scan(const LaunchShape& shape, const void* parameter) {
    metal::cuda::ZeroScan::Parameter scanned{};
    std::memcpy(&scanned, parameter, sizeof scanned);
    const std::string zeros(metal::cuda::ZeroScan::kPiece, '\0');
    for (std::size_t piece = 0; piece < shape.blocks; ++piece) {
      if (std::memcmp(pointer(scanned.first + piece * zeros.size()), zeros.data(), zeros.size()) != 0)
        static_cast<char*>(pointer(scanned.flags))[piece] = 1;
    }
    return Status::success;
  }

  Kernel kernel_;
  std::function<void(const std::string&)> watches_loads_;
  std::vector<std::string> modules_;
  Status ended_ = Status::success;
  Address memory_end_ = 0;
};

}  // namespace assay::tests
