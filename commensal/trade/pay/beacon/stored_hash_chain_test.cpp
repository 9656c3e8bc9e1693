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
  core::Result<StoredHashChain> open(core::Store& store, std::string_view key = "own") {
    return StoredHashChain::open(store, "hash_chain", {key.begin(), key.end()}, key_, rng_, 6);
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

TEST_F(MoneyStoredHashChain, ShowsNothingThatIsNotOnDisk) {
  for (const auto fault : {Fault::kFailBefore, Fault::kCrashBefore}) {
    disk_ = store::MemoryStore();
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
