// SPDX-License-Identifier: Apache-2.0
// What pushes share: threads, disks, and what is said of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/base/core/limits_uploads.hpp>
#include <commensal/base/core/rng.hpp>
#include <filesystem>
#include <future>

#include <tests/http/raw_client.hpp>
#include <tests/http/world.hpp>

namespace commensal::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Has tasks of one account stand still until it ends.
class Stuck {
 public:
  Stuck(oip::Turns& turns, const std::string& account, int tasks) {
    const std::shared_future<void> until = go_on_.get_future().share();
    for (int i = 0; i < tasks; ++i) turns.post(account, [until] { until.wait(); });
  }
  ~Stuck() { go_on_.set_value(); }

 private:
  std::promise<void> go_on_;
};

/// As large as needs pieces: another field of protobuf, which nobody knows, behind the digits.
core::Bytes model_in_pieces() {
  constexpr std::size_t kMore = 9 << 20;
  core::Bytes bytes = digits_model(), rest(kMore);
  core::CounterRng(1).fill(rest);
  bytes.insert(bytes.end(), {0xc2, 0x3e});  // field 1000: bytes
  for (std::size_t left = kMore; left > 0; left >>= 7) {
    bytes.push_back(static_cast<std::uint8_t>(left % 128 | (left >= 128 ? 128 : 0)));
  }
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  return bytes;
}

// The fault: one thread staged everybody's models in turn, and wrote their pieces too.
TEST(HttpPush, WhatOneAccountWaitsForNobodyElseDoes) {
  World world("push_turns");
  const Stuck staged(*world.services().staging, "alice", 3);
  const Stuck written(*world.services().pieces, "alice", 3);
  client::Client bob = world.client(world.bob);
  const core::Bytes small = digits_model(), large = model_in_pieces();
  ASSERT_GT(std::ssize(large), limits::kUploadPieceBytesMax);
  for (const core::Bytes& file : {small, large}) {
    const auto pushed = bob.push({.model = "bob/one", .bytes = file, .progress = {}});
    EXPECT_TRUE(pushed) << pushed.error().message;
  }
}

TEST(HttpPush, AFileThatIsGoneIsNoPathInAnAnswer) {
  World world("push_gone");
  client::Client alice = world.client(world.alice);
  const core::Bytes file = digits_model();
  ASSERT_TRUE(alice.push({.model = "alice/up", .bytes = file, .progress = {}}));
  std::filesystem::remove_all(world.folder() / "gateway/models");
  const auto gone = alice.model_content("alice/up");
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().message, HasSubstr("cannot read the model's file"));
  EXPECT_THAT(gone.error().message, Not(HasSubstr(world.folder().string())));
}

}  // namespace
}  // namespace commensal::tests
