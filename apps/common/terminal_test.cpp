// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <apps/common/terminal.hpp>

namespace commensal::apps {
namespace {

TEST(ForTerminal, LeavesWhatIsHarmless) {
  EXPECT_EQ(for_terminal("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x88 [31m"),
            "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x88 [31m");
  EXPECT_EQ(for_terminal(""), "");
}

TEST(ForTerminal, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(for_terminal("\x1b[2Jx\x07\x7f"), "\\x1b[2Jx\\x07\\x7f");
  EXPECT_EQ(for_terminal("\xc2\x9b"
                         "31m"),
            "\\xc2\\x9b31m");  // C1's CSI
  EXPECT_EQ(for_terminal("\xe2\x80\xae"
                         "abc"),
            "\\xe2\\x80\\xae"
            "abc");  // right to left
  EXPECT_EQ(for_terminal("\xe2\x81\xa6"), "\\xe2\\x81\\xa6");
  EXPECT_EQ(for_terminal("\xff\xfe"
                         "a\xc3"),
            "\\xff\\xfe"
            "a\\xc3");
  EXPECT_EQ(for_terminal(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(ForTerminal, KeepsLinesWhereItIsTold) {
  EXPECT_EQ(for_terminal("a\n\tb\r\n"), "a\\x0a\\x09b\\x0d\\x0a");
  EXPECT_EQ(for_terminal("a\n\tb\r\n", true), "a\n\tb\\x0d\n");
}

}  // namespace
}  // namespace commensal::apps
