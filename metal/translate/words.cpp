// Rewrites single words: address spaces, names that C++ for OpenCL reserves, number literals.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "metal/translate/literals.h"
#include "metal/translate/translator.h"

namespace assay::metal::translate {

namespace {

constexpr std::string_view kDevice = "__attribute__((opencl_global_device))";
constexpr std::string_view kConstant = "__global const";

// Ordinary names in Metal that C++ for OpenCL reserves or declares as types.
constexpr std::array kReserved = std::to_array<std::string_view>({"global",
                                                                  "local",
                                                                  "generic",
                                                                  "pipe",
                                                                  "read_only",
                                                                  "write_only",
                                                                  "read_write",
                                                                  "vec_step",
                                                                  "addrspace_cast",
                                                                  "image1d_t",
                                                                  "image1d_array_t",
                                                                  "image1d_buffer_t",
                                                                  "image2d_t",
                                                                  "image2d_array_t",
                                                                  "image2d_depth_t",
                                                                  "image2d_array_depth_t",
                                                                  "image2d_msaa_t",
                                                                  "image2d_array_msaa_t",
                                                                  "image2d_msaa_depth_t",
                                                                  "image2d_array_msaa_depth_t",
                                                                  "image3d_t",
                                                                  "sampler_t",
                                                                  "event_t",
                                                                  "clk_event_t",
                                                                  "queue_t",
                                                                  "reserve_id_t",
                                                                  "atomic_double",
                                                                  "atomic_flag",
                                                                  "atomic_half",
                                                                  "atomic_size_t",
                                                                  "atomic_intptr_t",
                                                                  "atomic_uintptr_t",
                                                                  "atomic_ptrdiff_t"});

}  // namespace

// Distinguishes a name from a word that qualifies a type: a qualifier is followed by a type or a pointer operator, a name by the
// continuation of an expression.
bool Translator::used_as_name(std::size_t index) const {
  const Token& next = tokens_[index + 1];
  if (index > 0 && (tokens_[index - 1].is(".") || tokens_[index - 1].is("->"))) return true;
  static constexpr std::array<std::string_view, 22> kContinuations = {
      "=", ";", "[", ".", "->", "+", "-", "/", "%", "+=", "-=", "*=", "/=", "==", "!=", "<=", ">=", "++", "--", "?", "||", "!"};
  if (std::find(kContinuations.begin(), kContinuations.end(), next.text) != kContinuations.end())
    return !(next.is("[") && tokens_.attributes_at(index + 1));
  // `, device)`, `(thread)`: a lone word in an argument list is a name, unless it follows a type as in `(float device *)`.
  const bool ends_argument = next.is(")") || next.is(",");
  return ends_argument && index > 0 &&
         (tokens_[index - 1].is("(") || tokens_[index - 1].is(",") || tokens_[index - 1].kind == TokenKind::punctuation ||
          tokens_[index - 1].kind == TokenKind::identifier);
}

// Matches `const thread T&`, `thread const T&`, `T const thread&`: the `&` comes before anything that ends the parameter. In a base
// class, `static_cast<const thread T*>(this)` refers to the object itself, which may also be such a temporary.
bool Translator::may_name_temporary(std::size_t thread) const {
  bool is_const = thread > 0 && tokens_[thread - 1].is("const");
  for (std::size_t index = thread + 1; index < tokens_.size(); ++index) {
    const Token& token = tokens_[index];
    if (token.is("const")) is_const = true;
    if (token.is("&")) return is_const;
    if (token.is("*")) return is_const && tokens_[index + 1].is(">") && tokens_[index + 2].is("(") && tokens_[index + 3].is("this");
    if (token.is("<")) {
      const auto close = tokens_.closing_angle(index);
      if (!close) return false;
      index = *close;
    } else if (token.kind != TokenKind::identifier && !token.is("::")) {
      return false;
    }
  }
  return false;
}

// Whether `thread` is the space of the pointer itself, beside that of its target: `thread const device T* p[2]`. Every variable of a
// function lies there anyway.
bool Translator::repeats_space(std::size_t thread) const {
  const auto passes = [this](std::size_t index) {
    return tokens_[index].kind == TokenKind::identifier || tokens_[index].is("::") || tokens_[index].is("<");
  };
  for (std::size_t index = thread + 1; passes(index); ++index) {
    if (is_space_word(tokens_[index])) return true;
    if (tokens_[index].is("<")) index = tokens_.closing_angle(index).value_or(index);
  }
  for (std::size_t index = thread;
       index-- > 0 && (tokens_[index].is("const") || tokens_[index].is("volatile") || is_space_word(tokens_[index]));) {
    if (is_space_word(tokens_[index])) return true;
  }
  return false;
}

// The replacement of a name that C++ for OpenCL reserves; any other name unchanged.
std::string Translator::unreserved(std::string_view name) {
  const bool is_reserved = std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
  return is_reserved ? fmt::format("assay_name_{}", name) : std::string(name);
}

void Translator::replace_words() {
  for (std::size_t index = 0; index < tokens_.size(); ++index) {
    Token& token = tokens_[index];
    if (token.kind == TokenKind::number && !token.replacement) token.replacement = literal_for_opencl(token.text);
    if (token.kind != TokenKind::identifier || token.replacement) continue;
    if (is_space_word(token) || token.is("kernel")) {
      if (used_as_name(index)) {
        token.replacement = fmt::format("assay_name_{}", token.text);
      } else if (token.is("device")) {
        token.replacement = kDevice;
      } else if (token.is("constant")) {
        token.replacement = kConstant;
      } else if (token.is("thread")) {
        token.replacement = repeats_space(index) ? "" : "__private";
        if (may_name_temporary(index)) result_.const_thread_words_.push_back(index);
      } else if (token.is("threadgroup")) {
        token.replacement = "__local";
      } else {
        token.replacement = "inline";
      }
    } else if (token.is("restrict")) {
      token.replacement = "__restrict";
    } else if (auto name = unreserved(token.text); name != token.text) {
      token.replacement = std::move(name);
    }
  }
}

}  // namespace assay::metal::translate
