// SPDX-License-Identifier: Apache-2.0
// A million operations, valid and invalid ones mixed, from one seed. So that this takes seconds,
// signatures of transactions are CheapSignatures (an address and a keyed hash, injected through the
// interface that the ledger recovers signers with); nothing else is spared: one operation in twenty
// is about a ticket, with receipts, verdicts and endorsements that are really signed. Transactions
// that are: ledger_test.cpp, claims_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/trade/pay/ledger/invariants.hpp>
#include <commensal/trade/pay/ledger/testing/random_tickets.hpp>
#include <commensal/trade/pay/ledger/testing/scripted_arbiter.hpp>

namespace commensal::ledger {
namespace {

using testing::CheapSignatures;
using testing::RandomOperations;
using testing::RandomTickets;

class Market {
 public:
  Market(std::uint64_t seed, std::size_t people) : operations_(seed, people), tickets_(seed) {
    Config config;
    config.operator_address = operations_.operator_address();
    config.withdrawal_delay_ms = 5000;
    config.reveal_delay_ms = config.absence_delay_ms = 500;
    config.audit_delay_ms = 2000;
    config.opening_rounds = 4;
    config.pardon_matches = 2;
    config.contest_delay_ms = 5000;
    config.move_delay_ms = 5000;
    config.dispute_delay_ms = 100'000;
    config.report_delay_ms = 5000;
    apply(operations_.found(config));
    for (const auto& [sender, body] : tickets_.beginning(operations_.operator_address())) {
      apply(operations_.make(ledger_.state(), sender, body));
    }
    EXPECT_TRUE(refused_.empty());
  }
  void step() {
    if (operations_.below(4) == 0) now_ms_ += static_cast<std::int64_t>(operations_.below(100));
    if (operations_.below(20) != 0) return apply(operations_.next(ledger_.state()));
    const auto [sender, body] = tickets_.next(ledger_.state());
    apply(operations_.make(ledger_.state(), sender, body));
  }
  void checkpoint() {
    apply(operations_.make(ledger_.state(), operations_.operator_address(),
                           Checkpoint{root_digest(ledger_.root())}));
    ledger_.take_changes();
  }
  const State& state() const { return ledger_.state(); }

  std::map<std::string, std::uint64_t> accepted_, refused_;
  std::uint64_t shortfalls_ = 0;
  std::uint64_t all_taken_ = 0, half_taken_ = 0, convicted_ = 0;
  Amount came_, went_;

 private:
  void apply(const Transaction& transaction) {
    const std::optional<Suspect> suspect = suspect_of(transaction.body);
    const auto entry = ledger_.apply(transaction, now_ms_);
    ++(entry ? accepted_ : refused_)[std::string(name_of(transaction.body))];
    if (!entry) return;
    for (const Posting& posting : entry->postings) {
      if (posting.from == kOutside) came_ = *came_.plus(posting.amount);
      if (posting.to == kOutside) went_ = *went_.plus(posting.amount);
    }
    if (suspect) count(*suspect);
    if (const auto* open = std::get_if<Open>(&transaction.body)) check_open(*open, *entry);
  }
  /// Whose ticket a case is about, and what is known of that.
  struct Suspect {
    Digest ticket{};
    Address provider;
    std::optional<ClaimStatus> status;
  };
  std::optional<ClaimStatus> status_of(const Digest& ticket) const {
    const ClaimRow* claim = state().claims.find(ticket);
    return claim == nullptr ? std::nullopt : std::optional(claim->status);
  }
  std::optional<Suspect> suspect_of(const Body& body) const {
    return std::visit(
        [&](const auto& move) -> std::optional<Suspect> {
          if constexpr (requires { move.subject, move.accuser; }) {
            const CaseRow* row = state().cases.find({move.subject, move.accuser});
            if (row == nullptr) return std::nullopt;
            return Suspect{row->ticket, row->dispute.accused, status_of(row->ticket)};
          } else {
            return std::nullopt;
          }
        },
        body);
  }
  void count(const Suspect& suspect) {
    const bool is_convicted = suspect.status != ClaimStatus::kRefused &&
                              status_of(suspect.ticket) == ClaimStatus::kRefused;
    if (!is_convicted) return;
    convicted_ += suspect.status ? 0 : 1;
    const bool is_left = state().balance(suspect.provider, AccountKind::kStake) > Amount();
    ++(is_left ? half_taken_ : all_taken_);
  }
  /// A winner is covered in full; by the penalty escrow only what the escrow lacks, at twice that.
  void check_open(const Open& open, const Entry& entry) {
    const protocol::Job& job = open.claim.receipt.job;
    const AccountId claims{job.client, AccountKind::kClaims};
    const AccountId penalty{job.client, AccountKind::kPenaltyEscrow};
    Amount reserved, out_of_penalty, burnt;
    for (const Posting& posting : entry.postings) {
      if (posting.to == claims) reserved = *reserved.plus(posting.amount);
      if (posting.to == kBurnt) burnt = *burnt.plus(posting.amount);
      if (posting.to == claims && posting.from == penalty) out_of_penalty = posting.amount;
    }
    EXPECT_EQ(reserved, *job.face_value.plus(state().scalars.config.auditor_fee));
    EXPECT_EQ(burnt, out_of_penalty);
    if (burnt == Amount{}) return;
    ++shortfalls_;
    EXPECT_EQ(state().balance(job.client, AccountKind::kEscrow), Amount{});
  }

  CheapSignatures signatures_;
  RandomOperations operations_;
  RandomTickets tickets_;
  Ledger ledger_{signatures_, &testing::kArbiter};
  std::int64_t now_ms_ = 0;
};

TEST(MoneyConservation, AMillionOperationsKeepEveryUnit) {
  Market market(2, 200);
  constexpr int kOperations = 1'000'000;
  const std::size_t before = market.state().scalars.entries + kOperations / 10'000;
  for (int i = 0; i < kOperations; ++i) {
    market.step();
    if (i % 10'000 != 0) continue;
    market.checkpoint();
    const auto sound = check_all(market.state());
    ASSERT_TRUE(sound) << sound.error().message;
  }
  Amount held;
  for (const auto& [account, amount] : market.state().balances.rows()) {
    if (account != kOutside) held = *held.plus(amount);
  }
  EXPECT_EQ(held, *market.came_.minus(market.went_));
  EXPECT_EQ(held, market.state().balances.get(kOutside));
  std::uint64_t accepted = 0, refused = 0;
  for (const auto& [kind, count] : market.accepted_) {
    std::printf("%-20s %8lu accepted %8lu refused\n", kind.c_str(), count, market.refused_[kind]);
    accepted += count;
    EXPECT_GT(count, kind == "Genesis" || kind == "RegisterBeacon" ? 0u : 50u) << kind;
  }
  EXPECT_EQ(market.accepted_.size(), std::variant_size_v<Body>);
  for (const auto& [kind, count] : market.refused_) refused += count;
  EXPECT_EQ(accepted + refused, before + static_cast<std::uint64_t>(kOperations));
  EXPECT_GT(market.shortfalls_, 50u);
  std::printf("convictions: %lu took all, %lu half, %lu of tickets that nobody claimed\n",
              market.all_taken_, market.half_taken_, market.convicted_);
  EXPECT_GT(market.all_taken_, 50u);
  EXPECT_GT(market.half_taken_, 20u);
  EXPECT_GT(market.convicted_, 50u);
  std::map<CaseStatus, std::size_t> cases;
  for (const auto& [key, row] : market.state().cases.rows()) ++cases[row.status];
  EXPECT_GT(cases[CaseStatus::kConvicted], 100u);
  EXPECT_GT(cases[CaseStatus::kAcquitted], 50u);
  const auto has_two = [](const auto& one) { return one.second.findings.size() >= 2; };
  const auto reported = std::ranges::count_if(market.state().cases.rows(), has_two);
  std::printf("cases with two reports or more: %td\n", reported);
  EXPECT_GT(reported, 20);
  EXPECT_GT(refused, 100'000u);
  EXPECT_GT(accepted, 300'000u);
}

TEST(MoneyConservation, OneSeedGivesOneState) {
  const auto digest = [](std::uint64_t seed) {
    Market market(seed, 20);
    for (int i = 0; i < 5000; ++i) market.step();
    return state_root(market.state());
  };
  EXPECT_EQ(digest(7), digest(7));
  EXPECT_NE(digest(7), digest(8));
}

}  // namespace
}  // namespace commensal::ledger
