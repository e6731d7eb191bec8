// One process after the other, also if one dies in its turn.
#include "base/turns.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

namespace assay::tests::turns_test {
namespace {

using base::Turns;
using std::chrono::milliseconds;

TEST(Turns, AnotherProcessWaitsForItsTurn) {
  Turns turns;
  const pid_t child = [&] {
    const Turns::Turn mine = turns.take(milliseconds(1000));
    EXPECT_TRUE(mine.is_taken());
    const pid_t forked = fork();
    if (forked == 0) _exit(turns.take(milliseconds(20)).is_taken() ? 1 : turns.take(milliseconds(20000)).is_taken() ? 0 : 2);
    usleep(200000);
    return forked;
  }();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "1: it did not wait; 2: the turn never came";
}

TEST(Turns, TheTurnOfADeadProcessIsOver) {
  Turns turns;
  const pid_t child = fork();
  if (child == 0) {
    const Turns::Turn mine = turns.take(milliseconds(1000));
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  for (int turn = 0; turn < 2; ++turn) EXPECT_TRUE(turns.take(milliseconds(20000)).is_taken()) << turn;
}

}  // namespace
}  // namespace assay::tests::turns_test
