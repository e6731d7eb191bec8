// Removes whole declarations that cannot be translated, and keeps the others.
#include <fmt/format.h>

#include <algorithm>

#include "metal/errors.h"
#include "metal/translate/translator.h"

namespace assay::metal::translate {

void Translator::end_declaration(std::size_t last) {
  if (!declaration_is_open_) return;
  declaration_is_open_ = false;
  result_.declarations_.push_back({declaration_, last});
}

void Translator::note(std::size_t token, std::string text) {
  result_.notes_.push_back({tokens_.file(token), tokens_[token].line, std::move(text)});
}

// The last token of the declaration of a namespace that begins at `first`.
std::size_t Translator::declaration_end(std::size_t first) const {
  bool is_type = false;
  for (std::size_t index = first; index < tokens_.size(); ++index) {
    const Token& token = tokens_[index];
    if (token.is("template") && tokens_[index + 1].is("<")) {
      index = tokens_.closing_angle(index + 1).value_or(index);
    } else if (token.is("(") || token.is("[")) {
      index = tokens_.closing(index);
    } else if (token.is("struct") || token.is("class") || token.is("union") || token.is("enum") || token.is("=")) {
      is_type = true;  // a type or a value: its closing brace does not end the declaration
    } else if (token.is("{")) {
      index = tokens_.closing(index);
      if (!is_type && !tokens_[index + 1].is("{") && !tokens_[index + 1].is(",")) return index;
    } else if (token.is(";")) {
      return index;
    }
  }
  return tokens_.size() - 1;
}

// Removes the declaration that `error` refers to. Returns the last token of that declaration.
std::size_t Translator::refuse_declaration(const CompileError& error) {
  if (!declaration_is_open_) throw error;
  while (!at_namespace()) frames_.pop_back();
  const std::size_t last = declaration_end(declaration_);
  declaration_is_open_ = false;

  Refusal refusal;
  refusal.reason = error.what();
  refusal.file = tokens_.file(declaration_);
  refusal.line = tokens_[declaration_].line;
  refusal.first_token = declaration_;
  refusal.last_token = last;
  const auto attributes = attributes_in(declaration_, last, false);
  refusal.is_kernel = attributes.kernel;
  const bool is_instantiation = tokens_[declaration_].is("template") && !tokens_[declaration_ + 1].is("<");
  for (std::size_t index = declaration_; index < last && !tokens_[index].is("{"); ++index) {
    const Token& token = tokens_[index];
    if (attribute_end_.contains(index)) {
      index = attribute_end_.at(index);
    } else if (token.is("template") && tokens_[index + 1].is("<")) {
      index = tokens_.closing_angle(index + 1).value_or(index);
    } else if (token.is("kernel")) {
      refusal.is_kernel = true;
    } else if (token.is("(")) {
      break;
    } else if (token.kind == TokenKind::identifier) {
      refusal.name = qualified(token.text);
    } else if (token.is("<")) {
      index = tokens_.closing_angle(index).value_or(index);
    }
  }
  refusal.function = refusal.name;
  if (!attributes.host_name.empty()) refusal.name = attributes.host_name;
  // The host has no name for a template.
  if (tokens_[declaration_].is("template")) refusal.is_kernel = is_instantiation && (refusal.is_kernel || !attributes.host_name.empty());
  const auto is_of_it = [&](std::size_t token) { return token >= declaration_ && token <= last; };
  std::erase_if(result_.kernels_, [&](const Kernel& kernel) { return is_of_it(kernel.entry_token); });
  std::erase_if(result_.constants_, [&](const FunctionConstantUse& constant) { return is_of_it(constant.last_token); });
  result_.refusals_.push_back(std::move(refusal));
  drop(declaration_, last);
  return last;
}

// The first refusal of a kernel function; if there is none, the first of all.
const Refusal& Translator::first_refusal() const {
  const auto kernel = std::find_if(result_.refusals_.begin(), result_.refusals_.end(), [](const Refusal& r) { return r.is_kernel; });
  return kernel == result_.refusals_.end() ? result_.refusals_.front() : *kernel;
}

void Translator::drop(std::size_t first, std::size_t last) {
  tokens_.remove(first, last);
  dropped_.emplace_back(first, last);
}

// Discards what was recorded about tokens that were removed later.
void Translator::forget_dropped() {
  std::sort(dropped_.begin(), dropped_.end());
  const auto is_dropped = [this](std::size_t token) {
    const auto behind =
        std::upper_bound(dropped_.begin(), dropped_.end(), token, [](std::size_t at, const auto& r) { return at < r.first; });
    return behind != dropped_.begin() && token <= std::prev(behind)->second;
  };
  std::erase_if(result_.const_thread_words_, is_dropped);
  std::erase_if(result_.thread_members_, is_dropped);
  std::erase_if(result_.unqualified_members_, is_dropped);
  std::erase_if(result_.unqualified_const_members_, is_dropped);
  std::erase_if(result_.defined_queries_, [&](const auto& query) { return is_dropped(query.first_token); });
  std::erase_if(result_.bodies_, [&](const auto& body) { return is_dropped(body.brace); });
}

}  // namespace assay::metal::translate
