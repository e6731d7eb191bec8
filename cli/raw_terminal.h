// A terminal of which a command has the whole screen, and every key as it is pressed.
#pragma once

#include <termios.h>

#include <cstddef>
#include <optional>

namespace assay::cli {

// Standard input and standard output. While it exists, the terminal shows a screen of the command's own; the destructor restores what was
// there before. Ctrl-C still sends SIGINT; Ctrl-Z and Ctrl-\ do nothing, because the shell would find the terminal changed.
class RawTerminal {
 public:
  RawTerminal();
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // Gives the terminal back for a while, to a command that prints lines.
  void leave();
  void enter();
  // Between leave() and enter(): makes key() work.
  void read_keys();

  // The key that was pressed; nothing if none was. A key that sends several bytes, such as an arrow, is '\0'.
  [[nodiscard]] std::optional<char> key() const;

  struct Size {
    std::size_t columns = 80;
    std::size_t lines = 24;
  };
  [[nodiscard]] static Size size();

 private:
  void restore_keys() const;

  termios before_ = {};
  bool is_entered_ = false;
};

}  // namespace assay::cli
