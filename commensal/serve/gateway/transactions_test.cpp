// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>
#include <commensal/serve/gateway/transactions.hpp>

namespace commensal::gateway {
namespace {

using core::ErrorCode;
using protocol::Amount;

class TransactionsOf : public ::testing::Test {
 protected:
  TransactionsOf() {
    EXPECT_TRUE(bank_.open());
    give(sender_);
  }
  void give(const crypto::SecretKey& key) {
    const core::Digest reference = rng_.next_digest();
    EXPECT_TRUE(bank_.submit(ledger::Deposit{key.address(), Amount(1'000), reference}));
    EXPECT_TRUE(bank_.commit());
  }
  ledger::Transaction made(const crypto::SecretKey& key, std::uint64_t nonce) {
    ledger::Transaction sent;
    sent.ledger = bank_.address();
    sent.sender = key.address();
    sent.nonce = nonce;
    sent.body = ledger::Fund{ledger::AccountKind::kStake, Amount(1)};
    ledger::sign(key, sent);
    return sent;
  }
  void send(const ledger::Transaction& sent) {
    transactions_.submit(sent, [this](core::Result<crypto::Address> done) {
      done ? ++booked_ : ++refused_[done.error().code];
    });
  }

  core::CounterRng rng_{3};
  core::ManualClock clock_;
  core::testing::ManualLoop loop_{clock_};
  store::MemoryStore disk_;
  store::testing::FaultStore counted_{disk_, ~std::uint64_t{0}, store::testing::Fault::kFailBefore};
  store::JointStore store_{counted_};
  const crypto::SecretKey operator_ = crypto::SecretKey::generate(rng_);
  const crypto::SecretKey sender_ = crypto::SecretKey::generate(rng_);
  Bank bank_{store_, clock_, operator_, {}};
  Transactions transactions_{loop_, clock_, bank_};
  int booked_ = 0;
  std::map<ErrorCode, int> refused_;
};

TEST_F(TransactionsOf, WhatComesTogetherSharesOneWrite) {
  const std::uint64_t before = counted_.applies();
  for (std::uint64_t nonce = 0; nonce < 10; ++nonce) send(made(sender_, nonce));
  send(made(sender_, 99));
  EXPECT_EQ(booked_, 0) << "nothing is on disk yet";
  loop_.run_until_idle();
  EXPECT_EQ(booked_, 10);
  EXPECT_EQ(refused_[ErrorCode::kFailedPrecondition], 1);
  EXPECT_EQ(counted_.applies(), before + 1);
}

TEST_F(TransactionsOf, OneSenderMaySendSoManyAndOthersTheirs) {
  for (std::uint64_t nonce = 0; nonce < 50; ++nonce) send(made(sender_, nonce));
  loop_.run_until_idle();
  EXPECT_EQ(booked_, 20);
  EXPECT_EQ(refused_[ErrorCode::kResourceExhausted], 30);
  const auto other = crypto::SecretKey::generate(rng_);
  send(made(other, 0));
  EXPECT_EQ(refused_[ErrorCode::kPermissionDenied], 1) << "it has nothing here";
  give(other);
  send(made(other, 0));
  // What was sent before is said again by others: that is not the sender's affair.
  for (int i = 0; i < 100; ++i) send(made(sender_, 3));
  clock_.advance_ms(1'000);
  send(made(sender_, 20));
  loop_.run_until_idle();
  EXPECT_EQ(booked_, 22);
}

// The faults: demands and defaults of a provider were booked, and logged, as often as it sent them;
// anybody's were looked at.
TEST_F(TransactionsOf, WhatAProviderSaysOnItsStreamCountsWhateverItIs) {
  const auto other = crypto::SecretKey::generate(rng_);
  EXPECT_FALSE(transactions_.admit_own(made(other, 0)));
  const auto head = [&](const crypto::SecretKey& key) {
    return protocol::sign_hash_chain_head(key, {{}, rng_.next_digest(), 64, {}});
  };
  ASSERT_TRUE(bank_.submit(ledger::RegisterBeacon{head(operator_), head(other)}));
  int admitted = 0;  // it has no money, and its chain
  for (int i = 0; i < 50; ++i) admitted += transactions_.admit_own(made(other, 0)) ? 1 : 0;
  EXPECT_EQ(admitted, 20);
  EXPECT_TRUE(transactions_.admit_own(made(sender_, 0)));
}

TEST_F(TransactionsOf, OnlySoManyWait) {
  std::vector<crypto::SecretKey> keys;
  for (std::size_t i = 0; i < limits::kTransactionsWaitingMax / 16 + 1; ++i) {
    keys.push_back(crypto::SecretKey::generate(rng_));
    give(keys.back());
  }
  for (const auto& key : keys) {
    for (std::uint64_t nonce = 0; nonce < 16; ++nonce) send(made(key, nonce));
  }
  EXPECT_EQ(refused_[ErrorCode::kResourceExhausted], 16);
  loop_.run_until_idle();
  EXPECT_EQ(booked_, static_cast<int>(limits::kTransactionsWaitingMax));
}

}  // namespace
}  // namespace commensal::gateway
