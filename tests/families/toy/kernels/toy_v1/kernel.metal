// The kernel of the toy family: dst = 3 src.
#include <metal_stdlib>
using namespace metal;

struct Params {
  uint count;
};

kernel void toy_triple(device const float* src [[buffer(0)]], device float* dst [[buffer(1)]],
                       constant Params& params [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  if (i < params.count) {
    dst[i] = src[i] * 3.0f;
  }
}
