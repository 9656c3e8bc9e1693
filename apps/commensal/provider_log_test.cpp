// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <apps/commensal/provider_log.hpp>

namespace commensal::apps {
namespace {

using provider::ProviderStatus;
using provider::StreamState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ProviderLog, TellsOfStreamJobsAndMoneyOnce) {
  ProviderLog log("gate:8090");
  ProviderStatus now;
  EXPECT_THAT(log.add(now, 1), ElementsAre("connecting to gate:8090"));
  now.stream_message = "nobody is there";
  EXPECT_THAT(log.add(now, 2),
              ElementsAre("connecting to gate:8090: nobody is there; goes on trying"));
  now.stream = StreamState::kConnected;
  now.stream_message = "";
  EXPECT_THAT(log.add(now, 3), ElementsAre("connected to gate:8090"));
  EXPECT_THAT(log.add(now, 4), IsEmpty());
  now.paused = "the host is measured alone";
  EXPECT_THAT(log.add(now, 5), ElementsAre("paused: the host is measured alone"));
  now.paused = "";
  EXPECT_THAT(log.add(now, 6), ElementsAre("goes on"));
  now.delivered = 1;
  EXPECT_THAT(log.add(now, 7), ElementsAre(HasSubstr("1 answers since, 1 in all")));
  now.delivered = 5;
  EXPECT_THAT(log.add(now, 8), IsEmpty());
  EXPECT_THAT(log.add(now, 10'008), ElementsAre(HasSubstr("4 answers since, 5 in all")));
  now.balance = rpc::Balance{};
  now.balance->stake_wanted = protocol::Amount(100);
  EXPECT_THAT(log.add(now, 10'009), ElementsAre(HasSubstr("stake 0 of 100")));
  now.balance->stake = protocol::Amount(100);
  now.tickets.paid = 2;
  now.tickets.value_paid = protocol::Amount(70);
  EXPECT_THAT(log.add(now, 10'010), ElementsAre(HasSubstr("2 paid, 70 in all")));
}

TEST(ProviderLog, TellsOfTrustAndWhyItRefuses) {
  ProviderLog log("gate:8090");
  ProviderStatus now;
  (void)log.add(now, 1);
  now.new_gateway = crypto::Address{};
  EXPECT_THAT(log.add(now, 2), ElementsAre(HasSubstr("from now on; --gateway-key if you know")));
  EXPECT_THAT(log.add(now, 3), IsEmpty());
  now.refused = 1;
  now.refused_why = "the worker was killed";
  EXPECT_THAT(log.add(now, 4),
              ElementsAre(HasSubstr("1 jobs refused (the last: the worker was killed), 0")));
}

TEST(ProviderLog, TellsOfModelsOnTheirWay) {
  ProviderLog log("gate:8090");
  ProviderStatus now;
  (void)log.add(now, 1);
  now.fetch = {.number = 1, .model = core::Digest{0xab}, .bytes = 3 << 20, .failed = {}};
  EXPECT_THAT(log.add(now, 2), ElementsAre("fetches model ab0000000000: 3.0 MiB so far"));
  now.fetch.bytes = 9 << 20;
  EXPECT_THAT(log.add(now, 3), IsEmpty());
  EXPECT_THAT(log.add(now, 5'003), ElementsAre("fetches model ab0000000000: 9.0 MiB so far"));
  now.fetch.is_over = true;
  EXPECT_THAT(log.add(now, 5'004), ElementsAre("fetched model ab0000000000, 9.0 MiB"));
  EXPECT_THAT(log.add(now, 20'000), IsEmpty());
  now.fetch = {.number = 2, .model = {}, .is_over = true, .failed = "the connection broke"};
  EXPECT_THAT(log.add(now, 20'001),
              ElementsAre("model 000000000000 did not come: the connection broke"));
}

TEST(ProviderLog, AddressesAreHostAndPort) {
  for (const char* good : {"127.0.0.1:8090", "gateway.example:1", "[::1]:8090", "a:1,b:2"}) {
    EXPECT_TRUE(check_stream_address(good)) << good;
  }
  for (const char* bad : {"http://127.0.0.1:8090", "127.0.0.1", "127.0.0.1:", "host:0", ":8090",
                          "host:65536", "host:port", "", "a:1,", "a:1,b"}) {
    const auto refused = check_stream_address(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_THAT(refused.error().message, HasSubstr("expected HOST:PORT"));
  }
}

}  // namespace
}  // namespace commensal::apps
