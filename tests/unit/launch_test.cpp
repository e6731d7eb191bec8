// Launches described as data: what a variant.toml makes the encoder do, in literal numbers, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "kernels/binding.h"
#include "kernels/launch.h"
#include "kernels/variant.h"
#include "metal/errors.h"
#include "tests/contract/recording_encoder.h"

namespace assay::tests::launch_test {
namespace {

using kernels::NamedTensor;
using kernels::Value;
using metal::Size3;
using namespace ::testing;
using enum metal::ScalarType;

constexpr kernels::FamilyContract kDescribed{
    .name = "described", .entries = {}, .arguments = {}, .fields = {}, .has_threadgroup_memory = false, .is_described = true};

class CaseNames final : public kernels::Names {
 public:
  [[nodiscard]] std::optional<Value> value(std::string_view name) const override {
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] const NamedTensor* tensor(std::string_view name) const override { return name == "k" ? &k_ : nullptr; }
  [[nodiscard]] std::vector<std::string> all() const override { return {"rows", "dim", "mask", "k"}; }

 private:
  std::map<std::string, Value, std::less<>> values_ = {
      {"rows", std::int64_t{3}}, {"dim", std::int64_t{100}}, {"mask", std::string("causal")}};
  NamedTensor k_{{{"rows", 3, 128}, {"dim", 100, 1}}, 16, 2};
};

kernels::Variant variant_of(const std::string& toml) {
  return kernels::parse_variant("family = \"described\"\nsource = \"k.metal\"\n" + toml, "mine", "mine/variant.toml", {&kDescribed, 1});
}

const std::string kPlain = "[[dispatch]]\nfunction = \"f\"\ngrid = 1\nthreads = 32\n";

template <typename Do>
std::string error_of(const Do& something) {
  try {
    something();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

std::string parse_error(const std::string& toml) {
  return error_of([&] { static_cast<void>(variant_of(toml)); });
}

// What an encoder saw of one dispatch.
struct Seen {
  std::string function;
  std::map<std::uint32_t, const metal::Buffer*> buffers;
  std::map<std::uint32_t, std::vector<std::byte>> bytes;
  std::map<std::uint32_t, std::size_t> memory;
  Size3 groups{0, 0, 0}, threads{0, 0, 0}, per_group{0, 0, 0};
};

class LaunchAsData : public Test {
 protected:
  // Encodes the only dispatch of a launch for a kernel with these arguments.
  Seen encoded(const std::string& toml, std::vector<metal::BoundArgument> arguments) {
    const kernels::Variant variant = variant_of(toml);
    const kernels::LaunchNames names(*variant.launch, variant.fields, case_);
    const std::vector<kernels::PlannedDispatch> plan = kernels::plan_launch(*variant.launch, names);
    EXPECT_THAT(plan, SizeIs(1));
    const kernels::BoundKernel kernel(kDescribed, entry_of(layout_of(plan.front().function.entry, std::move(arguments))));
    Seen seen;
    NiceMock<MockEncoder> encoder;
    ON_CALL(encoder, set_pipeline).WillByDefault([&](const metal::PipelineDescriptor& pipeline) { seen.function = pipeline.function; });
    ON_CALL(encoder, set_buffer).WillByDefault([&](std::uint32_t index, metal::BufferView view) { seen.buffers[index] = view.buffer; });
    ON_CALL(encoder, set_bytes).WillByDefault([&](std::uint32_t index, std::span<const std::byte> bytes) {
      seen.bytes[index].assign(bytes.begin(), bytes.end());
    });
    ON_CALL(encoder, set_threadgroup_memory_length).WillByDefault([&](std::uint32_t index, std::size_t bytes) {
      seen.memory[index] = bytes;
    });
    ON_CALL(encoder, dispatch_threadgroups).WillByDefault([&](Size3 groups, Size3 threads) {
      seen.groups = groups;
      seen.per_group = threads;
    });
    ON_CALL(encoder, dispatch_threads).WillByDefault([&](Size3 threads, Size3 per_group) {
      seen.threads = threads;
      seen.per_group = per_group;
    });
    kernels::encode_dispatch(encoder, plan.front(), kernel, names, {{"k", {&k_}}, {"out", {&out_}}, {"partials", {&partials_}}});
    return seen;
  }

  std::string refusal(const std::string& toml, std::vector<metal::BoundArgument> arguments) {
    return error_of([&] { encoded(toml, std::move(arguments)); });
  }

  CaseNames case_;
  metal::Buffer k_{64}, out_{64}, partials_{64};
};

metal::BoundArgument scalar(const std::string& name, std::uint32_t index, metal::ScalarType type, std::size_t components = 1,
                            std::size_t size = 0) {
  metal::BoundArgument argument = buffer_argument(name, index, type, true);
  argument.space = metal::AddressSpace::constant;
  argument.is_reference = true;
  argument.element_count = components;
  argument.size = size == 0 ? metal::size_of(type) * components : size;
  return argument;
}

TEST_F(LaunchAsData, SizesAndFunctionAreExpressions) {
  const Seen seen = encoded(
      "[let]\nlanes = \"round_up(dim, 32)\"\nhalf = \"lanes / 2\"\n[[dispatch]]\nfunction = \"f_{mask}_{dim}\"\n"
      "grid = [\"rows\", \"ceil_div(dim, 32)\", 2]\nthreads = [\"half\"]\n",
      {});
  EXPECT_EQ(seen.function, "f_causal_100");
  EXPECT_EQ(seen.groups, (Size3{3, 4, 2}));
  EXPECT_EQ(seen.per_group, (Size3{64, 1, 1}));
}

TEST_F(LaunchAsData, ThreadsInGridAreDispatchedAsThreads) {
  const Seen seen = encoded("[[dispatch]]\nfunction = \"f\"\nthreads_in_grid = [\"dim\", \"rows\"]\nthreads = [32, 2]\n", {});
  EXPECT_EQ(seen.groups, (Size3{0, 0, 0}));
  EXPECT_EQ(seen.threads, (Size3{100, 3, 1}));
  EXPECT_EQ(seen.per_group, (Size3{32, 2, 1}));
}

TEST_F(LaunchAsData, WhatIsLeftOutIsFoundByName) {
  const Seen seen = encoded(kPlain, {buffer_argument("out", 0, float16, false), buffer_argument("k", 3, float16, true),
                                     scalar("dim", 4, uint32), scalar("rows", 5, float32)});
  EXPECT_EQ(seen.buffers.at(0), &out_);
  EXPECT_EQ(seen.buffers.at(3), &k_);
  EXPECT_EQ(word_at(seen.bytes.at(4), 0), 100U);
  EXPECT_EQ(float_at(seen.bytes.at(5), 0), 3.0F);
}

TEST_F(LaunchAsData, ArgumentsMayHaveOtherNames) {
  const Seen seen =
      encoded(kPlain +
                  "[dispatch.arguments]\nkeys = \"k\"\nto = \"partials\"\nn = \"rows * dim\"\nstep = \"bytes(stride(k, 'rows'))\"\n"
                  "at = \"offset(k)\"\nscale = \"1 / sqrt(dim)\"\ncausal = \"mask == 'causal'\"\n",
              {buffer_argument("keys", 0, float16, true), buffer_argument("to", 1, float32, false), scalar("n", 2, uint64),
               scalar("step", 3, int32), scalar("at", 4, uint16), scalar("scale", 5, float32), scalar("causal", 6, boolean)});
  EXPECT_EQ(seen.buffers.at(0), &k_);
  EXPECT_EQ(seen.buffers.at(1), &partials_);
  EXPECT_EQ(long_at(seen.bytes.at(2), 0), 300U);
  EXPECT_EQ(word_at(seen.bytes.at(3), 0), 256U);
  EXPECT_THAT(seen.bytes.at(4), ElementsAre(std::byte{16}, std::byte{0}));
  EXPECT_EQ(float_at(seen.bytes.at(5), 0), 0.1F);
  EXPECT_THAT(seen.bytes.at(6), ElementsAre(std::byte{1}));
}

TEST_F(LaunchAsData, ArraysAndVectors) {
  metal::BoundArgument array = scalar("shape", 0, uint32);
  array.is_reference = false;
  const Seen seen = encoded(kPlain + "[dispatch.arguments]\nshape = [\"rows\", \"dim\", 7]\nsize = [1, 2, \"rows\"]\nall = 5\n",
                            {array, scalar("size", 1, uint32, 3, 16), scalar("all", 2, int16, 4)});
  ASSERT_EQ(seen.bytes.at(0).size(), 12U);
  EXPECT_EQ(word_at(seen.bytes.at(0), 4), 100U);
  EXPECT_EQ(word_at(seen.bytes.at(0), 8), 7U);
  ASSERT_EQ(seen.bytes.at(1).size(), 16U) << "a vector of three takes the room of four";
  EXPECT_EQ(word_at(seen.bytes.at(1), 8), 3U);
  EXPECT_EQ(word_at(seen.bytes.at(1), 12), 0U);
  EXPECT_EQ(long_at(seen.bytes.at(2), 0), 0x0005000500050005U);
}

metal::StructLayout arguments_struct() {
  metal::StructLayout layout;
  layout.name = "Args";
  layout.size = 40;
  metal::StructField inner{"strides", "Strides", other, 1, 16, 16};
  metal::StructField list = field("list", int32, 32);
  list.count = 2;
  layout.fields = {field("dim", uint32, 0),
                   field("scale", float32, 4),
                   field("count", uint64, 8),
                   inner,
                   field("strides.row", uint64, 16),
                   field("strides.column", uint64, 24),
                   list};
  return layout;
}

TEST_F(LaunchAsData, StructsAreFilledFieldByField) {
  const Seen seen = encoded(kPlain +
                                "[dispatch.arguments.args]\nscale = 0.5\ncount = \"rows * dim\"\nlist = [-1, \"rows\"]\n"
                                "strides = { row = \"bytes(stride(k, 'rows'))\", column = 2 }\n",
                            {struct_argument("args", 2, arguments_struct())});
  const std::vector<std::byte>& bytes = seen.bytes.at(2);
  ASSERT_EQ(bytes.size(), 40U);
  EXPECT_EQ(word_at(bytes, 0), 100U) << "dim, by its own name";
  EXPECT_EQ(float_at(bytes, 4), 0.5F);
  EXPECT_EQ(long_at(bytes, 8), 300U);
  EXPECT_EQ(long_at(bytes, 16), 256U);
  EXPECT_EQ(long_at(bytes, 24), 2U);
  EXPECT_EQ(word_at(bytes, 32), 0xffffffffU);
  EXPECT_EQ(word_at(bytes, 36), 3U);
}

TEST_F(LaunchAsData, WrongStructsAreRefused) {
  const auto refused = [&](const std::string& fields) {
    return refusal(kPlain + "[dispatch.arguments.args]\n" + fields, {struct_argument("args", 2, arguments_struct())});
  };
  const std::string rest = "scale = 1\ncount = 1\nlist = 0\nstrides.row = 1\nstrides.column = 1\n";
  EXPECT_EQ(refused(rest), "no error");
  EXPECT_THAT(refused("scale = 1\n"), AllOf(HasSubstr("test.metal:7: function 'f', launched by mine/variant.toml:3: field 'count'"),
                                            HasSubstr("args = { count = \"...\" }")));
  EXPECT_THAT(refused(rest + "colour = 1\n"), HasSubstr("struct Args has no field 'colour'; it has dim, scale"));
  EXPECT_THAT(refused("strides = 1\n"), HasSubstr("field 'strides' of struct Args is Strides, a struct; set its fields"));
  EXPECT_THAT(refused("scale = 1\ncount = 1\nlist = [1, 2, 3]\nstrides.row = 1\nstrides.column = 1\n"),
              HasSubstr("field 'list' of struct Args has 2 elements, but 3 values are given"));
  EXPECT_THAT(refused("scale = 1\ncount = -1\nlist = 0\nstrides.row = 1\nstrides.column = 1\n"),
              AllOf(HasSubstr("'-1': field 'count' of struct 'args' is of type uint64"), HasSubstr("cannot hold -1")));
  EXPECT_THAT(refused("scale = 1\ncount = 1\nlist = 0\nstrides.row = -2\nstrides.column = 1\n"),
              HasSubstr("field 'row' of struct 'args.strides' is of type uint64"));
}

// No launch sets the second element, so the first alone would leave zeros that nobody asked for.
TEST_F(LaunchAsData, ArraysOfStructsAreRefused) {
  metal::StructLayout layout;
  layout.name = "Args";
  layout.size = 24;
  layout.fields = {metal::StructField{"each", "Pitch[2]", other, 2, 0, 16}, field("each[0].row", uint64, 0), field("n", uint64, 16)};
  EXPECT_THAT(refusal(kPlain + "[dispatch.arguments.args]\nn = 1\n", {struct_argument("args", 2, layout)}),
              HasSubstr("field 'each' of struct Args is Pitch[2], which no launch can set"));
}

TEST_F(LaunchAsData, WrongArgumentsAreRefused) {
  EXPECT_THAT(refusal(kPlain, {scalar("n", 4, uint32)}),
              AllOf(HasSubstr("argument 'n' (constant uint32&, buffer 4) gets nothing; add n = \"...\" to [dispatch.arguments]"),
                    HasSubstr("Buffers: k, out, partials"), HasSubstr("rows, dim, mask")));
  EXPECT_THAT(refusal(kPlain + "[dispatch.arguments]\nq = \"rows\"\n", {buffer_argument("q", 0, float32, false)}),
              HasSubstr("so it needs a buffer, but 'rows' is none; there are k, out, partials"));
  EXPECT_THAT(refusal(kPlain + "[dispatch.arguments]\nn = \"rows * 1000\"\n", {scalar("n", 0, uint8)}),
              AllOf(HasSubstr("'rows * 1000'"), HasSubstr("cannot hold 3000")));
  EXPECT_THAT(refusal(kPlain + "[dispatch.arguments]\nn = \"rows / 2.0\"\n", {scalar("n", 0, uint32)}), HasSubstr("cannot hold 1.5"));
  EXPECT_THAT(refusal(kPlain + "[dispatch.arguments]\nn = \"mask\"\n", {scalar("n", 0, uint32)}),
              HasSubstr("'mask' is the text 'causal', but a number is needed"));
  EXPECT_THAT(refusal(kPlain + "[dispatch.arguments]\nn = [1, 2]\n", {scalar("n", 0, uint32)}),
              HasSubstr("argument 'n' is uint32&, one value, but 2 values are given"));
  EXPECT_THAT(refusal(kPlain + "[dispatch.arguments]\nn = [1, 2]\n", {scalar("n", 0, uint32, 3, 16)}),
              HasSubstr("which has 3 components, but 2 values are given"));
  EXPECT_THAT(refusal(kPlain + "[dispatch.arguments]\nn = { a = 1 }\n", {scalar("n", 0, uint32)}),
              HasSubstr("not a struct, so it has no fields"));
  EXPECT_THAT(refusal(kPlain + "[dispatch.arguments]\nn = \"rows / (dim - 100)\"\n", {scalar("n", 0, uint32)}),
              HasSubstr("mine/variant.toml:8: 'rows / (dim - 100)', column 6: division by zero (rows = 3, dim = 100)"));
}

// Under other constants, a kernel lacks arguments that [dispatch.arguments] has.
TEST_F(LaunchAsData, AnArgumentThatTheKernelLacksIsLeftOut) {
  const Seen seen = encoded(kPlain + "[dispatch.arguments]\nmask_bytes = \"1 / 0\"\n", {buffer_argument("k", 0, float16, true)});
  EXPECT_THAT(seen.bytes, IsEmpty());
  EXPECT_THAT(seen.buffers, SizeIs(1));
}

TEST_F(LaunchAsData, ThreadgroupMemoryIsRoundedUpAndOnlySetWhereTheKernelHasIt) {
  const Seen seen = encoded("[[dispatch]]\nfunction = \"f\"\ngrid = 1\nthreads = 32\nmemory = { 0 = \"dim * 2 + 1\", 2 = 64, 3 = 16 }\n",
                            {threadgroup_argument("shared", 0), threadgroup_argument("more", 2)});
  EXPECT_THAT(seen.memory, ElementsAre(Pair(0, 208), Pair(2, 64)));
}

TEST_F(LaunchAsData, FieldsAreNamesToo) {
  const Seen seen = encoded("[fields]\neps = 0.25\n" + kPlain, {scalar("eps", 0, float32)});
  EXPECT_EQ(float_at(seen.bytes.at(0), 0), 0.25F);
}

TEST_F(LaunchAsData, ConstantsHaveNamesOrIndices) {
  const kernels::Variant variant = variant_of(
      "[[dispatch]]\nfunction = \"f\"\ngrid = 1\nthreads = 1\nconstants = { 20 = \"mask != 'none'\", width = \"dim / 4\", x = 0.5 }\n");
  const kernels::LaunchNames names(*variant.launch, variant.fields, case_);
  const kernels::FunctionKey key = kernels::plan_launch(*variant.launch, names).front().function;
  EXPECT_EQ(key.entry, "f");
  EXPECT_THAT(key.named, ElementsAre(Pair("20", metal::FieldValue::of(std::int64_t{1})),
                                     Pair("width", metal::FieldValue::of(std::int64_t{25})), Pair("x", metal::FieldValue::of(0.5))));
}

TEST_F(LaunchAsData, WhenLeavesDispatchesOut) {
  const std::string two =
      "[[dispatch]]\nfunction = \"a\"\nwhen = \"rows > 3\"\ngrid = 1\nthreads = 1\n"
      "[[dispatch]]\nfunction = \"b\"\nwhen = \"rows <= 3\"\ngrid = 1\nthreads = 1\n";
  const kernels::Variant variant = variant_of(two);
  const kernels::LaunchNames names(*variant.launch, variant.fields, case_);
  const auto plan = kernels::plan_launch(*variant.launch, names);
  ASSERT_THAT(plan, SizeIs(1));
  EXPECT_EQ(plan.front().function.entry, "b");
  const kernels::Variant none = variant_of("[[dispatch]]\nfunction = \"a\"\nwhen = \"rows > 3\"\ngrid = 1\nthreads = 1\n");
  EXPECT_THAT(
      error_of([&] { static_cast<void>(kernels::plan_launch(*none.launch, kernels::LaunchNames(*none.launch, none.fields, case_))); }),
      HasSubstr("every [[dispatch]] is left out by its 'when'"));
}

TEST_F(LaunchAsData, ScratchHasSizesInBytes) {
  const kernels::Variant variant =
      variant_of("[[scratch]]\nname = \"a\"\nbytes = \"rows * dim * 4\"\n[[scratch]]\nname = \"b\"\nbytes = 0\n" + kPlain);
  EXPECT_THAT(kernels::scratch_sizes(*variant.launch, kernels::LaunchNames(*variant.launch, variant.fields, case_)), ElementsAre(1200, 0));
  const kernels::Variant negative = variant_of("[[scratch]]\nname = \"a\"\nbytes = \"-rows\"\n" + kPlain);
  EXPECT_THAT(error_of([&] {
                static_cast<void>(kernels::scratch_sizes(*negative.launch, kernels::LaunchNames(*negative.launch, negative.fields, case_)));
              }),
              HasSubstr("mine/variant.toml:5: the size of scratch buffer a is '-rows', which is -3 bytes; accepted: 0 .. 2^40"));
}

TEST_F(LaunchAsData, SizesThatNoLaunchHas) {
  for (const char* grid : {"0", "\"rows - 3\"", "\"-1\"", "\"4294967296\""}) {
    const kernels::Variant variant = variant_of("[[dispatch]]\nfunction = \"f\"\ngrid = " + std::string(grid) + "\nthreads = 1\n");
    EXPECT_THAT(error_of([&] {
                  static_cast<void>(kernels::plan_launch(*variant.launch, kernels::LaunchNames(*variant.launch, variant.fields, case_)));
                }),
                AllOf(HasSubstr("mine/variant.toml:5: an element of grid is '"), HasSubstr("accepted: 1 .. 2^32 - 1")))
        << grid;
  }
}

TEST_F(LaunchAsData, WhatCannotBeReadIsRefusedWithItsPlace) {
  const std::map<std::string, std::string> wrongs = {
      {"", "mine/variant.toml:1: family described needs at least one [[dispatch]]"},
      {"dispatch = 1\n", "mine/variant.toml:3: dispatch must be an array of tables, [[dispatch]]"},
      {"dispatch = []\n", "mine/variant.toml:3: dispatch must be an array of tables, [[dispatch]]"},
      {"[[dispatch]]\nfunction = \"f\"\nthreads = 1\n", "mine/variant.toml:3: [[dispatch]] needs either 'grid'"},
      {kPlain + "threads_in_grid = 1\n", "needs either 'grid'"},
      {"[[dispatch]]\ngrid = 1\nthreads = 1\n", "'function' is missing in [[dispatch]]"},
      {"[[dispatch]]\nfunction = \"f\"\ngrid = 1\n", "'threads' is missing in [[dispatch]]"},
      {"[[dispatch]]\nfunction = \"f\"\ngrid = [1, 2, 3, 4]\nthreads = 1\n",
       "mine/variant.toml:5: [[dispatch]] grid has 4 elements; accepted: 1 to 3"},
      {kPlain + "colour = 1\n", "unknown key 'colour' in [[dispatch]]; accepted: function, family, concurrent, when, grid"},
      {kPlain + "when = \"1 +\"\n", "mine/variant.toml:7: '1 +', column 4: expected a number"},
      {kPlain + "memory = { a = 1 }\n", "'a' in 'memory' is not an index of [[threadgroup(n)]]; accepted: 0 .. 30"},
      {kPlain + "arguments = { a = {} }\n", "argument a has no fields"},
      {kPlain + "[[scratch]]\nname = \"a b\"\nbytes = 1\n", "[[scratch]] 'a b' is no name"},
      {kPlain + "[[scratch]]\nname = \"a\"\nbytes = 1\n[[scratch]]\nname = \"a\"\nbytes = 1\n", "the name 'a' is used twice"},
      {kPlain + "[[scratch]]\nname = \"a\"\n", "'bytes' is missing in [[scratch]]"},
      {"[[dispatch]]\nfunction = \"f_{\"\ngrid = 1\nthreads = 1\n", "mine/variant.toml:4: 'f_{', column 3: expected '}'"},
      {"[[dispatch]]\nfunction = \"f\"\ngrid = 1979-05-27\nthreads = 1\n", "must be a number, a boolean or a text with an expression"},
  };
  for (const auto& [toml, message] : wrongs) EXPECT_THAT(parse_error(toml), HasSubstr(message)) << toml;
}

// TOML sorts keys; a [let] sees those above it and no others.
TEST_F(LaunchAsData, LetsFollowEachOther) {
  const kernels::Variant variant = variant_of("[let]\nz = \"rows + 1\"\na = \"z * 2\"\n" + kPlain);
  EXPECT_EQ(kernels::LaunchNames(*variant.launch, variant.fields, case_).value("a"), Value(std::int64_t{8}));
  const kernels::Variant wrong = variant_of("[let]\na = \"z * 2\"\nz = \"rows + 1\"\n" + kPlain);
  EXPECT_THAT(error_of([&] { const kernels::LaunchNames names(*wrong.launch, wrong.fields, case_); }),
              HasSubstr("mine/variant.toml:4: 'z * 2', column 1: unknown name 'z'"));
}

}  // namespace
}  // namespace assay::tests::launch_test
