// SPDX-License-Identifier: Apache-2.0
// Whom the next gateway on the same store will wait for.
#include <gmock/gmock.h>

#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/gateway/presence.hpp>

namespace commensal::gateway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PresenceTest : public ::testing::Test {
 protected:
  static crypto::Address who(std::uint32_t id) {
    crypto::Address address;
    for (std::size_t i = 0; i < 4; ++i) address.bytes[i] = static_cast<std::uint8_t>(id >> (8 * i));
    return address;
  }
  std::vector<crypto::Address> known_to_the_next() {
    Presence next(loop_, clock_, store_, events_);
    return *next.open();
  }
  core::ManualClock clock_;
  core::testing::ManualLoop loop_{clock_};
  store::MemoryStore store_;
  EventQueue events_{loop_, [](event::Any&) { FAIL() << "an error"; }, [] {}};
  Presence presence_{loop_, clock_, store_, events_};
};

TEST_F(PresenceTest, WhoIsConnectedIsKnownToTheNext) {
  EXPECT_THAT(known_to_the_next(), IsEmpty());
  presence_.on_connect(who(1));
  presence_.on_connect(who(2));
  EXPECT_THAT(known_to_the_next(), IsEmpty()) << "it is written later, once";
  loop_.advance_ms(limits::kPresenceWriteMs);
  EXPECT_THAT(known_to_the_next(), ElementsAre(who(1), who(2)));
}

// A gateway that is stopped loses all of them before it ends.
TEST_F(PresenceTest, WhoHasJustLeftCountsForAWhile) {
  presence_.on_connect(who(1));
  presence_.on_connect(who(2));
  presence_.on_leave(who(1));
  loop_.advance_ms(limits::kPresenceWriteMs);
  EXPECT_THAT(known_to_the_next(), ElementsAre(who(1), who(2)));
  loop_.advance_ms(limits::kPresenceKeptMs);
  presence_.on_leave(who(2));
  loop_.advance_ms(limits::kPresenceWriteMs);
  EXPECT_THAT(known_to_the_next(), ElementsAre(who(2)));
}

// A gateway that dies again before they are back.
TEST_F(PresenceTest, WhoWasExpectedIsKnownToTheOneAfterTheNext) {
  presence_.on_connect(who(1));
  loop_.advance_ms(limits::kPresenceWriteMs);
  Presence next(loop_, clock_, store_, events_);
  ASSERT_THAT(*next.open(), ElementsAre(who(1)));
  next.on_connect(who(2));
  loop_.advance_ms(limits::kPresenceWriteMs);
  EXPECT_THAT(known_to_the_next(), ElementsAre(who(1), who(2)));
}

TEST_F(PresenceTest, KeysThatComeAndGoAreBounded) {
  for (std::uint32_t id = 0; id < 10'000; ++id) {
    presence_.on_connect(who(id));
    presence_.on_leave(who(id));
  }
  loop_.advance_ms(limits::kPresenceWriteMs);
  EXPECT_EQ(known_to_the_next().size(), static_cast<std::size_t>(limits::kProvidersMax));
}

}  // namespace
}  // namespace commensal::gateway
