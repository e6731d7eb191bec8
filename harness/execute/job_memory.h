// The buffers of a job in this process: filled before the passes, read after them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "families/job.h"
#include "metal/buffer.h"

namespace assay::harness {

// Bytes of one guard band: a write one row too far, at any head_dim, lands inside. Keeps the alignment that Metal asks of an offset.
inline constexpr std::size_t kGuardBytes = 4096;

class JobMemory {
 public:
  // Makes the inputs. The job must outlive this.
  explicit JobMemory(const families::Job& job);

  // Makes fresh outputs and scratch for the next pass. By number of the buffer, until the next call.
  [[nodiscard]] families::Views add_pass();

  // What the passes left, valid as long as this.
  [[nodiscard]] families::Results results() const;
  // Both guard bands of a buffer; empty if it has none.
  [[nodiscard]] std::span<const std::uint32_t> guard_before(std::size_t buffer, std::size_t pass) const;
  [[nodiscard]] std::span<const std::uint32_t> guard_behind(std::size_t buffer, std::size_t pass) const;
  [[nodiscard]] bool has_intact_guards(std::size_t buffer, std::size_t pass) const;
  // The whole buffer, guard bands included.
  [[nodiscard]] std::span<const std::byte> whole(std::size_t buffer, std::size_t pass) const;
  [[nodiscard]] const metal::BufferView& view(std::size_t buffer, std::size_t pass) const { return passes_[pass].views[buffer]; }

  // Whether every byte of an input, gaps included, is what it was. Touches no page of a gap that nobody touched.
  [[nodiscard]] bool is_unchanged(std::size_t input) const;

 private:
  struct PassMemory {
    std::vector<std::unique_ptr<metal::Buffer>> own;  // by number; null for inputs
    std::vector<metal::BufferView> views;
  };

  const families::Job& job_;
  std::vector<std::unique_ptr<metal::Buffer>> inputs_;  // by number; null for others
  std::vector<PassMemory> passes_;
};

}  // namespace assay::harness
