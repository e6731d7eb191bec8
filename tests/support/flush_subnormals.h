// Subnormal operands and results flushed to zero by the processor itself, as a GPU may.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace assay::tests {

// While in scope.
class FlushSubnormals {
 public:
  FlushSubnormals() : saved_(control()) { set_control(saved_ | kFlush); }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;
  ~FlushSubnormals() { set_control(saved_); }

 private:
#if defined(__x86_64__)
  static constexpr std::uint64_t kFlush = 0x8040;  // flush to zero, denormals are zero
  static std::uint64_t control() { return _mm_getcsr(); }
  static void set_control(std::uint64_t bits) { _mm_setcsr(static_cast<unsigned>(bits)); }
#elif defined(__aarch64__)
  static constexpr std::uint64_t kFlush = 1U << 24;  // FZ: both
  static std::uint64_t control() {
    std::uint64_t bits = 0;
    asm volatile("mrs %0, fpcr" : "=r"(bits));
    return bits;
  }
  static void set_control(std::uint64_t bits) { asm volatile("msr fpcr, %0" : : "r"(bits) : "memory"); }
#else
#error "tests/support/flush_subnormals.h knows x86-64 and 64-bit ARM"
#endif

  std::uint64_t saved_;
};

}  // namespace assay::tests
