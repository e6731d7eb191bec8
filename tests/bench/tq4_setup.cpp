// Builds the tq4 case that the benchmarks share.
#include "tests/bench/tq4_setup.h"
#include "families/registry.h"

#include <algorithm>
#include <cmath>

#include "harness/prepare/discovery.h"
#include "kernels/contract.h"
#include "kernels/variant.h"
#include "oracles/codebook.h"
#include "tests/bench/scalar_attention.h"

namespace assay::tests {
namespace {

families::DecodeParameters parameters_of(const oracles::DecodeShape& shape) {
  families::DecodeParameters parameters;
  parameters.n_heads = static_cast<std::uint32_t>(shape.heads);
  parameters.n_kv_heads = static_cast<std::uint32_t>(shape.kv_heads);
  parameters.head_dim = static_cast<std::uint32_t>(shape.head_dim);
  parameters.kv_seq_len = static_cast<std::uint32_t>(shape.kv_len);
  parameters.kv_capacity = static_cast<std::uint32_t>(shape.kv_capacity);
  parameters.scale = shape.scale;
  parameters.nwg = 1;
  return parameters;
}

}  // namespace

oracles::DecodeShape reference_shape() {
  oracles::DecodeShape shape;
  shape.heads = 8;
  shape.kv_heads = 2;
  shape.head_dim = 256;
  shape.kv_len = 1024;
  shape.kv_capacity = 1024;
  shape.scale = 1.0F / std::sqrt(256.0F);
  return shape;
}

Tq4Setup::Tq4Setup(const oracles::DecodeShape& shape)
    : shape_(shape),
      inputs_(fixtures::find_fixture("gauss").decode({.shape = shape, .seed = 1})),
      half_q_(inputs_.q.size()),
      scores_(shape.kv_len),
      scalar_output_(shape.heads * shape.head_dim),
      parameters_(parameters_of(shape)),
      q_(metal::Buffer::of(std::span<const float>(inputs_.q), "Q")),
      k_packed_(metal::Buffer::of(std::span<const std::uint8_t>(inputs_.k_codes), "K_packed")),
      k_norms_(metal::Buffer::of(std::span<const float>(inputs_.k_norms), "K_norms")),
      v_packed_(metal::Buffer::of(std::span<const std::uint8_t>(inputs_.v_codes), "V_packed")),
      v_norms_(metal::Buffer::of(std::span<const float>(inputs_.v_norms), "V_norms")),
      dst_(std::make_unique<metal::Buffer>(scalar_output_.size() * sizeof(float), "dst")) {
  std::ranges::transform(inputs_.q, half_q_.begin(),
                         [](float value) { return static_cast<float>(oracles::round_to_half(static_cast<double>(value))); });

  const kernels::Variant variant =
      kernels::read_variant(kernels::default_variants_directory() / "tq4_v1" / "variant.toml", families::contracts());
  if (variant.accuracy.dot_depth) accuracy_.dot_depth = *variant.accuracy.dot_depth;
  parameters_.offset_bits = variant.offset_bits;
  library_ = metal::Library::from_file(variant.source);
  kernel_.emplace(harness::bind_function(families::contract(variant.family), variant, *library_,
                                         variant.function(shape.head_dim == 512 ? "d512" : "d256"), {}));
}

void Tq4Setup::run_scalar() {
  const ScalarShape shape{shape_.heads, shape_.kv_heads, shape_.head_dim, shape_.kv_len, shape_.scale};
  const ScalarCache cache{oracles::codebook(4).data(), inputs_.k_codes.data(), inputs_.k_norms.data(), inputs_.v_codes.data(),
                          inputs_.v_norms.data()};
  scalar_attention(shape, half_q_.data(), cache, scores_.data(), scalar_output_.data());
}

void Tq4Setup::run_simulator(metal::Policy policy) {
  metal::SimulatorOptions options;
  options.policy = policy;
  options.threads = 1;
  metal::Simulator simulator({library_}, options);
  families::DecodeBuffers buffers;
  buffers.q = {q_.get()};
  buffers.k_packed = {k_packed_.get()};
  buffers.k_norms = {k_norms_.get()};
  buffers.v_packed = {v_packed_.get()};
  buffers.v_norms = {v_norms_.get()};
  buffers.dst = {dst_.get()};
  families::encode_decode(simulator, *kernel_, nullptr, parameters_, buffers);
  hazards_ = simulator.hazards();
  counters_ = simulator.counters();
}

void Tq4Setup::run_oracle() { expected_ = oracles::decode_attention(shape_, inputs_.q, inputs_.cache(), accuracy_); }

}  // namespace assay::tests
