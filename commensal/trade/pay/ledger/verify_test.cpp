// SPDX-License-Identifier: Apache-2.0
// Any byte of a ledger's rows that is changed is found, and any row that is missing or foreign.
#include <gmock/gmock.h>

#include <commensal/base/store/memory_store.hpp>
#include <commensal/trade/pay/ledger/state_rows.hpp>
#include <commensal/trade/pay/ledger/testing/clerk.hpp>
#include <commensal/trade/pay/ledger/verify.hpp>

namespace commensal::ledger {
namespace {

using core::Bytes;
using core::ByteView;
using testing::Clerk;
using ::testing::HasSubstr;
using testing::kSignatures;
using ::testing::StartsWith;

class MoneyTampering : public ::testing::Test {
 protected:
  explicit MoneyTampering(Book::Options options = {}, int groups = 4) {
    Clerk clerk(store_, 21, options);
    EXPECT_TRUE(clerk.open());
    for (int i = 0; i < groups; ++i) EXPECT_TRUE(clerk.group(5));
    entries_ = clerk.book().state().scalars.entries;
    from_ = clerk.book().from();
  }
  void put(std::string_view space, Bytes key, std::optional<Bytes> value) {
    ASSERT_TRUE(store_.apply({{std::string(space), std::move(key), std::move(value)}}));
  }
  Bytes row(std::uint64_t number) {
    Bytes found;
    EXPECT_TRUE(store_.scan(kJournalSpace, key_of(number), [&](ByteView, ByteView value) {
      found.assign(value.begin(), value.end());
      return true;
    }));
    return found;
  }
  std::string finding() {
    const auto verified = verify(store_, kSignatures);
    return verified ? "nothing" : verified.error().message;
  }
  /// Every value of a space, byte by byte.
  void expect_every_byte_counts(std::string_view space) {
    std::map<Bytes, Bytes> rows;
    ASSERT_TRUE(store_.scan(space, {}, [&](ByteView key, ByteView value) {
      rows[Bytes(key.begin(), key.end())].assign(value.begin(), value.end());
      return true;
    }));
    ASSERT_FALSE(rows.empty());
    core::CounterRng rng(3);
    for (const auto& [key, value] : rows) {
      if (space != kStateSpace &&
          *number_of(ByteView(key).first(std::min<std::size_t>(key.size(), 8))) < from_)
        continue;
      for (std::size_t at = 0; at < value.size(); ++at) {
        Bytes bent = value;
        bent[at] = static_cast<std::uint8_t>(bent[at] ^ (1u << (rng.next_u32() % 8)));
        put(space, key, bent);
        const std::string found = finding();
        ASSERT_NE(found, "nothing") << space << " byte " << at;
        if (space == kJournalSpace) {
          // Found at the entry itself, unless only its hash changed: then at the next one, or head.
          const std::uint64_t number = *number_of(key);
          ASSERT_TRUE(found.starts_with(fmt::format("entry {}: ", number)) ||
                      found.starts_with(fmt::format("entry {}: previous", number + 1)) ||
                      found.starts_with(fmt::format("after entry {}: the head", number + 1)))
              << "entry " << number << " byte " << at << ": " << found;
        }
      }
      put(space, key, value);
    }
  }

  store::MemoryStore store_;
  std::uint64_t entries_ = 0;
  std::uint64_t from_ = 0;
};

TEST_F(MoneyTampering, EveryByteOfTheJournalCounts) { expect_every_byte_counts(kJournalSpace); }
TEST_F(MoneyTampering, EveryByteOfTheHeadCounts) { expect_every_byte_counts(kHeadSpace); }
TEST_F(MoneyTampering, EveryByteOfTheStoredStateCounts) { expect_every_byte_counts(kStateSpace); }

class MoneyCutTampering : public MoneyTampering {
 protected:
  MoneyCutTampering() : MoneyTampering({.checkpoint_entries = 8}, 6) { EXPECT_GT(from_, 0u); }
};

TEST_F(MoneyCutTampering, EveryByteOfTheJournalCounts) { expect_every_byte_counts(kJournalSpace); }
TEST_F(MoneyCutTampering, EveryByteOfTheHeadCounts) { expect_every_byte_counts(kHeadSpace); }
TEST_F(MoneyCutTampering, EveryByteOfWhatIsKeptOfCheckpointsCounts) {
  expect_every_byte_counts(kBeforeSpace);
}

TEST_F(MoneyTampering, ABookIsNotOpenedOnARowThatIsBentGoneOrOld) {
  const auto refused = [&] {
    const auto book = Book::open(store_, kSignatures);
    return book ? "nothing" : book.error().message;
  };
  EXPECT_EQ(refused(), "nothing");
  std::map<Bytes, Bytes> rows;
  ASSERT_TRUE(store_.scan(kStateSpace, {}, [&](ByteView key, ByteView value) {
    rows[Bytes(key.begin(), key.end())].assign(value.begin(), value.end());
    return true;
  }));
  for (const auto& [key, value] : rows) {
    Bytes bent = value;
    bent.back() ^= 1;
    put(kStateSpace, key, bent);
    EXPECT_THAT(refused(), StartsWith("ledger: "));
    put(kStateSpace, key, std::nullopt);
    EXPECT_THAT(refused(), StartsWith("ledger: "));
    put(kStateSpace, key, value);
  }
  EXPECT_EQ(refused(), "nothing");
}

TEST_F(MoneyTampering, MissingAndForeignRowsAreFound) {
  EXPECT_EQ(finding(), "nothing");
  const Bytes last = row(entries_ - 1);
  put(kJournalSpace, key_of(entries_ - 1), std::nullopt);
  EXPECT_THAT(finding(), HasSubstr("the head says"));
  EXPECT_THAT(Book::open(store_, kSignatures).error().message, HasSubstr("is missing or another"));
  put(kJournalSpace, key_of(entries_ - 1), last);
  put(kJournalSpace, key_of(entries_), last);
  EXPECT_THAT(finding(), HasSubstr("it lies behind the end of the journal"));
  put(kJournalSpace, key_of(entries_), std::nullopt);
  const Bytes third = row(3);
  put(kJournalSpace, key_of(3), std::nullopt);
  EXPECT_THAT(finding(), StartsWith("entry 3: the journal lacks it"));
  put(kJournalSpace, key_of(3), third);
  put(kStateSpace, Bytes{200, 1}, Bytes{1});
  EXPECT_THAT(finding(), HasSubstr("a row of table 200, which is none"));
  put(kStateSpace, Bytes{200, 1}, std::nullopt);
  put(kHeadSpace, {}, std::nullopt);
  EXPECT_THAT(finding(), HasSubstr("the journal has no head"));
}

TEST_F(MoneyTampering, NothingToVerifyIsNamed) {
  store::MemoryStore empty;
  EXPECT_EQ(verify(empty, kSignatures).error().code, core::ErrorCode::kNotFound);
}

}  // namespace
}  // namespace commensal::ledger
