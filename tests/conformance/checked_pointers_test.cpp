// The policy `checked` follows pointers however they were derived: each row that fires stands before its twin that does not.
#include <gtest/gtest.h>

#include "tests/conformance/checked_kernel.h"
#include "tests/conformance/checked_rows.h"

namespace assay::tests::checked_pointers_test {
namespace {

using metal::HazardKind;

CheckedRow fires(std::string name, std::string body, std::uint32_t line, std::string words, std::string helpers = {}) {
  return {std::move(name), HazardKind::out_of_bounds, std::move(body), line, 0, std::move(words), std::move(helpers)};
}
CheckedRow quiet(std::string name, std::string body, std::string helpers = {}) {
  return {std::move(name), HazardKind::out_of_bounds, std::move(body), 0, 0, {}, std::move(helpers)};
}

const std::string kLastOf = "static uint last_of(threadgroup const uint* a, uint n) { return a[n]; }";
const std::string kAt = "template <typename T> T at(device const T* p, uint i) { return p[i]; }";
const std::string kPut = "static void put(device uint& place, uint value) { place = value; }";
const std::string kStep = "static void step(device const uint* thread& p, uint n) { p += n; }";
const std::string kBank = "struct Bank { threadgroup uint* data; void set(uint i, uint v) const thread { data[i] = v; } };";
const std::string kTile =
    "struct Tile { threadgroup float* rows[2]; };\nstatic void fill(thread const Tile& tile, uint r, uint i) { tile.rows[r][i] = 1.0f; }";
const std::string kView = "struct View { device const uint* data; uint size; };\nstatic View behind(View v) { ++v.data; return v; }";

std::string two_arrays(const std::string& index) {
  return "threadgroup uint a[64];\nthreadgroup uint b[64];\na[t] = t;\nb[t] = t;\n" + kBarrier + kOut + "last_of(a, " + index + ");";
}

INSTANTIATE_TEST_SUITE_P(
    Derived, Checked,
    ::testing::Values(
        fires("a_copy", "device const uint* p = in;\ndevice const uint* q = p + 1;\n" + kOut + "q[t];", 3, "element 64"),
        quiet("a_copy_within", "device const uint* p = in;\ndevice const uint* q = p;\n" + kOut + "q[t];"),
        fires("an_array_of_pointers", "device const uint* rows[2] = {in, in + 32};\n" + kOut + "rows[t / 32][t % 32 + t / 63];", 2,
              "element 64"),
        quiet("an_array_of_pointers_within", "device const uint* rows[2] = {in, in + 32};\n" + kOut + "rows[t / 32][t % 32];"),
        fires("a_struct_that_is_copied", "View view = {in, 64};\nconst View copy = view;\n" + kOut + "copy.data[copy.size - t / 63];", 3,
              "element 64", kView),
        quiet("a_struct_that_is_copied_within", "View view = {in, 64};\nconst View copy = view;\n" + kOut + "copy.data[copy.size - 1];",
              kView),
        fires("a_struct_that_is_returned", "const View moved = behind({in, 64});\n" + kOut + "moved.data[t];", 2, "element 64", kView),
        quiet("a_struct_that_is_returned_within", "const View moved = behind({in, 64});\n" + kOut + "moved.data[t - t / 63];", kView),
        fires("an_array_handed_to_a_helper", two_arrays("64"), kHelperLine, "reads bytes 256..259 of 'a' (threadgroup variable", kLastOf),
        quiet("an_array_handed_to_a_helper_within", two_arrays("63"), kLastOf),
        fires("a_template", kOut + "uint(at((device const uchar*)in, 193 + t));", kHelperLine, "byte 256", kAt),
        quiet("a_template_within", kOut + "uint(at((device const uchar*)in, 192 + t));", kAt),
        fires("cast_to_a_vector", kOut + "((device const uint4*)in)[t / 4 + t / 63].x;", 1, "bytes 256.."),
        quiet("cast_to_a_vector_within", kOut + "((device const uint4*)in)[t / 4].x;"),
        fires("a_reference_handed_on", "put(out[tg * 64 + t + 129], t);", kHelperLine, "element 256", kPut),
        quiet("a_reference_handed_on_within", "put(out[tg * 64 + t + 128], t);", kPut),
        fires("a_pointer_by_reference", "device const uint* p = in;\nstep(p, t);\nstep(p, 1);\n" + kOut + "*p;", 4, "element 64", kStep),
        quiet("a_pointer_by_reference_within", "device const uint* p = in;\nstep(p, t);\nstep(p, 0);\n" + kOut + "*p;", kStep),
        fires("an_array_in_a_struct_of_a_buffer",
              "struct Row { uint head; uint body[3]; };\ndevice const uint* body = ((device const Row*)in)[15].body;\n" + kOut +
                  "body[t % 3 + t / 62 * (63 - t)];",
              3, "element 64"),
        quiet("an_array_in_a_struct_of_a_buffer_within",
              "struct Row { uint head; uint body[3]; };\ndevice const uint* body = ((device const Row*)in)[15].body;\n" + kOut +
                  "body[t % 3];"),
        fires("moved_in_a_loop",
              "device const uint* p = in;\nuint sum = 0;\nfor (uint i = 0; i <= t + 1; ++i) sum += *p++;\n" + kOut + "sum;", 3,
              "element 64"),
        quiet("moved_in_a_loop_within",
              "device const uint* p = in;\nuint sum = 0;\nfor (uint i = 0; i <= t; ++i) sum += *p++;\n" + kOut + "sum;"),
        fires("a_member_function", "Bank bank = {sh + 192};\nbank.set(t + 1, t);", kHelperLine, "1024 bytes", kBank),
        quiet("a_member_function_within", "Bank bank = {sh + 192};\nbank.set(t, t);", kBank),
        fires(
            "an_array_of_pointers_in_a_struct",
            "threadgroup float* f = (threadgroup float*)sh;\nTile tile;\ntile.rows[0] = f;\ntile.rows[1] = f + 224;\nfill(tile, sg, lane + "
            "sg);",
            kHelperLine, "bytes 1024..1027", kTile),
        quiet(
            "an_array_of_pointers_in_a_struct_within",
            "threadgroup float* f = (threadgroup float*)sh;\nTile tile;\ntile.rows[0] = f;\ntile.rows[1] = f + 224;\nfill(tile, sg, lane);",
            kTile),
        fires("null_chosen_by_the_data", "device const uint* p = in[t] == 7 ? nullptr : in;\n" + kOut + "p[t];", 2, "before the start"),
        quiet("null_not_chosen", "device const uint* p = in[t] == 8 ? nullptr : in;\n" + kOut + "p[t];")),
    kNameOfRow);

}  // namespace
}  // namespace assay::tests::checked_pointers_test
