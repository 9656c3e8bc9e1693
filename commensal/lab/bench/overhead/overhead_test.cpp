// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <commensal/lab/bench/overhead/overhead.hpp>

namespace commensal::lab::bench::overhead {
namespace {

// What it measures is no business of a test; that all three servers answer and sign is.
TEST(Overhead, DrivesAllThreeServers) {
  OverheadOptions options;
  options.model = core::Path(COMMENSAL_SOURCE_DIR) / "models/digits/digits.onnx";
  options.folder = core::Path(::testing::TempDir()) / fmt::format("overhead-{}", ::getpid());
  options.rounds = 2;
  options.requests = 24;
  options.in_flight = 8;
  std::filesystem::create_directories(options.folder);
  const auto found = measure_overhead(options, core::SystemClock());
  std::filesystem::remove_all(options.folder);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_GT(found->plain_s, 0);
  EXPECT_GE(found->batch, 1);
  EXPECT_LE(found->batch, 8);
}

TEST(Overhead, SaysThatThereIsNoModel) {
  OverheadOptions options;
  options.model = "no-such-model.onnx";
  EXPECT_FALSE(measure_overhead(options, core::SystemClock()));
}

}  // namespace
}  // namespace commensal::lab::bench::overhead
