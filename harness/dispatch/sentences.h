// Collects what a check finds, each as a sentence that begins with the dispatch of the trace.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "harness/dispatch/check.h"
#include "harness/dispatch/trace.h"

namespace assay::harness {

class Sentences {
 public:
  Sentences(const Trace& trace, TraceCheck& check) : trace_(trace), check_(check) {}

  // The dispatch of the trace that the following sentences are about.
  void set_dispatch(std::size_t number) { at_ = number; }

  template <typename... Arguments>
  void differ(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    check_.differences.push_back(of_dispatch(fmt::format(text, std::forward<Arguments>(arguments)...)));
  }
  // A buffer that is too short.
  template <typename... Arguments>
  void lack_room(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    check_.lacks_room = true;
    differ(text, std::forward<Arguments>(arguments)...);
  }
  // Something that is allowed, and worth a line.
  template <typename... Arguments>
  void remark(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    check_.remarks.push_back(of_dispatch(fmt::format(text, std::forward<Arguments>(arguments)...)));
  }
  // Something that is allowed, and common.
  template <typename... Arguments>
  void tolerate(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    check_.tolerated.push_back(of_dispatch(fmt::format(text, std::forward<Arguments>(arguments)...)));
  }

 private:
  [[nodiscard]] std::string of_dispatch(const std::string& sentence) const {
    return fmt::format("dispatch {} '{}': {}", at_, trace_.dispatches[at_].function, sentence);
  }

  const Trace& trace_;
  TraceCheck& check_;
  std::size_t at_ = 0;
};

}  // namespace assay::harness
