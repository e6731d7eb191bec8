// Traces that list their tensors: each binding is held to where its tensor is, however the host computed the offset.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "harness/findings/fault_text.h"
#include "tests/support/files.h"
#include "tests/unit/dispatch_bench.h"

namespace assay::tests::dispatch_views_test {
namespace {

using harness::Trace;
using harness::TraceTensor;
using namespace ::testing;

// The heap of tests/golden/dispatch/recorded_by_host.json: name, start, bytes, bytes of an element.
std::vector<TraceTensor> heap(const std::string& prefix) {
  const std::string pool = "0x600003a0c000";
  return {{prefix + "Q", pool, 0, 8192, 4, {}},          {prefix + "K_packed", pool, 8192, 16640, 1, {}},
          {prefix + "K_norms", pool, 24832, 520, 4, {}}, {prefix + "V_packed", pool, 25600, 16640, 1, {}},
          {prefix + "V_norms", pool, 42240, 520, 4, {}}, {prefix + "partials", pool, 43008, 16512, 4, {}},
          {prefix + "dst", pool, 59648, 8192, 4, {}}};
}

// What a trace says of the tensors.
enum class Named { as_contract, own, own_and_bound };

Trace viewed(Named named) {
  Trace trace = reports::parse_trace(read_file(kRoot / "tests/golden/dispatch/recorded_by_host.json"), "host.json");
  trace.tensors = heap(named == Named::as_contract ? "" : "my_");
  if (named != Named::own_and_bound) return trace;
  for (std::uint32_t index = 1; index <= 6; ++index) trace.dispatches[0].bindings.at(index).tensor = trace.tensors[index - 1].name;
  trace.dispatches[1].bindings.at(1).tensor = "my_partials";
  trace.dispatches[1].bindings.at(2).tensor = "my_dst";
  return trace;
}

std::uint64_t& offset(Trace& trace, std::uint32_t index) { return trace.dispatches[0].bindings.at(index).buffer->offset; }

struct View {
  const char* name;
  Named named;
  std::function<void(Trace&)> apply;
  std::vector<const char*> differences;
};

class DispatchViews : public ::testing::TestWithParam<View> {};

TEST_P(DispatchViews, AreHeldToWhatTheTensorsAre) {
  Trace trace = viewed(GetParam().named);
  GetParam().apply(trace);
  const std::vector<std::string> differences = check("tq4", trace).differences;
  ASSERT_EQ(differences.size(), GetParam().differences.size()) << PrintToString(differences);
  for (std::size_t i = 0; i < differences.size(); ++i) EXPECT_THAT(differences[i], HasSubstr(GetParam().differences[i]));
}

const auto kNothing = [](Trace&) {};
const auto kDrop = [](Trace& t) { offset(t, 4) = 0; };
const auto kElements = [](Trace& t) { offset(t, 3) = 24832 / 4; };
const auto kSwap = [](Trace& t) { std::swap(offset(t, 2), offset(t, 4)); };

INSTANTIATE_TEST_SUITE_P(
    All, DispatchViews,
    ::testing::Values(
        View{"right", Named::as_contract, kNothing, {}}, View{"own_right", Named::own, kNothing, {}},
        View{"bound_right", Named::own_and_bound, kNothing, {}},
        View{
            "dropped",
            Named::as_contract,
            kDrop,
            {"the trace binds '0x600003a0c000' at offset 0 to index 4 (V_packed), where 'Q' is; the tensor 'V_packed' starts at byte 25600 "
             "of '0x600003a0c000': the offset of the view was dropped"}},
        View{"own_dropped", Named::own, kDrop, {"at offset 0 to index 4 (V_packed), which is Q; the contract binds V_packed"}},
        View{"bound_dropped",
             Named::own_and_bound,
             kDrop,
             {"where 'my_Q' is; the tensor 'my_V_packed' starts at byte 25600 of '0x600003a0c000': the offset of the view was dropped"}},
        View{"elements",
             Named::as_contract,
             kElements,
             {"the tensor 'K_norms' starts at byte 24832 of '0x600003a0c000': the offset 6208 is that of the view in elements of 4 bytes; "
              "in "
              "bytes it is 24832"}},
        View{"own_elements",
             Named::own,
             kElements,
             {"at offset 6208 to index 3 (K_norms), where no tensor of the trace starts; if 'my_K_norms' is meant, the offset 6208 is that "
              "of the view in elements of 4 bytes; in bytes it is 24832"}},
        View{"bound_elements", Named::own_and_bound, kElements, {"the offset 6208 is that of the view in elements of 4 bytes"}},
        // The kernel takes bytes; only the tensor says that the host counts in halves.
        View{"elements_of_the_tensor",
             Named::as_contract,
             [](Trace& t) {
               t.tensors[3].element = 2;
               offset(t, 4) = 12800;
             },
             {"the offset 12800 is that of the view in elements of 2 bytes; in bytes it is 25600"}},
        View{"multiplied_twice",
             Named::as_contract,
             [](Trace& t) { offset(t, 3) = 24832 * 4; },
             {"the offset 99328 is 4 times that of the view, which already is in bytes"}},
        View{"elsewhere",
             Named::as_contract,
             [](Trace& t) { offset(t, 2) = 8196; },
             {"at offset 8196 to index 2 (K_packed); the tensor 'K_packed' starts at byte 8192 of '0x600003a0c000'"}},
        View{"another_buffer",
             Named::as_contract,
             [](Trace& t) { t.dispatches[0].bindings.at(2).buffer = harness::TraceBuffer{"0xb", 1 << 20, 8192}; },
             {"the trace binds '0xb' at offset 8192 to index 2 (K_packed); the tensor 'K_packed' starts at byte 8192 of '0x600003a0c000'"}},
        View{"swapped",
             Named::as_contract,
             kSwap,
             {"to index 2 (K_packed), where 'V_packed' is", "to index 4 (V_packed), where 'K_packed' is"}},
        // Names of the host's own say nothing about which is which; --strict reports that.
        View{"own_swapped", Named::own, kSwap, {}},
        View{"bound_swapped", Named::own_and_bound, kSwap, {"where 'my_V_packed' is", "where 'my_K_packed' is"}},
        View{"bound_to_another",
             Named::as_contract,
             [](Trace& t) { t.dispatches[0].bindings.at(2).tensor = "V_packed"; },
             {"the trace binds the tensor 'V_packed' to index 2 (K_packed); the contract binds K_packed"}},
        View{"bound_differently",
             Named::own_and_bound,
             [](Trace& t) { t.dispatches[1].bindings.at(1).tensor = "my_dst"; },
             {"the trace binds the tensor 'my_dst' to index 1 (htmp); the contract binds partials, which is 'my_partials'"}},
        View{"short",
             Named::as_contract,
             [](Trace& t) { t.tensors[1].length = 16639; },
             {"the tensor 'K_packed' has 16639 bytes, the contract needs 16640 for K_packed"}},
        View{"own_short",
             Named::own,
             [](Trace& t) { t.tensors[1].length = 16639; },
             {"the tensor 'my_K_packed' has 16639 bytes, the contract needs 16640 for K_packed"}},
        View{"behind_the_end",
             Named::as_contract,
             [](Trace& t) { t.tensors[6].length = 1048576; },
             {"the tensor 'dst' ends at byte 1108224 of '0x600003a0c000', which has 1048576 bytes"}},
        View{"overlap",
             Named::as_contract,
             [](Trace& t) {
               t.tensors[2].start = 24828;
               offset(t, 3) = 24828;
             },
             {"K_packed occupies 16640 bytes from offset 8192, but K_norms starts at offset 24828"}}),
    [](const auto& parameter) { return parameter.param.name; });

// What the check says of a tensor of a case that has these axes, in elements.
std::string difference_of_axes(const std::string& family, const std::string& name, std::uint64_t element,
                               const std::vector<TraceTensor::Axis>& axes) {
  Trace trace = recorded(family);
  TraceTensor tensor{name, name, 0, element, element, axes};
  for (TraceTensor::Axis& axis : tensor.axes) {
    axis.stride *= element;
    tensor.length += (axis.size - 1) * axis.stride;
  }
  trace.tensors = {tensor};
  for (harness::TraceDispatch& dispatch : trace.dispatches) {
    for (auto& [index, binding] : dispatch.bindings) {
      if (binding.buffer && binding.buffer->length != 0) binding.buffer->length += tensor.length;
    }
  }
  return fmt::format("{}", fmt::join(check(family, trace).differences, "; "));
}

// K is 2 heads of 65 positions of 128 bytes, Q 8 heads of 256 floats.
TEST(DispatchViewsCheck, AnotherOrderOfElementsIsADifference) {
  EXPECT_EQ(difference_of_axes("tq4", "K_packed", 1, {{65, 256}, {2, 128}, {128, 1}}),
            "the tensor 'K_packed' has 65 x 2 x 128 elements of 1 byte, with strides of 256, 128, 1 bytes; the kernel reads K_packed as "
            "2 x 65 x 128 elements of 1 byte, with strides of 8320, 128, 1 bytes");
  EXPECT_EQ(
      difference_of_axes("tq4", "Q", 4, {{8, 1}, {256, 8}}),
      "the tensor 'Q' has 8 x 256 elements of 4 bytes, with strides of 4, 32 bytes; the kernel reads Q as 8 x 256 elements of 4 bytes, "
      "with strides of 1024, 4 bytes");
  EXPECT_THAT(difference_of_axes("tq4", "Q", 4, {{8, 512}, {256, 1}}), HasSubstr("strides of 2048, 4 bytes")) << "gaps between rows";
  EXPECT_THAT(difference_of_axes("tq4", "Q", 4, {{256, 8}, {8, 1}}), HasSubstr("256 x 8 elements"));
  EXPECT_THAT(difference_of_axes("tq4", "K_packed", 1, {{2, 16384}, {65, 128}, {128, 1}}), HasSubstr("strides of 16384, 128, 1"))
      << "a capacity of 128";
  EXPECT_THAT(difference_of_axes("tq4", "K_packed", 4, {{65, 64}, {2, 32}, {32, 1}}), HasSubstr("65 x 2 x 32 elements of 4 bytes"));
}

TEST(DispatchViewsCheck, TheSameElementsInOtherWordsAreNone) {
  const auto none = [](const std::string& family, const std::string& name, std::uint64_t element,
                       const std::vector<TraceTensor::Axis>& axes) {
    EXPECT_EQ(difference_of_axes(family, name, element, axes), "") << name << " of " << axes.size() << " axes";
  };
  none("tq4", "Q", 4, {{8, 256}, {256, 1}});
  none("tq4", "Q", 4, {{1, 1}, {8, 256}, {1, 7}, {256, 1}});  // strides of axes of size 1 mean nothing
  none("tq4", "Q", 4, {{2048, 1}});
  none("tq4", "Q", 4, {{2, 1024}, {4, 256}, {256, 1}});  // groups of heads
  none("tq4", "Q", 4, {{9, 256}, {256, 1}});             // spare rows at the end
  none("tq4", "Q", 4, {{256, 1}, {8, 256}});             // listed in another order, with the strides of the right one
  none("tq4", "K_packed", 1, {{2, 8320}, {65, 128}, {128, 1}});
  none("tq4", "K_packed", 4, {{2, 2080}, {65, 32}, {32, 1}});  // as words
  none("tq4", "K_packed", 1, {{130, 128}, {128, 1}});
  none("tq4", "partials", 4, {{4128, 1}});  // no input: its layout is not known
}

TEST(DispatchViewsCheck, KnowsTheOrderOfTheInputsOfEveryFamily) {
  for (const auto& [family, name] : dispatch_cases()) {
    std::size_t known = 0;
    for (const harness::ContractDispatch& dispatch : contract(family)) {
      for (const auto& [index, layout] : dispatch.inputs) {
        std::vector<TraceTensor::Axis> axes = layout.axes;
        for (TraceTensor::Axis& axis : axes) axis.stride /= layout.element;
        EXPECT_EQ(difference_of_axes(family, dispatch.trace.bindings.at(index).buffer->name, layout.element, axes), "") << name;
        ++known;
      }
    }
    EXPECT_GT(known, 0U) << name;
  }
}

TEST(DispatchViewsCheck, NamesTensorsWithNamesOfOnesOwn) {
  for (const bool is_swapped : {false, true}) {
    Trace trace = viewed(Named::own);
    if (is_swapped) kSwap(trace);
    const harness::TraceCheck result = check("tq4", trace);
    EXPECT_THAT(result.differences, IsEmpty());
    ASSERT_THAT(result.remarks, SizeIs(1));
    EXPECT_THAT(result.remarks[0],
                AllOf(HasSubstr("'my_Q' for Q"), HasSubstr(is_swapped ? "'my_V_packed' for K_packed" : "'my_K_packed' for K_packed")));
  }
  EXPECT_THAT(check("tq4", viewed(Named::own_and_bound)).remarks, IsEmpty());
  EXPECT_THAT(check("tq4", viewed(Named::as_contract)).remarks, IsEmpty());
}

TEST(DispatchViewsCheck, RemarksOnATensorOfNoUse) {
  Trace trace = viewed(Named::as_contract);
  trace.tensors.push_back({"K_Packed", "0x600003a0c000", 1 << 19, 16640, 1, {}});
  const harness::TraceCheck result = check("tq4", trace);
  EXPECT_THAT(result.differences, IsEmpty());
  EXPECT_THAT(result.remarks, ElementsAre(HasSubstr("the tensor 'K_Packed' is none of the contract's")));
}

// Rows of 3 x 128 halves: Q, K and V lie in one another's gaps.
TEST(DispatchViewsCheck, RowsOfOneTensorMayLieInTheGapsOfAnother) {
  const auto slice = [](const std::string& name, std::uint64_t start, std::uint64_t width) {
    return fmt::format(R"({{"name": "{}", "buffer": "qkv", "start": {}, "element": 2, "shape": [5, {}], "strides": [384, 1]}})", name,
                       start, width);
  };
  const auto overlaps = [&](std::uint64_t start, std::uint64_t width) {
    const Trace trace = reports::parse_trace(fmt::format(R"({{"format": "assay-dispatch", "version": 2, "tensors": [{}, {}], "commands": [
        {{"command": "dispatch", "function": "f", "threadgroups": [1, 1, 1], "threads_per_threadgroup": [1, 1, 1], "bindings": [
          {{"index": 1, "buffer": "qkv", "length": 3840, "offset": 0}}, {{"index": 2, "buffer": "qkv", "length": 3840, "offset": {}}}]}}]}})",
                                                         slice("htmp", 0, 128), slice("dst", start, width), start),
                                             "qkv.json");
    EXPECT_EQ(trace.tensors[0].length, 4 * 768 + 256U);
    const harness::TraceCheck result = check("reduce", [&] {
      Trace whole = recorded("reduce");
      whole.tensors = trace.tensors;
      return whole;
    }());
    return std::ranges::any_of(result.differences, [](const std::string& sentence) { return sentence.starts_with("buffer 'qkv'"); });
  };
  EXPECT_FALSE(overlaps(256, 128));
  EXPECT_FALSE(overlaps(512, 128));
  EXPECT_TRUE(overlaps(254, 128));
  EXPECT_TRUE(overlaps(514, 128));  // the last element of a row is the first of the next row of `htmp`
  EXPECT_TRUE(overlaps(0, 128));
}

TEST(DispatchViewsReplay, AViewAtTheWrongPlaceGivesWrongNumbers) {
  EXPECT_EQ(executed("tq4", viewed(Named::as_contract)).status, harness::Status::passed);
  for (const auto& apply :
       {std::function<void(Trace&)>(kDrop), std::function<void(Trace&)>(kElements), std::function<void(Trace&)>(kSwap)}) {
    Trace trace = viewed(Named::as_contract);
    apply(trace);
    const harness::Verdict verdict = executed("tq4", trace);
    EXPECT_FALSE(harness::is_success(verdict.status)) << reason_of(verdict);
  }
}

struct Malformed {
  const char* name;
  const char* tensor;
  const char* message;
};

class DispatchTensorText : public ::testing::TestWithParam<Malformed> {};

TEST_P(DispatchTensorText, IsRefusedWithItsPlace) {
  const std::string text = replaced(read_file(kRoot / "tests/golden/dispatch/tq4.json"), "\"version\": 1,",
                                    fmt::format("\"version\": 2, \"tensors\": [{}],", GetParam().tensor));
  try {
    static_cast<void>(reports::parse_trace(text, "trace.json"));
    FAIL() << "was accepted";
  } catch (const harness::TraceError& error) {
    EXPECT_THAT(error.what(), AllOf(StartsWith("trace.json: tensors[0]"), HasSubstr(GetParam().message)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, DispatchTensorText,
    ::testing::Values(
        Malformed{"number", "7", "must be an object"},
        Malformed{"nameless", R"({"buffer": "b", "start": 0, "length": 1})", "name: is missing"},
        Malformed{"bufferless", R"({"name": "n", "start": 0, "length": 1})", "buffer: is missing"},
        Malformed{"startless", R"({"name": "n", "buffer": "b", "length": 1})", "start: is missing"},
        Malformed{"lengthless", R"({"name": "n", "buffer": "b", "start": 0})", "has neither 'length' nor 'shape'"},
        Malformed{"negative", R"({"name": "n", "buffer": "b", "start": -1, "length": 1})", "start: must be an integer"},
        Malformed{"unknown_key", R"({"name": "n", "buffer": "b", "start": 0, "length": 1, "end": 1})", "end: unknown key"},
        Malformed{"beyond_64_bits", R"({"name": "n", "buffer": "b", "start": 2, "length": 18446744073709551615})", "64 bits"},
        Malformed{"no_element", R"({"name": "n", "buffer": "b", "start": 0, "shape": [2]})", "shape: needs 'element'"},
        Malformed{"empty_element", R"({"name": "n", "buffer": "b", "start": 0, "length": 1, "element": 0})", "element: must be at least 1"},
        Malformed{"strides_alone", R"({"name": "n", "buffer": "b", "start": 0, "length": 1, "strides": [1]})", "strides: needs 'shape'"},
        Malformed{"strides_missing", R"({"name": "n", "buffer": "b", "start": 0, "element": 2, "shape": [2, 2], "strides": [1]})",
                  "strides: has 1 entries, 'shape' has 2"},
        Malformed{"too_many_axes", R"({"name": "n", "buffer": "b", "start": 0, "element": 2, "shape": [1, 1, 1, 1, 1, 1, 1, 1, 1]})",
                  "shape: has 9 entries; the limit is 8"},
        Malformed{"huge_shape", R"({"name": "n", "buffer": "b", "start": 0, "element": 2, "shape": [4294967296, 4294967296]})", "64 bits"},
        Malformed{"huge_stride",
                  R"({"name": "n", "buffer": "b", "start": 0, "element": 8, "shape": [2], "strides": [4611686018427387904]})", "64 bits"},
        Malformed{"shorter_than_its_shape", R"({"name": "n", "buffer": "b", "start": 0, "length": 7, "element": 2, "shape": [4]})",
                  "length: is 7, but the shape reaches over 8 bytes"}),
    [](const auto& parameter) { return parameter.param.name; });

std::string refusal_of(const std::string& from, const std::string& to) {
  try {
    static_cast<void>(reports::parse_trace(replaced(read_file(kRoot / "tests/golden/dispatch/tq4.json"), from, to), "trace.json"));
  } catch (const harness::TraceError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(DispatchTensors, AreOfVersionTwo) {
  EXPECT_EQ(refusal_of("\"version\": 1", "\"version\": 2, \"tensors\": []"), "accepted");
  EXPECT_THAT(refusal_of("\"version\": 1", "\"version\": 1, \"tensors\": []"), HasSubstr("tensors: needs \"version\": 2"));
  EXPECT_THAT(refusal_of("{\"index\": 6", "{\"tensor\": \"Q\", \"index\": 6"),
              HasSubstr("commands[0].bindings[6].tensor: needs \"version\": 2"));
}

TEST(DispatchTensors, AreListedOnceBeforeTheyAreNamed) {
  const std::string q = R"({"name": "Q", "buffer": "Q", "start": 0, "length": 8192})";
  EXPECT_THAT(refusal_of("\"version\": 1", fmt::format("\"version\": 2, \"tensors\": [{}, {}]", q, q)),
              HasSubstr("tensors[1]: a tensor 'Q' is already listed"));
  const std::string head = "\"version\": 2, \"tensors\": [" + q + "]";
  const std::string text = replaced(read_file(kRoot / "tests/golden/dispatch/tq4.json"), "\"version\": 1", head);
  EXPECT_NO_THROW(
      static_cast<void>(reports::parse_trace(replaced(text, "{\"index\": 1,", "{\"tensor\": \"Q\", \"index\": 1,"), "trace.json")));
  try {
    static_cast<void>(reports::parse_trace(replaced(text, "{\"index\": 1,", "{\"tensor\": \"q\", \"index\": 1,"), "trace.json"));
    FAIL() << "was accepted";
  } catch (const harness::TraceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("commands[0].bindings[1].tensor: 'q' is not listed in 'tensors'"));
  }
}

}  // namespace
}  // namespace assay::tests::dispatch_views_test
