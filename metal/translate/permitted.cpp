// Holds words of a source to lists of what kernels need.
#include "metal/translate/permitted.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "metal/errors.h"

namespace assay::metal::translate {

namespace {

// Of __attribute__((...)), and of [[gnu::...]] and [[clang::...]]: those that describe types and calls, and that steer the optimiser.
// Sorted.
constexpr auto kAttributes = std::to_array<std::string_view>({"aligned",
                                                              "alloc_size",
                                                              "always_inline",
                                                              "assume_aligned",
                                                              "availability",
                                                              "code_align",
                                                              "cold",
                                                              "const",
                                                              "convergent",
                                                              "deprecated",
                                                              "diagnose_if",
                                                              "enable_if",
                                                              "enum_extensibility",
                                                              "ext_vector_type",
                                                              "fallthrough",
                                                              "flag_enum",
                                                              "flatten",
                                                              "gnu_inline",
                                                              "hot",
                                                              "likely",
                                                              "loop",
                                                              "may_alias",
                                                              "maybe_unused",
                                                              "minsize",
                                                              "musttail",
                                                              "no_unroll",
                                                              "nodiscard",
                                                              "noduplicate",
                                                              "noinline",
                                                              "nomerge",
                                                              "nonnull",
                                                              "noreturn",
                                                              "nothrow",
                                                              "opencl_unroll_hint",
                                                              "optnone",
                                                              "overloadable",
                                                              "packed",
                                                              "pure",
                                                              "returns_nonnull",
                                                              "swift_name",
                                                              "trivial_abi",
                                                              "unavailable",
                                                              "unlikely",
                                                              "unroll",
                                                              "unused",
                                                              "vector_size",
                                                              "warn_unused_result"});
static_assert(std::ranges::is_sorted(kAttributes));

constexpr auto kDeclspecs = std::to_array<std::string_view>({"align", "deprecated", "noinline", "noreturn", "nothrow"});
static_assert(std::ranges::is_sorted(kDeclspecs));

// What the names of permitted builtins begin with behind `__builtin_`: mathematics, bits, vectors, memory of the kernel's own, questions of
// the compiler. Nothing reads or changes registers, the stack or the control flow of its callers.
constexpr auto kCompilerBuiltins = std::to_array<std::string_view>({"COLUMN",
                                                                    "FILE",
                                                                    "FUNCTION",
                                                                    "LINE",
                                                                    "abs",
                                                                    "acos",
                                                                    "add_overflow",
                                                                    "addressof",
                                                                    "align_down",
                                                                    "align_up",
                                                                    "allow_",
                                                                    "asin",
                                                                    "assume",
                                                                    "astype",
                                                                    "atan",
                                                                    "bcmp",
                                                                    "bit_cast",
                                                                    "bitreverse",
                                                                    "bswap",
                                                                    "cbrt",
                                                                    "ceil",
                                                                    "choose_expr",
                                                                    "classify_type",
                                                                    "clz",
                                                                    "complex",
                                                                    "constant_p",
                                                                    "convertvector",
                                                                    "copysign",
                                                                    "cos",
                                                                    "ctz",
                                                                    "debugtrap",

                                                                    "elementwise_",
                                                                    "erf",
                                                                    "exp",
                                                                    "expect",
                                                                    "expm1",
                                                                    "fabs",
                                                                    "fdim",
                                                                    "ffs",
                                                                    "floor",
                                                                    "flt_rounds",
                                                                    "fma",
                                                                    "fmax",
                                                                    "fmin",
                                                                    "fmod",
                                                                    "fpclassify",
                                                                    "frexp",
                                                                    "huge_val",
                                                                    "hypot",
                                                                    "ilogb",
                                                                    "inf",
                                                                    "is_aligned",
                                                                    "is_constant_evaluated",
                                                                    "iseqsig",
                                                                    "isfinite",
                                                                    "isgreater",
                                                                    "isinf",
                                                                    "isless",
                                                                    "isnan",
                                                                    "isnormal",
                                                                    "issignaling",
                                                                    "issubnormal",
                                                                    "isunordered",
                                                                    "iszero",
                                                                    "labs",
                                                                    "launder",
                                                                    "ldexp",
                                                                    "llabs",
                                                                    "llrint",
                                                                    "llround",
                                                                    "log",
                                                                    "lrint",
                                                                    "lround",
                                                                    "memcmp",
                                                                    "memcpy",
                                                                    "memmove",
                                                                    "memset",
                                                                    "modf",
                                                                    "mul_overflow",
                                                                    "nan",
                                                                    "nearbyint",
                                                                    "nextafter",
                                                                    "nontemporal_",
                                                                    "object_size",
                                                                    "offsetof",
                                                                    "parity",
                                                                    "popcount",
                                                                    "pow",
                                                                    "prefetch",
                                                                    "reduce_",
                                                                    "remainder",
                                                                    "rint",
                                                                    "rotate",
                                                                    "round",
                                                                    "sadd",
                                                                    "saddl",
                                                                    "shufflevector",
                                                                    "signbit",
                                                                    "sin",
                                                                    "smul",
                                                                    "sqrt",
                                                                    "ssub",
                                                                    "strlen",
                                                                    "sub_overflow",
                                                                    "tan",
                                                                    "trap",
                                                                    "trunc",
                                                                    "types_compatible_p",
                                                                    "uadd",
                                                                    "umul",
                                                                    "unpredictable",
                                                                    "unreachable",
                                                                    "usub",
                                                                    "verbose_trap"});

// Words that name code or data outside of the kernel, or places where the system finds it.
constexpr auto kWords = std::to_array<std::string_view>({"_Pragma", "_Thread_local", "__asm", "__asm__", "__pragma", "__thread", "asm"});

// What the names of our headers and of the pass begin with.
constexpr auto kOurs = std::to_array<std::string_view>({"__assay", "ASSAY_", "assay_device_member", "assay_math_", "assay_name_"});

bool begins_with_one_of(std::string_view text, std::span<const std::string_view> starts) {
  return std::ranges::any_of(starts, [&](std::string_view start) { return text.starts_with(start); });
}

// `__aligned__` is `aligned`.
std::string_view bare(std::string_view name) {
  return name.size() > 4 && name.starts_with("__") && name.ends_with("__") ? name.substr(2, name.size() - 4) : name;
}

class Watch {
 public:
  explicit Watch(const TokenStream& stream) : stream_(stream) {}

  void run() const {
    for (std::size_t index = 0; index < stream_.tokens.size(); ++index) {
      const Token& token = stream_.tokens[index];
      if (token.kind == TokenKind::identifier) look_at_word(index);
      if (token.kind == TokenKind::punctuation) look_at_sign(index);
    }
  }

 private:
  [[noreturn]] void fail(std::size_t index, std::string_view what) const {
    const Token& token = stream_.tokens[index];
    throw CompileError(fmt::format("{}:{}: error: {}", stream_.files[token.file], token.line, what));
  }
  // The end token stands for what is behind the last one.
  const Token& at(std::size_t index) const { return stream_.tokens[std::min(index, stream_.tokens.size() - 1)]; }
  bool touches(std::size_t index) const { return at(index).leading.empty(); }

  // `__assay_choice() ==`: a number of the host's, which harness/triage compares in kernels that it edits. As nothing is declared or
  // defined, a kernel that does the same learns 0.
  bool is_choice(std::size_t index) const {
    return at(index).is("__assay_choice") && at(index + 1).is("(") && at(index + 2).is(")") && at(index + 3).is("==");
  }

  void look_at_word(std::size_t index) const {
    const std::string_view word = stream_.tokens[index].text;
    if (std::ranges::find(kWords, word) != kWords.end()) fail(index, fmt::format("Metal does not have '{}'", word));
    if (begins_with_one_of(word, kOurs) && !is_choice(index))
      fail(index, fmt::format("'{}' is a name of assay's own, which kernels may not use", word));
    const bool has_prefix = at(index + 1).kind == TokenKind::identifier && touches(index + 2);
    const std::size_t linkage = has_prefix ? index + 2 : index + 1;
    if (word == "extern" && at(linkage).kind == TokenKind::string)
      fail(index, fmt::format("'extern {}' is refused: it names code outside of the kernel", at(linkage).text));
    if (word == "__attribute__" || word == "__attribute") look_at_list(index, kAttributes);
    if (word == "__declspec" || word == "_declspec") look_at_list(index, kDeclspecs);
    constexpr std::string_view kBuiltin = "__builtin_";
    if (word.starts_with(kBuiltin) && !begins_with_one_of(word.substr(kBuiltin.size()), kCompilerBuiltins))
      fail(index, fmt::format("'{}' is refused: it is none of the compiler's functions that a kernel may call", word));
    // Clang would see one string where we see a word and a string.
    const bool is_raw_prefix = word == "LR" || word == "uR" || word == "UR" || word == "u8R";
    if (is_raw_prefix && at(index + 1).kind == TokenKind::string && touches(index + 1) && at(index + 1).text.starts_with('"'))
      fail(index, "a raw string with a prefix is not supported");
  }

  // `((name, name(arguments)))` behind __attribute__, with one pair of parentheses less behind __declspec.
  void look_at_list(std::size_t index, std::span<const std::string_view> permitted) const {
    const int names_at = permitted.data() == kAttributes.data() ? 2 : 1;
    int depth = 0;
    for (std::size_t place = index + 1; place < stream_.tokens.size(); ++place) {
      const Token& token = stream_.tokens[place];
      if (opens(token)) ++depth;
      if (closes(token)) --depth;
      if (depth == 0) return;
      const Token& before = stream_.tokens[place - 1];
      // Each name, and each word behind one that is not in the grammar of attributes.
      if (depth == names_at && token.kind == TokenKind::identifier && !before.is(")"))
        refuse_unless_permitted(place, token.text, permitted);
    }
  }

  void refuse_unless_permitted(std::size_t index, std::string_view name, std::span<const std::string_view> permitted) const {
    if (!std::ranges::binary_search(permitted, bare(name)))
      fail(index, fmt::format("the attribute '{}' is refused: it is none of those that a kernel may have", name));
  }

  void look_at_sign(std::size_t index) const {
    const Token& token = stream_.tokens[index];
    if (token.is("[") && at(index + 1).is("[")) look_at_brackets(index);
    if (token.is("\\")) fail(index, "a '\\' outside of a string, as of a universal character name, is not supported");
    // The preprocessor has handled all of the source's own.
    if (token.is("#") || token.is("##")) fail(index, "a '#' that is no directive of the source");
    if (!touches(index + 1)) return;
    const std::string_view next = at(index + 1).text;
    const bool is_template_list =
        token.is("<") && next == "::" && !(touches(index + 2) && (at(index + 2).text.starts_with(':') || at(index + 2).is(">")));
    const bool hides_bracket = token.is("<") && next.starts_with(':') && !is_template_list;
    const bool hides_other = (token.is(":") && next.starts_with('>')) || (token.is("<") && next.starts_with('%')) ||
                             (token.is("%") && (next.starts_with('>') || next.starts_with(':')));
    if (hides_bracket || hides_other) fail(index, fmt::format("the digraph '{}{}' is not supported", token.text, next.substr(0, 1)));
  }

  // `[[name, name(arguments)]]`. The translator takes out what it does not need, so names without a prefix reach no compiler.
  void look_at_brackets(std::size_t index) const {
    if (!touches(index + 1) || !(at(index + 2).kind == TokenKind::identifier || at(index + 2).is("]")))
      fail(index, "an attribute list must begin with '[[' and a name");
    std::string_view of_all;  // `using gnu:`
    int depth = 0;
    for (std::size_t place = index; place < stream_.tokens.size(); ++place) {
      const Token& token = stream_.tokens[place];
      if (opens(token)) ++depth;
      if (closes(token) && --depth == 0) return;
      if (depth != 2 || token.kind != TokenKind::identifier) continue;
      const Token& before = stream_.tokens[place - 1];
      if (token.is("using") && place == index + 2) {
        of_all = at(place + 1).text;
        ++place;
        continue;
      }
      const std::string_view prefix = before.is("::") ? stream_.tokens[place - 2].text : of_all;
      const bool is_compilers = bare(prefix) == "gnu" || bare(prefix) == "clang" || prefix == "_Clang";
      if (is_compilers && !at(place + 1).is("::")) refuse_unless_permitted(place, token.text, kAttributes);
    }
  }

  const TokenStream& stream_;
};

// Pragmas that place code and data, change names, or let the compiler read files. Others steer the optimiser and warnings, or mean nothing.
constexpr auto kPragmas = std::to_array<std::string_view>({"GCC dependency",  "GCC system_header",
                                                           "GCC visibility",  "alloc_text",
                                                           "bss_seg",         "clang __debug",
                                                           "clang attribute", "clang module",
                                                           "clang section",   "clang system_header",
                                                           "code_seg",        "comment",
                                                           "const_seg",       "data_seg",
                                                           "detect_mismatch", "extern_prefix",
                                                           "include_alias",   "init_seg",
                                                           "push_segment",    "redefine_extname",
                                                           "section",         "weak"});

}  // namespace

void require_permitted(const TokenStream& stream) { Watch(stream).run(); }

std::optional<std::string> refused_directive(std::string_view directive) {
  // The words, with single blanks.
  std::string words;
  for (const char c : directive.substr(1)) {
    const bool is_blank = c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
    if (!is_blank) words += c;
    if (is_blank && !words.empty() && words.back() != ' ') words += ' ';
  }
  const std::string_view text = words;
  const std::string_view name = text.substr(0, text.find_first_of(" (\""));
  if (name != "pragma") return fmt::format("'#{}' is refused: a macro made it, or no kernel needs it", printable(name));
  const std::string_view rest = text.substr(std::min(text.size(), name.size() + 1));
  for (const std::string_view pragma : kPragmas) {
    const std::string_view behind = rest.substr(std::min(rest.size(), pragma.size()));
    if (rest.starts_with(pragma) && (behind.empty() || behind[0] == ' ' || behind[0] == '(' || behind[0] == '"'))
      return fmt::format("'#pragma {}' is refused: a kernel may not place code, rename it or read files", pragma);
  }
  return std::nullopt;
}

}  // namespace assay::metal::translate
