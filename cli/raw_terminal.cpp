// Changes the modes of the terminal, and restores them.
#include "cli/raw_terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "cli/say.h"

namespace assay::cli {

RawTerminal::RawTerminal() {
  tcgetattr(STDIN_FILENO, &before_);
  enter();
}

RawTerminal::~RawTerminal() {
  leave();
  restore_keys();
}

void RawTerminal::enter() {
  if (is_entered_) return;
  is_entered_ = true;
  read_keys();
  control(stdout, Control::enter_screen);
  std::fflush(stdout);
}

void RawTerminal::read_keys() {
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;
  raw.c_cc[VQUIT] = _POSIX_VDISABLE;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

void RawTerminal::leave() {
  if (!is_entered_) return;
  is_entered_ = false;
  control(stdout, Control::leave_screen);
  std::fflush(stdout);
  restore_keys();
}

// Keys that nobody waited for are not meant for the shell.
void RawTerminal::restore_keys() const { tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_); }

std::optional<char> RawTerminal::key() const {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (poll(&input, 1, 0) <= 0) return std::nullopt;
  std::array<char, 64> bytes{};
  const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
  if (count <= 0) return std::nullopt;
  return bytes[0] == '\033' ? '\0' : bytes[0];
}

RawTerminal::Size RawTerminal::size() {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

}  // namespace assay::cli
