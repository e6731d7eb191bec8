// A stand-in for the header of metal-cpp: the calls of an encoder that docs/RECORDERS_CPP.md makes, with the types that they have there.
// Each call prints a line.
#pragma once

#include <cstddef>
#include <cstdio>

namespace NS {
using UInteger = unsigned long;
}

namespace MTL {

struct Size {
  Size(NS::UInteger w, NS::UInteger h, NS::UInteger d) : width(w), height(h), depth(d) {}
  NS::UInteger width, height, depth;
};

enum BarrierScope : NS::UInteger { BarrierScopeBuffers = 1 };

class Buffer {
 public:
  explicit Buffer(NS::UInteger length) : length_(length) {}
  NS::UInteger length() const { return length_; }

 private:
  NS::UInteger length_;
};

class ComputePipelineState {};

class ComputeCommandEncoder {
 public:
  void setComputePipelineState(const ComputePipelineState*) { std::puts("pipeline"); }
  void setBuffer(const Buffer* buffer, NS::UInteger offset, NS::UInteger index) {
    std::printf("buffer of %lu at %lu to %lu\n", buffer->length(), offset, index);
  }
  void setBytes(const void* bytes, NS::UInteger length, NS::UInteger index) {
    std::printf("%lu bytes, first %d, to %lu\n", length, *static_cast<const unsigned char*>(bytes), index);
  }
  void setThreadgroupMemoryLength(NS::UInteger length, NS::UInteger index) { std::printf("memory %lu to %lu\n", length, index); }
  void memoryBarrier(BarrierScope scope) { std::printf("barrier %lu\n", static_cast<NS::UInteger>(scope)); }
  void dispatchThreadgroups(Size groups, Size threads) {
    std::printf("%lu %lu %lu of %lu %lu %lu\n", groups.width, groups.height, groups.depth, threads.width, threads.height, threads.depth);
  }
};

}  // namespace MTL
