// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>
#include <commensal/serve/gateway/winners.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>
#include <commensal/trade/pay/ticket/testing/pair.hpp>

namespace commensal::gateway {
namespace {

using ticket::testing::Pair;

MoneyConfig cheap() {
  MoneyConfig config;
  config.face_value = protocol::Amount(1);
  config.hash_chain_depth = 6;
  return config;
}

/// A gateway's money on a disk that may fail, from one start to the next.
struct Life {
  Life(core::Store& disk, Pair& pair, std::uint64_t fault_at, const MoneyConfig& c = cheap())
      : config(c),
        fault(disk, fault_at, store::testing::Fault::kFailBefore),
        store(fault),
        bank(store, clock, pair.gateway_key, config.rules),
        roster(store, pair.rng(), pair.gateway_key, clock),
        tickets(store, clock, Lottery::book_config(config)),
        lottery({loop, store, clock, pair.rng(), pair.gateway_key, bank, roster, events, tickets},
                config) {}

  core::Result<void> open() {
    COMMENSAL_TRY(bank.open());
    return lottery.open();
  }

  const MoneyConfig config;
  core::ManualClock clock;
  store::testing::FaultStore fault;
  store::JointStore store;
  Bank bank;
  Roster roster;  // nobody is there
  core::testing::ManualLoop loop{clock};
  int audits_due = 0;
  EventQueue events{loop,
                    [this](event::Any& event) {
                      if (const auto* failed = std::get_if<event::Failed>(&event)) {
                        ADD_FAILURE() << failed->error.message;
                      }
                      audits_due += std::holds_alternative<event::AuditDue>(event) ? 1 : 0;
                    },
                    [] {}};
  ticket::TicketBook tickets;
  Lottery lottery;
};

TEST(MoneyLottery, ShowsNobodyARoundThatIsNotOnDisk) {
  for (std::uint64_t fault_at = 0, shown = 0; shown < 4; ++fault_at) {
    ASSERT_LT(fault_at, 20u);
    SCOPED_TRACE(fault_at);
    Pair pair(6);
    store::MemoryStore disk;
    Life life(disk, pair, fault_at);
    if (life.open()) {
      auto step = pair.step(pair.job(ticket::certain_threshold(), protocol::Amount(1)), 2);
      pair.sign({&step, 1});
      (void)life.lottery.owe({&step.receipt, 1});
      for (int i = 0; i < 4; ++i) life.lottery.tick();  // the ticket of no known beacon waits on
      shown = life.lottery.position()->round;
    }
    Life again(disk, pair, ~std::uint64_t{0});
    ASSERT_TRUE(again.open());
    ASSERT_GE(again.lottery.position()->round, shown);
    EXPECT_EQ(shown == 4, fault_at == 7);  // the ledger, the chain, the ticket, four rounds
  }
}

// A Hello costs nothing, with a fresh key or chain each time: what has no stake leaves no trace.
TEST(MoneyLottery, TakesUpAFreshHashChainOnlyOfWhoHasItsStake) {
  MoneyConfig config = cheap();
  config.stake_min = protocol::Amount(100);
  Pair pair(6);
  store::MemoryStore disk;
  Life life(disk, pair, ~std::uint64_t{0}, config);
  ASSERT_TRUE(life.open());
  const std::uint64_t before = life.bank.state().scalars.entries;
  const auto meet = [&](const crypto::SecretKey& key) {
    const auto head = protocol::sign_hash_chain_head(key, {{}, pair.rng().next_digest(), 64, {}});
    return life.lottery.meet(key.address(), rpc::HashChainPosition{head, 0, head.anchor});
  };
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(meet(crypto::SecretKey::generate(pair.rng())));
    ASSERT_TRUE(meet(pair.provider_key));
  }
  EXPECT_EQ(life.bank.state().scalars.entries, before);
  const crypto::Address provider = pair.provider_key.address();
  EXPECT_EQ(life.lottery.reservation(provider), "has a stake of 0, 100 are wanted");
  ASSERT_TRUE(life.bank.submit(ledger::Deposit{provider, protocol::Amount(100), core::Digest{}}));
  ASSERT_TRUE(life.lottery.on_stake(provider));
  EXPECT_EQ(life.bank.state().beacons.rows().size(), 0u);
  ledger::Transaction fund;
  fund.ledger = life.bank.address();
  fund.sender = provider;
  fund.body = ledger::Fund{ledger::AccountKind::kStake, protocol::Amount(100)};
  ledger::sign(pair.provider_key, fund);
  ASSERT_TRUE(life.bank.relay(fund));
  ASSERT_TRUE(life.lottery.on_stake(provider));
  EXPECT_EQ(life.bank.state().beacons.rows().size(), 1u);
  EXPECT_EQ(life.lottery.reservation(provider), "");
  // A stake does not pay for chains without end either.
  const auto shows = [&](const crypto::SecretKey& key) {
    const auto head = protocol::sign_hash_chain_head(key, {{}, pair.rng().next_digest(), 64, {}});
    return life.lottery.check_chain(key.address(), rpc::HashChainPosition{head, 0, head.anchor});
  };
  EXPECT_TRUE(shows(pair.provider_key));
  for (int i = 0; i < 40; ++i) (void)meet(pair.provider_key);
  // Said before anybody makes room for it.
  ASSERT_FALSE(shows(pair.provider_key));
  EXPECT_EQ(shows(pair.provider_key).error().code, core::ErrorCode::kFailedPrecondition);
  EXPECT_EQ(life.bank.state().beacons.rows().size(), std::size_t{limits::kLedgerChainsMax});
}

// A reveal that does not fit may cost very many hashes: three are the most of one chain.
TEST(MoneyLottery, HearsOnlySoManyWrongReveals) {
  Pair pair(6);
  store::MemoryStore disk;
  Life life(disk, pair, ~std::uint64_t{0});
  ASSERT_TRUE(life.open());
  const crypto::Address provider = pair.provider_key.address();
  const protocol::HashChainHead& head = pair.provider_head;
  auto step = pair.step(pair.job(ticket::certain_threshold(), protocol::Amount(1)), 2);
  pair.sign({&step, 1});
  ASSERT_TRUE(life.lottery.owe({&step.receipt, 1}));  // so that rounds are closed
  for (int i = 0; i < 2; ++i) life.lottery.tick();
  ASSERT_EQ(life.lottery.position()->round, 2u);
  ASSERT_TRUE(life.lottery.meet(provider, rpc::HashChainPosition{head, 0, head.anchor}));
  const auto drawn = [&] { return life.lottery.pairing_with(provider)->beacon.drawn_round(); };
  life.lottery.on_reveal(provider, {1, core::Digest{1}});
  life.lottery.on_reveal(provider, {1, *pair.provider_chain.reveal(1)});
  EXPECT_EQ(drawn(), 1u);
  for (int i = 0; i < 9; ++i) life.lottery.on_reveal(provider, {2, core::Digest{1}});
  EXPECT_EQ(life.events.pending(), 4u);
  const core::Digest second = *pair.provider_chain.reveal(2);
  life.lottery.on_reveal(provider, {2, second});
  EXPECT_EQ(drawn(), 1u);
  // What the ledger has is drawn all the same: else it could be asked for no more, and never drawn.
  const core::Digest chain = ledger::hash_chain_key(head);
  ASSERT_TRUE(life.bank.submit(ledger::Reveal{chain, 2, second}));
  life.lottery.on_revealed({chain, 2, second});
  EXPECT_EQ(drawn(), 2u);
}

// Nobody fills the escrow's cover alone, however seldom tickets win.
TEST(MoneyLottery, AProviderTakesNoMoreThanHalfOfTheEscrow) {
  for (const double win : {1.0, 0.05}) {
    Pair pair(6);
    store::MemoryStore disk;
    MoneyConfig config = cheap();
    config.win_probability = win;
    Life life(disk, pair, ~std::uint64_t{0}, config);
    ASSERT_TRUE(life.open());
    const crypto::Address provider = pair.provider_key.address(), own = life.bank.address();
    const protocol::HashChainHead& head = pair.provider_head;
    ASSERT_TRUE(life.lottery.meet(provider, rpc::HashChainPosition{head, 0, head.anchor}));
    ASSERT_TRUE(life.bank.submit(ledger::Deposit{own, protocol::Amount(80), core::Digest{}}));
    ASSERT_TRUE(life.bank.submit(ledger::Fund{ledger::AccountKind::kEscrow, protocol::Amount(80)}));
    protocol::Job job = pair.job(*ticket::threshold_of(win), protocol::Amount(1));
    job.beacons = {life.lottery.pairing_with(provider)->beacon.id()};
    std::uint64_t owed = 0;
    for (; owed < 1'000 && life.lottery.reservation(provider).empty(); ++owed) {
      job.input_commitment = pair.rng().next_digest();
      auto step = pair.step(job, 2);
      pair.sign({&step, 1});
      ASSERT_TRUE(life.lottery.owe({&step.receipt, 1}));
    }
    // A winner takes 2 of 80: half of that is 20 winners.
    EXPECT_LE(ticket::winners_most(owed, win), 20u);
    EXPECT_GT(ticket::winners_most(owed + 1, win), 20u);
    EXPECT_TRUE(life.lottery.cover()) << "others may go on";
  }
}

TEST(MoneyLottery, AJobIsValidForAsLongAsAStakeStaysLocked) {
  Pair pair(6);
  store::MemoryStore disk;
  Life life(disk, pair, ~std::uint64_t{0});
  ASSERT_TRUE(life.open());
  const protocol::HashChainHead& head = pair.provider_head;
  protocol::Job job;
  job.provider = pair.provider_key.address();
  ASSERT_TRUE(life.lottery.meet(job.provider, rpc::HashChainPosition{head, 0, head.anchor}));
  life.clock.advance_ms(1'000);
  life.lottery.stamp(job);
  const ledger::Config& rules = life.config.rules;
  EXPECT_EQ(job.valid_until_ms - static_cast<std::uint64_t>(life.clock.wall_ms()),
            rules.withdrawal_delay_ms - rules.audit_delay_ms);
}

/// Winners of round 1, delivered, as their provider claims them.
rpc::Claims win(Life& life, Pair& pair, ReceiptBook& book, std::size_t count) {
  const crypto::Address provider = pair.provider_key.address();
  const protocol::HashChainHead& head = pair.provider_head;
  EXPECT_TRUE(life.lottery.meet(provider, rpc::HashChainPosition{head, 0, head.anchor}));
  protocol::Job job = pair.job(ticket::certain_threshold(), protocol::Amount(1));
  job.beacons = {life.lottery.pairing_with(provider)->beacon.id()};
  std::vector<Pair::Step> steps;
  for (std::size_t i = 0; i < count; ++i) {
    job.input_commitment = pair.rng().next_digest();
    steps.push_back(pair.step(job, 1));
  }
  pair.sign(steps);
  std::vector<ReceiptRecord> records;
  std::vector<protocol::Receipt> receipts;
  rpc::Claims claims;
  for (const Pair::Step& step : steps) {
    ReceiptRecord& record = records.emplace_back();
    record.receipt = step.receipt;
    record.account = "a";
    receipts.push_back(step.receipt);
    claims.items.push_back({step.receipt, step.output_root, step.output_salt});
  }
  EXPECT_TRUE(life.lottery.owe(receipts));
  EXPECT_TRUE(book.append(records));
  life.lottery.tick();
  life.lottery.on_reveal(provider, {1, *pair.provider_chain.reveal(1)});
  return claims;
}

// A message of half a megabyte claims hundreds: each is checked, opened and written, and neither a
// turn of the loop may be as long as they are many, nor the writes as many.
TEST(MoneyWinners, AreOpenedAndPaidAFewAtATime) {
  constexpr std::uint64_t kCount = 200, kTurns = 7;
  Pair pair(6);
  store::MemoryStore disk;
  Life life(disk, pair, ~std::uint64_t{0});
  ASSERT_TRUE(life.open());
  const crypto::Address gateway = life.bank.address();
  ASSERT_TRUE(life.bank.submit(ledger::Deposit{gateway, protocol::Amount(1'000), core::Digest{}}));
  ASSERT_TRUE(
      life.bank.submit(ledger::Fund{ledger::AccountKind::kEscrow, protocol::Amount(1'000)}));
  ReceiptBook book(life.store);
  Winners winners(life.loop, life.clock, life.bank, life.roster, book, life.events, life.lottery,
                  life.tickets);
  const rpc::Claims claims = win(life, pair, book, kCount);
  ASSERT_EQ(life.tickets.in(ticket::State::kWon).size(), kCount);

  std::uint64_t before = life.fault.applies();
  winners.on_claims(pair.provider_key.address(), claims);
  winners.on_claims(pair.provider_key.address(), claims);
  EXPECT_EQ(life.fault.applies(), before);
  life.loop.run_until_idle();
  EXPECT_EQ(life.fault.applies() - before, kTurns);
  EXPECT_EQ(life.tickets.in(ticket::State::kOpened).size(), kCount);
  EXPECT_EQ(life.audits_due, static_cast<int>(kCount));

  life.clock.advance_ms(static_cast<std::int64_t>(life.config.rules.audit_delay_ms) + 1);
  before = life.fault.applies();
  for (std::uint64_t tick = 1; tick <= kTurns; ++tick) {
    winners.tick();
    EXPECT_EQ(life.fault.applies() - before, tick);
  }
  EXPECT_EQ(life.tickets.in(ticket::State::kPaid).size(), kCount);
}

}  // namespace
}  // namespace commensal::gateway
