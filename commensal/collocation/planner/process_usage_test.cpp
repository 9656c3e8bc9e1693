// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/collocation/planner/process_usage.hpp>
#include <fstream>

namespace commensal::planner {
namespace {

using testing::HasSubstr;

class Usage : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    const core::Path path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  /// Two processors: `busy` of `all` hundredths.
  void put_machine(int busy, int all) {
    put("stat", "cpu  " + std::to_string(busy) + " 0 0 " + std::to_string(all - busy) +
                    " 0 0 0 0 0 0\ncpu0 1 0 0 1\ncpu1 1 0 0 1\nintr 5\n");
    put("meminfo", "MemTotal: 8388608 kB\nMemFree: 1 kB\nMemAvailable: 6291456 kB\n");
  }
  void put_process(int ticks, int start, int voluntary) {
    put("7/stat", "7 (a miner) R 1 1 1 0 -1 0 0 0 0 0 " + std::to_string(ticks) +
                      " 0 0 0 20 0 3 0 " + std::to_string(start) + " 0 0\n");
    put("7/status", "Name:\ta miner\nVmHWM:\t 2097152 kB\nVmRSS:\t 1048576 kB\nThreads:\t3\n");
    for (const char* thread : {"7", "8"}) {
      put(std::string("7/task/") + thread + "/status", "voluntary_ctxt_switches:\t" +
                                                           std::to_string(voluntary) +
                                                           "\nnonvoluntary_ctxt_switches:\t10\n");
    }
  }

  const core::TemporaryFolder folder_ = *core::TemporaryFolder::make("usage");
  core::ManualClock clock_;
  ProcessMeter meter_{clock_, 7, folder_.path()};
  const int ticks_per_s_ = static_cast<int>(sysconf(_SC_CLK_TCK));
};

TEST_F(Usage, IsWhatHappenedBetweenTwoLooks) {
  put_machine(100, 1000);
  put_process(50, 1, 100);
  ASSERT_TRUE(meter_.begin());
  clock_.advance_ms(2000);
  put_machine(400, 1400);                      // 3 of 4 of the time
  put_process(50 + 2 * ticks_per_s_, 1, 120);  // two seconds of processor time in two seconds
  const auto used = meter_.end();
  ASSERT_TRUE(used) << used.error().message;
  EXPECT_EQ(used->name, "a_miner");
  EXPECT_EQ(used->processors, 2);
  EXPECT_DOUBLE_EQ(used->processors_own, 1);
  EXPECT_DOUBLE_EQ(used->processors_all, 1.5);
  EXPECT_EQ(used->threads, 3);
  EXPECT_EQ(used->resident_gib, 1);
  EXPECT_EQ(used->memory_gib, 8);
  EXPECT_EQ(used->memory_left_gib, 6);
  EXPECT_EQ(used->switches_voluntary, 20);  // 2 threads, 20 each, in 2 s
  EXPECT_EQ(used->switches_forced, 0);
  const auto profile = profile_of(*used);
  ASSERT_TRUE(profile);
  const auto again = parse_profile(profile_yaml(*profile, "measured"));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->compute_share, 0.5);
  EXPECT_EQ(again->memory_gib, 2);  // the most that it had
  EXPECT_EQ(again->device_memory_gib, 8);
}

TEST_F(Usage, LeavesOutWhatIsNotTold) {
  put_machine(100, 1000);
  put_process(50, 1, 100);
  for (const char* name : {"meminfo", "7/status", "7/task"}) {
    std::filesystem::remove_all(folder_.path() / name);
  }
  ASSERT_TRUE(meter_.begin());
  clock_.advance_ms(1000);
  put("stat", "cpu  200 0 0 1000 0 0 0 0 0 0\ncpu0 1 0 0 1\n");
  const auto used = meter_.end();
  ASSERT_TRUE(used) << used.error().message;
  EXPECT_FALSE(used->threads || used->resident_gib || used->memory_gib || used->switches_forced);
  EXPECT_FALSE(profile_of(*used));
}

TEST_F(Usage, RefusesAProcessThatIsNotThere) {
  put_machine(100, 1000);
  EXPECT_EQ(meter_.begin().error().message, "no process 7");
  put_process(50, 1, 100);
  ASSERT_TRUE(meter_.begin());
  EXPECT_THAT(meter_.end().error().message, HasSubstr("no time"));
  clock_.advance_ms(1000);
  put_machine(200, 1200);
  put_process(50, 2, 100);  // another one of that number
  EXPECT_THAT(meter_.end().error().message, HasSubstr("another has its number"));
  put("7/stat", "nonsense");
  EXPECT_EQ(meter_.begin().error().code, core::ErrorCode::kDataLoss);
}

}  // namespace
}  // namespace commensal::planner
