// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/collocation/machine/limited_probe.hpp>
#include <fstream>

namespace commensal::machine {
namespace {

TEST(LimitedProbeTest, TellsBesidesWhetherHeatHoldsTheHostBack) {
  const auto folder = *core::TemporaryFolder::make("limits");
  const core::Path counter = folder.path() / "counter";
  const core::Path heat = folder.path() / "cpu0/thermal_throttle/core_throttle_count";
  std::filesystem::create_directories(heat.parent_path());
  std::ofstream(counter) << "17\n";
  std::ofstream(heat) << "3\n";
  const core::SystemClock clock;
  auto opened = probe::open("counter:" + counter.string(), {clock});
  ASSERT_TRUE(opened) << opened.error().message;
  const auto probe = with_limits(std::move(*opened), device::Limits(nullptr, folder.path()));
  EXPECT_EQ(probe->traits().quantity, probe::Quantity::kWork);
  const probe::Sample cool = probe->sample();
  EXPECT_EQ(cool.value, 17);
  EXPECT_FALSE(cool.is_limited);
  std::ofstream(heat) << "4\n";
  EXPECT_TRUE(probe->sample().is_limited);
  EXPECT_FALSE(probe->sample().is_limited);
}

}  // namespace
}  // namespace commensal::machine
