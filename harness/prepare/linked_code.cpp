// Starts processes that link, and keeps their code in the cache.
#include "harness/prepare/linked_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <fstream>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/archive.h"
#include "base/hash.h"
#include "base/sandbox.h"
#include "base/server.h"
#include "base/text.h"
#include "harness/prepare/gpu_driver.h"
#include "metal/errors.h"

namespace assay::harness {

// Between this process and one that links.
namespace linking {
namespace {

constexpr std::uint64_t kLongestAnswer = std::uint64_t{1} << 28;
// A process starts in half a second, a kernel takes half as long. Many kernels of one source are linked by several processes.
constexpr std::size_t kMostKernels = 8;
constexpr std::chrono::minutes kPatience{2};
constexpr std::string_view kHeader = "assay-linked ";

struct Order {
  std::string function, digest, ptx;
  std::uint64_t registers = 0;
};
struct Code {
  std::string code, problem;
  std::uint64_t most_threads = 0;
  bool gives_up = false;  // the problem is not the kernel's
};

void fields(auto& archive, base::OneOf<Order> auto& value) { each(archive, value.function, value.digest, value.ptx, value.registers); }
void fields(auto& archive, base::OneOf<Code> auto& value) { each(archive, value.code, value.problem, value.most_threads, value.gives_up); }

// In the child. It ends after one answer.
std::vector<Code> link_all(const std::vector<Order>& orders, unsigned number) {
  std::vector<Code> all(orders.size());
  try {
    become_driver_process();
    const std::unique_ptr<metal::cuda::Driver> driver = used_driver()();
    metal::cuda::Gpu gpu(*driver, number);
    for (std::size_t i = 0; i < orders.size(); ++i) {
      try {
        metal::cuda::LinkedKernel linked =
            gpu.link({orders[i].function, orders[i].digest, orders[i].ptx}, static_cast<unsigned>(orders[i].registers));
        all[i] = {std::move(linked.code), {}, linked.most_threads, false};
      } catch (const metal::cuda::GpuError& error) {
        all[i].problem = error.what();
      }
    }
  } catch (const std::exception& error) {
    for (Code& one : all) {
      if (one.code.empty() && one.problem.empty()) one = {{}, error.what(), 0, true};
    }
  }
  return all;
}

// An entry of the cache: the number of threads in a first line, then the code. Throws metal::EnvironmentError if it is none.
metal::cuda::LinkedKernel read_entry(const std::filesystem::path& entry) {
  std::string text = base::read_file(entry).value_or("");
  text.resize(metal::compile::content_size(text));
  const std::size_t end = text.find('\n');
  const auto most_threads = text.starts_with(kHeader) && end != std::string::npos
                                ? base::number_of<std::uint32_t>(std::string_view(text).substr(kHeader.size(), end - kHeader.size()))
                                : std::nullopt;
  if (!most_threads) throw metal::EnvironmentError(fmt::format("{} is no code for a GPU: remove the file", entry.string()));
  return {text.substr(end + 1), *most_threads};
}

void write_entry(const std::filesystem::path& entry, const Code& code) {
  std::ofstream stream(entry, std::ios::binary | std::ios::trunc);
  stream << kHeader << code.most_threads << '\n' << code.code;
  stream.close();
  if (!stream) throw metal::EnvironmentError(fmt::format("cannot write {}; is the disk full?", entry.string()));
}

}  // namespace
}  // namespace linking

// A process that links some kernels.
class LinkedCode::Linking {
 public:
  Linking(std::vector<linking::Order> orders, std::vector<std::string> entries, unsigned number)
      : orders_(std::move(orders)), entries_(std::move(entries)), deadline_(std::chrono::steady_clock::now() + linking::kPatience) {
    const base::ChildSetup setup{.name = "linking process", .interrupts = base::Interrupts::ignored};
    base::prepare_sandbox();
    server_ = std::make_unique<base::Server>(setup, linking::kLongestAnswer, [number](std::span<const std::byte> request) {
      return base::to_bytes(linking::link_all(base::from_bytes<std::vector<linking::Order>>(request), number));
    });
    server_->ask(base::to_bytes(orders_));
  }

  // One for each kernel, in their order. Waits.
  [[nodiscard]] std::vector<linking::Code> codes() {
    const auto none = [&](const std::string& problem) {
      return std::vector<linking::Code>(
          orders_.size(), {{}, fmt::format("the driver does not compile '{}': {}", orders_.front().function, problem), 0, true});
    };
    const std::optional<base::Reply> reply = server_->receive_until(deadline_);
    if (!reply) return none("it takes too long");
    if (reply->kind != base::Reply::Kind::answer)
      return none(reply->kind == base::Reply::Kind::ended ? reply->ending.to_string() : server_->last_words());
    try {
      auto all = base::from_bytes<std::vector<linking::Code>>(reply->bytes);
      return all.size() == orders_.size() ? all : none("it sent another number of kernels");
    } catch (const base::DamagedArchive& damaged) {
      return none(damaged.what());
    }
  }
  [[nodiscard]] const std::vector<std::string>& entries() const { return entries_; }

 private:
  std::vector<linking::Order> orders_;
  std::vector<std::string> entries_;
  std::chrono::steady_clock::time_point deadline_;
  std::unique_ptr<base::Server> server_;
};

LinkedCode::LinkedCode(metal::DeviceChoice device, std::filesystem::path directory)
    : device_(std::move(device)), cache_(std::move(directory)) {}

std::string LinkedCode::entry_of(const metal::cuda::Kernel& kernel, unsigned registers) const {
  return base::Hash().add("linked").add(kernel.digest).add(fmt::to_string(registers)).add(device_.code_for).hex() + ".cubin";
}

void LinkedCode::keep(Linking& linking) {
  const std::vector<linking::Code> codes = linking.codes();
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const linking::Code& code = codes[i];
    if (!code.problem.empty() || code.code.empty()) {
      gives_up_ = gives_up_ || code.gives_up;
      fail(linking.entries()[i], code.problem.empty() ? "the driver's compiler made no code" : code.problem);
      continue;
    }
    has_linked_ = true;
    static_cast<void>(cache_.get(linking.entries()[i], [&](const std::filesystem::path& entry) { linking::write_entry(entry, code); }));
  }
}

void LinkedCode::fail(const std::string& entry, const std::string& problem) {
  failed_.insert(entry);
  if (problem_.empty()) problem_ = problem;
}

bool LinkedCode::is_worth_trying(const std::string& entry) const {
  constexpr std::size_t kMostFailures = 3;
  return !gives_up_ && !failed_.contains(entry) && (has_linked_ || failed_.size() < kMostFailures);
}

const metal::cuda::LinkedKernel* LinkedCode::find(const metal::cuda::Kernel& kernel, unsigned registers) {
  const std::string entry = entry_of(kernel, registers);
  if (const auto found = found_.find(entry); found != found_.end()) return &found->second;
  if (!cache_.has(entry)) {
    if (!is_worth_trying(entry)) return nullptr;
    try {
      Linking linking({{kernel.function, kernel.digest, kernel.text, registers}}, {entry}, device_.number);
      keep(linking);
    } catch (const base::ProcessRefused& refused) {
      fail(entry, refused.what());
    }
    if (failed_.contains(entry)) return nullptr;
  }
  return &found_.emplace(entry, linking::read_entry(cache_.directory() / entry)).first->second;
}

void LinkedCode::make_ahead(const std::vector<std::vector<metal::cuda::Kernel>>& sources, unsigned jobs) {
  std::deque<std::unique_ptr<Linking>> running;
  const auto finish_first = [&] {
    keep(*running.front());
    running.pop_front();
  };
  std::set<std::string> begun;
  for (const std::vector<metal::cuda::Kernel>& kernels : sources) {
    std::vector<linking::Order> orders;
    std::vector<std::string> entries;
    const auto start = [&] {
      if (orders.empty()) return;
      if (running.size() >= std::max(1U, jobs)) finish_first();
      try {
        running.push_back(std::make_unique<Linking>(std::exchange(orders, {}), std::exchange(entries, {}), device_.number));
      } catch (const base::ProcessRefused& refused) {
        gives_up_ = true;
        fail({}, refused.what());
      }
    };
    for (const metal::cuda::Kernel& kernel : kernels) {
      std::string entry = entry_of(kernel, 0);
      if (!is_worth_trying(entry) || !begun.insert(entry).second || cache_.has(entry)) continue;
      orders.push_back({kernel.function, kernel.digest, kernel.text, 0});
      entries.push_back(std::move(entry));
      if (orders.size() == linking::kMostKernels) start();
    }
    start();
  }
  while (!running.empty()) finish_first();
}

}  // namespace assay::harness
