// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/collocation/probe/throttle.hpp>
#include <fstream>

namespace commensal::probe {
namespace {

TEST(ThrottleMonitor, TellsBesidesWhetherHeatHoldsTheHostBack) {
  const auto folder = *core::TemporaryFolder::make("throttle");
  const core::Path counter = folder.path() / "counter";
  const core::Path heat = folder.path() / "cpu0/thermal_throttle/core_throttle_count";
  std::filesystem::create_directories(heat.parent_path());
  std::ofstream(counter) << "17\n";
  std::ofstream(heat) << "3\n";
  const core::SystemClock clock;
  auto opened = open("counter:" + counter.string(), {clock});
  ASSERT_TRUE(opened) << opened.error().message;
  const auto probe = with_monitor(std::move(*opened), ThrottleMonitor(nullptr, folder.path()));
  EXPECT_EQ(probe->traits().quantity, Quantity::kWork);
  const Sample cool = probe->sample();
  EXPECT_EQ(cool.value, 17);
  EXPECT_FALSE(cool.is_throttled);
  std::ofstream(heat) << "4\n";
  EXPECT_TRUE(probe->sample().is_throttled);
  EXPECT_FALSE(probe->sample().is_throttled);
}

}  // namespace
}  // namespace commensal::probe
