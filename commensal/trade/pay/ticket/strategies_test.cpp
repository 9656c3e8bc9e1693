// SPDX-License-Identifier: Apache-2.0
// Does it pay to choose what one reveals, when, or what one commits to? Each strategy plays 10^5
// tickets with the real chains, beacon and draw; its gain over honesty is measured with its
// confidence interval and printed (docs/tickets.md has the table).
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/trade/pay/ticket/book.hpp>
#include <commensal/trade/pay/ticket/summary.hpp>
#include <commensal/trade/pay/ticket/testing/pair.hpp>

namespace commensal::ticket {
namespace {

using namespace testing;
using core::Digest;

constexpr std::uint64_t kRounds = 1000;
constexpr std::uint64_t kTicketsPerRound = 100;
constexpr double kFace = 1000;
constexpr double kWorth = 10;         // before the draw: p = 1/100
constexpr double kSlash = 2 * kFace;  // of a provider, for a round withheld
constexpr double kPenalty = kWorth;   // of a gateway, for a ticket withheld, beyond its worth
constexpr int kGrinds = 8;            // candidates of one who chooses
constexpr double kDeviationsMax = 4;  // an honest run lies outside once in 15,000

/// What one side does in one round. The honest value of each is the first.
struct Strategy {
  std::string_view name;
  bool is_gateways = false;
  enum class Commit { kBlindly, kGuessing, kAfterReveal, kTwice } commit = Commit::kBlindly;
  enum class Reveal {
    kAlways,
    kIfSomeWon,
    kIfNoneWon,
    kLate,
    kTooLate,
    kHalf
  } reveal = Reveal::kAlways;
  bool loses = false;  // else it neither gains nor loses
};
using Commit = Strategy::Commit;
using Reveal = Strategy::Reveal;

constexpr Strategy kStrategies[] = {
    {"provider: honest"},
    {"provider: commits to what would win by a guess", false, Commit::kGuessing},
    {"provider: commits once it knows the gateway's reveal", false, Commit::kAfterReveal,
     Reveal::kAlways, true},
    {"provider: signs two answers, claims the one that wins", false, Commit::kTwice},
    {"provider: withholds rounds without a winner", false, Commit::kBlindly, Reveal::kIfSomeWon,
     true},
    {"provider: withholds rounds with a winner", false, Commit::kBlindly, Reveal::kIfNoneWon, true},
    {"provider: reveals at the last moment", false, Commit::kBlindly, Reveal::kLate},
    {"provider: reveals after the deadline", false, Commit::kBlindly, Reveal::kTooLate, true},
    {"gateway: honest", true},
    {"gateway: makes jobs that would lose by a guess", true, Commit::kGuessing},
    {"gateway: reveals at the last moment", true, Commit::kBlindly, Reveal::kLate},
    {"gateway: withholds every second round", true, Commit::kBlindly, Reveal::kHalf, true},
};

struct Gain {
  double mean = 0;   // of the strategist, in units a ticket
  double error = 0;  // standard error of it, over rounds
};

class Lottery {
 public:
  explicit Lottery(const Strategy& strategy)
      : strategy_(strategy), pair_(17), threshold_(*threshold_for(Amount(10), Amount(1000))) {}

  Gain play() {
    double sum = 0, squares = 0;
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      const double gain = play_round(round) / static_cast<double>(kTicketsPerRound);
      sum += gain;
      squares += gain * gain;
    }
    const double mean = sum / kRounds;
    return {mean, std::sqrt((squares / kRounds - mean * mean) / kRounds)};
  }

 private:
  struct Ticket {
    protocol::ReceiptBody body;
    Digest second{};  // another commitment to the same step
  };

  /// What the provider has earned in this round beyond the tickets' worth; of a gateway's strategy,
  /// what it has saved.
  double play_round(std::uint64_t round) {
    std::vector<Ticket> tickets;
    if (strategy_.commit != Commit::kAfterReveal) tickets = commit(round, guess(round));
    const bool gateway_withholds =
        strategy_.is_gateways && strategy_.reveal == Reveal::kHalf && round % 2 == 0;
    const double worth = kWorth * kTicketsPerRound;
    if (gateway_withholds) return -kPenalty * kTicketsPerRound;  // worth is paid, and more
    EXPECT_TRUE(beacon_.on_gateway_reveal(round, *pair_.gateway_chain.reveal(round)));
    const Digest own = *pair_.provider_chain.reveal(round);
    const Digest value = protocol::beacon_value(round, *pair_.gateway_chain.reveal(round), own);
    if (strategy_.commit == Commit::kAfterReveal) tickets = commit(round, value);
    double won = 0;
    for (const Ticket& ticket : tickets) won += wins(draw(value, ticket.body), threshold_) * kFace;
    const double earned = provider_reveals(round, won, own) ? won : -kSlash;
    return strategy_.is_gateways ? worth - earned : earned - worth;
  }

  /// The tickets of a round that the gateway countersigns.
  std::vector<Ticket> commit(std::uint64_t round, const Digest& expected_beacon) {
    std::vector<Ticket> tickets;
    if (round < beacon_.open_round()) return tickets;  // TicketBook::commit refuses each
    for (std::uint64_t i = 0; i < kTicketsPerRound; ++i) {
      Ticket ticket{{pair_.rng().next_digest(), 1, pair_.rng().next_digest(), round}, {}};
      if (strategy_.commit == Commit::kGuessing) grind(ticket, expected_beacon);
      // The second one lacks the gateway's signature: AClaimNeedsTheCountersignedCommitment.
      if (strategy_.commit == Commit::kTwice) ticket.second = pair_.rng().next_digest();
      tickets.push_back(ticket);
    }
    return tickets;
  }

  /// Looks for a job (gateway) or a commitment (provider) that the guessed beacon favours.
  void grind(Ticket& ticket, const Digest& guessed) {
    for (int i = 0; i < kGrinds; ++i) {
      if (wins(draw(guessed, ticket.body), threshold_) != strategy_.is_gateways) return;
      (strategy_.is_gateways ? ticket.body.job_id : ticket.body.commitment) =
          pair_.rng().next_digest();
    }
  }

  /// The best that a side can know while the round is open: its own reveal, and the other's last.
  Digest guess(std::uint64_t round) {
    const Digest gateway =
        strategy_.is_gateways ? *pair_.gateway_chain.reveal(round) : beacon_.gateway().value();
    const Digest provider =
        strategy_.is_gateways ? beacon_.provider().value() : *pair_.provider_chain.reveal(round);
    return protocol::beacon_value(round, gateway, provider);
  }

  bool provider_reveals(std::uint64_t round, double won, const Digest& own) {
    const bool withheld =
        !strategy_.is_gateways && ((strategy_.reveal == Reveal::kIfSomeWon && won == 0) ||
                                   (strategy_.reveal == Reveal::kIfNoneWon && won > 0) ||
                                   strategy_.reveal == Reveal::kTooLate);
    // Rounds that are revealed late are drawn from the very same values.
    EXPECT_TRUE(beacon_.on_provider_reveal(round, own));
    return !withheld;
  }

  const Strategy strategy_;
  Pair pair_;
  const Digest threshold_;
  beacon::TwoPartyBeacon beacon_{beacon::HashChainTracker(pair_.gateway_head),
                                 beacon::HashChainTracker(pair_.provider_head)};
};

class MoneyStrategies : public ::testing::TestWithParam<Strategy> {};

TEST_P(MoneyStrategies, GainNothing) {
  const Gain gain = Lottery(GetParam()).play();
  const double margin = 2.576 * gain.error;  // 99 %, as there are many of them
  std::printf("| %-55s | %+7.2f | %+7.2f to %+7.2f |\n", std::string(GetParam().name).c_str(),
              gain.mean, gain.mean - margin, gain.mean + margin);
  if (GetParam().loses) {
    EXPECT_LT(gain.mean + kDeviationsMax * gain.error, 0);
  } else {
    EXPECT_LE(std::abs(gain.mean), kDeviationsMax * gain.error);
    // A small error: a gain of a twentieth of a ticket's worth would have shown.
    EXPECT_LT(gain.error, kWorth / 20);
  }
}

INSTANTIATE_TEST_SUITE_P(All, MoneyStrategies, ::testing::ValuesIn(kStrategies),
                         [](const auto& info) { return "S" + std::to_string(info.index); });

TEST(MoneyClaims, ACommitmentThatIsNotCountersignedClaimsNothing) {
  Pair pair(5);
  const protocol::Job job = pair.job(certain_threshold(), Amount(1));
  std::vector<Pair::Step> signed_one = {pair.step(job, 3)}, other = {pair.step(job, 3)};
  pair.sign(signed_one);
  pair.sign(other);
  other[0].receipt.client = signed_one[0].receipt.client;
  const auto check = [&](const Pair::Step& step) {
    return verify_claim(pair.claim(step), beacon::HashChainTracker(pair.gateway_head),
                        beacon::HashChainTracker(pair.provider_head), {3, 3, 10});
  };
  EXPECT_TRUE(check(signed_one[0]));
  EXPECT_EQ(check(other[0]).error().message.find("claim: receipt: client signature: recovers to"),
            0u);
}

// 10^5 tickets through the book, with odds of every size: what is won lies within the binomial
// bound of what was expected.
TEST(MoneyPayout, LiesWithinItsBound) {
  Pair pair(23, 8);
  beacon::TwoPartyBeacon beacon{beacon::HashChainTracker(pair.gateway_head),
                                beacon::HashChainTracker(pair.provider_head)};
  store::MemoryStore store;
  core::ManualClock clock;
  TicketBook book(store, clock, {.deadlines = {.kept_rounds = 1}});
  ASSERT_TRUE(book.open());
  constexpr std::uint64_t kPrices[] = {1, 10, 100, 500, 999, 1000};
  for (std::uint64_t round = 1; round <= 100; ++round) {
    std::vector<NewTicket> tickets;
    std::vector<protocol::Receipt> receipts;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      const Amount price(kPrices[i % std::size(kPrices)]);
      const auto step =
          pair.step(pair.job(*threshold_for(price, Amount(1000)), Amount(1000)), round);
      tickets.push_back({step.receipt, step.output_root, step.output_salt});
      receipts.push_back(step.receipt);
    }
    ASSERT_TRUE(book.commit(tickets, round));
    ASSERT_TRUE(book.countersign(receipts));
    ASSERT_TRUE(beacon.on_gateway_reveal(round, *pair.gateway_chain.reveal(round)));
    ASSERT_TRUE(book.close(beacon.id(), round));
    ASSERT_TRUE(beacon.on_provider_reveal(round, *pair.provider_chain.reveal(round)));
    ASSERT_TRUE(book.draw(beacon));
    ASSERT_TRUE(book.move(book.overdue(beacon.id(), round)));
    ASSERT_TRUE(book.prune(beacon.id(), round));
  }
  const Statistics now = statistics(book.totals());
  EXPECT_EQ(book.totals().issued, 100'000u);
  EXPECT_EQ(book.totals().won + book.totals().lost, 100'000u);
  EXPECT_LE(std::abs(now.deviations), kDeviationsMax);
  std::printf("won %.0f, expected %.0f, deviation %.0f: %+.2f deviations\n", now.won, now.expected,
              now.deviation, now.deviations);
}

}  // namespace
}  // namespace commensal::ticket
