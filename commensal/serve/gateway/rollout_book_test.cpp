// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/gateway/rollout_book.hpp>

namespace commensal::gateway {
namespace {

core::Bytes row_of(core::Store& store) {
  core::Bytes row;
  const auto scanned = store.scan("rollouts", {}, [&](core::ByteView, core::ByteView value) {
    row.assign(value.begin(), value.end());
    return true;
  });
  EXPECT_TRUE(scanned);
  return row;
}

// A provider's word may stand in it, and a book that cannot be read keeps the gateway from
// starting.
TEST(RolloutBookTest, WhateverTheReasonIsItIsReadBack) {
  for (const std::string& reason : {std::string(), std::string("broken\nover lines\x01"),
                                    std::string(100'000, 'a'), std::string(5000, '\xff')}) {
    store::MemoryStore store;
    RolloutEntry entry;
    entry.id = core::Digest{1};
    entry.account = "a";
    entry.model = "a/m";
    entry.reason = reason;
    RolloutBook book(store);
    ASSERT_TRUE(book.put(entry));
    RolloutBook again(store);
    const auto opened = again.open();
    EXPECT_TRUE(opened) << opened.error().message;
    EXPECT_NE(again.find(entry.id), nullptr);
  }
}

// The fault: a gateway before this one refuses rows with more than they had.
TEST(RolloutBookTest, TheReasonsCodeIsInMemoryAlone) {
  store::MemoryStore with, without;
  RolloutEntry entry;
  entry.id = core::Digest{1};
  ASSERT_TRUE(RolloutBook(without).put(entry));
  entry.reason_code = kNotFinite;
  RolloutBook book(with);
  ASSERT_TRUE(book.put(entry));
  EXPECT_EQ(book.find(entry.id)->reason_code, kNotFinite);
  EXPECT_EQ(row_of(with), row_of(without));
  RolloutBook again(with);
  ASSERT_TRUE(again.open());
  EXPECT_EQ(again.find(entry.id)->reason_code, "");
}

}  // namespace
}  // namespace commensal::gateway
