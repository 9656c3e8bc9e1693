// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <commensal/base/store/state_folder.hpp>

namespace commensal::store {
namespace {

TEST(StateFolder, KeepsItsKeyAndIsHeldByOne) {
  const core::Path path = core::Path(::testing::TempDir()) / fmt::format("state{}", ::getpid());
  core::CounterRng rng(1);
  crypto::Address address;
  {
    const auto folder = StateFolder::open(path, rng);
    ASSERT_TRUE(folder.has_value()) << folder.error().message;
    address = folder->key().address();
    EXPECT_EQ(StateFolder::open(path, rng).error().code, core::ErrorCode::kFailedPrecondition);
  }
  EXPECT_EQ(StateFolder::open(path, rng)->key().address(), address);
  const auto mode = std::filesystem::status(path / "key").permissions();
  EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  ASSERT_TRUE(core::write_file_atomically(path / "key", core::as_bytes("no key")));
  EXPECT_EQ(StateFolder::open(path, rng).error().code, core::ErrorCode::kInvalidArgument);
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace commensal::store
