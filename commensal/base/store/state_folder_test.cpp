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
    const auto folder = StateFolder::open(path, "provider", rng);
    ASSERT_TRUE(folder.has_value()) << folder.error().message;
    address = folder->key().address();
    EXPECT_EQ(StateFolder::open(path, "provider", rng).error().code,
              core::ErrorCode::kFailedPrecondition);
  }
  EXPECT_EQ(StateFolder::open(path, "provider", rng)->key().address(), address);
  EXPECT_EQ(StateFolder::open(path, "gateway", rng).error().message,
            fmt::format("the folder '{}' has the role provider, expected gateway", path.string()));
  const auto mode = std::filesystem::status(path / "key").permissions();
  EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  ASSERT_TRUE(core::write_file_atomically(path / "key", core::as_bytes("no key")));
  EXPECT_EQ(StateFolder::open(path, "provider", rng).error().code,
            core::ErrorCode::kInvalidArgument);
  std::filesystem::remove_all(path);
}

TEST(StateFolder, BelongsToOneKeyAndAsksForTheLockedOne) {
  const core::Path path = core::Path(::testing::TempDir()) / fmt::format("owned{}", ::getpid());
  core::CounterRng rng(2);
  const auto with_seed = [](std::uint64_t seed) -> KeyOpener {
    return [seed](const core::Path&) -> core::Result<crypto::SecretKey> {
      core::CounterRng dice(seed);
      return crypto::SecretKey::generate(dice);
    };
  };
  const auto refused = [&](const KeyOpener& key) {
    const auto folder = StateFolder::open(path, "provider", rng, key);
    return folder ? "accepted" : folder.error().message;
  };
  EXPECT_EQ(refused(with_seed(1)), "accepted");
  EXPECT_EQ(refused(with_seed(1)), "accepted");
  EXPECT_FALSE(std::filesystem::exists(StateFolder::plain_key_in(path)));
  EXPECT_NE(refused(with_seed(2)).find("' has the owner 0x"), std::string::npos);
  ASSERT_TRUE(core::write_file_atomically(StateFolder::keystore_in(path), core::as_bytes("{}")));
  EXPECT_EQ(refused({}), "the key in '" + StateFolder::keystore_in(path).string() +
                             "' is locked: expected a password");
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace commensal::store
