// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <commensal/base/core/result.hpp>
#include <commensal/serve/oip/system_memory.hpp>

namespace commensal::oip {
namespace {

using ::testing::HasSubstr;

/// A client's: 64 bytes by this name.
class SystemMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(file_.valid());
    ASSERT_EQ(::ftruncate(file_.get(), 64), 0);
  }
  ~SystemMemoryTest() override { ::shm_unlink(key_.c_str()); }

  core::Result<void> add(const std::string& name, std::int64_t offset, std::int64_t bytes) {
    return memory_.add("alice", {name, key_, offset, bytes});
  }

  const std::string key_ = "/commensal-test-" + std::to_string(::getpid());
  core::Descriptor file_{::shm_open(key_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600)};
  SystemMemory memory_;
};

TEST_F(SystemMemoryTest, IsReadAndWrittenWithinItsRegion) {
  ASSERT_TRUE(add("r", 16, 32));
  const std::array<std::uint8_t, 4> sent = {1, 2, 3, 4};
  ASSERT_TRUE(memory_.write("alice", {"r", 8, 4}, sent));
  std::array<std::uint8_t, 4> got{};
  ASSERT_EQ(::pread(file_.get(), got.data(), 4, 24), 4);
  EXPECT_EQ(got, sent);
  got = {};
  ASSERT_TRUE(memory_.read("alice", {"r", 8, 4}, got));
  EXPECT_EQ(got, sent);
}

TEST_F(SystemMemoryTest, NothingBeyondARegionIsTouched) {
  ASSERT_TRUE(add("r", 16, 32));
  std::array<std::uint8_t, 8> bytes{};
  for (const Place& place : {Place{"r", 25, 8}, Place{"r", -1, 8}, Place{"r", 0, 7},
                             Place{"r", std::int64_t{1} << 62, std::int64_t{1} << 62}}) {
    EXPECT_THAT(memory_.read("alice", place, bytes).error().message, HasSubstr("Invalid offset"));
    EXPECT_FALSE(memory_.write("alice", place, bytes));
  }
  EXPECT_TRUE(memory_.check("alice", {"r", 24, 8}));
  EXPECT_FALSE(memory_.check("alice", {"r", 25, 8}));
  EXPECT_FALSE(memory_.check("bob", {"r", 24, 8}));
  EXPECT_THAT(memory_.read("alice", {"s", 0, 8}, bytes).error().message,
              HasSubstr("Unable to find shared memory region: 's'"));
}

TEST_F(SystemMemoryTest, AccountsDoNotSeeEachOthers) {
  ASSERT_TRUE(add("r", 0, 64));
  std::array<std::uint8_t, 8> bytes{};
  EXPECT_FALSE(memory_.read("bob", {"r", 0, 8}, bytes));
  memory_.remove("bob", "");
  EXPECT_TRUE(memory_.list("bob", "")->empty());
  EXPECT_EQ(memory_.list("alice", "")->size(), 1u);
  EXPECT_FALSE(memory_.list("alice", "s"));
  memory_.remove("alice", "r");
  EXPECT_TRUE(memory_.list("alice", "")->empty());
}

TEST_F(SystemMemoryTest, RegionsAreWhatTheObjectHas) {
  EXPECT_FALSE(add("r", 0, 65));
  EXPECT_FALSE(add("r", 1, 64));
  EXPECT_FALSE(add("r", -1, 8));
  EXPECT_FALSE(add("r", 0, 0));
  EXPECT_FALSE(memory_.add("alice", {"r", key_ + "-not", 0, 8}));
  ASSERT_TRUE(add("r", 0, 64));
  EXPECT_EQ(add("r", 0, 64).error().code, core::ErrorCode::kAlreadyExists);
}

TEST_F(SystemMemoryTest, WhatAClientCutsOffIsAnErrorAndNoFault) {
  ASSERT_TRUE(add("r", 0, 64));
  ASSERT_EQ(::ftruncate(file_.get(), 8), 0);
  std::array<std::uint8_t, 16> bytes{};
  EXPECT_THAT(memory_.read("alice", {"r", 0, 16}, bytes).error().message, HasSubstr("cut off"));
}

}  // namespace
}  // namespace commensal::oip
