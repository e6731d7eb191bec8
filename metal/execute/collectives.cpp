#include "metal/execute/collectives.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "metal/execute/checked_services.h"
#include "metal/execute/checker.h"
#include "metal/execute/matrix.h"
#include "metal/execute/scalars.h"
#include "metal/execute/shadowed_services.h"
#include "metal/execute/value_recorder.h"

namespace assay::metal::execute {

namespace {

// The operation codes of metal/shader/runtime.h.
enum class Reduction : std::uint32_t {
  sum,
  product,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  prefix_inclusive_sum,
  prefix_exclusive_sum,
  prefix_inclusive_product,
  prefix_exclusive_product
};
enum class Shuffle : std::uint32_t {
  index,
  exchange_xor,
  up,
  down,
  rotate_up,
  rotate_down,
  fill_up,
  fill_down,
  broadcast,
  broadcast_first
};
enum class AtomicOperation : std::uint32_t { load, store, exchange, compare_exchange, add, subtract, bit_and, bit_or, bit_xor, min, max };

constexpr std::size_t kMaxShuffledBytes = 64;

// ---- stores

void commit(const Request& request) {
  // The common sizes as constants, so that each is a move and not a call.
  void* to = request.pointers[0];
  const void* from = request.pointers[1];
  switch (request.bytes) {
    case 2:
      std::memcpy(to, from, 2);
      break;
    case 4:
      std::memcpy(to, from, 4);
      break;
    case 8:
      std::memcpy(to, from, 8);
      break;
    case 16:
      std::memcpy(to, from, 16);
      break;
    default:
      std::memmove(to, from, request.bytes);
  }
}

// ---- reductions

// Combines neighbours: element i of the first `Count` becomes that of elements 2 i and 2 i + 1.
template <std::size_t Count, typename T, typename Combine>
void combine_pairs(std::array<T, abi::kLanes>& values, Combine combine) {
  std::array<T, Count> pairs;
  for (std::size_t i = 0; i < Count; ++i) pairs[i] = combine(values[2 * i], values[2 * i + 1]);
  std::copy(pairs.begin(), pairs.end(), values.begin());
}

// Every lane of a butterfly ends with the same bits, because each step is commutative: the lower one of each pair is enough.
template <typename T, typename Combine>
void butterfly(std::array<T, abi::kLanes>& values, std::uint32_t width, Combine combine) {
  // Counts as constants, so that each step is a few vector instructions.
  if (width > 1) combine_pairs<16>(values, combine);
  if (width > 2) combine_pairs<8>(values, combine);
  if (width > 4) combine_pairs<4>(values, combine);
  if (width > 8) combine_pairs<2>(values, combine);
  if (width > 16) combine_pairs<1>(values, combine);
  if (width == abi::kLanes) return values.fill(values[0]);
  for (std::uint32_t lane = abi::kLanes; lane-- > 0;) values[lane] = values[lane / width];
}

template <typename T, typename Combine>
void scan(std::array<T, abi::kLanes>& values, LaneMask participants, std::uint32_t width, T identity, bool inclusive, Combine combine) {
  T running = identity;
  for (std::uint32_t lane = 0; lane < abi::kLanes; ++lane) {
    if (lane % width == 0) running = identity;
    if ((participants >> lane & 1u) == 0) continue;
    const T before = running;
    running = combine(running, values[lane]);
    values[lane] = inclusive ? running : before;
  }
}

template <typename T>
T reduction_identity(Reduction operation) {
  switch (operation) {
    case Reduction::product:
    case Reduction::prefix_inclusive_product:
    case Reduction::prefix_exclusive_product:
      return static_cast<T>(1);
    case Reduction::min:
      if constexpr (is_floating<T>) {
        return static_cast<T>(std::numeric_limits<float>::quiet_NaN());
      } else {
        return std::numeric_limits<T>::max();
      }
    case Reduction::max:
      if constexpr (is_floating<T>) {
        return static_cast<T>(std::numeric_limits<float>::quiet_NaN());
      } else {
        return std::numeric_limits<T>::lowest();
      }
    case Reduction::bit_and:
      if constexpr (is_floating<T>) {
        return T{};
      } else {
        return static_cast<T>(~T{});
      }
    default:
      return static_cast<T>(0);
  }
}

template <typename T>
void reduce(std::array<T, abi::kLanes>& values, LaneMask participants, Reduction operation, std::uint32_t width) {
  const T identity = reduction_identity<T>(operation);
  switch (operation) {
    case Reduction::sum:
      return butterfly(values, width, add<T>);
    case Reduction::product:
      return butterfly(values, width, multiply<T>);
    case Reduction::min:
      return butterfly(values, width, minimum<T>);
    case Reduction::max:
      return butterfly(values, width, maximum<T>);
    case Reduction::prefix_inclusive_sum:
      return scan(values, participants, width, identity, true, add<T>);
    case Reduction::prefix_exclusive_sum:
      return scan(values, participants, width, identity, false, add<T>);
    case Reduction::prefix_inclusive_product:
      return scan(values, participants, width, identity, true, multiply<T>);
    case Reduction::prefix_exclusive_product:
      return scan(values, participants, width, identity, false, multiply<T>);
    default:
      break;
  }
  if constexpr (!is_floating<T>) {
    if (operation == Reduction::bit_and) return butterfly(values, width, [](T a, T b) { return static_cast<T>(a & b); });
    if (operation == Reduction::bit_or) return butterfly(values, width, [](T a, T b) { return static_cast<T>(a | b); });
    return butterfly(values, width, [](T a, T b) { return static_cast<T>(a ^ b); });
  }
}

void perform_reduce(SimdGroup& group, LaneMask participants, const Request& first) {
  const auto operation = static_cast<Reduction>(first.words[0]);
  const std::uint32_t count = first.words[2];
  const std::uint32_t width = first.words[3];
  with_scalar(static_cast<ScalarCode>(first.words[1]), [&]<typename T>(T) {
    for (std::uint32_t component = 0; component < count; ++component) {
      std::array<T, abi::kLanes> values;
      values.fill(reduction_identity<T>(operation));
      for_each_lane(group, participants, [&](Lane& lane) {
        values[lane.index] = load_scalar<T>(static_cast<std::byte*>(lane.request.pointers[0]) + component * sizeof(T));
      });
      reduce(values, participants, operation, width);
      for_each_lane(group, participants, [&](Lane& lane) {
        store_scalar(static_cast<std::byte*>(lane.request.pointers[0]) + component * sizeof(T), values[lane.index]);
      });
    }
  });
}

// The same for one 32-bit scalar, whose operands and results stay in the group.
void perform_reduce_word(SimdGroup& group, LaneMask participants, std::uint32_t code) {
  const auto operation = static_cast<Reduction>(code & 0xff);
  const std::uint32_t width = code >> 16;
  with_scalar(static_cast<ScalarCode>(code >> 8 & 0xff), [&]<typename T>(T) {
    if constexpr (sizeof(T) == sizeof(std::uint32_t)) {
      auto values = std::bit_cast<std::array<T, abi::kLanes>>(group.values);
      const T identity = reduction_identity<T>(operation);
      for (LaneMask absent = ~participants; absent != 0; absent &= absent - 1)
        values[static_cast<std::size_t>(std::countr_zero(absent))] = identity;
      reduce(values, participants, operation, width);
      const auto results = std::bit_cast<std::array<std::uint32_t, abi::kLanes>>(values);
      if (participants == ~LaneMask{0}) {
        group.values = results;
      } else {
        for_each_lane(group, participants, [&](Lane& lane) { group.values[lane.index] = results[lane.index]; });
      }
    }
  });
}

// ---- shuffles

struct Source {
  std::uint32_t lane = 0;
  bool from_fill = false;
};

// Where a lane's value comes from; its own where Metal leaves the result undefined. `modulo` is of the fill modes only.
Source shuffle_source(Shuffle mode, std::uint32_t lane, std::uint32_t width, std::uint32_t argument, std::uint32_t modulo,
                      LaneMask participants) {
  const std::uint32_t base = lane & ~(width - 1);
  const std::uint32_t within = lane - base;
  const auto in_group = [&](std::uint64_t other) -> Source {
    return other < width ? Source{base + static_cast<std::uint32_t>(other)} : Source{lane};
  };
  switch (mode) {
    case Shuffle::index:
    case Shuffle::broadcast:
      return in_group(argument);
    case Shuffle::exchange_xor:
      return in_group(within ^ argument);
    case Shuffle::up:
      return argument <= within ? Source{lane - argument} : Source{lane};
    case Shuffle::down:
      return in_group(std::uint64_t{within} + argument);
    case Shuffle::rotate_up:
      return in_group((within + width - argument % width) % width);
    case Shuffle::rotate_down:
      return in_group((std::uint64_t{within} + argument) % width);
    case Shuffle::fill_up:
    case Shuffle::fill_down: {
      const std::uint32_t length = std::clamp(modulo, 1u, width);
      const std::uint32_t segment = base + within / length * length;
      const std::uint32_t position = within % length;
      if (argument > length) return {lane};
      if (mode == Shuffle::fill_up) {
        return argument <= position ? Source{segment + position - argument} : Source{segment + position + length - argument, true};
      }
      return position + argument < length ? Source{segment + position + argument} : Source{segment + position + argument - length, true};
    }
    case Shuffle::broadcast_first:
      break;
  }
  const LaneMask in_base = participants >> base & (width == 32 ? ~LaneMask{0} : (LaneMask{1} << width) - 1);
  return {base + static_cast<std::uint32_t>(std::countr_zero(in_base))};
}

// Values of Size bytes; with kMaxShuffledBytes, of any size.
template <std::size_t Size>
void perform_sized_shuffle(SimdGroup& group, LaneMask participants, const Request& first) {
  const auto mode = static_cast<Shuffle>(first.words[0]);
  const std::size_t bytes = Size == kMaxShuffledBytes ? first.words[1] : Size;
  std::array<std::array<std::byte, Size>, abi::kLanes> values;
  std::array<std::array<std::byte, Size>, abi::kLanes> fills;
  const bool filling = mode == Shuffle::fill_up || mode == Shuffle::fill_down;
  for_each_lane(group, participants, [&](Lane& lane) {
    std::memcpy(values[lane.index].data(), lane.request.pointers[0], bytes);
    if (filling) std::memcpy(fills[lane.index].data(), lane.request.pointers[1], bytes);
  });
  for_each_lane(group, participants, [&](Lane& lane) {
    const auto& words = lane.request.words;
    const Source source = shuffle_source(mode, lane.index, words[2], words[3], words[4], participants);
    if ((participants >> source.lane & 1u) == 0) return;
    std::memcpy(lane.request.pointers[0], (source.from_fill ? fills : values)[source.lane].data(), bytes);
  });
}

// The same for four bytes, whose values stay in the group; each lane's argument is its request's first word.
void perform_shuffle_word(SimdGroup& group, LaneMask participants, std::uint32_t operation) {
  const auto mode = static_cast<Shuffle>(operation & 0xff);
  const std::uint32_t width = operation >> 16;
  const auto values = group.values;
  for_each_lane(group, participants, [&](Lane& lane) {
    const Source source = shuffle_source(mode, lane.index, width, lane.request.words[0], width, participants);
    if ((participants >> source.lane & 1u) != 0) group.values[lane.index] = values[source.lane];
  });
}

// The common sizes as constants, so that copies are moves and not calls.
void perform_shuffle(SimdGroup& group, LaneMask participants, const Request& first) {
  switch (first.words[1]) {
    case 2:
      return perform_sized_shuffle<2>(group, participants, first);
    case 4:
      return perform_sized_shuffle<4>(group, participants, first);
    case 8:
      return perform_sized_shuffle<8>(group, participants, first);
    case 16:
      return perform_sized_shuffle<16>(group, participants, first);
    default:
      return perform_sized_shuffle<kMaxShuffledBytes>(group, participants, first);
  }
}

void perform_vote(SimdGroup& group, LaneMask participants, bool ballot) {
  LaneMask votes = 0;
  for_each_lane(group, participants, [&](Lane& lane) {
    if (!ballot || lane.request.words[0] != 0) votes |= LaneMask{1} << lane.index;
  });
  for_each_lane(group, participants, [&](Lane& lane) {
    const std::uint32_t width = ballot ? lane.request.words[1] : lane.request.words[0];
    const LaneMask group_mask = width == 32 ? ~LaneMask{0} : (LaneMask{1} << width) - 1;
    lane.request.result = votes >> (lane.index & ~(width - 1)) & group_mask;
  });
}

// ---- atomics

template <typename T>
T apply(AtomicOperation operation, T old, T operand) {
  switch (operation) {
    case AtomicOperation::add:
      return add(old, operand);
    case AtomicOperation::subtract:
      if constexpr (is_floating<T>) {
        return static_cast<T>(static_cast<float>(old) - static_cast<float>(operand));
      } else {
        return static_cast<T>(static_cast<std::uint64_t>(old) - static_cast<std::uint64_t>(operand));
      }
    case AtomicOperation::min:
      return minimum(old, operand);
    case AtomicOperation::max:
      return maximum(old, operand);
    case AtomicOperation::load:
      return old;
    case AtomicOperation::bit_and:
    case AtomicOperation::bit_or:
    case AtomicOperation::bit_xor:
      if constexpr (!is_floating<T>) {
        if (operation == AtomicOperation::bit_and) return static_cast<T>(old & operand);
        if (operation == AtomicOperation::bit_or) return static_cast<T>(old | operand);
        return static_cast<T>(old ^ operand);
      }
      return operand;
    default:
      return operand;
  }
}

// One lane after the other, ascending: one of the orders that the hardware may choose, and always the same.
void perform_atomics(SimdGroup& group, LaneMask participants) {
  for_each_lane(group, participants, [](Lane& lane) {
    const Request& request = lane.request;
    const auto operation = static_cast<AtomicOperation>(request.words[0]);
    with_scalar(static_cast<ScalarCode>(request.words[1]), [&]<typename T>(T) {
      const T old = load_scalar<T>(request.pointers[0]);
      const T operand = load_scalar<T>(request.pointers[1]);
      if (operation == AtomicOperation::compare_exchange) {
        if (std::memcmp(&old, &operand, sizeof(T)) == 0) store_scalar(request.pointers[0], load_scalar<T>(request.pointers[2]));
      } else if (operation != AtomicOperation::load) {
        store_scalar(request.pointers[0], apply(operation, old, operand));
      }
      store_scalar(request.pointers[1], old);
    });
  });
}

// ---- the functions that compiled kernels call

Request& request_of(abi::Lane* lane) { return static_cast<Lane*>(lane)->request; }

void service_store(abi::Lane* abi_lane, std::uint32_t site, void* destination, const void* source, std::uint64_t bytes) {
  auto& lane = *static_cast<Lane*>(abi_lane);
  if (lane.owns(destination)) {
    std::memmove(destination, source, bytes);
    return;
  }
  Request& request = request_of(abi_lane);
  request.pointers[0] = destination;
  request.pointers[1] = const_cast<void*>(source);
  request.bytes = bytes;
  if (!lane.owns(source)) {
    lane.group->sites[lane.index] = site;  // for what a fault is told as
    // Another lane's store of this point might change what a copy from shared memory is about to read.
    auto* copy = static_cast<std::byte*>(__builtin_alloca(bytes));
    std::memcpy(copy, source, bytes);
    request.pointers[1] = copy;
  }
  SimdGroup::meet(site);
}

// Here and in the next ones the lane is not asked for its index: see running_group.
std::uint32_t service_reduce_word(abi::Lane*, std::uint32_t site, std::uint32_t value) {
  running_group->values[running_group->running()] = value;
  SimdGroup::meet(site);
  return running_group->values[running_group->running()];
}

std::uint32_t service_shuffle_word(abi::Lane* lane, std::uint32_t site, std::uint32_t value, std::uint32_t argument) {
  running_group->values[running_group->running()] = value;
  request_of(lane).words[0] = argument;
  SimdGroup::meet(site);
  return running_group->values[running_group->running()];
}

void service_reduce(abi::Lane* lane, std::uint32_t site, std::uint32_t operation, std::uint32_t type, std::uint32_t count,
                    std::uint32_t width, void* value) {
  Request& request = request_of(lane);
  request.words = {operation, type, count, width};
  request.pointers[0] = value;
  SimdGroup::meet(site);
}

void service_shuffle(abi::Lane* lane, std::uint32_t site, std::uint32_t mode, std::uint32_t bytes, std::uint32_t width, void* value,
                     const void* fill, std::uint32_t argument, std::uint32_t modulo) {
  Request& request = request_of(lane);
  request.words = {mode, bytes, width, argument, modulo};
  request.pointers = {value, const_cast<void*>(fill)};
  SimdGroup::meet(site);
}

void service_misaligned(abi::Lane* abi_lane, std::uint32_t access, const void* address) {
  const auto& lane = *static_cast<Lane*>(abi_lane);
  lane.group->threadgroup->strays().misaligned(lane, access, address);
}

std::uint64_t service_ballot(abi::Lane* lane, std::uint32_t site, std::uint32_t predicate, std::uint32_t width) {
  Request& request = request_of(lane);
  request.words = {predicate, width};
  SimdGroup::meet(site);
  return request.result;
}

std::uint64_t service_active(abi::Lane* lane, std::uint32_t site, std::uint32_t width) {
  Request& request = request_of(lane);
  request.words = {width};
  SimdGroup::meet(site);
  return request.result;
}

void service_barrier(abi::Lane* lane, std::uint32_t site, std::uint32_t scope, std::uint32_t flags) {
  Request& request = request_of(lane);
  request.words = {scope, flags};
  SimdGroup::meet(site);
}

std::uint64_t service_matrix_multiply(abi::Lane*, std::uint32_t site, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  const std::size_t place = place_in_matrix(running_group->running());
  auto& operands = running_group->matrices;
  operands.a[place] = a;
  operands.b[place] = b;
  operands.c[place] = c;
  SimdGroup::meet(site);
  return running_group->matrices.c[place_in_matrix(running_group->running())];
}

void trace(const Lane& lane, const void* address, std::size_t bytes, bool is_write) {
  if (ValueRecorder* recorder = lane.group->threadgroup->recorder()) {
    if (!is_write) recorder->read(lane, address);
    return;
  }
  AccessLog* log = lane.group->threadgroup->log();
  if (log != nullptr && !lane.owns(address)) log->record(address, bytes, is_write);
}

void service_trace(abi::Lane* lane, std::uint32_t, const void* address, std::uint64_t bytes, std::uint32_t is_write) {
  trace(*static_cast<Lane*>(lane), address, bytes, is_write != 0);
}

void service_record(abi::Lane* abi_lane, std::uint32_t operation, const void* address, std::uint64_t bytes) {
  const auto& lane = *static_cast<Lane*>(abi_lane);
  lane.group->threadgroup->recorder()->record(lane, operation, address, bytes);
}

void service_reconverge(abi::Lane*, std::uint32_t site) { SimdGroup::meet(site); }

void service_atomic(abi::Lane* lane, std::uint32_t site, std::uint32_t operation, std::uint32_t type, void* object, void* operand,
                    const void* desired) {
  Request& request = request_of(lane);
  request.words = {operation, type};
  request.pointers = {object, operand, const_cast<void*>(desired)};
  SimdGroup::meet(site);
}

}  // namespace

void perform(SimdGroup& group, LaneMask participants) {
  const auto leader = static_cast<std::size_t>(std::countr_zero(participants));
  const Request& first = group.lanes[leader].request;
  const abi::Site& site = group.threadgroup->module().sites[group.sites[leader]];
  const auto service = static_cast<abi::Service>(site.service);
  switch (service) {
    case abi::kStore:
      if (Checker* checker = group.threadgroup->checker()) {
        for_each_lane(group, participants, [&](Lane& lane) {
          checker->wrote(lane, group.sites[lane.index], lane.request.pointers[0], lane.request.pointers[1], lane.request.bytes);
          commit(lane.request);
        });
        return;
      }
      for_each_lane(group, participants, [](Lane& lane) { commit(lane.request); });
      return;
    case abi::kSimdReduceWord:
      return perform_reduce_word(group, participants, site.operation);
    case abi::kSimdShuffleWord:
      return perform_shuffle_word(group, participants, site.operation);
    case abi::kSimdReduce:
      return perform_reduce(group, participants, first);
    case abi::kSimdShuffle:
      return perform_shuffle(group, participants, first);
    case abi::kSimdBallot:
    case abi::kSimdActive:
      return perform_vote(group, participants, service == abi::kSimdBallot);
    case abi::kMatrixMultiply:
      ++group.threadgroup->counters.matrix_multiplies;
      return perform_matrix_multiply(group.matrices, participants);
    case abi::kAtomic:
      return perform_atomics(group, participants);
    case abi::kReconverge:
    case abi::kTrace:
    case abi::kAccess:
    case abi::kArithmetic:
    case abi::kFence:
    case abi::kCopyShadows:
    case abi::kRounded:
    case abi::kRecord:
    case abi::kMisaligned:
    case abi::kBarrier:
    case abi::kServiceCount:
      return;
  }
}

const std::array<Service, abi::kServiceCount>& services(const abi::Module& module) {
  static const std::array<Service, abi::kServiceCount> table = [] {
    std::array<Service, abi::kServiceCount> functions{};
    functions[abi::kStore] = reinterpret_cast<Service>(service_store);
    functions[abi::kSimdReduceWord] = reinterpret_cast<Service>(service_reduce_word);
    functions[abi::kSimdShuffleWord] = reinterpret_cast<Service>(service_shuffle_word);
    functions[abi::kSimdReduce] = reinterpret_cast<Service>(service_reduce);
    functions[abi::kSimdShuffle] = reinterpret_cast<Service>(service_shuffle);
    functions[abi::kSimdBallot] = reinterpret_cast<Service>(service_ballot);
    functions[abi::kSimdActive] = reinterpret_cast<Service>(service_active);
    functions[abi::kBarrier] = reinterpret_cast<Service>(service_barrier);
    functions[abi::kMatrixMultiply] = reinterpret_cast<Service>(service_matrix_multiply);
    functions[abi::kTrace] = reinterpret_cast<Service>(service_trace);
    functions[abi::kRecord] = reinterpret_cast<Service>(service_record);
    functions[abi::kReconverge] = reinterpret_cast<Service>(service_reconverge);
    functions[abi::kMisaligned] = reinterpret_cast<Service>(service_misaligned);
    functions[abi::kAtomic] = reinterpret_cast<Service>(service_atomic);
    return functions;
  }();
  static const std::array<Service, abi::kServiceCount> checked_table = checked(table);
  static const std::array<Service, abi::kServiceCount> shadowed_table = shadowed(table);
  return module.is_checked != 0 ? checked_table : module.shadows != abi::kNoShadows ? shadowed_table : table;
}

}  // namespace assay::metal::execute
