// Processes that have a GPU, started before the workers that use them, and used by one worker after another.
//
// The driver makes contexts one after the other, each in an eighth of a second. A worker ends with every case that does not pass, but the
// next one gets the same process, whose GPU then forgets all kernels and all memory (gpu_service.h).
#pragma once

#include <cstddef>
#include <list>
#include <memory>

#include "base/server.h"
#include "metal/devices/device.h"

namespace assay::harness {

class GpuPool {
 public:
  explicit GpuPool(unsigned gpu);
  GpuPool(const GpuPool&) = delete;
  GpuPool& operator=(const GpuPool&) = delete;
  ~GpuPool();

  // This process's, for that GPU. For the process that starts workers, while it has one thread.
  static GpuPool& of(const metal::DeviceChoice& device);
  // Ends the processes of all pools, none of which may be lent.
  static void end_all();

  // Starts processes until there are so many, without waiting for their drivers. Throws metal::EnvironmentError.
  void start(std::size_t count);

  struct Place;
  // One of them, as long as it is lent.
  class Loan {
   public:
    Loan() = default;
    explicit Loan(Place& place) : place_(&place) {}
    Loan(Loan&& other) noexcept;
    Loan& operator=(Loan&& other) noexcept;
    ~Loan();

    // -1: none is lent.
    [[nodiscard]] int channel() const;
    // How many cases it was lent for before the current one.
    [[nodiscard]] std::size_t cases_before() const;
    void count_case();
    // It is not lent again: a kernel may have damaged it, or its answer may still be on the way.
    void spoil();

   private:
    Place* place_ = nullptr;
  };
  // One that nobody has. With `unused`, one that has executed nothing. Throws metal::EnvironmentError.
  [[nodiscard]] Loan lend(bool unused);

 private:
  unsigned gpu_;
  std::list<Place> places_;
};

}  // namespace assay::harness
