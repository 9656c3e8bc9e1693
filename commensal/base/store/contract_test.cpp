// SPDX-License-Identifier: Apache-2.0
// The contract of core::Store, run against every twin.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/store/joint_store.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/postgres_store.hpp>
#include <commensal/base/store/sqlite_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>
#include <commensal/base/store/testing/postgres_server.hpp>
#include <map>
#include <thread>

namespace commensal::store {
namespace {

using namespace testing;
using core::Bytes;
using core::ByteView;
using core::Store;

Bytes bytes(std::string_view text) { return {text.begin(), text.end()}; }

class Memory {
 public:
  Store& store() { return store_; }
  void reopen() {}  // the object is the medium

 private:
  MemoryStore store_;
};

class Sqlite {
 public:
  Sqlite() { reopen(); }
  ~Sqlite() {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  Store& store() { return *store_; }
  void reopen() {
    store_.reset();
    std::filesystem::create_directories(folder_);
    store_ = *open_sqlite_store(folder_ / "store.db");
  }

 private:
  core::Path folder_ = core::Path(::testing::TempDir()) /
                       fmt::format("commensal_contract_{}_{}", ::getpid(), fmt::ptr(this));
  std::unique_ptr<Store> store_;
};

/// One server for all tests of a process, new tables for each.
class Postgres {
 public:
  static std::optional<std::string> missing() { return PostgresServer::missing_package(); }
  Postgres() {
    server().psql("DROP TABLE IF EXISTS commensal_entries, commensal_writer");
    reopen();
  }
  Store& store() { return *store_; }
  void reopen() {
    store_.reset();  // which gives its lease back
    store_ =
        *open_postgres_store(server().url(), {.owner = "a test", .silence_ms = 120'000}, clock_);
  }

 private:
  static PostgresServer& server() {
    static PostgresServer one;
    return one;
  }
  core::SystemClock clock_;
  std::unique_ptr<Store> store_;
};

/// A fault store whose fault never comes must be transparent.
class Faultless {
 public:
  Store& store() { return store_; }
  void reopen() {}

 private:
  MemoryStore inner_;
  FaultStore store_{inner_, ~std::uint64_t{0}, Fault::kCrashBefore};
};

/// Half of what is written lies below, half is held.
class Joint {
 public:
  Store& store() {
    if (++calls_ % 2 == 0) {
      joint_.hold();
    } else if (calls_ > 1) {
      EXPECT_TRUE(joint_.release());
    }
    return joint_;
  }
  void reopen() {}

 private:
  MemoryStore inner_;
  JointStore joint_{inner_};
  int calls_ = 0;
};

template <class Twin>
class StoreContract : public ::testing::Test {
 protected:
  void SetUp() override {
    if constexpr (requires { Twin::missing(); }) {
      if (const auto missing = Twin::missing()) GTEST_SKIP() << *missing;
    }
    twin_.emplace();
  }
  Store& store() { return twin_->store(); }
  void put(std::string_view space, Bytes key, Bytes value) {
    ASSERT_TRUE(store().apply({{std::string(space), std::move(key), std::move(value)}}));
  }
  std::optional<Bytes> get(std::string_view space, const Bytes& key) {
    return *store().get(space, key);
  }
  std::vector<Bytes> keys(std::string_view space, const Bytes& prefix) {
    std::vector<Bytes> found;
    EXPECT_TRUE(store().scan(space, prefix, [&](ByteView key, ByteView) {
      found.emplace_back(key.begin(), key.end());
      return true;
    }));
    return found;
  }

  std::optional<Twin> twin_;
};
using Twins = ::testing::Types<Memory, Sqlite, Postgres, Faultless, Joint>;
TYPED_TEST_SUITE(StoreContract, Twins);

TYPED_TEST(StoreContract, ReadsWhatWasWritten) {
  EXPECT_EQ(this->get("a", bytes("k")), std::nullopt);
  this->put("a", bytes("k"), bytes("one"));
  this->put("b", bytes("k"), bytes("two"));
  EXPECT_EQ(this->get("a", bytes("k")), bytes("one"));
  EXPECT_EQ(this->get("b", bytes("k")), bytes("two"));
  this->put("a", bytes("k"), bytes("three"));
  EXPECT_EQ(this->get("a", bytes("k")), bytes("three"));
}

TYPED_TEST(StoreContract, EmptyKeysValuesAndBatchesAreNothingSpecial) {
  this->put("a", {}, {});
  EXPECT_EQ(this->get("a", {}), Bytes{});
  EXPECT_TRUE(this->store().apply({}));
  EXPECT_EQ(this->keys("a", {}), std::vector<Bytes>{{}});
}

TYPED_TEST(StoreContract, DeletesWhatIsThereAndIgnoresWhatIsNot) {
  this->put("a", bytes("k"), bytes("v"));
  ASSERT_TRUE(
      this->store().apply({{"a", bytes("k"), std::nullopt}, {"a", bytes("never"), std::nullopt}}));
  EXPECT_EQ(this->get("a", bytes("k")), std::nullopt);
  EXPECT_TRUE(this->keys("a", {}).empty());
}

TYPED_TEST(StoreContract, WritesOfABatchTakeEffectInOrder) {
  ASSERT_TRUE(this->store().apply({{"a", bytes("k"), bytes("1")},
                                   {"a", bytes("k"), std::nullopt},
                                   {"a", bytes("k"), bytes("2")},
                                   {"a", bytes("l"), bytes("3")},
                                   {"a", bytes("l"), std::nullopt}}));
  EXPECT_EQ(this->get("a", bytes("k")), bytes("2"));
  EXPECT_EQ(this->get("a", bytes("l")), std::nullopt);
}

TYPED_TEST(StoreContract, ARefusedBatchLeavesNothing) {
  Store::Batch batch = {{"a", bytes("k"), bytes("v")}};
  batch.push_back({"a", Bytes(limits::kStoreKeyBytesMax + 1), bytes("v")});
  EXPECT_EQ(this->store().apply(batch).error().code, core::ErrorCode::kResourceExhausted);
  EXPECT_EQ(this->get("a", bytes("k")), std::nullopt);
}

TYPED_TEST(StoreContract, BoundsHold) {
  const Bytes longest(limits::kStoreKeyBytesMax, 'k');
  this->put(std::string(limits::kNameBytesMax, 's'), longest, bytes("v"));
  EXPECT_EQ(this->get(std::string(limits::kNameBytesMax, 's'), longest), bytes("v"));
  const Bytes longer(limits::kStoreKeyBytesMax + 1, 'k');
  const auto visit = [](ByteView, ByteView) { return true; };
  EXPECT_FALSE(this->store().get("a", longer));
  EXPECT_FALSE(this->store().scan("a", longer, visit));
  EXPECT_FALSE(this->store().get("", bytes("k")));
  EXPECT_FALSE(this->store().apply({{std::string(limits::kNameBytesMax + 1, 's'), {}, {}}}));
  Store::Batch batch(1);
  batch[0].space = "a";
  batch[0].value.emplace(limits::kStoreValueBytesMax + 1);
  EXPECT_EQ(this->store().apply(batch).error().message,
            "store: a value of 268435457 bytes in 'a', at most 268435456 are accepted");
}

TYPED_TEST(StoreContract, KeysAreOrderedAsUnsignedBytes) {
  const std::vector<Bytes> ordered = {{},           {0x00},       {0x00, 0x00}, {0x00, 0xff},
                                      {0x01},       {0x7f, 0xff}, {0x80},       {0xfe, 0xff},
                                      {0xff, 0x00}, {0xff, 0xff}};
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    this->put("a", ordered[(i * 7) % ordered.size()], {});
  }
  EXPECT_EQ(this->keys("a", {}), ordered);
}

TYPED_TEST(StoreContract, ScansThePrefixAndNothingElse) {
  for (const Bytes& key : {Bytes{0xfe, 0xff}, Bytes{0xff}, Bytes{0xff, 0x00}, Bytes{0xff, 0xff},
                           Bytes{0xff, 0xff, 0x01}, Bytes{0x01, 0xff}, Bytes{0x02}}) {
    this->put("a", key, {});
    this->put("z", key, {});
  }
  EXPECT_EQ(this->keys("a", {0xff, 0xff}), (std::vector<Bytes>{{0xff, 0xff}, {0xff, 0xff, 0x01}}));
  EXPECT_EQ(this->keys("a", {0xff}).size(), 4u);
  EXPECT_EQ(this->keys("a", {0x01}), (std::vector<Bytes>{{0x01, 0xff}}));
  EXPECT_TRUE(this->keys("a", {0x03}).empty());
  EXPECT_TRUE(this->keys("nowhere", {}).empty());
}

TYPED_TEST(StoreContract, AVisitorStopsTheScan) {
  for (std::uint8_t i = 0; i < 9; ++i) this->put("a", {i}, {i});
  std::vector<std::uint8_t> seen;
  ASSERT_TRUE(this->store().scan("a", {}, [&](ByteView key, ByteView value) {
    EXPECT_EQ(key[0], value[0]);
    seen.push_back(key[0]);
    return seen.size() < 3;
  }));
  EXPECT_EQ(seen, (std::vector<std::uint8_t>{0, 1, 2}));
  this->put("a", {9}, {});  // and the scan holds nothing open
}

TYPED_TEST(StoreContract, EverythingIsThereAfterReopening) {
  const Bytes large(300'000, 0x5a);
  this->put("a", bytes("k"), large);
  this->put("a", bytes("gone"), bytes("v"));
  ASSERT_TRUE(this->store().apply({{"a", bytes("gone"), std::nullopt}}));
  this->twin_->reopen();
  EXPECT_EQ(this->get("a", bytes("k")), large);
  EXPECT_EQ(this->keys("a", {}).size(), 1u);
}

TYPED_TEST(StoreContract, IsReadBesideAWriterAllOfABatchOrNothing) {
  if constexpr (std::is_same_v<TypeParam, Joint>) return;  // it has one thread
  Store& store = this->store();
  constexpr int kBatches = 100;
  std::atomic<int> written = 0;
  const auto number = [](ByteView value) {
    return std::stoi("0" + std::string(value.begin(), value.end()));
  };
  std::jthread writer([&] {
    for (int n = 1; n <= kBatches; ++n) {
      const Bytes value = bytes(std::to_string(n));
      ASSERT_TRUE(store.apply({{"s", bytes("a"), value}, {"s", bytes("b"), value}}));
      written = n;
    }
  });
  while (written < kBatches) {
    const int before = written;
    std::vector<int> found;
    ASSERT_TRUE(store.scan("s", {}, [&](ByteView, ByteView value) {
      found.push_back(number(value));
      return true;
    }));
    ASSERT_EQ(found.size(), found.empty() ? 0u : 2u);
    if (found.empty()) found = {0, 0};
    EXPECT_EQ(found[0], found[1]);
    EXPECT_GE(found[0], before);
    const auto one = store.get("s", bytes("b"));
    ASSERT_TRUE(one);
    EXPECT_GE(number(one->value_or(Bytes())), found[0]);
  }
}

TYPED_TEST(StoreContract, AgreesWithAMapOverRandomBatches) {
  core::CounterRng rng(4);
  std::map<std::string, Bytes> model;  // std::string compares unsigned bytes
  for (int round = 0; round < 60; ++round) {
    Store::Batch batch;
    for (std::uint32_t i = rng.next_u32() % 5; i > 0; --i) {
      Bytes key(rng.next_u32() % 3);
      for (std::uint8_t& b : key) b = static_cast<std::uint8_t>(253 + rng.next_u32() % 3);
      if (rng.next_u32() % 3 == 0) {
        model.erase({key.begin(), key.end()});
        batch.push_back({"a", key, std::nullopt});
      } else {
        const Bytes value = {static_cast<std::uint8_t>(round)};
        model[{key.begin(), key.end()}] = value;
        batch.push_back({"a", key, value});
      }
    }
    ASSERT_TRUE(this->store().apply(batch));
    if (round % 20 == 19) this->twin_->reopen();
    std::map<std::string, Bytes> found;
    ASSERT_TRUE(this->store().scan("a", {}, [&](ByteView key, ByteView value) {
      found[std::string(core::as_text(key))] = {value.begin(), value.end()};
      return true;
    }));
    ASSERT_EQ(found, model);
  }
}

}  // namespace
}  // namespace commensal::store
