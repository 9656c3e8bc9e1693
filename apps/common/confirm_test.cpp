// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): posix_openpt
#include <unistd.h>

#include <apps/common/confirm.hpp>

namespace commensal::apps {
namespace {

/// What is said to a question on a terminal where somebody types that.
bool told(const std::string& typed) {
  const int keyboard = ::posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT_GE(keyboard, 0);
  EXPECT_EQ(::grantpt(keyboard), 0);
  EXPECT_EQ(::unlockpt(keyboard), 0);
  std::FILE* const screen = ::fdopen(::open(::ptsname(keyboard), O_RDWR | O_NOCTTY), "r+");
  EXPECT_NE(screen, nullptr);
  EXPECT_EQ(::write(keyboard, typed.data(), typed.size()), static_cast<ssize_t>(typed.size()));
  const bool is_so = is_confirmed("remove it?", screen, screen);
  std::fclose(screen);
  ::close(keyboard);
  return is_so;
}

TEST(Confirm, KnowsAYes) {
  for (const char* yes : {"y", "Y", "yes", "YES", " yes \r\n"}) EXPECT_TRUE(says_yes(yes)) << yes;
  for (const char* no : {"", "\n", "n", "no", "yes!", "ye", "oyes"})
    EXPECT_FALSE(says_yes(no)) << no;
}

TEST(Confirm, AsksOnATerminal) {
  EXPECT_TRUE(told("yes\n"));
  EXPECT_FALSE(told("no\n"));
  EXPECT_FALSE(told("\n"));
  EXPECT_FALSE(told("\x04"));  // the end of the input
}

TEST(Confirm, AsksNoScript) {
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  EXPECT_TRUE(is_confirmed("remove it?", file, file));
  EXPECT_EQ(std::ftell(file), 0);
  std::fclose(file);
}

}  // namespace
}  // namespace commensal::apps
