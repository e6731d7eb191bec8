// The user's key: made once, private, refused if others could read it; and what is sealed with it.
#include "base/user_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/files.h"

namespace assay::tests::user_key_test {
namespace {

using namespace ::testing;
namespace fs = std::filesystem;

class UserKey : public Test {
 protected:
  UserKey() { setenv("ASSAY_KEY", file().c_str(), 1); }
  ~UserKey() override { unsetenv("ASSAY_KEY"); }
  [[nodiscard]] fs::path file() const { return folder_.path() / "state" / "key"; }
  [[nodiscard]] static std::string seal(const std::string& text, const std::string& purpose = "test") {
    return base::user_seal(purpose).add(text).hex();
  }
  static std::string refusal() {
    try {
      (void)base::user_seal("test");
    } catch (const base::UserKeyError& error) {
      return error.what();
    }
    return "accepted";
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(UserKey, IsMadeOnceForThisUserAlone) {
  const std::string first = seal("a");
  EXPECT_EQ(seal("a"), first);
  EXPECT_NE(seal("b"), first);
  EXPECT_NE(seal("a", "another purpose"), first);
  EXPECT_NE(base::Hash().add("test").add("a").hex(), first) << "without the key";
  struct stat status = {};
  ASSERT_EQ(stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_EQ(status.st_size, 32);
  fs::remove(file());
  EXPECT_NE(seal("a"), first) << "with another key";
}

TEST_F(UserKey, IsTheSameForAllThatMakeItAtOnce) {
  std::vector<std::string> seals(8);
  {
    std::vector<std::jthread> threads;
    for (std::string& one : seals) threads.emplace_back([&one] { one = seal("a"); });
  }
  EXPECT_EQ(std::set<std::string>(seals.begin(), seals.end()).size(), 1U);
  EXPECT_EQ(std::distance(fs::directory_iterator(file().parent_path()), fs::directory_iterator()), 1) << "nothing is left behind";
}

TEST_F(UserKey, ThatOthersCouldKnowIsRefused) {
  (void)seal("a");
  fs::permissions(file(), fs::perms(0644));
  EXPECT_THAT(refusal(), AllOf(HasSubstr("could be read by other users"), HasSubstr(file().string()), HasSubstr("remove it")));
  fs::remove(file());
  std::ofstream(file()) << "short";
  fs::permissions(file(), fs::perms(0600));
  EXPECT_THAT(refusal(), HasSubstr("is not a file of 32 bytes"));
  fs::rename(file(), file().string() + "2");
  fs::create_symlink(file().string() + "2", file());
  EXPECT_THAT(refusal(), HasSubstr("cannot be read")) << "a symbolic link";
  fs::remove(file());
  ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);
  EXPECT_THAT(refusal(), HasSubstr("is not a file of 32 bytes")) << "it has no writer, and the reader does not wait";
}

TEST_F(UserKey, ThatCannotBeMadeIsRefusedWithTheRemedy) {
  setenv("ASSAY_KEY", "/proc/nowhere/key", 1);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("/proc/nowhere/key"), HasSubstr("set ASSAY_KEY")));
}

TEST_F(UserKey, LiesInTheFolderOfStates) {
  const auto with = [](const char* name, const char* value, const std::function<void()>& body) {
    const char* before = std::getenv(name);
    const std::string kept = before == nullptr ? "" : before;
    setenv(name, value, 1);
    body();
    before == nullptr ? unsetenv(name) : setenv(name, kept.c_str(), 1);
  };
  unsetenv("ASSAY_KEY");
  with("XDG_STATE_HOME", "/state", [] { EXPECT_EQ(base::user_key_file(), "/state/assay/key"); });
  with("XDG_STATE_HOME", "",
       [&] { with("HOME", "/home/me", [] { EXPECT_EQ(base::user_key_file(), "/home/me/.local/state/assay/key"); }); });
}

}  // namespace
}  // namespace assay::tests::user_key_test
