// Reads clang's messages for errors that can be repaired, and repairs them.
#include "metal/compile/repair.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "metal/compile/error_lines.h"

namespace assay::metal::compile {

namespace {

using translate::Translation;

// Leaving out a function makes its users erroneous. A chain of users is rarely longer than this.
constexpr int kMostRounds = 16;

// Finds the token at a place of the text.
class Places {
 public:
  explicit Places(const Translation::Probe& probe) : probe_(probe) {
    lines_.push_back(0);
    for (std::size_t at = 0; at < probe.text.size(); ++at) {
      if (probe.text[at] == '\n') lines_.push_back(at + 1);
    }
  }

  [[nodiscard]] std::optional<std::size_t> token(const TextPlace& place) const { return at(place, 0); }
  // The tokens from the first to the last of a range.
  [[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> tokens(const std::pair<TextPlace, TextPlace>& range) const {
    const auto first = at(range.first, 0);
    const auto last = at(range.second, 1);
    if (!first || !last || *last < *first) return std::nullopt;
    return std::pair(*first, *last);
  }

 private:
  // The token that contains the character `before` characters before a place.
  [[nodiscard]] std::optional<std::size_t> at(const TextPlace& place, std::size_t before) const {
    if (place.line == 0 || place.line > lines_.size() || probe_.starts.empty()) return std::nullopt;
    const std::size_t offset = lines_[place.line - 1] + place.column - 1 - before;
    const auto behind = std::upper_bound(probe_.starts.begin(), probe_.starts.end(), offset);
    return behind == probe_.starts.begin() ? 0 : static_cast<std::size_t>(behind - probe_.starts.begin()) - 1;
  }

  const Translation::Probe& probe_;
  std::vector<std::size_t> lines_;  // start of each line
};

bool is_between_halfs(const Complaint& complaint) {
  const std::string all = complaint.text + "\n" + complaint.notes;
  return all.find("half'") != std::string::npos && (all.find("bfloat'") != std::string::npos || all.find("__bf16'") != std::string::npos);
}

bool is_step_of_pointer(const Complaint& complaint) {
  return complaint.text.starts_with("invalid operands to binary expression") && complaint.text.find("*") != std::string::npos &&
         complaint.ranges.size() == 2;
}

// Components of vectors are properties for clang, which forgets to read them where an operator of a template has several meanings.
bool load_operands(const Complaint& complaint, const Places& places, translate::Repairs& repairs) {
  bool any = false;
  for (const auto& range : complaint.ranges) {
    const auto operand = places.tokens(range);
    any = (operand && Translation::wrap(operand->first, operand->second, "loaded", repairs)) || any;
  }
  return any;
}

// Wraps the expression of an error that reports a conversion that clang lacks.
bool convert(const Complaint& complaint, const Translation& translation, const Places& places, translate::Repairs& repairs) {
  if (complaint.ranges.empty()) return false;
  const auto range = places.tokens(complaint.ranges.back());
  if (!range) return false;
  if (is_step_of_pointer(complaint)) return Translation::wrap(range->first, range->second, "steps", repairs);
  if (complaint.text.find("changes address space") != std::string::npos)
    return Translation::wrap(range->first, range->second, "placed", repairs);
  if (complaint.text.starts_with("call to constructor of") && translation.is_list(range->first))
    return Translation::wrap(range->first, range->second, "listed", repairs);
  if (!is_between_halfs(complaint)) {
    const bool is_operation = complaint.text.starts_with("invalid operands to binary expression");
    return is_operation && load_operands(complaint, places, repairs);
  }
  std::vector<std::pair<std::size_t, std::size_t>> expressions = {*range};
  if (complaint.text.starts_with("no matching function for call")) {
    expressions = translation.arguments_of(range->second + 1);
  } else if (complaint.text.starts_with("no matching con")) {  // matches both "constructor" and "conversion"
    expressions = translation.arguments_in(range->first, range->second);
  }
  bool any = false;
  for (const auto& [first, last] : expressions) any = Translation::wrap(first, last, "bridge", repairs) || any;
  return any;
}

// `before` is what was left out when clang reported the error. If clang still complains about a body that was left out, the declaration
// itself is wrong.
bool leave_out(const Complaint& complaint, const Translation& translation, const Places& places, const translate::Kernel& kernel,
               const translate::Repairs& before, translate::Repairs& repairs) {
  for (const auto& place : {complaint.requested, complaint.place}) {
    const auto token = place ? places.token(*place) : std::nullopt;
    if (token && translation.omit(*token, &kernel, before, repairs)) return true;
  }
  return false;
}

// Repairs the errors that clang reports for the file, with the kernel or without any.
class Repairer {
 public:
  Repairer(const Compiler& compiler, const Translation& translation, const translate::Kernel& kernel,
           const std::map<std::uint32_t, FunctionConstant>& constants, Translation::Rendering& rendering)
      : compiler_(compiler), translation_(translation), kernel_(kernel), constants_(constants), rendering_(rendering) {}

  // Repairs conversions of the kernel and of what it uses. Returns whether no error is left.
  bool convert_in_kernel() {
    return until_nothing_helps(&kernel_, [this](const Complaint& complaint, const Places& places) {
      return convert(complaint, translation_, places, rendering_.repairs);
    });
  }
  // Leaves out the broken parts of the rest of the file.
  void leave_out_the_broken() {
    (void)until_nothing_helps(nullptr, [this](const Complaint& complaint, const Places& places) {
      return convert(complaint, translation_, places, rendering_.repairs) ||
             leave_out(complaint, translation_, places, kernel_, before_, rendering_.repairs);
    });
  }

 private:
  template <typename Mend>
  bool until_nothing_helps(const translate::Kernel* kernel, const Mend& mend) {
    for (int round = 0; round < kMostRounds; ++round) {
      const auto probe = translation_.probe(kernel, constants_, rendering_);
      const auto complaints = compiler_.complaints(probe.text);
      if (complaints.empty()) return true;
      const Places places(probe);
      before_ = rendering_.repairs;
      bool any = false;
      for (const auto& complaint : complaints) any = mend(complaint, places) || any;
      if (!any) return false;
    }
    return false;
  }

  const Compiler& compiler_;
  const Translation& translation_;
  const translate::Kernel& kernel_;
  const std::map<std::uint32_t, FunctionConstant>& constants_;
  Translation::Rendering& rendering_;
  translate::Repairs before_;  // the repairs at the start of the round
};

}  // namespace

bool repair(const Compiler& compiler, const Translation& translation, const translate::Kernel& kernel,
            const std::map<std::uint32_t, FunctionConstant>& constants, Translation::Rendering& rendering) {
  rendering.repairs.no_pragmas = true;
  Repairer repairer(compiler, translation, kernel, constants, rendering);
  // Conversions first, because they may be the only errors.
  if (repairer.convert_in_kernel()) return true;
  repairer.leave_out_the_broken();
  translation.keep_reached(kernel, rendering.repairs);
  return repairer.convert_in_kernel();
}

std::vector<BrokenKernel> broken_kernels(const Compiler& compiler, const Translation& translation) {
  const Translation::Rendering rendering = {.spaces = Translation::ThreadSpace::relaxed, .repairs = {}, .has_other_kernels = true};
  const auto probe = translation.probe(nullptr, {}, rendering);
  const Places places(probe);
  std::vector<BrokenKernel> broken;
  for (const auto& complaint : compiler.complaints(probe.text)) {
    const auto token = complaint.place ? places.token(*complaint.place) : std::nullopt;
    if (!token || !is_beyond_repair(complaint.text)) continue;
    for (const translate::Kernel& kernel : translation.kernels()) {
      const bool is_within = *token >= kernel.first_body_token && *token <= kernel.last_body_token && kernel.last_body_token != 0;
      if (is_within && (broken.empty() || broken.back().kernel != &kernel))
        broken.push_back({&kernel, translation.place_text(*token) + ": error: " + complaint.text});
    }
  }
  return broken;
}

void answer(const Compiler& compiler, const Translation& translation, translate::ConstantQuestions& questions) {
  const auto probe = translation.probe_of(questions.open);
  for (const auto& question : questions.open) questions.answers[question] = std::nullopt;
  for (const auto& complaint : compiler.complaints(probe.text)) {
    constexpr std::string_view kValue = "__assay_value<";
    const auto at = complaint.text.find(kValue);
    if (at == std::string::npos || !complaint.place || complaint.place->line < probe.first_line) continue;
    const std::size_t number = complaint.place->line - probe.first_line;
    std::int64_t value = 0;
    const char* first = complaint.text.data() + at + kValue.size();
    const auto parsed = std::from_chars(first, complaint.text.data() + complaint.text.size(), value);
    if (number < questions.open.size() && parsed.ec == std::errc()) questions.answers[questions.open[number]] = value;
  }
  questions.open.clear();
}

}  // namespace assay::metal::compile
