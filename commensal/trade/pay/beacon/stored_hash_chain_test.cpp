// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>
#include <commensal/trade/pay/beacon/stored_hash_chain.hpp>
#include <limits>

namespace commensal::beacon {
namespace {

using store::testing::Fault;

class MoneyStoredHashChain : public ::testing::Test {
 protected:
  core::Result<StoredHashChain> open(core::Store& store, std::string_view key = "own",
                                     std::uint64_t first = 0) {
    return StoredHashChain::open({&store, "hash_chain", {key.begin(), key.end()}, &key_, &rng_, 6},
                                 first);
  }
  core::CounterRng rng_{5};
  crypto::SecretKey key_ = crypto::SecretKey::generate(rng_);
  store::MemoryStore disk_;
};

TEST_F(MoneyStoredHashChain, IsMadeOncePerKeyAndGoesOnWhereItWas) {
  auto chain = open(disk_);
  ASSERT_TRUE(chain) << chain.error().message;
  EXPECT_EQ(chain->head().rounds, 64u);
  EXPECT_EQ(chain->round(), 0u);
  EXPECT_EQ(chain->value(), chain->head().anchor);
  EXPECT_TRUE(protocol::verify_hash_chain_head(chain->head()));
  EXPECT_NE(open(disk_, "other")->head().anchor, chain->head().anchor);
  HashChainTracker stranger(chain->head());
  for (const std::uint64_t round : {1u, 2u, 7u, 64u}) {
    const auto value = chain->reveal(round);
    ASSERT_TRUE(value) << value.error().message;
    EXPECT_TRUE(stranger.accept(round, *value));
    chain = open(disk_);
    ASSERT_TRUE(chain) << chain.error().message;
    EXPECT_EQ(chain->head(), stranger.head());
    EXPECT_EQ(chain->tracker().round(), round);
    EXPECT_EQ(chain->tracker().value(), *value);
  }
  EXPECT_EQ(chain->reveal(7), *stranger.value_of(7));  // going back keeps the place
  EXPECT_EQ(chain->round(), 64u);
  EXPECT_EQ(chain->reveal(65).error().code, core::ErrorCode::kResourceExhausted);
}

// Who comes late follows it from its new head, and who knew it before from the old one; so it goes
// over restarts, and over the end of a chain.
TEST_F(MoneyStoredHashChain, GoesOnCountingFromANewHead) {
  auto chain = open(disk_, "own", 1'000);
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->head().first, 1'000u);
  EXPECT_EQ(chain->head().rounds, 1'064u);
  EXPECT_EQ(chain->round(), 1'000u);
  EXPECT_FALSE(chain->reveal(1'000));
  HashChainTracker before(chain->head());
  ASSERT_TRUE(before.accept(1'010, *chain->reveal(1'010)));
  ASSERT_TRUE(chain->anchor_at(1'030));
  chain = open(disk_);
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->head().first, 1'030u);
  EXPECT_EQ(chain->head().rounds, 1'064u);
  HashChainTracker late(chain->head());
  EXPECT_EQ(late.round(), 1'030u);
  const auto value = chain->reveal(1'033);
  ASSERT_TRUE(value);
  EXPECT_TRUE(late.accept(1'033, *value));
  EXPECT_TRUE(before.accept(1'033, *value));
  EXPECT_FALSE(late.check(1'030, *before.value_of(1'030))) << "that round is no secret";
  EXPECT_TRUE(protocol::verify_hash_chain_head(chain->head()));
  ASSERT_TRUE(chain->renew(1'040));
  chain = open(disk_);
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->round(), 1'040u);
  EXPECT_EQ(chain->rounds_left(), 64u);
  HashChainTracker other(chain->head());
  EXPECT_TRUE(other.accept(1'050, *chain->reveal(1'050)));
  EXPECT_FALSE(late.accept(1'050, *chain->reveal(1'050)));
}

TEST_F(MoneyStoredHashChain, ShowsNothingThatIsNotOnDisk) {
  for (const auto fault : {Fault::kFailBefore, Fault::kCrashBefore}) {
    disk_.clear();
    store::testing::FaultStore failing(disk_, 2,
                                       fault);  // made, one round revealed, then the fault
    auto chain = open(failing);
    ASSERT_TRUE(chain) << chain.error().message;
    const auto first = chain->reveal(1);
    ASSERT_TRUE(first);
    EXPECT_FALSE(chain->reveal(2));
    EXPECT_EQ(chain->round(), 1u);
    EXPECT_EQ(chain->value(), *first);
    const auto again = open(disk_);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->head(), chain->head());
    EXPECT_EQ(again->round(), 1u);
  }
}

TEST_F(MoneyStoredHashChain, AStateThatDoesNotDecodeIsRefused) {
  ASSERT_TRUE(disk_.apply({{"hash_chain", core::Bytes{'o', 'w', 'n'}, core::Bytes{1, 2, 3}}}));
  EXPECT_EQ(open(disk_).error().code, core::ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace commensal::beacon
