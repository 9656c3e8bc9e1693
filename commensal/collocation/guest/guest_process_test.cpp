// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/collocation/guest/guest_process.hpp>
#include <thread>

namespace commensal::guest {
namespace {

using ::testing::HasSubstr;

TEST(GuestProcessTest, HoldsNobodyWithoutAHost) {
  GuestProcess process({});
  EXPECT_TRUE(process.join());
  EXPECT_EQ(process.pacer(), nullptr);
  EXPECT_EQ(process.why_paused()(), "");
  EXPECT_FALSE(process.news(0));
  process.tell({1, 2, 3.0});
  process.release();
}

// Real threads and the real clock: it begins to govern, and lets go what it holds.
TEST(GuestProcessTest, KeepsAHostUntilItIsReleased) {
  const auto folder = core::TemporaryFolder::make("guest").value();
  const std::string counter = (folder.path() / "work").string();
  ASSERT_TRUE(core::write_file_atomically(counter, core::as_bytes("1")));
  GuestProcess process({.client = {.folder = folder.path() / "run",
                                   .host = "counter:" + counter,
                                   .guest = {.name = "test"}},
                        .is_whole = false});
  const auto why = process.why_paused();
  EXPECT_EQ(why(), "");  // nobody is kept yet
  ASSERT_TRUE(process.join());
  for (int i = 0; i < 1000 && !process.view().view; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(process.news(10)) << "nothing has begun";
  EXPECT_THAT(process.news(0).value_or(""), HasSubstr("guest waiting"));
  EXPECT_NE(why(), "");
  process.release();
  EXPECT_EQ(why(), "");
  EXPECT_FALSE(process.pacer()->pace(1));
}

TEST(GuestProcessTest, SaysAtOnceWhatIsWrongWithTheHost) {
  const auto folder = core::TemporaryFolder::make("guest").value();
  GuestProcess process({.client = {.folder = folder.path() / "run", .host = "nothing:here"}});
  EXPECT_FALSE(process.join());
}

TEST(GuestProcessTest, NamesWhatIsNotKnown) {
  View now;
  now.unit = "sol";
  EXPECT_THAT(line_of(now), HasSubstr("host no rate, alone not measured yet; what it loses is "
                                      "not known yet; guest "));
  now.governor.phase = governor::Phase::kAlone;
  EXPECT_THAT(line_of(now), HasSubstr("not known yet; host alone, budget 0.0 %"));
  now.governor.phase = governor::Phase::kOff;
  now.governor.rate = 990;
  now.governor.reference = 1000;
  now.governor.loss = 0.0031;
  now.governor.loss_high = 0.0062;
  now.governor.hour_s = 60;
  EXPECT_THAT(line_of(now), HasSubstr("host 990 sol/s, alone 1000 sol/s; lost 0.31 % (at most "
                                      "0.62 %, over 60 s); guest "));
}

}  // namespace
}  // namespace commensal::guest
