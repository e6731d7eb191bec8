// Writes random kernels, statement by statement.
#include "tests/conformance/random_kernel.h"

#include <fmt/format.h>

#include <array>

namespace assay::tests {
namespace {

// Unsigned variables u0..., floats f0..., vectors v0..., an array of the lane's own.
constexpr int kWords = 5;
constexpr int kFloats = 4;
constexpr int kVectors = 2;

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : random_(seed), stores_(seed >= kFirstStoringKernel) {}

  std::string kernel() {
    text_ =
        "#include <metal_stdlib>\nusing namespace metal;\n"
        "constant float table[16] = {0.5f, -1.25f, 2.0f, 3.5f, -4.0f, 5.25f, 0.125f, 7.0f, -8.5f, 9.0f, 1.5f, -11.0f, 12.25f, 0.0f, 14.0f, "
        "-2.0f};\n"
        "uint bits(float x) { return isnan(x) ? 0x7fc00000u : as_type<uint>(x); }\n"
        "float number(uint u) { return float(int(u & 0xffffu) - 0x8000) * 0.001f; }\n"
        "kernel void test(device uint* out [[buffer(0)]], device const uint* in [[buffer(1)]], uint lane [[thread_index_in_simdgroup]],\n"
        "                 uint thread_id [[thread_index_in_threadgroup]], uint sg [[simdgroup_index_in_threadgroup]],\n"
        "                 uint group [[threadgroup_position_in_grid]], uint per_group [[threads_per_threadgroup]]";
    if (stores_) text_ += ",\n                 device uint* only_written [[buffer(2)]], device uint* both [[buffer(3)]]";
    text_ +=
        ") {\n"
        "  threadgroup uint shared[128];\n  threadgroup float numbers[128];\n  threadgroup atomic_uint counter[4];\n";
    for (int i = 0; i < kWords; ++i) line("uint u{} = in[({} * thread_id + {}) & 255u];", i, number(1, 9), number(0, 255));
    for (int i = 0; i < kFloats; ++i) line("float f{} = number(in[(thread_id * {} + {}) & 255u]);", i, number(1, 5), number(0, 255));
    for (int i = 0; i < kVectors; ++i)
      line("float4 v{} = float4(f{}, f{}, number(u{}), {}.5f);", i, pick(kFloats), pick(kFloats), pick(kWords), number(0, 3));
    if (stores_) {
      line("device uint* left = only_written + (group * 4u + sg) * 32u;");
      line("device uint* area = both + (group * 4u + sg) * 32u;");
      line("threadgroup uint* common = shared + sg * 32u;");
    }
    line("uint own[8];");
    line("for (uint k = 0; k < 8; ++k) own[k] = in[(k * 32 + lane) & 255u];");
    line("shared[thread_id] = u0; numbers[thread_id] = f0;");
    line("if (lane == 0) atomic_store_explicit(&counter[sg & 3u], 0u, memory_order_relaxed);");
    line("threadgroup_barrier(mem_flags::mem_threadgroup);");
    const bool leaves_early = chance(6);
    const int statements = number(4, 9);
    for (int i = 0; i < statements; ++i) {
      if (leaves_early && i == statements - 2) {
        line("if ({}) {{ {} return; }}", condition(0), results());
        may_wait_ = false;
      }
      statement(0);
      if (may_wait_ && chance(3)) barrier();
    }
    line("{}", results());
    return text_ + "}\n";
  }

 private:
  int number(int low, int high) { return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1)); }
  int pick(int count) { return number(0, count - 1); }
  bool chance(int of) { return pick(of) == 0; }
  template <typename... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_ += std::string(2 * (depth_ + 1), ' ') + fmt::format(format, std::forward<Arguments>(arguments)...) + "\n";
  }

  static std::string results() {
    return "device uint* o = out + (group * per_group + thread_id) * 12u; o[0] = u0; o[1] = u1; o[2] = u2; o[3] = u3; o[4] = u4; o[5] = "
           "bits(f0); "
           "o[6] = bits(f1); o[7] = bits(f2); o[8] = bits(f3); o[9] = bits(v0.x + v0.w); o[10] = bits(v1.y * v1.z); o[11] = own[u0 & 7u];";
  }

  std::string word(int level) {
    if (level > 2 || chance(3)) {
      switch (pick(6)) {
        case 0:
          return fmt::format("{}u", number(0, 100));
        case 1:
          return "lane";
        case 2:
          return chance(2) ? "sg" : "thread_id";
        default:
          return fmt::format("u{}", pick(kWords));
      }
    }
    const std::string a = word(level + 1);
    const std::string b = word(level + 1);
    switch (pick(16)) {
      case 0:
        return fmt::format("({} + {})", a, b);
      case 1:
        return fmt::format("({} * {})", a, b);
      case 2:
        return fmt::format("({} - {})", a, b);
      case 3:
        return fmt::format("({} ^ {})", a, b);
      case 4:
        return fmt::format("({} >> ({} & 15u))", a, b);
      case 5:
        return fmt::format("({} << {}u)", a, number(0, 7));
      case 6:
        return fmt::format("in[({}) & 255u]", a);
      case 7:
        return fmt::format("({} % ({} | 1u))", a, b);
      case 8:
        return fmt::format("own[({}) & 7u]", a);
      case 9:
        return fmt::format("({} ? {} : {})", condition(level + 1), a, b);
      case 10:
        return fmt::format("min({}, {})", a, b);
      case 11:
        return fmt::format("popcount({})", a);
      case 12:
        return fmt::format("uint(clamp({}, 0.0f, 4.0e9f))", real(level + 1));
      case 13:
        return fmt::format("uint(ushort({}) | uchar({}))", a, b);
      case 14:
        return fmt::format("in[thread_id + {}u]", number(0, 128));
      default:
        return fmt::format("bits({})", real(level + 1));
    }
  }

  std::string real(int level) {
    if (level > 2 || chance(3)) return chance(4) ? fmt::format("{}.25f", number(0, 9)) : fmt::format("f{}", pick(kFloats));
    const std::string a = real(level + 1);
    const std::string b = real(level + 1);
    switch (pick(15)) {
      case 0:
        return fmt::format("({} + {})", a, b);
      case 1:
        return fmt::format("({} * {})", a, b);
      case 2:
        return fmt::format("({} - {})", a, b);
      case 3:
        return fmt::format("fma({}, {}, {})", a, b, real(level + 1));
      case 4:
        return fmt::format("exp(-fabs({}))", a);
      case 5:
        return fmt::format("sqrt(fabs({}))", a);
      case 6:
        return fmt::format("table[({}) & 15u]", word(level + 1));
      case 7:
        return fmt::format("float(half({}))", a);
      case 8:
        return fmt::format("float(bfloat({}))", a);
      case 9:
        return fmt::format("({} ? {} : {})", condition(level + 1), a, b);
      case 10:
        return fmt::format("number({})", word(level + 1));
      case 11:
        return fmt::format("v{}[({}) & 3u]", pick(kVectors), word(level + 1));
      case 12:
        return fmt::format("dot(v{}, v{}.wzyx)", pick(kVectors), pick(kVectors));
      case 13:
        return fmt::format("{}({}, {})", chance(2) ? "fmin" : "fmax", a, b);
      default:
        return fmt::format("({} / ({} + 1.5f))", a, b);
    }
  }

  std::string condition(int level) {
    switch (pick(7)) {
      case 0:
        return fmt::format("lane {} {}u", chance(2) ? "<" : "==", number(0, 31));
      case 1:
        return fmt::format("(lane & {}u) != 0u", 1 << pick(5));
      case 2:
        return fmt::format("({}) % {}u == 0u", word(level + 1), number(2, 5));
      case 3:
        return fmt::format("{} < {}", real(level + 1), real(level + 1));
      case 4:
        return chance(2) ? "sg == 0u" : fmt::format("per_group > {}u", number(32, 96));
      case 5:
        return fmt::format("(group & {}u) == 0u", number(1, 2));
      default:
        return fmt::format("u{} > u{}", pick(kWords), pick(kWords));
    }
  }

  void assignment() {
    switch (pick(9)) {
      case 0:
      case 1:
        return line("f{} = {};", pick(kFloats), real(0));
      case 2:
        return line("own[({}) & 7u] = {};", word(1), word(1));
      case 3:
        return line("v{} = v{} * {} + float4({});", pick(kVectors), pick(kVectors), real(1), real(1));
      case 4:
        return line("v{}.{} = v{}.{};", pick(kVectors), chance(2) ? "xz" : "yw", pick(kVectors), chance(2) ? "wx" : "zy");
      case 5:
        return line("u{} += {};", pick(kWords), word(1));
      case 6:
        return line("u{} = as_type<uint>(half2(half(clamp({}, -100.0f, 100.0f)), 1.0h));", pick(kWords),
                    chance(2) ? "number(u0)" : "number(u3)");
      default:
        return line("u{} = {};", pick(kWords), word(0));
    }
  }

  void collective() {
    const int u = pick(kWords);
    const int f = pick(kFloats);
    switch (pick(14)) {
      case 0:
        return line("f{} = simd_sum(f{});", f, pick(kFloats));
      case 1:
        return line("u{} = simd_sum({});", u, word(1));
      case 2:
        return line("f{} = simd_max({});", f, real(1));
      case 3:
        return line("u{} = simd_shuffle_xor(u{}, {}u);", u, pick(kWords), number(1, 31));
      case 4:
        return line("f{} += simd_shuffle_down(f{}, {}u);", f, pick(kFloats), number(1, 31));
      case 5:
        return line("u{} = simd_shuffle(u{}, ushort(({}) & 31u));", u, pick(kWords), word(1));
      case 6:
        return line("u{} = simd_broadcast_first(u{});", u, pick(kWords));
      case 7:
        return line("u{} += uint(simd_any({})) + 2u * uint(simd_all({}));", u, condition(1), condition(1));
      case 8:
        return line("u{} = simd_prefix_exclusive_sum(u{});", u, pick(kWords));
      case 9:
        return line("v{} = simd_sum(v{} * 0.25f);", pick(kVectors), pick(kVectors));
      case 10:
        return line("f{} = quad_sum(f{});", f, pick(kFloats));
      case 11:
        return line("u{} ^= simd_min(u{}) + uint(simd_vote::vote_t(simd_ballot({})));", u, pick(kWords), condition(1));
      case 12:
        return line("f{} = float(simd_sum(half(clamp({}, -8.0f, 8.0f))));", f, real(1));
      default:
        return line("u{} += atomic_fetch_add_explicit(&counter[sg & 3u], {} & 7u, memory_order_relaxed);", u, word(1));
    }
  }

  // Lanes of a SIMD-group store to the same elements, and read what others have stored.
  void storing() {
    switch (pick(12)) {
      case 0:
      case 1:
        return line("left[({}) & 31u] = {};", word(1), word(1));
      case 2:
        return line("left[{}] = {};", number(0, 3), word(1));
      case 3:
        return line("left[lane ^ {}u] = {};", number(0, 31), word(1));
      case 4:
        return line("*(device uint2*)(left + 2u * (({}) & 15u)) = uint2({}, u{});", word(1), word(2), pick(kWords));
      case 5:
        return line("((device uchar*)left)[({}) & 127u] = uchar({});", word(1), word(1));
      case 6:
        return line("(({}) ? left : area)[lane & {}u] = u{};", condition(1), number(1, 31), pick(kWords));
      case 7:
        return line("area[({}) & 31u] = {};", word(1), word(1));
      case 8:
        return line("area[lane] += {};", word(1));
      case 9:
        line("area[lane] = {};", word(1));
        return line("u{} ^= area[lane ^ {}u];", pick(kWords), number(1, 31));
      case 10:
        return line("common[({}) & 31u] = {};", word(1), word(1));
      default:
        line("common[lane] = {};", word(1));
        return line("u{} ^= common[lane ^ {}u];", pick(kWords), number(1, 31));
    }
  }

  // Within a SIMD-group, whose lanes are in lockstep.
  void sharing() {
    switch (pick(4)) {
      case 0:
        line("shared[thread_id] = {};", word(1));
        return line("u{} += shared[thread_id ^ {}u];", pick(kWords), number(1, 31));
      case 1:
        line("numbers[thread_id] = {};", real(1));
        line("simdgroup_barrier(mem_flags::mem_threadgroup);");
        return line("f{} = numbers[sg * 32u + (({}) & 31u)];", pick(kFloats), word(1));
      case 2:
        return line("shared[sg * 32u + (({}) & 31u)] = {};", word(1), word(1));
      default:
        return line("u{} ^= shared[sg * 32u + ((lane + {}u) & 31u)];", pick(kWords), number(0, 31));
    }
  }

  void barrier() {
    line("threadgroup_barrier(mem_flags::mem_threadgroup);");
    line("f{} += numbers[(thread_id + {}u) % per_group];", pick(kFloats), number(1, 64));
    line("u{} ^= shared[(thread_id * {}u + {}u) % per_group];", pick(kWords), number(1, 7), number(0, 64));
    line("threadgroup_barrier(mem_flags::mem_threadgroup);");
  }

  void block(std::uint64_t statements) {
    ++depth_;
    for (std::uint64_t i = 0; i < statements; ++i) statement(static_cast<int>(depth_));
    --depth_;
  }

  // A barrier of a SIMD-group must be reached by all of its lanes, so sharing() is for the outermost level.
  void statement(int level) {
    if (stores_ && chance(4)) return storing();
    const int kind = pick(12);
    if (level > 2 || kind < 4) return assignment();
    if (kind < 6) return collective();
    if (kind == 6) return level == 0 && may_wait_ ? sharing() : line("shared[thread_id] = {};", word(1));
    if (kind < 9) {
      line("if ({}) {{", condition(0));
      block(1 + static_cast<std::uint64_t>(pick(3)));
      if (chance(2)) {
        line("}} else {{");
        block(1 + static_cast<std::uint64_t>(pick(2)));
      }
      return line("}}");
    }
    if (kind < 11) {
      const int id = loops_++;
      const std::string bound = chance(2) ? fmt::format("{}u", number(1, 5)) : fmt::format("(({}) & 7u)", word(1));
      line("for (uint k{} = {}; k{} < {}; ++k{}) {{", id, chance(3) ? "lane & 3u" : "0u", id, bound, id);
      block(1 + static_cast<std::uint64_t>(pick(2)));
      if (stores_ && chance(3)) {
        line("  if ({}) {{", condition(1));
        ++depth_;
        storing();
        if (chance(2)) statement(3);
        --depth_;
        line("    {}; }}", chance(2) ? "break" : "continue");
      }
      if (chance(3)) line("  if ({}) {};", condition(1), chance(2) ? "break" : "continue");
      ++depth_;
      line("u{} += k{};", pick(kWords), id);
      if (chance(3)) collective();
      --depth_;
      return line("}}");
    }
    line("switch (({}) & 3u) {{", word(0));
    for (int option = 0; option < 3; ++option) {
      line("  case {}: {{", option);
      block(1);
      line("  }}{}", chance(4) ? "" : " break;");
    }
    line("  default: u{} += 3u;", pick(kWords));
    line("}}");
  }

  std::mt19937_64 random_;
  bool stores_;
  std::string text_;
  std::uint64_t depth_ = 0;
  int loops_ = 0;
  bool may_wait_ = true;
};

}  // namespace

std::string random_kernel(std::uint64_t seed) { return Writer(seed).kernel(); }

}  // namespace assay::tests
