// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/gateway/receipt_book.hpp>
#include <fstream>

namespace commensal::gateway {
namespace {

using core::ErrorCode;

receipt::Opening opening_of(std::size_t bytes) {
  receipt::Opening opening;
  opening.task.job.steps = 1;
  opening.output_salt.fill(7);
  const std::vector<std::uint8_t> elements(bytes, 3);
  opening.outputs.push_back(
      {"y", tensor::Tensor::of<std::uint8_t>({static_cast<std::int64_t>(bytes)}, elements)});
  return opening;
}

ReceiptRecord record_of(std::uint8_t i, std::uint64_t bytes) {
  ReceiptRecord record;
  record.receipt.job.steps = 1;
  record.receipt.job.input_commitment.fill(i);
  record.receipt.step = 1;
  record.account = "alice";
  record.delivered_ms = i;
  record.opening_bytes = bytes;
  record.is_in_file = true;
  return record;
}

class OpeningFolderTest : public ::testing::Test {
 protected:
  core::TemporaryFolder folder_ = *core::TemporaryFolder::make("openings");
  core::Path path_ = folder_.path() / "openings";
  OpeningFolder files_{path_, 1000};
  const core::Digest id_ = record_of(1, 0).id();

  std::size_t count() const {
    const std::filesystem::directory_iterator first(path_);
    return static_cast<std::size_t>(std::distance(first, std::filesystem::directory_iterator()));
  }
};

TEST_F(OpeningFolderTest, TakesWhatIsTooLargeForARow) {
  EXPECT_FALSE(files_.takes(opening_of(1000)));
  EXPECT_TRUE(files_.takes(opening_of(1001)));
  EXPECT_FALSE(OpeningFolder().takes(opening_of(10'000'000)));
}

TEST_F(OpeningFolderTest, GivesBackWhatWasWrittenToItsOwnerAlone) {
  const auto bytes = files_.write(id_, opening_of(5000));
  ASSERT_TRUE(bytes) << bytes.error().message;
  const auto shown = files_.map(id_);
  ASSERT_TRUE(shown);
  EXPECT_TRUE(std::ranges::equal((*shown)->bytes(), *protocol::encode_stored(opening_of(5000))));
  EXPECT_EQ((*shown)->bytes().size(), *bytes);
  EXPECT_EQ(files_.opening(id_)->outputs[0].value.bytes().size(), 5000u);
  struct stat file {};
  ASSERT_EQ(::stat((path_ / core::to_hex(id_)).c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  files_.remove(id_);
  EXPECT_EQ(files_.map(id_).error().code, ErrorCode::kDataLoss);
}

TEST_F(OpeningFolderTest, ABrokenFileIsSaid) {
  ASSERT_TRUE(files_.write(id_, opening_of(5000)));
  std::filesystem::resize_file(path_ / core::to_hex(id_), 4000);
  EXPECT_EQ(files_.opening(id_).error().code, ErrorCode::kDataLoss);
}

TEST_F(OpeningFolderTest, FilesGoWithTheirReceiptsAndWhatNoReceiptHasIsSwept) {
  store::MemoryStore store;
  ReceiptBook book(store, {.records_max = 2}, files_);
  int asides = 0;
  book.remove_by([&](const std::function<void()>& remove) { ++asides, remove(); });
  ASSERT_TRUE(book.open());
  for (std::uint8_t i = 1; i <= 4; ++i) {
    std::vector<ReceiptRecord> records = {record_of(i, 0)};
    records[0].opening_bytes = *files_.write(records[0].id(), opening_of(5000));
    ASSERT_TRUE(book.append(records));
    EXPECT_TRUE(book.opening(records[0]));
  }
  EXPECT_EQ(count(), 2u);
  EXPECT_EQ(asides, 2);
  // A kill between a file and its row, and in the middle of a file.
  ASSERT_TRUE(files_.write(record_of(9, 0).id(), opening_of(5000)));
  std::ofstream(path_ / "half.AbCdEf") << "x";
  ReceiptBook again(store, {.records_max = 2}, files_);
  ASSERT_TRUE(again.open());
  ASSERT_TRUE(again.sweep());
  EXPECT_EQ(count(), 2u);
  const auto listed = again.list("", 10);
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->size(), 2u);
  for (const ReceiptRecord& one : *listed) EXPECT_TRUE(again.opening(one));
}

}  // namespace
}  // namespace commensal::gateway
