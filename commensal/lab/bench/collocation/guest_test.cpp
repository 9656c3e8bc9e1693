// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <commensal/lab/bench/collocation/guest.hpp>

namespace commensal::lab::bench::collocation {
namespace {

class Obliging final : public core::Pacer {
 public:
  bool pace(std::int64_t) override { return goes_on; }
  bool yield() override { return goes_on; }
  std::atomic<bool> goes_on = true;
};

TEST(Gate, StopsWhomItsRuleWouldLet) {
  using namespace std::chrono_literals;
  Obliging rule;
  Gate gate(rule);
  std::atomic<int> done = 0;
  std::jthread guest([&](const std::stop_token& stop) {
    while (!stop.stop_requested() && gate.pace(1) && gate.yield()) ++done;
  });
  const auto grows = [&] {
    const int before = done;
    for (int i = 0; i < 500 && done == before; ++i) std::this_thread::sleep_for(10ms);
    return done > before;
  };
  EXPECT_TRUE(grows());
  gate.stop();
  std::this_thread::sleep_for(50ms);  // what was under way
  const int before = done;
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(done, before);
  gate.let();
  EXPECT_TRUE(grows());
  rule.goes_on = false;
  guest.join();  // who is to give up is told
}

}  // namespace
}  // namespace commensal::lab::bench::collocation
