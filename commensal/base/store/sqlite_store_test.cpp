// SPDX-License-Identifier: Apache-2.0
// What only the twin on disk can get wrong: foreign files, and being killed.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/base/store/sqlite_store.hpp>
#include <commensal/base/store/testing/killed_child.hpp>

namespace commensal::store {
namespace {

using namespace testing;
using core::Bytes;
using core::ByteView;
using core::Path;

class SqliteStoreTest : public ::testing::Test {
 protected:
  SqliteStoreTest() { std::filesystem::create_directories(folder_); }
  ~SqliteStoreTest() override { std::filesystem::remove_all(folder_); }

  std::string refusal(const Path& path) {
    const auto store = open_sqlite_store(path);
    return store ? "opened" : store.error().message;
  }
  void execute(const Path& path, const char* statements) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, statements, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }

  Path folder_ = Path(::testing::TempDir()) / fmt::format("commensal_sqlite_{}", ::getpid());
  Path path_ = folder_ / "store.db";
};

TEST_F(SqliteStoreTest, RefusesWhatIsNotItsOwn) {
  ASSERT_TRUE(core::write_file_atomically(path_, Bytes(5000, 'x')));
  EXPECT_NE(refusal(path_).find("store.db': store: cannot"), std::string::npos) << refusal(path_);
  EXPECT_EQ(open_sqlite_store(path_).error().code, core::ErrorCode::kFailedPrecondition);

  const Path foreign = folder_ / "foreign.db";
  execute(foreign, "CREATE TABLE entries(space, key, value)");
  const Bytes before = *core::read_file(foreign);
  EXPECT_NE(refusal(foreign).find("the database of another program"), std::string::npos);
  EXPECT_EQ(*core::read_file(foreign), before);

  const Path newer = folder_ / "newer.db";
  ASSERT_TRUE(open_sqlite_store(newer));
  execute(newer, "PRAGMA user_version=4");
  EXPECT_NE(refusal(newer).find("another version of commensal wrote it (schema 4, expected 3)"),
            std::string::npos);

  EXPECT_EQ(open_sqlite_store(folder_ / "no" / "folder.db").error().code,
            core::ErrorCode::kNotFound);
  EXPECT_FALSE(open_sqlite_store(folder_));
}

// What is deleted makes room for what comes next, and much of it is the disk's again.
TEST_F(SqliteStoreTest, AFileOfWhichMuchIsDeletedShrinks) {
  const auto store = *open_sqlite_store(path_);
  const auto bytes = [&] { return std::filesystem::file_size(path_); };
  const auto key = [](int i) {
    return Bytes{static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)};
  };
  constexpr int kRows = 2000;
  for (int i = 0; i < kRows; ++i) ASSERT_TRUE(store->apply({{"a", key(i), Bytes(4000)}}));
  // In a window that moves on it grows no more.
  for (int i = kRows; i < 2 * kRows; ++i) {
    ASSERT_TRUE(store->apply({{"a", key(i), Bytes(4000)}, {"a", key(i - kRows), std::nullopt}}));
  }
  const auto full = bytes();
  EXPECT_LT(full, 12'000'000u);
  for (int i = kRows; i < 2 * kRows; ++i) ASSERT_TRUE(store->apply({{"a", key(i), std::nullopt}}));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(store->apply({{"b", key(i), Bytes(1)}}));
  const Path wal = path_.string() + "-wal";
  EXPECT_LT(std::filesystem::file_size(wal), 17'000'000u);
  EXPECT_LT(bytes(), full / 2);
}

TEST_F(SqliteStoreTest, IsPrivateToItsOwner) {
  const auto store = *open_sqlite_store(path_);
  ASSERT_TRUE(store->apply({{"a", {1}, Bytes{1}}}));
  for (const auto& file : std::filesystem::directory_iterator(folder_)) {
    struct stat status {};
    ASSERT_EQ(::stat(file.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 077u, 0u) << file.path();
  }
}

TEST_F(SqliteStoreTest, TwoOpenersSeeEachOthersBatches) {
  const auto one = *open_sqlite_store(path_);
  const auto two = *open_sqlite_store(path_);
  ASSERT_TRUE(one->apply({{"a", {1}, Bytes{1}}}));
  EXPECT_EQ(*two->get("a", Bytes{1}), Bytes{1});
  ASSERT_TRUE(two->apply({{"a", {1}, Bytes{2}}}));
  EXPECT_EQ(*one->get("a", Bytes{1}), Bytes{2});
}

// A batch writes its number under kBatchKeys keys; number i stands in all of them or in none.
constexpr std::uint8_t kBatchKeys = 5;

Bytes number_bytes(std::uint32_t number) {
  Bytes bytes(400);  // larger than a cell's share of a page: a batch spans pages
  for (int i = 0; i < 4; ++i) {
    bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(number >> (8 * (3 - i)));
  }
  return bytes;
}

/// Lets a child write for a while, kills it and returns the last number that it acknowledged.
std::uint32_t killed_after(const Path& path, std::uint32_t from, std::uint32_t delay_us) {
  return last_word_of_killed(from - 1, delay_us, [&](const auto& say) {
    const auto store = open_sqlite_store(path);
    if (!store) return 1;
    for (std::uint32_t number = from;; ++number) {
      core::Store::Batch batch;
      for (std::uint8_t key = 0; key < kBatchKeys; ++key) {
        batch.push_back({"last", {key}, number_bytes(number)});
      }
      Bytes own = number_bytes(number);
      own.resize(4);
      batch.push_back({"all", own, Bytes(1)});
      if (!(*store)->apply(batch)) return 2;
      say(number);
    }
  });
}

TEST_F(SqliteStoreTest, AKillLosesNothingAcknowledgedAndTearsNoBatch) {
  core::CounterRng rng(8);
  std::uint32_t next = 1;
  for (int round = 0; round < 40; ++round) {
    const std::uint32_t acknowledged = killed_after(path_, next, rng.next_u32() % 12'000);
    ASSERT_GE(acknowledged, next);
    const auto store = *open_sqlite_store(path_);
    const auto last = *store->get("last", Bytes{0});
    ASSERT_TRUE(last);
    // The one batch in flight may be there as well.
    ASSERT_TRUE(*last == number_bytes(acknowledged) || *last == number_bytes(acknowledged + 1));
    for (std::uint8_t key = 1; key < kBatchKeys; ++key) {
      ASSERT_EQ(*store->get("last", Bytes{key}), last);
    }
    std::uint32_t count = 0;
    ASSERT_TRUE(store->scan("all", {}, [&](ByteView, ByteView) { return ++count > 0; }));
    next = 1 + (*last == number_bytes(acknowledged) ? acknowledged : acknowledged + 1);
    ASSERT_EQ(count, next - 1);
  }
}

}  // namespace
}  // namespace commensal::store
