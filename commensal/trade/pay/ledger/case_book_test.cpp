// SPDX-License-Identifier: Apache-2.0
// Disputes on disk: a book that is opened again in the middle of them goes on, and its journal is
// run again with the arbiter alone.
#include <gmock/gmock.h>

#include <commensal/base/store/memory_store.hpp>
#include <commensal/trade/pay/ledger/invariants.hpp>
#include <commensal/trade/pay/ledger/testing/clerk.hpp>
#include <commensal/trade/pay/ledger/verify.hpp>

namespace commensal::ledger {
namespace {

using testing::Clerk;
using ::testing::HasSubstr;
using testing::kArbiter;
using testing::kSignatures;

TEST(MoneyCaseBook, GoesOnInMidDispute) {
  store::MemoryStore store;
  Clerk clerk(store, 5, {.checkpoint_entries = 300});
  ASSERT_TRUE(clerk.open());
  const auto begun = clerk.begin_tickets();
  ASSERT_TRUE(begun) << begun.error().message;
  std::size_t with_moves = 0;
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(clerk.group_of_tickets(10));
    const State& before = clerk.book().state();
    with_moves += before.moves.rows().empty() ? 0 : 1;
    const Digest root = state_root(before);
    ASSERT_TRUE(clerk.open());  // from what is on disk
    ASSERT_EQ(state_root(clerk.book().state()), root);
    const auto sound = check_all(clerk.book().state());
    ASSERT_TRUE(sound) << sound.error().message;
  }
  EXPECT_GT(with_moves, 10u);
  EXPECT_GT(clerk.book().from(), 0u);
  const auto verified = verify(store, kSignatures, {}, &kArbiter);
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_EQ(verified->root, state_root(clerk.book().state()));
  EXPECT_TRUE(verified->has_state);
  const auto without = verify(store, kSignatures);
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error().message, HasSubstr("this ledger has no arbiter"));
}

}  // namespace
}  // namespace commensal::ledger
