// SPDX-License-Identifier: Apache-2.0
// What a ledger forgets is what nothing can be asked about any more: beside one that forgets
// nothing, every transaction has the same end.
#include <commensal/base/core/limits_kept.hpp>
#include <commensal/trade/pay/ledger/testing/claims_fixture.hpp>
#include <commensal/trade/pay/ledger/testing/random_tickets.hpp>
#include <commensal/trade/pay/ledger/tickets.hpp>

namespace commensal::ledger {
namespace {

using protocol::Outcome;
using testing::CheapSignatures;
using ::testing::HasSubstr;
using testing::RandomOperations;
using testing::RandomTickets;
using testing::Step;

/// One history twice: with checkpoints, and with a transaction in their place that does nothing.
class Twins {
 public:
  explicit Twins(std::uint64_t seed) : operations_(seed, 20), tickets_(seed) {
    Config config;
    config.operator_address = operations_.operator_address();
    config.withdrawal_delay_ms = 5000;
    config.reveal_delay_ms = config.absence_delay_ms = 500;
    config.audit_delay_ms = 2000;
    config.opening_rounds = 2;
    config.pardon_matches = 3;
    config.contest_delay_ms = config.move_delay_ms = 500;
    config.dispute_delay_ms = 10'000;
    apply(operations_.operator_address(), Genesis{config});
    for (const auto& [sender, body] : tickets_.beginning(operations_.operator_address())) {
      apply(sender, body);
    }
  }
  void step() {
    now_ms_ += static_cast<std::int64_t>(operations_.below(50));
    if (operations_.below(4) != 0) {
      const auto [sender, body] = tickets_.next(whole_.state());
      return apply(sender, body);
    }
    const Transaction made = operations_.next(whole_.state());
    end(short_.apply(made, now_ms_), whole_.apply(made, now_ms_), name_of(made.body));
  }
  void checkpoint() {
    const Address& by = operations_.operator_address();
    const auto made = operations_.make(short_.state(), by, Checkpoint{root_digest(short_.root())});
    const auto entry = short_.apply(made, now_ms_);
    ASSERT_TRUE(entry) << entry.error().message;
    ASSERT_TRUE(
        whole_.apply(operations_.make(whole_.state(), by, Allow{Address{{77}}, {}}), now_ms_));
    short_.take_changes();
    ASSERT_EQ(root_digest(short_.root()), state_root(short_.state()));
  }
  /// All that is live is equal; what is not there is final, and its time is over.
  void compare() const {
    const auto rows_of = [](const State& state) {
      std::map<core::Bytes, core::Bytes> rows;
      std::uint8_t number = 0;
      state.each_table([&]<class Key, class Value>(const Table<Key, Value>& table) {
        for (const auto& [key, value] : table.rows()) {
          if constexpr (!std::is_same_v<Value, ClaimRow>) {
            protocol::Writer name, row;
            name.u8(number);
            write(name, key), write(row, value);
            rows[std::move(name).take()] = std::move(row).take();
          }
        }
        ++number;
      });
      return rows;
    };
    ASSERT_TRUE(rows_of(short_.state()) == rows_of(whole_.state()));
    const State& whole = whole_.state();
    for (const auto& [ticket, claim] : whole.claims.rows()) {
      if (const ClaimRow* mine = short_.state().claims.find(ticket)) {
        ASSERT_EQ(mine->status, claim.status);
        continue;
      }
      const BeaconRow& beacon = *whole.beacons.find(claim.beacon);
      ASSERT_NE(claim.status, ClaimStatus::kOpen);
      ASSERT_TRUE(is_over(whole.scalars.config, whole.hash_chains.find(beacon.gateway)->round,
                          whole.hash_chains.find(beacon.provider)->round, claim.round));
    }
    const auto sound = check_all(short_.state());
    ASSERT_TRUE(sound) << sound.error().message;
  }
  const State& pruned() const { return short_.state(); }
  const State& unpruned() const { return whole_.state(); }

 private:
  void apply(const Address& sender, const Body& body) {
    const auto on = [&](Ledger& ledger) {
      return ledger.apply(operations_.make(ledger.state(), sender, body), now_ms_);
    };
    end(on(short_), on(whole_), name_of(body));
  }
  static void end(const core::Result<Entry>& here, const core::Result<Entry>& there,
                  std::string_view what) {
    ASSERT_EQ(here.has_value(), there.has_value()) << what;
    if (here) {
      ASSERT_EQ(here->postings, there->postings) << what;
    }
  }

  CheapSignatures signatures_;
  RandomOperations operations_;
  RandomTickets tickets_;
  Ledger short_{signatures_, &testing::kArbiter}, whole_{signatures_, &testing::kArbiter};
  std::int64_t now_ms_ = 0;
};

TEST(MoneyCheckpoints, WhatIsForgottenMakesNoDifference) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Twins twins(seed);
    for (int i = 0; i < 8000 && !::testing::Test::HasFatalFailure(); ++i) {
      twins.step();
      if (i % 100 != 99) continue;
      twins.checkpoint();
      twins.compare();
    }
    // Wrong answers stay for ever.
    const auto others = [](const State& state) {
      return std::ranges::count_if(state.claims.rows(), [](const auto& row) {
        return row.second.status != ClaimStatus::kRefused;
      });
    };
    EXPECT_GT(others(twins.unpruned()), 2 * others(twins.pruned()));
    EXPECT_GT(others(twins.unpruned()), 100);
    EXPECT_GT(twins.unpruned().claims.rows().size(), 200u);
  }
}

class MoneyForgets : public testing::ClaimsFixture {
 protected:
  Digest root() const { return root_digest(ledger_.root()); }
  protocol::JointSettlement settlement(const Step& made, std::uint64_t amount) const {
    protocol::JointSettlement both{protocol::ticket_id(made.receipt.body()),
                                   gateway_address(),
                                   provider_address(),
                                   Amount(amount),
                                   {},
                                   {},
                                   {}};
    both.by_client = protocol::sign_settlement(gateway(), both);
    both.by_holder = protocol::sign_settlement(provider(), both);
    return both;
  }
};

TEST_F(MoneyForgets, AFinalTicketOnceItsTimeIsOverAndNothingIsPaidTwice) {
  const Step paid = ticket(3), settled = ticket(3), open = ticket(3);
  const Settle settle{settled.receipt, {}, settlement(settled, 5)};
  accept(provider(), Open{pair_.claim(paid), {}});
  accept(provider(), Open{pair_.claim(open), {}});
  accept(auditor_.key, judge(paid, Outcome::kMatch, auditor_.key));
  accept(gateway(), settle);
  accept(gateway(), gateway_reveals(40));
  accept(gateway(), provider_reveals(13));  // the last round in which something may be said
  EXPECT_THAT(refusal(gateway(), Silence{ticket(3, 100, false).receipt}), HasSubstr("has lost"));
  accept(operator_.key, Checkpoint{root()});
  EXPECT_EQ(ledger_.state().claims.rows().size(), 3u);
  accept(gateway(), provider_reveals(14));
  accept(operator_.key, Checkpoint{root()});
  EXPECT_EQ(ledger_.state().claims.rows().size(), 1u);  // the open one
  for (const Step& made : {paid, settled}) {
    EXPECT_THAT(refusal(provider(), Open{pair_.claim(made), {}}), HasSubstr("is over for good"));
    EXPECT_THAT(refusal(gateway(), Silence{made.receipt}), HasSubstr("is over for good"));
    EXPECT_THAT(refusal(provider(), Default{made.receipt, {}}), HasSubstr("is over for good"));
    EXPECT_THAT(refusal(provider(), Settle{made.receipt, {}, settlement(made, 5)}),
                HasSubstr("is over for good"));
  }
  accept(auditor_.key, judge(open, Outcome::kMatch, auditor_.key));
  accept(operator_.key, Checkpoint{root()});
  EXPECT_EQ(ledger_.state().claims.rows().size(), 0u);
  EXPECT_EQ(balance(provider_address()), 205u);
}

// However many tickets are decided between two checkpoints, no entry takes them all away.
TEST_F(MoneyForgets, ALittleAtATime) {
  for (int i = 0; i < 300; ++i) {
    const Step made = ticket(3);
    accept(provider(), Settle{made.receipt, {}, settlement(made, 0)});
  }
  accept(gateway(), gateway_reveals(40));
  accept(gateway(), provider_reveals(40));
  accept(operator_.key, Checkpoint{root()});
  std::size_t left = ledger_.state().claims.rows().size();
  EXPECT_GT(left, 200u);
  for (int i = 0; i < 20; ++i) {
    const std::size_t before = std::exchange(left, ledger_.state().claims.rows().size());
    EXPECT_LE(before - left, 40u);
    accept(operator_.key, Allow{Address{{77}}, Amount(static_cast<std::uint64_t>(i + 1))});
    EXPECT_EQ(root(), state_root(ledger_.state()));
  }
  EXPECT_EQ(ledger_.state().claims.rows().size(), 0u);
}

TEST_F(MoneyForgets, OnlyTheOperatorStatesTheRootAndOnlyTheRightOne) {
  EXPECT_THAT(refusal(stranger_.key, Checkpoint{root()}), HasSubstr("expected the operator"));
  EXPECT_THAT(refusal(operator_.key, Checkpoint{Digest{1}}), HasSubstr("but the state has"));
  const Digest before = root();
  accept(operator_.key, Checkpoint{before});
  EXPECT_NE(root(), before);
  EXPECT_EQ(root(), state_root(ledger_.state()));
  EXPECT_EQ(ledger_.state().scalars.checkpoint, ledger_.state().scalars.entries - 1);
}

TEST_F(MoneyForgets, WhatAnybodyMakesItKeepIsBounded) {
  for (std::uint8_t i = 0; i < limits::kLedgerAllowancesMax; ++i) {
    accept(stranger_.key, Allow{Address{{i}}, Amount(1)});
  }
  EXPECT_THAT(refusal(stranger_.key, Allow{Address{{200}}, Amount(1)}),
              HasSubstr("allowances: at most 64"));
  accept(stranger_.key, Allow{Address{{3}}, Amount(2)});
  accept(stranger_.key, Allow{Address{{4}}, {}});
  accept(stranger_.key, Allow{Address{{200}}, Amount(1)});
  // The provider's first was registered by the fixture.
  for (std::uint64_t i = 1; i <= limits::kLedgerChainsMax; ++i) {
    Digest seed{};
    seed[0] = static_cast<std::uint8_t>(i);
    const auto head = protocol::sign_hash_chain_head(provider(), {{}, seed, 16, {}});
    if (i < limits::kLedgerChainsMax) {
      accept(provider(), RegisterBeacon{pair_.gateway_head, head});
    } else {
      EXPECT_THAT(refusal(provider(), RegisterBeacon{pair_.gateway_head, head}),
                  HasSubstr("hash chains: 16 of"));
    }
  }
  EXPECT_EQ(ledger_.state().chains_of.get(provider_address()), limits::kLedgerChainsMax);
}

}  // namespace
}  // namespace commensal::ledger
