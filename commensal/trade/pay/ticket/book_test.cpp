// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/sqlite_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>
#include <commensal/trade/pay/ticket/book.hpp>
#include <commensal/trade/pay/ticket/summary.hpp>
#include <commensal/trade/pay/ticket/testing/pair.hpp>
#include <filesystem>
#include <functional>

namespace commensal::ticket {
namespace {

using namespace testing;
using core::Digest;
using store::testing::Fault;

template <class Result>
std::string refusal(const Result& result) {
  return result ? "accepted" : result.error().message;
}

/// What two books, or one before and after a restart, must agree in.
std::string image_of(const TicketBook& book) {
  std::string image = core::to_hex(encode(book.totals()));
  for (std::size_t i = 0; i < enum_names(State{}).size(); ++i) {
    for (const Record& record : book.in(static_cast<State>(i))) {
      image += "\n" + core::to_hex(encode(record));
    }
  }
  return image;
}

NewTicket unsigned_ticket(const Pair::Step& step) {
  return {step.receipt, step.output_root, step.output_salt};
}

class MoneyBook : public ::testing::Test {
 protected:
  /// `count` steps of round `round`, which win with probability 1/2.
  std::vector<Pair::Step> steps(std::size_t count, std::uint64_t round) {
    std::vector<Pair::Step> made;
    for (std::size_t i = 0; i < count; ++i) {
      made.push_back(pair_.step(pair_.job(*threshold_of(0.5), Amount(100)), round));
    }
    return made;
  }
  static std::vector<NewTicket> tickets(const std::vector<Pair::Step>& steps) {
    std::vector<NewTicket> made;
    for (const auto& step : steps) made.push_back(unsigned_ticket(step));
    return made;
  }
  static std::vector<protocol::Receipt> receipts(const std::vector<Pair::Step>& steps) {
    std::vector<protocol::Receipt> made;
    for (const auto& step : steps) made.push_back(step.receipt);
    return made;
  }
  core::Result<void> reveal(std::uint64_t round) {
    COMMENSAL_TRY(beacon_.on_gateway_reveal(round, *pair_.gateway_chain.reveal(round)));
    return beacon_.on_provider_reveal(round, *pair_.provider_chain.reveal(round));
  }
  /// Commits and countersigns.
  std::vector<Digest> issue(TicketBook& book, std::size_t count, std::uint64_t round) {
    auto made = steps(count, round);
    EXPECT_EQ(refusal(book.commit(tickets(made), round)), "accepted");
    EXPECT_EQ(refusal(book.countersign(receipts(made))), "accepted");
    std::vector<Digest> ids;
    for (const auto& step : made) ids.push_back(protocol::ticket_id(step.receipt.body()));
    return ids;
  }

  Pair pair_{5};
  beacon::TwoPartyBeacon beacon_{beacon::HashChainTracker(pair_.gateway_head),
                                 beacon::HashChainTracker(pair_.provider_head)};
  core::ManualClock clock_;
  store::MemoryStore store_;
  TicketBook book_{store_, clock_, {.tickets_max = 64, .deadlines = {2, 3, 5, 10}}};
};

TEST_F(MoneyBook, ATicketGoesFromCommitmentToPayment) {
  ASSERT_TRUE(book_.open());
  clock_.advance_ms(1000);
  issue(book_, 20, 1);
  EXPECT_EQ(book_.in(State::kCountersigned).size(), 20u);
  ASSERT_TRUE(book_.close(beacon_.id(), 1));
  EXPECT_TRUE(book_.draw(beacon_)->empty());  // nobody has revealed
  ASSERT_TRUE(reveal(1));
  const auto winners = *book_.draw(beacon_);
  EXPECT_EQ(book_.totals().won, winners.size());
  EXPECT_EQ(book_.totals().won + book_.totals().lost, 20u);
  ASSERT_FALSE(winners.empty());
  clock_.advance_ms(250);
  for (const Event event : {Event::kOpen, Event::kAudit, Event::kPay}) {
    const Move move{winners[0], event, event == Event::kPay ? Amount(100) : Amount(0)};
    ASSERT_EQ(refusal(book_.move({&move, 1})), "accepted");
  }
  EXPECT_EQ(book_.find(winners[0])->state, State::kPaid);
  EXPECT_EQ(book_.totals().value_paid, Amount(100));
  const Statistics now = statistics(book_.totals());
  EXPECT_EQ(now.expected, 20 * 50);
  EXPECT_DOUBLE_EQ(now.deviation, std::sqrt(20 * 2500.0));
  EXPECT_EQ(now.won, 100.0 * static_cast<double>(winners.size()));
  EXPECT_EQ(now.wait_ms_mean, 250);
  EXPECT_EQ(protocol::ticket_id(book_.receipt(winners[0])->body()), winners[0]);
  EXPECT_DOUBLE_EQ(seconds_to_win(*threshold_of(0.01), 50), 2);
}

TEST_F(MoneyBook, WhatIsSoldHasPaidItsProviderWhateverBecomesOfIt) {
  ASSERT_TRUE(book_.open());
  issue(book_, 20, 1);
  ASSERT_TRUE(book_.close(beacon_.id(), 1) && reveal(1));
  const auto winners = *book_.draw(beacon_);
  ASSERT_GE(winners.size(), 2u);
  const auto move = [&](const Digest& ticket, Event event, Amount amount = {}) {
    const Move move{ticket, event, amount};
    return refusal(book_.move({&move, 1}));
  };
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(move(winners[i], Event::kOpen), "accepted");
    ASSERT_EQ(move(winners[i], Event::kSell, Amount(90)), "accepted");
  }
  EXPECT_EQ(book_.open_claims().size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) ASSERT_EQ(move(winners[i], Event::kAudit), "accepted");
  ASSERT_EQ(move(winners[0], Event::kPay), "accepted");  // to who bought it
  ASSERT_EQ(move(winners[1], Event::kSlash), "accepted");
  EXPECT_EQ(book_.totals().value_paid, Amount(180));
}

TEST_F(MoneyBook, RefusesByNameAndChangesNothing) {
  ASSERT_TRUE(book_.open());
  auto made = steps(2, 4);
  ASSERT_TRUE(book_.commit(tickets({made[0]}), 3));
  const std::string before = image_of(book_);
  const std::string name =
      "ticket " + core::to_hex(protocol::ticket_id(made[0].receipt.body())) + ": ";
  EXPECT_EQ(refusal(book_.commit(tickets(made), 3)), name + "there is one for this step already");
  EXPECT_EQ(refusal(book_.commit(tickets({made[1], made[1]}), 3)).substr(72),
            " there is one for this step already");
  EXPECT_EQ(refusal(book_.commit(tickets({made[1]}), 5)).substr(72),
            " round 4 is closed, the first open one is 5");
  EXPECT_EQ(refusal(book_.commit(tickets({made[1]}), 1)).substr(72), " round 4, expected 1 to 3");
  EXPECT_EQ(refusal(book_.countersign(receipts({made[1]}))).substr(72),
            " there is none of that name");
  auto other = made[0];
  other.receipt.commitment[0] ^= 1;
  EXPECT_EQ(refusal(book_.countersign(receipts({other}))),
            name + "countersigned with another commitment or round");
  const Move pay{protocol::ticket_id(made[0].receipt.body()), Event::kPay, Amount(1)};
  EXPECT_EQ(refusal(book_.move({&pay, 1})),
            name + "'pay' where the ticket is committed, expected audited");
  made[1].receipt.round = protocol::kNoDraw;
  EXPECT_EQ(refusal(book_.commit(tickets({made[1]}), 1)).substr(72),
            " round 0 of 1 beacons, expected a round of one");
  EXPECT_EQ(image_of(book_), before);
}

TEST_F(MoneyBook, IsBoundedAndForgetsWhatIsSettledOnly) {
  ASSERT_TRUE(book_.open());
  issue(book_, 60, 2);
  EXPECT_EQ(refusal(book_.commit(tickets(steps(5, 2)), 2)),
            "60 tickets are kept, at most 64: no new work");
  ASSERT_TRUE(book_.close(beacon_.id(), 2));
  ASSERT_TRUE(reveal(2));
  const std::size_t winners = book_.draw(beacon_)->size();
  EXPECT_EQ(*book_.prune(beacon_.id(), 12), 28u);  // what else there is may be asked for yet
  EXPECT_EQ(*book_.prune(beacon_.id(), 12), 0u);
  ASSERT_LT(winners + 28, 60u);
  EXPECT_EQ(*book_.prune(beacon_.id(), 13, 1), 1u);
  EXPECT_EQ(*book_.prune(beacon_.id(), 13), 60 - winners - 28 - 1);
  EXPECT_EQ(book_.size(), winners);
  EXPECT_TRUE(book_.room_for(5));
  EXPECT_EQ(book_.totals().lost, 60 - winners);
  TicketBook again(store_, clock_);
  ASSERT_TRUE(again.open());
  EXPECT_EQ(image_of(again), image_of(book_));
}

TEST_F(MoneyBook, LetsLostTicketsGoEarlyWhereItIsHalfFull) {
  TicketBook book(store_, clock_, {.tickets_max = 60, .deadlines = {}});
  ASSERT_TRUE(book.open());
  issue(book, 50, 1);
  ASSERT_TRUE(book.close(beacon_.id(), 1));
  ASSERT_TRUE(reveal(1));
  const std::size_t winners = book.draw(beacon_)->size();
  ASSERT_LT(winners, 30u);
  EXPECT_FALSE(book.room_for(20));
  EXPECT_EQ(*book.prune(beacon_.id(), 1), 0u);  // of the round itself nothing goes
  EXPECT_EQ(*book.prune(beacon_.id(), 2, 7), 7u);
  EXPECT_EQ(*book.prune(beacon_.id(), 2), 13u);
  EXPECT_EQ(*book.prune(beacon_.id(), 2), 0u);
  EXPECT_EQ(book.size(), 30u);
  EXPECT_TRUE(book.room_for(20));
  EXPECT_EQ(book.in(State::kWon).size(), winners);
}

TEST_F(MoneyBook, DeadlinesCountAcknowledgedRounds) {
  ASSERT_TRUE(book_.open());
  issue(book_, 10, 1);
  const auto uncountersigned = steps(1, 2);
  ASSERT_TRUE(book_.commit(tickets(uncountersigned), 1));
  ASSERT_TRUE(book_.close(beacon_.id(), 2));
  EXPECT_EQ(book_.totals().voided, 1u);
  EXPECT_TRUE(book_.overdue(beacon_.id(), Event::kWithhold, 4).empty());
  EXPECT_EQ(book_.overdue(beacon_.id(), Event::kWithhold, 5, 3).size(), 3u);
  auto late = book_.overdue(beacon_.id(), Event::kWithhold, 5);
  EXPECT_EQ(late.size(), 10u);
  EXPECT_EQ(late[0].event, Event::kWithhold);
  EXPECT_TRUE(book_.overdue(beacon_.id(), Event::kSilence, 70).empty());
  ASSERT_TRUE(reveal(2));
  const auto winners = *book_.draw(beacon_);
  EXPECT_TRUE(book_.overdue(beacon_.id(), Event::kSilence, 6).empty());
  late = book_.overdue(beacon_.id(), Event::kSilence, 7);
  EXPECT_EQ(late.size(), winners.size());
  for (const Move& move : late) EXPECT_EQ(move.event, Event::kSilence);
  ASSERT_TRUE(book_.move(late));
  EXPECT_EQ(book_.totals().slashed, winners.size());
  for (const Event event : {Event::kWithhold, Event::kSilence}) {
    EXPECT_TRUE(book_.overdue(beacon_.id(), event, 70).empty());
  }
}

// Whoever has left it there: what nobody goes on with is void in the end, the oldest first, and
// counts no more.
TEST_F(MoneyBook, WhatNobodyGoesOnWithLapses) {
  ASSERT_TRUE(book_.open());
  std::vector<Digest> settled;
  book_.on_settled([&](const Digest& ticket) { settled.push_back(ticket); });
  const auto old = issue(book_, 40, 1);
  clock_.advance_ms(1'000);
  issue(book_, 5, 2);
  ASSERT_TRUE(book_.close(beacon_.id(), 1));
  ASSERT_TRUE(reveal(1));
  const std::size_t winners = book_.draw(beacon_)->size();
  ASSERT_GT(winners, 1u);
  const Move open{book_.in(State::kWon).front().id(), Event::kOpen, {}};
  ASSERT_TRUE(book_.move({&open, 1}));
  EXPECT_EQ(book_.awaited(beacon_.id()), winners + 5);
  const auto now_ms = static_cast<std::uint64_t>(clock_.wall_ms());
  EXPECT_EQ(*book_.lapse(now_ms - 1'000), 0u);
  EXPECT_EQ(*book_.lapse(now_ms - 999, 1), 1u);
  EXPECT_EQ(*book_.lapse(now_ms - 999), winners - 2);
  EXPECT_EQ(book_.count(State::kVoid), winners - 1);
  EXPECT_EQ(book_.count(State::kOpened), 1u) << "the ledger decides on it";
  EXPECT_EQ(settled.size(), 39u);
  EXPECT_EQ(*book_.lapse(now_ms + 1), 5u);
  EXPECT_EQ(book_.awaited(), 1u);
  EXPECT_EQ(book_.awaited(beacon_.id()), 1u);
  EXPECT_EQ(*book_.lapse(now_ms + 1), 0u);
}

// Any sequence of events: the table alone decides, and a restarted book is the same book.
TEST_F(MoneyBook, NoEventPassesTheTable) {
  const core::Path file = std::filesystem::temp_directory_path() /
                          ("ticket-book-" + std::to_string(::getpid()) + ".sqlite");
  std::filesystem::remove(file);
  auto sqlite = *store::open_sqlite_store(file);
  TicketBook book(*sqlite, clock_);
  ASSERT_TRUE(book.open());
  auto ids = issue(book, 30, 1);
  core::CounterRng rng(2);
  for (int i = 0; i < 3000; ++i) {
    const Digest& id = ids[rng.next_u32() % ids.size()];
    const auto event = static_cast<Event>(rng.next_u32() % enum_names(Event{}).size());
    const State before = book.find(id)->state;
    const Move move{id, event, Amount(7)};
    const bool moved = book.move({&move, 1}).has_value();
    const State now = book.find(id)->state;
    const auto allowed = after(before, event);
    ASSERT_EQ(moved, allowed.has_value());
    ASSERT_EQ(now, moved ? *allowed : before);
    if (i % 500 != 0) continue;
    TicketBook again(*sqlite, clock_);
    ASSERT_TRUE(again.open());
    ASSERT_EQ(image_of(again), image_of(book));
  }
  std::filesystem::remove(file);
}

// Rows hold many tickets: nothing outdated comes back, and in the end nothing is left on disk.
TEST_F(MoneyBook, ARestartedBookIsTheSameWhateverWasForgotten) {
  TicketBook book(store_, clock_, {.tickets_max = 160, .deadlines = {2, 3, 5, 10}});
  ASSERT_TRUE(book.open());
  core::CounterRng rng(5);
  const auto check = [&] {
    TicketBook again(store_, clock_);
    ASSERT_TRUE(again.open());
    ASSERT_EQ(image_of(again), image_of(book));
    for (const State state : {State::kCountersigned, State::kWon, State::kPaid}) {
      for (const Record& record : book.in(state)) {
        ASSERT_EQ(refusal(book.receipt(record.id())), "accepted");
        ASSERT_EQ(refusal(again.receipt(record.id())), "accepted");
      }
    }
  };
  constexpr std::uint64_t kRounds = 20;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    for (int batch = 0; batch < 3; ++batch) {
      const auto made = steps(1 + rng.next_u32() % 6, round + rng.next_u32() % 2);
      ASSERT_EQ(refusal(book.commit(tickets(made), round)), "accepted");
      auto signed_ones = receipts(made);
      signed_ones.resize(rng.next_u32() % (signed_ones.size() + 1));  // the rest never
      ASSERT_EQ(refusal(book.countersign(signed_ones)), "accepted");
    }
    ASSERT_TRUE(book.close(beacon_.id(), round));
    ASSERT_TRUE(reveal(round));
    ASSERT_TRUE(book.draw(beacon_));
    for (const Record& record : book.in(State::kWon)) {
      if (rng.next_u32() % 3 == 0) continue;
      for (const Event event : {Event::kOpen, Event::kAudit, Event::kPay}) {
        const Move move{record.id(), event, Amount(1)};
        ASSERT_EQ(refusal(book.move({&move, 1})), "accepted");
      }
    }
    ASSERT_TRUE(book.prune(beacon_.id(), round, 1 + rng.next_u32() % 20));
    check();
  }
  ASSERT_TRUE(book.close(beacon_.id(), kRounds + 1));
  ASSERT_TRUE(reveal(kRounds + 1));
  ASSERT_TRUE(book.draw(beacon_));
  ASSERT_TRUE(book.move(book.overdue(beacon_.id(), Event::kSilence, kRounds + 10)));
  ASSERT_TRUE(book.prune(beacon_.id(), kRounds + 20));
  EXPECT_EQ(book.size(), 0u);
  EXPECT_TRUE(store_.scan("tickets", {}, [](auto, auto) {
    ADD_FAILURE() << "a row is left";
    return false;
  }));
}

// Breaks off at every write, in every way, and goes on: nothing that was acknowledged is lost, and
// the end is that of a run without faults.
TEST_F(MoneyBook, SurvivesACrashAtEveryWrite) {
  auto first = steps(6, 1), second = steps(6, 2);
  using Script = std::vector<std::function<core::Result<void>(TicketBook&)>>;
  const Script script = {
      [&](TicketBook& book) { return book.commit(tickets(first), 1); },
      [&](TicketBook& book) { return book.countersign(receipts(first)); },
      [&](TicketBook& book) { return book.commit(tickets(second), 2); },
      [&](TicketBook& book) { return book.close(beacon_.id(), 1); },
      [&](TicketBook& book) { return book.countersign(receipts(second)); },
      [&](TicketBook& book) { return book.close(beacon_.id(), 2); },
      [&](TicketBook& book) -> core::Result<void> {
        COMMENSAL_TRY(book.draw(beacon_));
        return {};
      },
      [&](TicketBook& book) { return book.move(book.overdue(beacon_.id(), Event::kSilence, 700)); },
      [&](TicketBook& book) -> core::Result<void> {
        COMMENSAL_TRY(book.prune(beacon_.id(), 1203));
        return {};
      },
  };
  ASSERT_TRUE(reveal(2));
  store::MemoryStore whole;
  TicketBook reference(whole, clock_);
  ASSERT_TRUE(reference.open());
  for (const auto& step : script) ASSERT_EQ(refusal(step(reference)), "accepted");
  for (std::uint64_t at = 0; at < script.size(); ++at) {
    for (const auto fault :
         {Fault::kFailBefore, Fault::kFailAfter, Fault::kCrashBefore, Fault::kCrashAfter}) {
      store::MemoryStore disk;
      store::testing::FaultStore faulty(disk, at, fault);
      TicketBook book(faulty, clock_);
      ASSERT_TRUE(book.open());
      std::size_t done = 0;
      while (done < script.size() && script[done](book)) ++done;
      ASSERT_EQ(done, at);
      TicketBook next(disk, clock_);
      ASSERT_TRUE(next.open());
      // The batch that broke off is there or not; doing it again is refused or changes nothing.
      const bool written = fault == Fault::kFailAfter || fault == Fault::kCrashAfter;
      if (!written) {
        ASSERT_EQ(image_of(next), image_of(book));
      }
      for (std::size_t i = written ? done + 1 : done; i < script.size(); ++i) {
        ASSERT_EQ(refusal(script[i](next)), "accepted") << at << " " << i;
      }
      ASSERT_EQ(image_of(next), image_of(reference)) << at;
    }
  }
}

TEST(MoneyState, EveryTicketEndsSettled) {
  for (std::size_t i = 0; i < enum_names(State{}).size(); ++i) {
    const auto state = static_cast<State>(i);
    bool leads_on = false;
    for (const Transition& row : transitions()) {
      leads_on = leads_on || row.from == state;
      EXPECT_NE(row.from, row.to);
      EXPECT_EQ(*after(row.from, row.event), row.to);
      EXPECT_TRUE(!is_settled(row.from) || row.from == State::kLost);
    }
    EXPECT_TRUE(leads_on || is_settled(state));
  }
}

}  // namespace
}  // namespace commensal::ticket
