// SPDX-License-Identifier: Apache-2.0
// Does it pay to choose what one reveals, when, or what one commits to? Each strategy plays 10^5
// tickets: real chains, beacon, draw and claims; an offence costs what the ledger takes for it. Its
// gain over honesty is measured with its confidence interval and printed (docs/tickets.md has the
// table). Controls lack the one rule that a strategy fails by: they must gain.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/trade/pay/ledger/punish.hpp>
#include <commensal/trade/pay/ticket/book.hpp>
#include <commensal/trade/pay/ticket/testing/pair.hpp>
#include <set>

namespace commensal::ledger {
namespace {

using Ticket = ticket::testing::Pair::Step;

constexpr std::uint64_t kRounds = 1000;
constexpr std::uint64_t kTicketsPerRound = 100;
constexpr std::uint64_t kFace = 1000;
constexpr std::uint64_t kWorth = 10;       // before the draw: p = 1/100
constexpr std::uint64_t kLocked = 10'000;  // of each side, for what it does wrong
constexpr std::uint64_t kLateRounds = 10;  // that a provider draws at once
constexpr int kGrinds = 8;                 // candidates of one who chooses
constexpr double kDeviationsMax = 4;       // an honest run lies outside once in 15,000

/// What one side does in one round. The honest value of each is the first.
struct Strategy {
  std::string_view name;
  bool is_gateways = false;
  enum class Commits { kBlindly, kByAGuess, kAfterReveal, kTwice } commits = Commits::kBlindly;
  enum class Reveals {
    kAlways,
    kIfSomeWon,
    kIfNoneWon,
    kLate,
    kNever,
    kHalf
  } reveals = Reveals::kAlways;
  enum class Gains { kNothing, kLess, kMore } gains = Gains::kNothing;
  /// Off in controls: late tickets are refused and the other's reveal is not known before; the
  /// client signs one commitment to a step.
  bool has_rule = true;
};
using Commits = Strategy::Commits;
using Reveals = Strategy::Reveals;
using Gains = Strategy::Gains;

constexpr Strategy kStrategies[] = {
    {"provider: honest"},
    {"provider: commits to what would win by a guess", false, Commits::kByAGuess},
    {"provider: commits once it knows the gateway's reveal", false, Commits::kAfterReveal,
     Reveals::kAlways, Gains::kLess},
    {"control: and such tickets are taken", false, Commits::kAfterReveal, Reveals::kAlways,
     Gains::kMore, false},
    {"provider: signs two answers, claims the one that wins", false, Commits::kTwice},
    {"control: and the client signs both", false, Commits::kTwice, Reveals::kAlways, Gains::kMore,
     false},
    {"provider: withholds rounds without a winner", false, Commits::kBlindly, Reveals::kIfSomeWon,
     Gains::kLess},
    {"provider: withholds rounds with a winner", false, Commits::kBlindly, Reveals::kIfNoneWon,
     Gains::kLess},
    {"provider: draws ten rounds at once, in the last one", false, Commits::kBlindly,
     Reveals::kLate},
    {"provider: reveals after the deadline", false, Commits::kBlindly, Reveals::kNever,
     Gains::kLess},
    {"gateway: honest", true},
    {"gateway: makes jobs that would lose by a guess", true, Commits::kByAGuess},
    {"control: and it knows the provider's reveal", true, Commits::kByAGuess, Reveals::kAlways,
     Gains::kMore, false},
    {"gateway: withholds every second round", true, Commits::kBlindly, Reveals::kHalf,
     Gains::kLess},
};

/// What the ledger takes for it from who has kLocked, and fills that up again to be let go on.
double taken_for(Offence offence) {
  const auto row = std::ranges::find(offence_table(), offence, &OffenceRow::offence);
  const Address offender{{1}}, harmed{{2}};
  State state;
  state.balances.set({offender, row->account}, Amount(kLocked));
  Entry entry;
  Context context(state, entry);
  const auto cost = punish(context, offence, offender, harmed);
  EXPECT_TRUE(cost) << cost.error().message;
  return ticket::to_double(*cost);
}

struct Gain {
  double mean = 0;   // of the strategist, in units a ticket
  double error = 0;  // standard error of it, over draws
};

class Lottery {
 public:
  explicit Lottery(const Strategy& strategy) : strategy_(strategy) {}

  Gain play() {
    const bool is_late = strategy_.reveals == Reveals::kLate;
    const std::uint64_t at_once = is_late ? kLateRounds : 1;
    double sum = 0, squares = 0;
    for (std::uint64_t round = at_once; round <= kRounds; round += at_once) {
      const double gain =
          play_until(round, at_once) / static_cast<double>(at_once * kTicketsPerRound);
      sum += gain;
      squares += gain * gain;
    }
    const auto draws = static_cast<double>(kRounds / at_once);
    const double mean = sum / draws;
    return {mean, std::sqrt((squares / draws - mean * mean) / draws)};
  }

 private:
  /// What the provider has earned in these rounds beyond the tickets' worth; of a gateway's
  /// strategy, what it has saved.
  double play_until(std::uint64_t last, std::uint64_t rounds) {
    std::vector<Ticket> tickets;
    for (std::uint64_t round = last - rounds + 1; round <= last; ++round) {
      const bool is_late = strategy_.commits == Commits::kAfterReveal;
      if (!is_late) commit(round, guess(round), tickets);
      if (strategy_.reveals == Reveals::kHalf && round % 2 == 0) {
        // Default: their worth goes to the provider, and a penalty for each.
        return -taken_for(Offence::kGatewayDefault) * static_cast<double>(kTicketsPerRound);
      }
      EXPECT_TRUE(beacon_.on_gateway_reveal(round, *pair_.gateway_chain.reveal(round)));
      if (is_late) commit_late(round, tickets);
    }
    const auto worth = static_cast<double>(kWorth * kTicketsPerRound * rounds);
    const double earned = draw(last, tickets);
    return strategy_.is_gateways ? worth - earned : earned - worth;
  }

  /// The tickets of a round, committed to; the strategist expects that beacon.
  void commit(std::uint64_t round, const Digest& beacon, std::vector<Ticket>& tickets) {
    for (std::uint64_t i = 0; i < kTicketsPerRound; ++i) {
      Ticket made = pair_.step(job(), round);
      if (strategy_.commits != Commits::kBlindly && strategy_.commits != Commits::kTwice) {
        grind(made, beacon);
      }
      tickets.push_back(made);
    }
  }

  /// Tickets of a round that the gateway has revealed.
  void commit_late(std::uint64_t round, std::vector<Ticket>& tickets) {
    std::vector<Ticket> late;
    commit(round, beacon_of(round), late);
    for (const Ticket& made : late) {
      const ticket::NewTicket asked{made.receipt, made.output_root, made.output_salt};
      if (strategy_.has_rule && !book_.commit({&asked, 1}, beacon_.open_round())) continue;
      tickets.push_back(made);
    }
  }

  protocol::Job job() { return pair_.job(threshold_, Amount(kFace)); }

  void commit_again(Ticket& made) {
    made.output_salt = pair_.rng().next_digest();
    const Digest job_id = protocol::job_id(made.receipt.job);
    made.receipt.commitment = protocol::commit_step(job_id, 1, made.output_root, made.output_salt);
  }

  /// Looks for a job (gateway) or a commitment (provider) that the beacon favours.
  void grind(Ticket& made, const Digest& beacon) {
    for (int i = 0; i < kGrinds && has_won(made, beacon) == strategy_.is_gateways; ++i) {
      if (strategy_.is_gateways) {
        made = pair_.step(job(), made.receipt.round);
      } else {
        commit_again(made);
      }
    }
  }

  bool has_won(const Ticket& made, const Digest& beacon) const {
    return ticket::wins(ticket::draw(beacon, made.receipt.body()), threshold_);
  }

  Digest beacon_of(std::uint64_t round) {
    return protocol::beacon_value(round, *pair_.gateway_chain.reveal(round),
                                  *pair_.provider_chain.reveal(round));
  }
  /// The best that a side can know while the round is open: its own reveal, and the other's last.
  Digest guess(std::uint64_t round) {
    if (!strategy_.has_rule) return beacon_of(round);
    const Digest gateway =
        strategy_.is_gateways ? *pair_.gateway_chain.reveal(round) : beacon_.gateway().value();
    const Digest provider =
        strategy_.is_gateways ? beacon_.provider().value() : *pair_.provider_chain.reveal(round);
    return protocol::beacon_value(round, gateway, provider);
  }

  /// The provider, who knows what has won, reveals the last round or has it held against it; what
  /// it earns.
  double draw(std::uint64_t last, const std::vector<Ticket>& tickets) {
    double won = 0;
    std::set<Digest> paid;
    for (const Ticket& made : tickets) won += claim(made, last, paid);
    const bool is_withheld = (strategy_.reveals == Reveals::kIfSomeWon && won == 0) ||
                             (strategy_.reveals == Reveals::kIfNoneWon && won > 0) ||
                             strategy_.reveals == Reveals::kNever;
    // Too late for tickets in default; rounds that are revealed late are drawn from the same
    // values.
    EXPECT_TRUE(beacon_.on_provider_reveal(last, *pair_.provider_chain.reveal(last)));
    return is_withheld ? -taken_for(Offence::kWithheldReveal) : won;
  }

  /// What one step earns its provider. Its signatures do not enter the draw: only winners get them.
  double claim(const Ticket& made, std::uint64_t last, std::set<Digest>& paid) {
    std::vector<Ticket> versions = {made};
    if (strategy_.commits == Commits::kTwice) commit_again(versions.emplace_back(made));
    const Digest beacon = beacon_of(made.receipt.round);
    double earned = 0;
    for (std::size_t i = 0; i < versions.size(); ++i) {
      if (!has_won(versions[i], beacon)) continue;
      pair_.sign({&versions[i], 1});
      if (i > 0 && strategy_.has_rule) {  // the client has signed the first one
        Ticket first = made;
        pair_.sign({&first, 1});
        versions[i].receipt.client = first.receipt.client;
      }
      const ticket::ClaimTerms terms{last, last, Config{}.opening_rounds};
      const auto checked = ticket::verify_claim(pair_.claim(versions[i]), beacon_.gateway(),
                                                beacon_.provider(), terms);
      if (checked && paid.insert(checked->ticket).second) earned += kFace;
    }
    return earned;
  }

  const Strategy strategy_;
  ticket::testing::Pair pair_{17};
  const Digest threshold_ = *ticket::threshold_for(Amount(kWorth), Amount(kFace));
  beacon::TwoPartyBeacon beacon_{beacon::HashChainTracker(pair_.gateway_head),
                                 beacon::HashChainTracker(pair_.provider_head)};
  store::MemoryStore store_;
  core::ManualClock clock_;
  ticket::TicketBook book_{store_, clock_};
};

class MoneyStrategies : public ::testing::TestWithParam<Strategy> {};

TEST_P(MoneyStrategies, GainNothingUnlessARuleIsOff) {
  const Gain gain = Lottery(GetParam()).play();
  const double margin = 2.576 * gain.error;  // 99 %, as there are many of them
  std::printf("| %-55s | %+7.2f | %+7.2f to %+7.2f |\n", std::string(GetParam().name).c_str(),
              gain.mean, gain.mean - margin, gain.mean + margin);
  if (GetParam().gains == Gains::kLess) {
    EXPECT_LT(gain.mean + kDeviationsMax * gain.error, 0);
  } else if (GetParam().gains == Gains::kMore) {
    EXPECT_GT(gain.mean - kDeviationsMax * gain.error, 0);
  } else {
    EXPECT_LE(std::abs(gain.mean), kDeviationsMax * gain.error);
    // A small error: a gain of a twentieth of a ticket's worth would have shown.
    EXPECT_LT(gain.error, static_cast<double>(kWorth) / 20);
  }
}

INSTANTIATE_TEST_SUITE_P(All, MoneyStrategies, ::testing::ValuesIn(kStrategies),
                         [](const auto& info) { return "S" + std::to_string(info.index); });

}  // namespace
}  // namespace commensal::ledger
