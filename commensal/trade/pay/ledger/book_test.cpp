// SPDX-License-Identifier: Apache-2.0
// The book on every store: what was acknowledged is there after any crash, once; any changed byte
// is found.
#include <gmock/gmock.h>

#include <commensal/base/core/check.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/sqlite_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>
#include <commensal/base/store/testing/killed_child.hpp>
#include <commensal/trade/pay/ledger/book.hpp>
#include <commensal/trade/pay/ledger/journal.hpp>
#include <commensal/trade/pay/ledger/state_rows.hpp>
#include <commensal/trade/pay/ledger/testing/clerk.hpp>
#include <commensal/trade/pay/ledger/verify.hpp>

namespace commensal::ledger {
namespace {

using core::Bytes;
using core::ByteView;
using core::Path;
using store::testing::Fault;
using store::testing::FaultStore;
using store::testing::last_word_of_killed;
using testing::Clerk;
using ::testing::HasSubstr;
using testing::kSignatures;
using testing::RandomOperations;

class Memory {
 public:
  core::Store& store() { return store_; }
  void reopen() {}  // the object is the medium

 private:
  store::MemoryStore store_;
};

class Sqlite {
 public:
  Sqlite() {
    std::filesystem::create_directories(folder_);
    reopen();
  }
  ~Sqlite() {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  core::Store& store() { return *store_; }
  void reopen() {
    store_.reset();
    store_ = *store::open_sqlite_store(path());
  }
  Path path() const { return folder_ / "state.sqlite"; }

 private:
  Path folder_ = Path(::testing::TempDir()) /
                 fmt::format("commensal_ledger_{}_{}", ::getpid(), fmt::ptr(this));
  std::unique_ptr<core::Store> store_;
};

template <class Twin>
class MoneyBook : public ::testing::Test {
 protected:
  core::Store& store() { return twin_.store(); }
  Twin twin_;
};
using Twins = ::testing::Types<Memory, Sqlite>;
TYPED_TEST_SUITE(MoneyBook, Twins);

TYPED_TEST(MoneyBook, ComesBackAsItWas) {
  Digest digest;
  {
    Clerk clerk(this->store(), 1, {});
    ASSERT_TRUE(clerk.open());
    for (int i = 0; i < 30; ++i) ASSERT_TRUE(clerk.group(10));
    digest = state_root(clerk.book().state());
  }
  this->twin_.reopen();
  const auto book = Book::open(this->store(), kSignatures);
  ASSERT_TRUE(book) << book.error().message;
  EXPECT_EQ(state_root(book->state()), digest);
  const auto verified = verify(this->store(), kSignatures);
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_EQ(verified->root, digest);
  EXPECT_EQ(verified->entries, book->state().scalars.entries);
  EXPECT_TRUE(verified->has_state);
  const auto rules = founding_rules(this->store());
  ASSERT_TRUE(rules && *rules);
  EXPECT_EQ(**rules, book->state().scalars.config);
}

TYPED_TEST(MoneyBook, HasNoRulesBeforeItIsFounded) {
  const auto rules = founding_rules(this->store());
  ASSERT_TRUE(rules);
  EXPECT_FALSE(*rules);
}

TYPED_TEST(MoneyBook, NothingStagedIsThereBeforeItsCommit) {
  Clerk clerk(this->store(), 2, {});
  ASSERT_TRUE(clerk.open());
  RandomOperations operations(2, 8);
  ASSERT_TRUE(
      clerk.book().stage(operations.make(clerk.book().state(), operations.operator_address(),
                                         Deposit{operations.people()[1], Amount(5), Digest{1}}),
                         1));
  EXPECT_EQ(clerk.book().staged(), 1u);
  EXPECT_EQ(Book::open(this->store(), kSignatures)->state().scalars.entries, 1u);
  ASSERT_TRUE(clerk.book().commit());
  EXPECT_EQ(Book::open(this->store(), kSignatures)->state().scalars.entries, 2u);
}

// A ledger of many rows writes no more for an entry than one of few: its state is no value of the
// store that grows with it.
TYPED_TEST(MoneyBook, AnEntryWritesWhatItChangedAlone) {
  Clerk clerk(this->store(), 4, {});
  ASSERT_TRUE(clerk.open());
  RandomOperations operations(4, 8);
  std::uint32_t number = 0;
  const auto deposit = [&] {
    Digest reference{};
    std::memcpy(reference.data(), &number, sizeof(number));
    ++number;
    return clerk.book()
        .stage(operations.make(clerk.book().state(), operations.operator_address(),
                               Deposit{operations.people()[1], Amount(5), reference}),
               1)
        .has_value();
  };
  const auto largest = [&] {
    std::size_t bytes = 0;
    EXPECT_TRUE(this->store().scan(kStateSpace, {}, [&](ByteView, ByteView value) {
      bytes = std::max(bytes, value.size());
      return true;
    }));
    return bytes;
  };
  ASSERT_TRUE(deposit() && clerk.commit());
  const std::size_t first = largest();
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(deposit());
  ASSERT_TRUE(clerk.commit());
  EXPECT_EQ(largest(), first);
  EXPECT_EQ(Book::open(this->store(), kSignatures)->state().deposits.rows().size(), 3001u);
}

TYPED_TEST(MoneyBook, StagingIsBounded) {
  Clerk clerk(this->store(), 3, {.staged_entries_max = 3});
  ASSERT_TRUE(clerk.open());
  RandomOperations operations(3, 8);
  std::string last;
  for (std::uint8_t i = 0; i < 4; ++i) {
    const auto entry =
        clerk.book().stage(operations.make(clerk.book().state(), operations.operator_address(),
                                           Deposit{operations.people()[1], Amount(5), Digest{i}}),
                           1);
    last = entry ? "accepted" : entry.error().message;
  }
  EXPECT_THAT(last, HasSubstr("3 entries wait to be written, no more at a time; try again"));
}

std::size_t rows_in(core::Store& store, std::string_view space) {
  std::size_t rows = 0;
  EXPECT_TRUE(store.scan(space, {}, [&](ByteView, ByteView) { return ++rows > 0; }));
  return rows;
}

// A journal that only grew, and a state that only grew with it, would end the ledger one day.
TYPED_TEST(MoneyBook, KeepsTheJournalFromACheckpointOnAndNoMore) {
  constexpr Book::Options kOptions{.checkpoint_entries = 50};
  Digest root{};
  {
    Clerk clerk(this->store(), 6, kOptions);
    ASSERT_TRUE(clerk.open());
    std::size_t most = 0, most_before = 0;
    for (int i = 0; i < 150; ++i) {
      ASSERT_TRUE(clerk.group(10));
      most = std::max(most, rows_in(this->store(), kJournalSpace));
      most_before = std::max(most_before, rows_in(this->store(), kBeforeSpace));
    }
    EXPECT_LE(most, 2 * 50u + 2 * 11);
    EXPECT_LE(most_before, 600u);
    EXPECT_GT(clerk.book().from(), 1300u);
    root = clerk.book().root();
    EXPECT_EQ(root, state_root(clerk.book().state()));
  }
  this->twin_.reopen();
  const auto verified = verify(this->store(), kSignatures);
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_EQ(verified->root, root);
  EXPECT_TRUE(verified->has_state);
  EXPECT_GT(verified->from, 1300u);
  const auto rules = founding_rules(this->store());
  EXPECT_TRUE(rules && *rules && (**rules).withdrawal_delay_ms == 500);
  // And on, as if nothing had been.
  Clerk next(this->store(), 7, kOptions);
  ASSERT_TRUE(next.open());
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(next.group(7));
  EXPECT_LE(rows_in(this->store(), kJournalSpace), 2 * 50u + 2 * 8);
  const auto again = verify(this->store(), kSignatures);
  EXPECT_TRUE(again && again->root == next.book().root());
}

TYPED_TEST(MoneyBook, ACheckpointComesFirstInItsWrite) {
  Clerk clerk(this->store(), 8, {});
  ASSERT_TRUE(clerk.open());
  RandomOperations operations(8, 8);
  const auto stage = [&](Body body) {
    const auto entry = clerk.book().stage(
        operations.make(clerk.book().state(), operations.operator_address(), std::move(body)), 1);
    return entry ? "accepted" : entry.error().message;
  };
  EXPECT_EQ(stage(Deposit{operations.people()[1], Amount(5), Digest{1}}), "accepted");
  EXPECT_THAT(stage(Checkpoint{clerk.book().root()}), HasSubstr("comes first in its write"));
  ASSERT_TRUE(clerk.book().commit());
  EXPECT_EQ(stage(Checkpoint{clerk.book().root()}), "accepted");
  EXPECT_EQ(stage(Deposit{operations.people()[1], Amount(5), Digest{2}}), "accepted");
  ASSERT_TRUE(clerk.book().commit());
  const auto verified = verify(this->store(), kSignatures);
  EXPECT_TRUE(verified && verified->root == clerk.book().root());
}

/// Runs groups until the k-th write breaks; then a new book on what is below must have all that was
/// acknowledged, or that and the one batch in flight, and go on.
void crash_at(core::Store& below, std::uint64_t seed, std::uint64_t k, Fault fault,
              Book::Options options, bool& broke) {
  FaultStore faulty(below, k, fault);
  Clerk clerk(faulty, seed, options);
  core::Result<void> went = clerk.open();
  for (int i = 0; went && i < 12; ++i) went = clerk.group(6);
  broke = !went.has_value();
  const Head acknowledged = clerk.acknowledged_;
  if (broke && clerk.acknowledged_.entries > 0) {
    EXPECT_THAT(clerk.book().commit().error().message, HasSubstr("a write failed"));
  }
  const auto book = Book::open(below, kSignatures);
  ASSERT_TRUE(book) << book.error().message;
  const std::uint64_t entries = book->state().scalars.entries;
  ASSERT_GE(entries, acknowledged.entries);
  const bool written = fault == Fault::kCrashAfter || fault == Fault::kFailAfter;
  if (broke && !written) {
    ASSERT_EQ(head_of(book->state()), acknowledged);
  }
  if (acknowledged.entries > 0) {
    const auto last = *below.get(kJournalSpace, key_of(acknowledged.entries - 1));
    ASSERT_TRUE(last);
    ASSERT_EQ(entry_hash(*last), acknowledged.hash);
    const auto verified = verify(below, kSignatures);
    ASSERT_TRUE(verified) << verified.error().message;
    ASSERT_EQ(verified->root, state_root(book->state()));
  }
  Clerk next(below, seed + 1000, options);
  ASSERT_TRUE(next.open());
  ASSERT_TRUE(next.group(6));
  const auto verified = verify(below, kSignatures);
  ASSERT_TRUE(verified) << verified.error().message;
  ASSERT_EQ(verified->root, state_root(next.book().state()));
}

void crash_at_every_write(Book::Options options, std::uint64_t runs) {
  for (const Fault fault :
       {Fault::kFailBefore, Fault::kFailAfter, Fault::kCrashBefore, Fault::kCrashAfter}) {
    bool broke = true;
    std::uint64_t k = 0;
    for (; broke; ++k) {
      store::MemoryStore below;
      crash_at(below, 11, k, fault, options, broke);
      if (::testing::Test::HasFatalFailure()) return;
    }
    EXPECT_EQ(k, runs);
  }
}

TEST(MoneyCrash, AtEveryWriteNothingAcknowledgedIsLostAndNothingIsThereTwice) {
  crash_at_every_write({}, 14);  // the founding, twelve groups, and the run without a fault
}

TEST(MoneyCrash, NorWhereTheJournalIsCutMeanwhile) {
  crash_at_every_write({.checkpoint_entries = 10}, 20);  // and six checkpoints
}

/// Appends to the journal until it is killed; returns the head that it acknowledged last.
Head killed_after(const Path& path, std::uint64_t seed, std::uint32_t delay_us) {
  return last_word_of_killed(Head{}, delay_us, [&](const auto& say) {
    const auto store = store::open_sqlite_store(path);
    if (!store) return 1;
    Clerk clerk(**store, seed, {.checkpoint_entries = 100});
    if (!clerk.open()) return 2;
    while (clerk.group(8)) say(clerk.acknowledged_);
    return 3;
  });
}

TEST(MoneyCrash, AKillAtAnyMomentLosesNothingAcknowledged) {
  Sqlite twin;
  core::CounterRng rng(5);
  std::uint64_t before = 0;
  for (std::uint64_t round = 0; round < 15; ++round) {
    const Head acknowledged = killed_after(twin.path(), round, rng.next_u32() % 20'000);
    twin.reopen();
    ASSERT_GT(acknowledged.entries, before);
    const auto book = Book::open(twin.store(), kSignatures);
    ASSERT_TRUE(book) << book.error().message;
    ASSERT_GE(book->state().scalars.entries, acknowledged.entries);
    ASSERT_LE(book->state().scalars.entries, acknowledged.entries + 9);  // a group and a checkpoint
    const auto last = twin.store().get(kJournalSpace, key_of(acknowledged.entries - 1));
    ASSERT_TRUE(last && last->has_value());
    ASSERT_EQ(entry_hash(**last), acknowledged.hash);
    before = book->state().scalars.entries;
    twin.reopen();
  }
  const auto verified = verify(twin.store(), kSignatures);
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_EQ(verified->entries, before);
}

}  // namespace
}  // namespace commensal::ledger
