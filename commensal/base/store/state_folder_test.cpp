// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <commensal/base/store/memory_store.hpp>
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

// The fault: a new key was made, and then refused for being another's.
TEST(StateFolder, MakesNoKeyWhereAnotherIsMissing) {
  const core::Path path = core::Path(::testing::TempDir()) / fmt::format("keyless{}", ::getpid());
  core::CounterRng rng(3);
  const core::Path key = StateFolder::plain_key_in(path);
  const std::string owner =
      crypto::to_text(StateFolder::open(path, "provider", rng)->key().address());
  ASSERT_TRUE(std::filesystem::remove(key));
  EXPECT_EQ(StateFolder::open(path, "provider", rng).error().message,
            fmt::format("'{}' is missing, and this folder is of {}: put its key back", key.string(),
                        owner));
  EXPECT_FALSE(std::filesystem::exists(key));
  EXPECT_FALSE(StateFolder::may_make_key(path, key));
  ASSERT_TRUE(std::filesystem::remove(path / "state.sqlite"));
  EXPECT_TRUE(StateFolder::open(path, "provider", rng)) << "nothing is of the old key";
  std::filesystem::remove_all(path);
}

TEST(StateFolder, MayHaveItsStoreElsewhereForGood) {
  const core::Path path = core::Path(::testing::TempDir()) / fmt::format("else{}", ::getpid());
  core::CounterRng rng(5);
  const auto elsewhere = std::make_shared<MemoryStore>();
  const auto refused = [&](const std::shared_ptr<core::Store>& store) {
    const auto folder = StateFolder::open(path, "gateway", rng, {}, store);
    return folder ? "accepted" : folder.error().message;
  };
  const auto folder = StateFolder::open(path, "gateway", rng, {}, elsewhere);
  ASSERT_TRUE(folder.has_value()) << folder.error().message;
  EXPECT_EQ(&folder->store(), elsewhere.get());
  EXPECT_EQ(refused(elsewhere), "accepted") << "who was asleep may still have the folder";
  EXPECT_EQ(refused(nullptr),
            fmt::format("the state of the folder '{}' is in a database: expected its URL",
                        path.string()));
  const std::string owner = crypto::to_text(folder->key().address());
  ASSERT_TRUE(std::filesystem::remove(StateFolder::plain_key_in(path)));
  EXPECT_EQ(refused(elsewhere),
            fmt::format("'{}' is missing, and this folder is of {}: put its key back",
                        StateFolder::plain_key_in(path).string(), owner));
  std::filesystem::remove_all(path);
  EXPECT_EQ(refused(nullptr), "accepted");
  EXPECT_NE(refused(elsewhere).find("has its state in state.sqlite"), std::string::npos);
  std::filesystem::remove_all(path);
}

TEST(StateFolder, IsNotAFolderOfSomethingElse) {
  const core::Path path = core::Path(::testing::TempDir()) / fmt::format("other{}", ::getpid());
  core::CounterRng rng(4);
  std::filesystem::create_directories(path / "lost+found");
  const auto put = [&](const char* name) {
    return core::write_file_atomically(path / name, core::as_bytes("x")).has_value();
  };
  ASSERT_TRUE(put("model.onnx"));
  EXPECT_EQ(StateFolder::open(path, "gateway", rng).error().message,
            fmt::format("'{}' holds other files: expected an empty or new folder, or a gateway's",
                        path.string()));
  EXPECT_FALSE(std::filesystem::exists(path / "lock"));
  ASSERT_TRUE(std::filesystem::remove(path / "model.onnx") && put(".hidden"));
  EXPECT_TRUE(StateFolder::open(path, "gateway", rng)) << "a file system's own do not count";
  ASSERT_TRUE(put("gateway.log"));
  EXPECT_TRUE(StateFolder::open(path, "gateway", rng));
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
