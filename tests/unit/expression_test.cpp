// Expressions of a variant.toml: grammar, functions, types, limits, and what errors say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>

#include "kernels/expression.h"

namespace assay::tests::expression_test {
namespace {

using kernels::Expression;
using kernels::ExpressionError;
using kernels::NamedTensor;
using kernels::TextTemplate;
using kernels::Value;
using namespace ::testing;

class SomeNames final : public kernels::Names {
 public:
  [[nodiscard]] std::optional<Value> value(std::string_view name) const override {
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] const NamedTensor* tensor(std::string_view name) const override { return name == "k" ? &k_ : nullptr; }
  [[nodiscard]] std::vector<std::string> all() const override { return {"b", "n", "mask", "x", "is_wide", "k"}; }

 private:
  std::map<std::string, Value, std::less<>> values_ = {{"b", std::int64_t{2}},
                                                       {"n", std::int64_t{100}},
                                                       {"zero", std::int64_t{0}},
                                                       {"most", std::numeric_limits<std::int64_t>::max()},
                                                       {"least", std::numeric_limits<std::int64_t>::min()},
                                                       {"mask", std::string("causal")},
                                                       {"x", 0.5},
                                                       {"is_wide", true}};
  NamedTensor k_{{{"head", 4, 1000}, {"key", 7, 128}, {"dim", 100, 1}}, 64, 2};
};

Value value_of(const std::string& text) { return Expression(text, "variant.toml:7").evaluate(SomeNames()); }

Value integer(std::int64_t value) { return value; }

std::string error_of(const std::string& text) {
  try {
    return "no error, but " + kernels::to_string(value_of(text));
  } catch (const ExpressionError& error) {
    return error.what();
  }
}

TEST(Expressions, IntegersStayIntegers) {
  const std::map<std::string, std::int64_t> values = {{"7", 7},
                                                      {"1 + 2 * 3", 7},
                                                      {"(1 + 2) * 3", 9},
                                                      {"10 - 3 - 2", 5},
                                                      {"100 / 8 / 2", 6},
                                                      {"-7 / 2", -3},
                                                      {"-7 % 2", -1},
                                                      {"7 % 4 * 2", 6},
                                                      {"--3", 3},
                                                      {"-n * b", -200},
                                                      {"2 * -b", -4},
                                                      {" n\t+\nb ", 102},
                                                      {"9223372036854775807", std::numeric_limits<std::int64_t>::max()},
                                                      {"most - 1 + 1", std::numeric_limits<std::int64_t>::max()}};
  for (const auto& [text, value] : values) EXPECT_EQ(value_of(text), integer(value)) << text;
}

TEST(Expressions, ADoubleMakesADouble) {
  for (const auto& [text, value] : std::map<std::string, double>{
           {"0.5", 0.5}, {"1e3", 1000}, {"2.5E-1", 0.25}, {"1 / 2.0", 0.5}, {"n * x", 50}, {"1 - x", 0.5}, {"-x + 1", 0.5}})
    EXPECT_EQ(value_of(text), Value(value)) << text;
}

TEST(Expressions, ComparisonsAndConditions) {
  for (const char* text : {"1 == 1",
                           "1 != 2",
                           "1 < 2",
                           "2 <= 2",
                           "3 > 2",
                           "3 >= 3",
                           "1 == 1.0",
                           "x < 1",
                           "mask == 'causal'",
                           "mask != \"none\"",
                           "is_wide",
                           "is_wide == true",
                           "!(1 == 2)",
                           "!1 == 2",
                           "true || 1 / 0 == 1",
                           "!(false && 1 / 0 == 1)",
                           "false || true && true",
                           "!false && true",
                           "1 + 1 == 2",
                           "b == 2 ? true : false",
                           "n == 1 ? false : n == 100 ? true : false",
                           "most > most - 1",
                           "select(n > 3, true, 1 / 0 == 1)"})
    EXPECT_EQ(value_of(text), Value(true)) << text;
}

TEST(Expressions, Functions) {
  const std::map<std::string, std::int64_t> integers = {{"min(3, 2, 5)", 2},
                                                        {"max(3, 2, 5)", 5},
                                                        {"max(most - 1, most) - most", 0},
                                                        {"min(most, most - 1) - most", -1},
                                                        {"ceil_div(n, 32)", 4},
                                                        {"ceil_div(96, 32)", 3},
                                                        {"ceil_div(0, 32)", 0},
                                                        {"ceil_div(most, 1) - most", 0},
                                                        {"round_up(n, 32)", 128},
                                                        {"round_up(96, 32)", 96},
                                                        {"floor(3.7)", 3},
                                                        {"floor(-3.2)", -4},
                                                        {"floor(9)", 9},
                                                        {"abs(-9)", 9},
                                                        {"select(b == 2, 10, 20)", 10},
                                                        {"size(k)", 2800},
                                                        {"size(k, 'key')", 7},
                                                        {"size(k, 1)", 7},
                                                        {"stride(k, 'key')", 128},
                                                        {"stride(k, 0)", 1000},
                                                        {"offset(k)", 64},
                                                        {"bytes(stride(k, 'key'))", 256},
                                                        {"bytes(size(k))", 5600},
                                                        {"bytes(offset(k))", 128}};
  for (const auto& [text, value] : integers) EXPECT_EQ(value_of(text), integer(value)) << text;
  const std::map<std::string, double> doubles = {{"min(3, 2.5)", 2.5}, {"pow(2, 10)", 1024}, {"pow(2, -1)", 0.5}, {"log2(8)", 3},
                                                 {"exp2(-2)", 0.25},   {"sqrt(2.25)", 1.5},  {"abs(-0.5)", 0.5},  {"1 / sqrt(64)", 0.125}};
  for (const auto& [text, value] : doubles) EXPECT_EQ(value_of(text), Value(value)) << text;
}

TEST(Expressions, WhatHasNoValue) {
  const std::map<std::string, std::string> reasons = {
      {"most + 1", "does not fit into 64 bits"},
      {"least - 1", "does not fit into 64 bits"},
      {"most * 2", "does not fit into 64 bits"},
      {"-least", "does not fit into 64 bits"},
      {"abs(least)", "does not fit into 64 bits"},
      {"least / -1", "does not fit into 64 bits"},
      {"least % -1", "does not fit into 64 bits"},
      {"round_up(most, 2)", "does not fit into 64 bits"},
      {"floor(1e30)", "does not fit into 64 bits"},
      {"n / zero", "division by zero"},
      {"n % zero", "division by zero"},
      {"n / 0.0", "division by zero"},
      {"log2(0)", "not a finite number"},
      {"sqrt(-1)", "not a finite number"},
      {"pow(10, 400)", "not a finite number"},
      {"1e308 * 10", "not a finite number"},
      {"ceil_div(1, 0)", "divisor from 1 on"},
      {"ceil_div(-1, 2)", "from 0 on"},
      {"x % 2", "% needs integers"},
      {"mask + 1", "'causal' is not a number"},
      {"is_wide * 2", "true is not a number"},
      {"ceil_div(0.5, 2)", "0.5 is not an integer"},
      {"n ? 1 : 2", "100 is not a condition; compare it with something"},
      {"!n", "100 is not a condition"},
      {"mask < 'none'", "cannot be compared by <"},
      {"mask == 1", "cannot be compared by =="},
      {"true < false", "cannot be compared by <"},
      {"m", "unknown name 'm'; accepted: b, n, mask, x, is_wide, k"},
      {"k", "'k' is a tensor, not a number; use size(k, 'axis')"},
      {"size(q)", "unknown tensor 'q'"},
      {"size(k, 'row')", "tensor k has no axis 'row'; it has 'head', 'key', 'dim'"},
      {"size(k, 3)", "tensor k has no axis 3"},
      {"size(k, -1)", "tensor k has no axis -1"},
  };
  for (const auto& [text, reason] : reasons) {
    EXPECT_THAT(error_of(text), HasSubstr(reason)) << text;
  }
}

TEST(Expressions, WhatIsNoExpression) {
  const std::map<std::string, std::string> reasons = {
      {"", "column 1: expected a number, a name, a quoted text or '(', but found the end"},
      {"1 +", "column 4: expected a number"},
      {"1 2", "column 3: expected an operator or the end, but found '2'"},
      {"(1", "column 3: expected ')', but found the end"},
      {"1)", "column 2: expected an operator or the end, but found ')'"},
      {"'a", "column 3: expected a closing '"},
      {"b ? 1", "column 6: expected ':'"},
      {"1 < 2 < 3", "column 7: expected an operator or the end, but found '<'"},
      {"5n", "column 2: expected an operator"},
      {"0x10", "column 2: expected an operator"},
      {"1.2.3", "column 4: expected an operator"},
      {"9223372036854775808", "expected a 64-bit integer"},
      {"1e999", "expected a number that a double can represent"},
      {"a = b", "column 3: expected an operator or the end, but found '='"},
      {"rand()", "unknown function 'rand'; accepted: min, max"},
      {"min(1)", "min() takes 2 or more arguments, but has 1"},
      {"pow(1, 2, 3)", "pow() takes 2 arguments, but has 3"},
      {"size()", "expected a number"},
      {"size(2 * k)", "the first argument of size() must be the name of a tensor"},
      {"bytes(4)", "bytes() takes size(...), stride(...) or offset(...) of a tensor"},
      {"n\xc3\xa9", "expected an operator or the end"},
  };
  for (const auto& [text, reason] : reasons) EXPECT_THAT(error_of(text), HasSubstr(reason)) << text;
}

TEST(Expressions, ErrorsSayPlaceExpressionColumnAndValues) {
  EXPECT_EQ(error_of("b * (n / zero)"), "variant.toml:7: 'b * (n / zero)', column 8: division by zero (b = 2, n = 100, zero = 0)");
  EXPECT_EQ(error_of("n + n + nn"),
            "variant.toml:7: 'n + n + nn', column 9: unknown name 'nn' (did you mean 'n'?); accepted: b, n, mask, x, is_wide, k (n = 100)");
  const auto said = [](const auto& read) {
    try {
      read();
    } catch (const ExpressionError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  const SomeNames names;
  EXPECT_EQ(said([&] { static_cast<void>(Expression("n * x", "f:1").integer(names)); }),
            "f:1: 'n * x', column 3: 50.0 is not an integer (n = 100, x = 0.5)");
  EXPECT_EQ(said([&] { static_cast<void>(Expression("mask", "f:1").number(names)); }),
            "f:1: 'mask', column 1: 'causal' is not a number (mask = 'causal')");
  EXPECT_THAT(said([&] { static_cast<void>(Expression("n", "f:1").condition(names)); }), HasSubstr("100 is not a condition"));
  EXPECT_EQ(said([&] { static_cast<void>(Expression::of_value(0.5, "f:3").integer(names)); }),
            "f:3: '0.5', column 1: 0.5 is not an integer");
}

TEST(Expressions, HaveLimits) {
  const auto nested = [](int levels) {
    return std::string(static_cast<std::size_t>(levels), '(') + "1" + std::string(static_cast<std::size_t>(levels), ')');
  };
  EXPECT_EQ(value_of(nested(32)), integer(1));
  EXPECT_THAT(error_of(nested(33)), HasSubstr("nests deeper than 32 levels"));
  EXPECT_THAT(error_of(std::string(40, '-') + "1"), HasSubstr("nests deeper than 32 levels"));
  EXPECT_THAT(error_of(std::string(40, '!') + "true"), HasSubstr("nests deeper than 32 levels"));
  std::string sum = "1";
  while (sum.size() + 2 <= 4096) sum += "+1";
  EXPECT_EQ(value_of(sum), integer(2048));
  EXPECT_THAT(error_of(sum + "+1"), HasSubstr("it has more than 4096 characters"));
}

TEST(Expressions, ConvertToTheNeededType) {
  const SomeNames names;
  EXPECT_EQ(Expression("n", "").number(names), 100.0);
  EXPECT_EQ(Expression("n", "").text(names), "100");
  EXPECT_EQ(Expression("mask", "").text(names), "causal");
  EXPECT_EQ(Expression("n / 8.0", "").text(names), "12.5");
  EXPECT_EQ(Expression("n / 50.0", "").text(names), "2.0");
  EXPECT_EQ(Expression("(n)", "").sole_name(), "n");
  EXPECT_EQ(Expression("n + 0", "").sole_name(), std::nullopt);
  EXPECT_THAT(Expression("min(n, b) + stride(k, 'key')", "").names(), ElementsAre("n", "b", "k"));
}

TEST(TextTemplates, InsertExpressions) {
  const SomeNames names;
  EXPECT_EQ(TextTemplate("decode_{mask}_{n / b}_d", "").evaluate(names), "decode_causal_50_d");
  EXPECT_EQ(TextTemplate("{n}{b}", "").evaluate(names), "1002");
  EXPECT_TRUE(TextTemplate("plain", "").is_constant());
  const auto said = [](const std::string& text) {
    try {
      static_cast<void>(TextTemplate(text, "f:2"));
    } catch (const ExpressionError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(said("a_{n}_{b"), "f:2: 'a_{n}_{b', column 7: expected '}'");
  EXPECT_THAT(said("a_{}"), HasSubstr("expected a number"));
}

}  // namespace
}  // namespace assay::tests::expression_test
