// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/protocol/ticket.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>
#include <commensal/serve/gateway/receipt_book.hpp>
#include <map>

namespace commensal::gateway {
namespace {

using store::testing::Fault;

receipt::Opening an_opening(std::uint8_t i) {
  receipt::Opening opening;
  opening.output_salt.fill(i);
  return opening;
}
const std::size_t kOpeningBytes = protocol::encode_stored(an_opening(0))->size();

/// The i-th of records that differ in everything a reader may ask for.
ReceiptRecord a_record(std::uint8_t i, AuditState audit = AuditState::kNotDrawn) {
  ReceiptRecord record;
  record.receipt.job.steps = 1;
  record.receipt.job.input_commitment.fill(i);
  record.receipt.step = 1;
  record.receipt.commitment.fill(static_cast<std::uint8_t>(i + 1));
  record.account = i % 2 == 0 ? "alice" : "alicex";
  record.model = "alice/digits";
  record.version = i;
  record.delivered_ms = 1'000 + i;
  record.audit = audit;
  record.opening = *protocol::encode_stored(an_opening(i));
  record.opening_bytes = record.opening.size();
  return record;
}

void append(ReceiptBook& book, const ReceiptRecord& record) {
  std::vector<ReceiptRecord> records = {record};
  ASSERT_TRUE(book.append(records));
}

std::vector<std::uint32_t> versions(const core::Result<std::vector<ReceiptRecord>>& records) {
  EXPECT_TRUE(records);
  std::vector<std::uint32_t> versions;
  for (const ReceiptRecord& record : *records) versions.push_back(record.version);
  return versions;
}

using Versions = std::vector<std::uint32_t>;

TEST(ReceiptBook, ARolloutPushesOutItsOwnStepsFirst) {
  store::MemoryStore store;
  const BookLimits limits{.records_max = 4, .opening_bytes_max = 1'000'000};
  auto book = std::make_unique<ReceiptBook>(store, limits);
  ASSERT_TRUE(book->open());
  append(*book, a_record(0));
  append(*book, a_record(1));
  for (std::uint8_t i = 2; i < 8; ++i) {
    ReceiptRecord step = a_record(i);
    step.receipt.job.kind = protocol::JobKind::kRollout;
    step.opening.clear();
    append(*book, step);
    EXPECT_TRUE(book->contains(step.id()));
    book = std::make_unique<ReceiptBook>(store, limits);
    ASSERT_TRUE(book->open());
  }
  EXPECT_TRUE(book->find(a_record(0).id()));
  EXPECT_EQ(versions(book->list("", 9)), (Versions{1, 0}));
  EXPECT_EQ(versions(book->list("alice", 9)), (Versions{0}));
  EXPECT_EQ(versions(book->select([](const ReceiptRecord&) { return true; })),
            (Versions{0, 1, 6, 7}));
}

TEST(ReceiptBook, BeyondTheLimitTheOldestOfTheAccountThatHasMostGo) {
  store::MemoryStore store;
  ReceiptBook book(store, {.records_max = 10, .opening_bytes_max = 1'000'000});
  ASSERT_TRUE(book.open());
  for (std::uint8_t i = 0; i < 8; i += 2) append(book, a_record(i));  // alice's
  std::vector<ReceiptRecord> flood;
  for (int i = 0; i < 120; ++i) flood.push_back(a_record(static_cast<std::uint8_t>(2 * i + 1)));
  for (std::size_t i = 0; i < flood.size(); ++i) {
    std::vector<ReceiptRecord> one = {flood[i]};
    ASSERT_TRUE(book.append(one));
  }
  EXPECT_EQ(versions(book.list("alice", 20)), (Versions{6, 4, 2, 0}));
  EXPECT_EQ(book.list("alicex", 20)->size(), 6u);
  EXPECT_EQ(book.list("", 20)->front().version, flood.back().version);
}

TEST(ReceiptBook, WhatIsOlderThanItsAgeGoesWithTheNextWrite) {
  store::MemoryStore store;
  ReceiptBook book(store, {.age_ms_max = 1000});
  ASSERT_TRUE(book.open());
  append(book, a_record(0, AuditState::kDrawn));  // its audit is still to come
  append(book, a_record(1));
  ReceiptRecord later = a_record(2);
  later.delivered_ms = 1'000 + 1 + 1000;
  append(book, later);
  EXPECT_EQ(versions(book.list("", 9)), (Versions{2, 1, 0}));
  later = a_record(3);
  later.delivered_ms = 1'000 + 2 + 1000;
  append(book, later);
  EXPECT_EQ(versions(book.list("", 9)), (Versions{3, 2, 0}));
}

// The fault: who takes over from a gateway read the last 16,384 one by one, each a way to the
// database and back, before it served anybody.
TEST(ReceiptBook, AllAreListedInOnePass) {
  store::MemoryStore inner;
  store::testing::FaultStore store(inner, ~std::uint64_t{0}, Fault::kFailBefore);
  ReceiptBook book(store, {});
  ASSERT_TRUE(book.open());
  for (std::uint8_t i = 0; i < 100; ++i) append(book, a_record(i));
  const std::uint64_t before = store.gets();
  EXPECT_EQ(versions(book.list("", 3)), (Versions{99, 98, 97}));
  EXPECT_EQ(book.list("", 1'000)->size(), 100U);
  EXPECT_EQ(store.gets(), before);
}

TEST(ReceiptBook, NoReceiptGoesWhoseTicketIsUndecided) {
  store::MemoryStore store;
  const BookLimits limits{.records_max = 2, .opening_bytes_max = 1'000'000};
  ReceiptRecord winner = a_record(0);
  winner.receipt.round = 1;
  bool is_undecided = true;
  for (const bool restarted : {false, true}) {
    ReceiptBook book(store, limits);
    book.keep_while([&](const core::Digest& ticket) {
      EXPECT_EQ(ticket, protocol::ticket_id(winner.receipt.body()));
      return is_undecided;
    });
    ASSERT_TRUE(book.open());
    if (!restarted) append(book, winner);
    for (std::uint8_t i = 1; i < 5; ++i) {
      append(book, a_record(static_cast<std::uint8_t>(restarted ? i + 5 : i)));
    }
    EXPECT_TRUE(book.contains(winner.id()));
    EXPECT_EQ(book.list("", 9)->size(), 2u);
  }
  ReceiptBook book(store, limits);
  book.keep_while([&](const core::Digest&) { return is_undecided; });
  ASSERT_TRUE(book.open());
  book.on_settled(protocol::ticket_id(winner.receipt.body()));
  append(book, a_record(20));
  EXPECT_FALSE(book.contains(winner.id()));
}

// Who has many that cannot go gets no more until they can, and others do: accounts by their audits,
// providers by their draws. The fault: a provider that withheld its draws locked accounts out.
TEST(ReceiptBook, BoundsWhatAccountsMayHoldForAuditsAndProvidersForDraws) {
  store::MemoryStore store;
  const BookLimits limits{.records_max = 1'280, .opening_bytes_max = 1'000'000};
  ReceiptBook book(store, limits);
  book.keep_while([](const core::Digest&) { return true; });
  ASSERT_TRUE(book.open());
  const crypto::Address p{{1}}, q{{2}};
  std::vector<ReceiptRecord> held;
  const auto hold = [&](const std::string& account, std::uint8_t i, bool by_draw) {
    held.push_back(a_record(i));
    held.back().account = account;
    held.back().receipt.job.provider = p;
    held.back().receipt.step = held.size();
    held.back().receipt.round = by_draw ? 1 : protocol::kNoDraw;
    held.back().audit = by_draw ? AuditState::kNotDrawn : AuditState::kDrawn;
    append(book, held.back());
    held.back().number = held.size();
  };
  for (std::uint8_t i = 0; i < 160; ++i) {
    ASSERT_TRUE(book.admit("a"));
    ASSERT_EQ(book.reservation(p).empty(), i < 159);
    hold("a", i, i % 2 == 0);
  }
  const auto refused = book.admit("a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, core::ErrorCode::kResourceExhausted);
  EXPECT_TRUE(book.admit("b"));
  EXPECT_NE(book.reservation(p), "");
  EXPECT_EQ(book.reservation(q), "");
  book.on_settled(protocol::ticket_id(held[0].receipt.body()));
  book.on_settled(protocol::ticket_id(held[0].receipt.body()));
  EXPECT_EQ(book.reservation(p), "");
  EXPECT_FALSE(book.admit("a"));
  hold("b", 80, true);
  EXPECT_NE(book.reservation(p), "");
  held[1].audit = AuditState::kFailed;
  ASSERT_TRUE(book.update(held[1]));
  EXPECT_TRUE(book.admit("a"));
  ReceiptBook again(store, limits);
  again.keep_while([](const core::Digest&) { return true; });
  ASSERT_TRUE(again.open());
  EXPECT_NE(again.reservation(p), "");
  EXPECT_TRUE(again.admit("a"));
  // Of half the book the others have their shares.
  for (int account = 0; account < 8; ++account) {
    for (std::uint8_t i = 0; i < 79; ++i) hold(std::string(1, 'c' + account), i, false);
  }
  EXPECT_FALSE(book.admit("c"));
  hold("b", 1, false);
  EXPECT_TRUE(book.admit("b"));
}

TEST(ReceiptBook, DropsTheStepsOfARolloutAndNothingElse) {
  store::MemoryStore store;
  ReceiptBook book(store);
  ASSERT_TRUE(book.open());
  append(book, a_record(0));
  std::vector<ReceiptRecord> steps;
  for (std::uint64_t step = 1; step < 4; ++step) {
    ReceiptRecord record = a_record(1);
    record.receipt.job.steps = 3;
    record.receipt.job.kind = protocol::JobKind::kRollout;
    record.receipt.step = step;
    record.opening.clear();
    append(book, record);
    steps.push_back(record);
  }
  ASSERT_TRUE(book.drop_steps(protocol::job_id(steps[0].receipt.job)));
  for (const ReceiptRecord& step : steps) EXPECT_FALSE(book.contains(step.id()));
  EXPECT_TRUE(book.contains(a_record(0).id()));
  EXPECT_EQ(book.select([](const ReceiptRecord&) { return true; })->size(), 1u);
  ReceiptBook again(store);
  ASSERT_TRUE(again.open());
  EXPECT_EQ(again.select([](const ReceiptRecord&) { return true; })->size(), 1u);
}

TEST(ReceiptBook, GivesBackWhatItWasGiven) {
  store::MemoryStore store;
  ReceiptBook book(store);
  ASSERT_TRUE(book.open());
  std::vector<ReceiptRecord> records = {a_record(0), a_record(1)};
  ASSERT_TRUE(book.append(records));
  EXPECT_EQ(records[1].number, 2u);
  const auto found = book.find(a_record(1).id());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->receipt, records[1].receipt);
  EXPECT_EQ(found->account, "alicex");
  EXPECT_EQ(found->delivered_ms, 1'001);
  EXPECT_EQ(book.opening(*found)->output_salt, an_opening(1).output_salt);
  EXPECT_FALSE(found->verdict);
  EXPECT_EQ(book.find(a_record(2).id()).error().code, core::ErrorCode::kNotFound);
}

TEST(ReceiptBook, KeepsVerdictsAndTheOpening) {
  store::MemoryStore store;
  ReceiptBook book(store);
  ASSERT_TRUE(book.open());
  append(book, a_record(4, AuditState::kDrawn));
  ReceiptRecord record = (*book.list("", 1))[0];
  EXPECT_TRUE(record.opening.empty());
  record.audit = AuditState::kMismatched;
  record.verdict.emplace();
  record.verdict->outcome = protocol::Outcome::kMismatch;
  record.verdict->receipt_id = record.id();
  record.verdict->recomputed_commitment.fill(9);
  record.verdict->reason = "other bits";
  record.replaced_by = a_record(5).id();
  ASSERT_TRUE(book.update(record));
  ReceiptBook again(store);
  ASSERT_TRUE(again.open());
  const auto found = again.find(record.id());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->verdict, record.verdict);
  EXPECT_EQ(found->replaced_by, a_record(5).id());
  EXPECT_EQ(found->audit, AuditState::kMismatched);
  EXPECT_EQ(again.opening(*found)->output_salt, an_opening(4).output_salt);
  EXPECT_EQ(name_of(found->audit), "mismatched");
  record.number = 77;
  EXPECT_EQ(again.update(record).error().code, core::ErrorCode::kNotFound);
}

TEST(ReceiptBook, ListsTheNewestFirstAndOfOneAccountOnly) {
  store::MemoryStore store;
  ReceiptBook book(store);
  ASSERT_TRUE(book.open());
  for (std::uint8_t i = 0; i < 5; ++i) append(book, a_record(i));
  EXPECT_EQ(versions(book.list("", 3)), (Versions{4, 3, 2}));
  EXPECT_EQ(versions(book.list("alice", 10)), (Versions{4, 2, 0}));
  EXPECT_EQ(versions(book.list("alicex", 1)), (Versions{3}));
  EXPECT_EQ(versions(book.list("ali", 10)), Versions());
  const auto odd = [](const ReceiptRecord& record) { return record.version % 2 == 1; };
  EXPECT_EQ(versions(book.select(odd)), (Versions{1, 3}));
}

TEST(ReceiptBook, CountsOnAfterARestart) {
  store::MemoryStore store;
  {
    ReceiptBook book(store);
    ASSERT_TRUE(book.open());
    append(book, a_record(0));
  }
  ReceiptBook book(store);
  ASSERT_TRUE(book.open());
  std::vector<ReceiptRecord> records = {a_record(1)};
  ASSERT_TRUE(book.append(records));
  EXPECT_EQ(records[0].number, 2u);
}

TEST(ReceiptBook, ForgetsTheOldestThatAwaitNoAudit) {
  store::MemoryStore store;
  ReceiptBook book(store, {.records_max = 3, .opening_bytes_max = 1'000'000});
  ASSERT_TRUE(book.open());
  append(book, a_record(0, AuditState::kDrawn));
  for (std::uint8_t i = 1; i < 5; ++i) append(book, a_record(i));
  EXPECT_EQ(versions(book.list("", 9)), (Versions{4, 3, 0}));
  EXPECT_EQ(versions(book.list("alice", 9)), (Versions{4, 0}));
  EXPECT_FALSE(book.find(a_record(2).id()));
  ReceiptRecord audited = *book.find(a_record(0).id());
  audited.audit = AuditState::kMatched;
  ASSERT_TRUE(book.update(audited));
  append(book, a_record(5));
  EXPECT_EQ(versions(book.list("", 9)), (Versions{5, 4, 3}));
  std::size_t openings = 0;
  EXPECT_TRUE(store.scan("openings", {}, [&](auto, auto) { return ++openings > 0; }));
  EXPECT_EQ(openings, 3u);
}

TEST(ReceiptBook, BoundsTheBytesOfOpenings) {
  store::MemoryStore store;
  const BookLimits limits{.records_max = 100, .opening_bytes_max = kOpeningBytes * 5 / 2};
  ReceiptBook book(store, limits);
  ASSERT_TRUE(book.open());
  for (std::uint8_t i = 0; i < 4; ++i) append(book, a_record(i));
  EXPECT_EQ(versions(book.list("", 9)), (Versions{3, 2}));
  ReceiptBook again(store, limits);
  ASSERT_TRUE(again.open());
  append(again, a_record(4));
  EXPECT_EQ(versions(again.list("", 9)), (Versions{4, 3}));
}

/// Every index entry leads to its record and back, with its opening.
void expect_consistent(store::MemoryStore& disk) {
  std::map<std::string, std::size_t> sizes;
  for (const char* space : {"receipts", "openings", "receipt_ids", "receipts_of_account"})
    ASSERT_TRUE(disk.scan(space, {}, [&](auto, auto) { return ++sizes[space] > 0; }));
  ReceiptBook book(disk);
  ASSERT_TRUE(book.open());
  const auto all = book.list("", 1'000);
  ASSERT_TRUE(all);
  for (const auto& [space, size] : sizes) EXPECT_EQ(size, all->size()) << space;
  for (const ReceiptRecord& record : *all) {
    const auto found = book.find(record.id());
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(book.opening(*found)->output_salt,
              an_opening(static_cast<std::uint8_t>(record.version)).output_salt);
  }
}

TEST(ReceiptBook, IsWholeAfterAFaultAtAnyWrite) {
  for (const Fault fault :
       {Fault::kFailBefore, Fault::kFailAfter, Fault::kCrashBefore, Fault::kCrashAfter}) {
    for (std::uint64_t at = 0; at < 10; ++at) {
      store::MemoryStore disk;
      store::testing::FaultStore breaking(disk, at, fault);
      ReceiptBook book(breaking, {.records_max = 3, .opening_bytes_max = 1'000'000});
      ASSERT_TRUE(book.open());
      std::vector<ReceiptRecord> acknowledged;
      for (std::uint8_t i = 0; i < 5; ++i) {
        std::vector<ReceiptRecord> records = {a_record(i, AuditState::kDrawn)};
        if (!book.append(records)) continue;
        records[0].audit = AuditState::kMatched;
        if (book.update(records[0]).has_value() || i == 4) acknowledged = records;
      }
      expect_consistent(disk);
      ReceiptBook again(disk);
      ASSERT_TRUE(again.open());
      for (const ReceiptRecord& record : acknowledged) EXPECT_TRUE(again.find(record.id()));
    }
  }
}

}  // namespace
}  // namespace commensal::gateway
