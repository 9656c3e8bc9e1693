// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/limits.hpp>
#include <commensal/trade/pay/ledger/journal.hpp>
#include <commensal/trade/pay/ticket/book.hpp>
#include <nlohmann/json.hpp>

#include <tests/e2e/books.hpp>

namespace commensal::e2e {
namespace {

using Json = nlohmann::json;
using Counts = std::map<std::string, std::uint64_t>;  // by receipt, in hex

std::uint64_t count_of(const Counts& counts, const std::string& receipt) {
  const auto found = counts.find(receipt);
  return found == counts.end() ? 0 : found->second;
}

/// In the ledger's journal.
Counts charges_in(core::Store& store) {
  Counts charges;
  const auto read = store.scan(ledger::kJournalSpace, {}, [&](core::ByteView, core::ByteView row) {
    const auto entry = protocol::decode<ledger::Entry>(row);
    EXPECT_TRUE(entry) << "a row of the journal is none";
    const auto* const debit =
        entry ? std::get_if<ledger::Debit>(&entry->transaction.body) : nullptr;
    if (debit != nullptr) ++charges[core::to_hex(debit->request)];
    return entry.has_value();
  });
  EXPECT_TRUE(read);
  return charges;
}

/// Of tickets in one of these states.
Counts tickets_in(core::Store& store, bool (*is_meant)(ticket::State)) {
  const core::SystemClock clock;
  ticket::TicketBook book(store, clock);
  EXPECT_TRUE(book.open());
  Counts tickets;
  for (std::size_t i = 0; i < ticket::kStates; ++i) {
    const auto state = static_cast<ticket::State>(i);
    if (!is_meant(state)) continue;
    for (const ticket::Record& record : book.in(state)) {
      ++tickets[core::to_hex(protocol::receipt_id(record.body))];
    }
  }
  return tickets;
}

}  // namespace

Losers losers_in(core::Store& store) {
  const core::SystemClock clock;
  ticket::TicketBook book(store, clock);
  EXPECT_TRUE(book.open());
  Losers losers;
  for (const ticket::Record& record : book.in(ticket::State::kLost)) {
    losers.tickets[core::to_hex(protocol::receipt_id(record.body))] = {record.beacon,
                                                                       record.body.round};
  }
  losers.dropped = book.totals().lost - book.count(ticket::State::kLost);
  return losers;
}

Dropped::Dropped(const Losers& kept, const Losers& theirs)
    : theirs_(theirs), left_(kept.dropped), untold_(theirs.dropped) {
  for (const auto& [receipt, at] : kept.tickets) {
    const auto [oldest, is_new] = oldest_.emplace(at.beacon, at.round);
    oldest->second = std::min(oldest->second, at.round);
  }
}

bool Dropped::may(const std::string& receipt) {
  if (left_ == 0) return false;
  --left_;
  const auto found = theirs_.tickets.find(receipt);
  if (found == theirs_.tickets.end()) return untold_ > 0 && untold_-- > 0;
  const auto oldest = oldest_.find(found->second.beacon);
  return oldest == oldest_.end() || found->second.round <= oldest->second;
}

Kept expect_receipts(client::Client& client, const Acknowledged& acknowledged) {
  Kept made;
  std::set<std::string> all;
  for (const auto& [account, receipts] : acknowledged) {
    const Json listed =
        Json::parse(client.get_json("/v1/receipts?count=1000&account=" + account).value_or("{}"));
    std::set<std::string>& kept = made.receipts[account];
    for (const Json& one : listed.value("receipts", Json::array())) {
      EXPECT_TRUE(kept.insert(one.value("id", "")).second) << account << " has one twice: " << one;
    }
    for (const std::string& receipt : receipts) {
      EXPECT_TRUE(kept.contains(receipt)) << account << ", receipt " << receipt;
      EXPECT_TRUE(all.insert(receipt).second) << "two answers with the receipt " << receipt;
    }
    const Json balance =
        Json::parse(client.get_json("/v1/balances?owner=" + account).value_or("{}"));
    const std::int64_t spent = kCredit - std::stoll(balance.at("balances").value("credit", "0"));
    EXPECT_EQ(spent % kPrice, 0) << account;
    EXPECT_GE(spent / kPrice, std::ssize(receipts)) << account;
    EXPECT_LE(spent / kPrice, std::ssize(kept)) << account;
    made.charges[account] = spent / kPrice;
  }
  return made;
}

void expect_books(core::Store& store, const Acknowledged& acknowledged, const Kept& kept,
                  const Losers& theirs) {
  const Counts charges = charges_in(store);
  const Counts tickets = tickets_in(store, [](ticket::State) { return true; });
  for (const Counts* const counts : {&charges, &tickets}) {
    for (const auto& [receipt, count] : *counts) EXPECT_EQ(count, 1U) << receipt;
  }
  const Losers losers = losers_in(store);
  if (losers.dropped > 0) {
    EXPECT_GE(tickets.size(), limits::kTicketsMax / 2) << losers.dropped << " were dropped";
  }
  Dropped dropped(losers, theirs);
  for (const auto& [account, receipts] : acknowledged) {
    for (const std::string& receipt : receipts) {
      EXPECT_EQ(count_of(charges, receipt), 1U) << "charges of " << receipt << " to " << account;
      EXPECT_TRUE(count_of(tickets, receipt) == 1U || dropped.may(receipt))
          << "tickets of " << receipt << " of " << account;
    }
  }
  for (const auto& [account, receipts] : kept.receipts) {
    const auto charged = std::ranges::count_if(
        receipts, [&](const std::string& one) { return count_of(charges, one) > 0; });
    EXPECT_EQ(charged, kept.charges.at(account)) << account;
  }
}

std::set<std::string> receipts_in(core::Store& store, ticket::State state) {
  const core::SystemClock clock;
  ticket::TicketBook book(store, clock);
  EXPECT_TRUE(book.open());
  std::set<std::string> receipts;
  for (const ticket::Record& record : book.in(state))
    receipts.insert(core::to_hex(protocol::receipt_id(record.body)));
  return receipts;
}

}  // namespace commensal::e2e
