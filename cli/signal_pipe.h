// Signals as something that poll() can wait for.
#pragma once

#include "base/descriptor.h"

namespace assay::cli {

// While it exists, SIGINT, SIGTERM, SIGHUP and SIGWINCH are noted and do nothing else. Only one may exist at a time.
class SignalPipe {
 public:
  SignalPipe();
  ~SignalPipe();
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;

  // Readable when a signal has come.
  [[nodiscard]] int descriptor() const { return ends_.ours.number(); }

  // Which have come since the last call.
  struct Arrived {
    bool interrupt = false;  // SIGINT
    bool end = false;        // SIGTERM, SIGHUP: whoever sent it does not wait for long
    bool resize = false;     // SIGWINCH
  };
  [[nodiscard]] Arrived take();

 private:
  base::Ends ends_;
};

}  // namespace assay::cli
