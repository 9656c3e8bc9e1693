// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/collocation/probe/cpu.hpp>
#include <commensal/collocation/probe/throttle.hpp>
#include <fstream>

namespace commensal::probe {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST(CpuTicks, LeaveOutIdleAndWaiting) {
  const auto ticks = parse_cpu_ticks("cpu  100 20 30 1000 50 5 6 7 40 1\ncpu0 1 2 3\n");
  ASSERT_TRUE(ticks);
  EXPECT_EQ(ticks->busy, 168U);
  EXPECT_EQ(ticks->stolen, 7U);
  EXPECT_EQ(ticks->all, 1218U);
  for (const char* bad :
       {"", "cpu", "cpu \n", "cpu  1 2 3\n", "cpu0 1 2 3 4 5 6 7 8\n", "cpu  1 2 3 -4 5 6 7 8\n"})
    EXPECT_FALSE(parse_cpu_ticks(bad)) << bad;
}

class CpuMeters : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    const core::Path path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void put_process(int pid, int ticks, int start) {
    put("proc/" + std::to_string(pid) + "/stat",
        std::to_string(pid) + " (name of " + std::to_string(pid) + ") S 1 1 1 0 -1 0 0 0 0 0 " +
            std::to_string(ticks) + " 0 0 0 20 0 1 0 " + std::to_string(start) + " 0 0\n");
  }

  const core::TemporaryFolder folder_ = *core::TemporaryFolder::make("cpu");
  core::ManualClock clock_;
  CpuMeter meter_{clock_, folder_.path() / "proc", folder_.path() / "sys"};
  const int ticks_per_s_ = static_cast<int>(sysconf(_SC_CLK_TCK));
};

TEST_F(CpuMeters, HaveNothingWhereNothingIs) {
  for (int i = 0; i < 2; ++i) {
    const CpuReading reading = meter_.read();
    EXPECT_FALSE(reading.busy);
    EXPECT_FALSE(reading.energy_j);
    EXPECT_THAT(reading.processes, IsEmpty());
    clock_.advance_ms(1000);
  }
}

TEST_F(CpuMeters, TellWhatHappenedSinceTheLookBefore) {
  put("proc/stat", "cpu  100 0 0 100 0 0 0 0\n");
  put("sys/class/powercap/intel-rapl:0/energy_uj", "5000000\n");
  put("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "9000000\n");
  put("sys/class/powercap/intel-rapl:0:0/energy_uj", "1\n");
  put_process(7, 0, 1);
  put_process(8, 0, 2);
  put_process(9, 500, 3);
  const CpuReading first = meter_.read();
  EXPECT_FALSE(first.busy);
  EXPECT_FALSE(first.energy_j);
  EXPECT_THAT(first.processes, IsEmpty());

  clock_.advance_ms(2000);
  put("proc/stat", "cpu  160 0 0 140 0 0 0 0\n");
  put("sys/class/powercap/intel-rapl:0/energy_uj", "2000000\n");  // past its range
  put("sys/class/powercap/intel-rapl:0:0/energy_uj", "70000000\n");
  put_process(7, ticks_per_s_ / 2, 1);
  put_process(8, 3 * ticks_per_s_, 2);
  put_process(9, 9000, 4);  // another process by now
  const CpuReading second = meter_.read();
  EXPECT_DOUBLE_EQ(second.seconds, 2);
  EXPECT_DOUBLE_EQ(*second.busy, 0.6);
  EXPECT_DOUBLE_EQ(*second.energy_j, 6);
  ASSERT_THAT(second.processes, SizeIs(2));
  EXPECT_EQ(second.processes[0].pid, 8);
  EXPECT_EQ(second.processes[0].name, "name of 8");
  EXPECT_DOUBLE_EQ(second.processes[0].processors, 1.5);
  EXPECT_DOUBLE_EQ(second.processes[1].processors, 0.25);
}

TEST_F(CpuMeters, TellOfHeatWhereItIsCounted) {
  const core::Path folder = folder_.path() / "sys";
  EXPECT_FALSE(ThrottleMonitor(nullptr, folder).is_on()) << "nobody counts";
  put("sys/cpu0/thermal_throttle/core_throttle_count", "7\n");
  put("sys/cpu1/thermal_throttle/package_throttle_count", "0\n");
  ThrottleMonitor limits(nullptr, folder);
  EXPECT_FALSE(limits.is_on()) << "that was before";
  put("sys/cpu1/thermal_throttle/package_throttle_count", "1\n");
  EXPECT_TRUE(limits.is_on());
  EXPECT_FALSE(limits.is_on()) << "it is over";
  std::filesystem::remove_all(folder / "cpu0");
  EXPECT_FALSE(limits.is_on()) << "a processor went";
  put("sys/cpu1/thermal_throttle/package_throttle_count", "2\n");
  EXPECT_TRUE(limits.is_on());
}

TEST_F(CpuMeters, ReadThisMachine) {
  const core::SystemClock clock;
  CpuMeter meter(clock);
  (void)meter.read();
  volatile double work = 0;
  std::optional<double> mine;
  while (!mine) {
    for (int i = 0; i < 20'000'000; ++i) work = work + i;
    const CpuReading reading = meter.read();
    ASSERT_TRUE(reading.busy);
    EXPECT_GE(*reading.busy, 0);
    EXPECT_LE(*reading.busy, 1);
    for (const ProcessLoad& one : reading.processes) {
      if (one.pid == getpid()) mine = one.processors;
    }
  }
  EXPECT_GT(*mine, 0);
}

}  // namespace
}  // namespace commensal::probe
