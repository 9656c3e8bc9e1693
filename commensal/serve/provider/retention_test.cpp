// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/base/protocol/ticket.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>
#include <commensal/serve/provider/retention.hpp>
#include <commensal/verify/receipt/roots.hpp>

namespace commensal::provider {
namespace {

using store::testing::Fault;

constexpr std::int64_t kInputFloats = 1000;
constexpr std::int64_t kTensorBytes = (kInputFloats + 1) * 4;  // of one opening
constexpr std::int64_t kPlenty = std::int64_t{1} << 30;

constexpr core::Digest kBeacon{7};

class RetentionTest : public ::testing::Test {
 protected:
  /// A step that was computed: an input of 1000 floats, an output of one.
  Retention::Record record(std::uint64_t round) {
    Retention::Record made;
    receipt::Opening& opening = made.opening;
    std::vector<float> values(kInputFloats, static_cast<float>(++made_));
    opening.inputs = {{"x", tensor::Tensor::of<float>({1, kInputFloats}, values)}};
    opening.outputs = {{"y", tensor::Tensor::of<float>({1}, std::span(values).first(1))}};
    if (round != protocol::kNoDraw) opening.job.beacons = {kBeacon};
    opening.input_salt = rng_.next_digest();
    opening.output_salt = rng_.next_digest();
    opening.job.input_commitment =
        protocol::commit_input(receipt::state_root(opening.inputs), opening.input_salt);
    const core::Digest job = protocol::job_id(opening.job);
    opening.commitment =
        protocol::commit_step(job, 1, receipt::state_root(opening.outputs), opening.output_salt);
    made.body = {job, 1, opening.commitment, round};
    return made;
  }
  static bool keep(Retention& retention, const std::vector<Retention::Record>& records) {
    return retention.keep(records).has_value();
  }
  Retention open(std::int64_t memory_bytes_max = kPlenty) {
    Retention made(disk_, {.disk_bytes_max = kPlenty, .memory_bytes_max = memory_bytes_max});
    EXPECT_TRUE(made.open());
    return made;
  }
  static receipt::Opening shown(Retention& retention, const Retention::Record& record) {
    const auto found = retention.find(protocol::receipt_id(record.body));
    EXPECT_TRUE(found && *found);
    return found && *found ? *receipt::decode_opening(**found) : receipt::Opening{};
  }
  static bool opens(Retention& retention, const Retention::Record& record) {
    return receipt::check_opening(shown(retention, record), record.body).has_value();
  }
  /// What only the provider knows.
  static bool has_salts(Retention& retention, const Retention::Record& record) {
    const receipt::Opening opening = shown(retention, record);
    return opening.input_salt == record.opening.input_salt &&
           opening.output_salt == record.opening.output_salt &&
           protocol::job_id(opening.job) == record.body.job_id;
  }
  std::size_t disk_bytes() {
    std::size_t bytes = 0;
    EXPECT_TRUE(disk_.scan("openings", {}, [&](core::ByteView, core::ByteView value) {
      bytes += value.size();
      return true;
    }));
    return bytes;
  }

  core::CounterRng rng_{1};
  store::MemoryStore disk_;
  int made_ = 0;
};

TEST_F(RetentionTest, KeepsTensorsInMemoryAndTheRestOnDisk) {
  Retention retention = open();
  const std::vector records = {record(3), record(4), record(protocol::kNoDraw)};
  ASSERT_TRUE(keep(retention, records));
  for (const auto& one : records) EXPECT_TRUE(opens(retention, one));
  EXPECT_LT(disk_bytes(), static_cast<std::size_t>(kTensorBytes));

  Retention restarted = open();
  for (const auto& one : records) {
    EXPECT_FALSE(shown(restarted, one).has_tensors());
    EXPECT_TRUE(has_salts(restarted, one));
  }
  EXPECT_FALSE(*restarted.find(core::Digest{1}));
}

TEST_F(RetentionTest, WritesWinnersWithTheirDraw) {
  Retention retention = open();
  const std::vector records = {record(3), record(3), record(4), record(5)};
  ASSERT_TRUE(keep(retention, records));
  const core::Digest winners[] = {protocol::ticket_id(records[1].body),
                                  protocol::ticket_id(records[2].body)};
  ASSERT_TRUE(retention.drawn(kBeacon, 4, winners));
  // Losers are forgotten but for their salts, what is not drawn is not.
  EXPECT_FALSE(shown(retention, records[0]).has_tensors());
  for (std::size_t i = 1; i < 4; ++i) EXPECT_TRUE(opens(retention, records[i]));

  Retention restarted = open();
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(opens(restarted, records[i]), i == 1 || i == 2) << i;
    EXPECT_TRUE(has_salts(restarted, records[i]));
  }
}

TEST_F(RetentionTest, WritesAtOnceWhatMemoryHasNoRoomFor) {
  Retention retention = open(2 * kTensorBytes);
  const std::vector records = {record(3), record(3), record(3)};
  ASSERT_TRUE(keep(retention, records));
  Retention restarted = open();
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(opens(retention, records[i]));
    EXPECT_EQ(opens(restarted, records[i]), i == 2) << i;
  }
  // A draw makes room again.
  ASSERT_TRUE(retention.drawn(kBeacon, 3, {}));
  ASSERT_TRUE(keep(retention, {record(4)}));
  EXPECT_LT(disk_bytes(), static_cast<std::size_t>(2 * kTensorBytes));
}

TEST_F(RetentionTest, ForgetsTheOldestThatWaitForNoDraw) {
  Retention retention = open(2 * kTensorBytes);
  const std::vector records = {record(protocol::kNoDraw), record(3), record(protocol::kNoDraw),
                               record(3)};
  for (const auto& one : records) ASSERT_TRUE(keep(retention, {one}));
  EXPECT_FALSE(shown(retention, records[0]).has_tensors());
  EXPECT_FALSE(shown(retention, records[2]).has_tensors());
  EXPECT_TRUE(opens(retention, records[1]));
  EXPECT_TRUE(opens(retention, records[3]));
}

TEST_F(RetentionTest, StopsWhereTheDiskIsFull) {
  Retention retention(disk_, {kTensorBytes, 0});
  ASSERT_TRUE(retention.open());
  EXPECT_TRUE(retention.room_for(kTensorBytes));
  ASSERT_TRUE(keep(retention, {record(3)}));
  EXPECT_FALSE(retention.room_for(1));
  Retention restarted(disk_, {kTensorBytes, 0});
  ASSERT_TRUE(restarted.open());
  EXPECT_FALSE(restarted.room_for(1));
}

TEST_F(RetentionTest, ForgetsWhatNobodyMayAskForAnyMore) {
  Retention retention(disk_,
                      {.disk_bytes_max = kPlenty, .memory_bytes_max = kPlenty, .kept_rounds = 10});
  ASSERT_TRUE(retention.open());
  const std::vector records = {record(3), record(4), record(protocol::kNoDraw)};
  ASSERT_TRUE(keep(retention, {records[0], records[1]}));
  ASSERT_TRUE(keep(retention, {records[2]}));
  const core::Digest winner = protocol::ticket_id(records[1].body);
  ASSERT_TRUE(retention.drawn(kBeacon, 4, std::span(&winner, 1)));
  const auto is_there = [&](Retention& kept, std::size_t i) {
    return kept.find(protocol::receipt_id(records[i].body))->has_value();
  };
  ASSERT_TRUE(retention.drawn(core::Digest{8}, 1000, {}));  // another gateway's
  ASSERT_TRUE(retention.drawn(kBeacon, 13, {}));
  EXPECT_TRUE(is_there(retention, 0));
  ASSERT_TRUE(retention.drawn(kBeacon, 14, {}));
  EXPECT_FALSE(is_there(retention, 0));
  EXPECT_TRUE(opens(retention, records[1]));
  ASSERT_TRUE(retention.drawn(kBeacon, 15, {}));
  Retention restarted = open();
  for (Retention* kept : {&retention, &restarted}) {
    EXPECT_FALSE(is_there(*kept, 0));
    EXPECT_FALSE(is_there(*kept, 1));
    EXPECT_TRUE(is_there(*kept, 2));
  }
}

// Broken off at each write: what was acknowledged is there after a restart, and nothing else is.
TEST_F(RetentionTest, LosesNothingThatWasAcknowledged) {
  for (const auto fault :
       {Fault::kFailBefore, Fault::kFailAfter, Fault::kCrashBefore, Fault::kCrashAfter}) {
    for (std::uint64_t at = 0; at < 4; ++at) {
      store::MemoryStore disk;
      store::testing::FaultStore faulty(disk, at, fault);
      Retention retention(faulty, {kPlenty, kPlenty});
      ASSERT_TRUE(retention.open());
      std::vector<Retention::Record> acknowledged;
      for (std::uint64_t round = 1; round < 4; ++round) {
        const Retention::Record one = record(round);
        if (keep(retention, {one})) acknowledged.push_back(one);
      }
      Retention restarted(disk, {kPlenty, kPlenty});
      ASSERT_TRUE(restarted.open());
      for (const auto& one : acknowledged) EXPECT_TRUE(has_salts(restarted, one));
      const Retention::Record more = record(9);
      ASSERT_TRUE(keep(restarted, {more}));
      for (const auto& one : acknowledged) EXPECT_TRUE(has_salts(restarted, one));
      EXPECT_TRUE(opens(restarted, more));
    }
  }
}

}  // namespace
}  // namespace commensal::provider
