// How many processors this process may use: what the scheduler and control groups allow.
#include "base/processors.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace assay::tests::processors_test {
namespace {

using base::processors_of_quota;
using base::usable_processors;

TEST(Processors, QuotasAreRoundedUp) {
  EXPECT_EQ(processors_of_quota("200000 100000"), 2U);
  EXPECT_EQ(processors_of_quota("150000 100000\n"), 2U);
  EXPECT_EQ(processors_of_quota("1000 100000"), 1U);
  EXPECT_EQ(processors_of_quota("50000 25000"), 2U);
  EXPECT_EQ(processors_of_quota("18446744073709551615 1"), 65536U);
}

TEST(Processors, WhatIsNoQuotaSetsNoLimit) {
  for (const char* text : {"max 100000", "", "200000", "200000 0", "0 100000", "many 100000"})
    EXPECT_EQ(processors_of_quota(text), 0U) << text;
}

// In a process of its own, which has not asked before.
TEST(Processors, OneThatTheSchedulerAllowsIsOne) {
  const pid_t child = fork();
  if (child == 0) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0) _exit(2);
    _exit(usable_processors() == 1 ? 0 : 1);
  }
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace assay::tests::processors_test
