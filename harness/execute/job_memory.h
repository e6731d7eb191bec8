// The buffers of a job in this process: fills them before the passes, reads them afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "families/job.h"
#include "metal/buffer.h"

namespace assay::harness {

// Bytes of one guard band. At any head_dim, a write that is one row off still lands inside it. Keeps the alignment that Metal
// requires of offsets.
inline constexpr std::size_t kGuardBytes = 4096;

class JobMemory {
 public:
  // Creates the inputs, and the outputs and scratch buffers of every pass, in `shared` if the dispatches run in another process. The job
  // and `shared` must outlive this object.
  explicit JobMemory(const families::Job& job, metal::SharedMemory* shared = nullptr);

  [[nodiscard]] const families::Job& job() const { return job_; }

  // Indexed by buffer number, valid as long as this object.
  [[nodiscard]] families::Views views(std::size_t pass) const { return passes_[pass].views; }
  // Whether a pass may run. A probe may not after a pass that wrote guards.
  [[nodiscard]] bool may_run(std::size_t pass) const;
  // Removes the memory of the first pass that may not run and of those after it.
  void drop_passes_not_run();

  // The results of all passes, valid as long as this object.
  [[nodiscard]] families::Results results() const;
  // Both guard bands of a buffer; empty if it has none.
  [[nodiscard]] std::span<const std::uint32_t> guard_before(std::size_t buffer, std::size_t pass) const;
  [[nodiscard]] std::span<const std::uint32_t> guard_behind(std::size_t buffer, std::size_t pass) const;
  [[nodiscard]] bool has_intact_guards(std::size_t buffer, std::size_t pass) const;
  // The whole buffer, including guard bands.
  [[nodiscard]] std::span<const std::byte> whole(std::size_t buffer, std::size_t pass) const;
  [[nodiscard]] const metal::BufferView& view(std::size_t buffer, std::size_t pass) const { return passes_[pass].views[buffer]; }

  // Whether every byte of an input, including gaps, is unchanged. Does not access pages of a gap that nothing has accessed.
  [[nodiscard]] bool is_unchanged(std::size_t input) const;
  [[nodiscard]] bool has_unchanged_inputs() const;

  // The bytes of all buffers but the inputs, in every pass, with their guard bands.
  [[nodiscard]] std::vector<std::byte> written() const;
  [[nodiscard]] std::size_t written_size() const;
  [[nodiscard]] bool has_written(std::span<const std::byte> all) const;

 private:
  struct PassMemory {
    std::vector<std::unique_ptr<metal::Buffer>> own;  // by number; null for inputs
    std::vector<metal::BufferView> views;
  };

  void add_pass();
  template <typename F>
  void for_each_written(F f) const;

  const families::Job& job_;
  metal::SharedMemory* shared_;
  std::vector<std::unique_ptr<metal::Buffer>> inputs_;  // by number; null for others
  std::vector<PassMemory> passes_;
};

}  // namespace assay::harness
