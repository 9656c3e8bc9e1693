// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/gateway/rollout_book.hpp>

namespace commensal::gateway {
namespace {

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

TEST(RolloutBookTest, TheReasonsCodeIsKeptWhereThereIsNoPrivacyClassToo) {
  for (const auto& code : {std::optional<std::string>(), std::optional<std::string>("unavailable")})
    for (const auto& of : {std::optional<std::string>(), std::optional<std::string>("medical")}) {
      store::MemoryStore store;
      RolloutEntry entry;
      entry.id = core::Digest{1};
      entry.reason_code = code;
      entry.privacy_class = of;
      ASSERT_TRUE(RolloutBook(store).put(entry));
      RolloutBook again(store);
      ASSERT_TRUE(again.open());
      EXPECT_EQ(again.find(entry.id)->reason_code, code);
      EXPECT_EQ(again.find(entry.id)->privacy_class, of);
    }
}

}  // namespace
}  // namespace commensal::gateway
