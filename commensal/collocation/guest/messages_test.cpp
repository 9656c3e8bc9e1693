// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/collocation/guest/messages.hpp>
#include <commensal/collocation/guest/metrics.hpp>

namespace commensal::guest {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(MachineMessages, ComeThrough) {
  const auto join = parse_to_governor(line_of(Join{42, "lab \"7\"\n", 2.5, 3}));
  ASSERT_TRUE(join) << join.error().message;
  EXPECT_EQ(std::get<Join>(*join).pid, 42);
  EXPECT_EQ(std::get<Join>(*join).name, "lab \"7\"\n");
  EXPECT_EQ(std::get<Join>(*join).weight, 2.5);
  EXPECT_EQ(std::get<Join>(*join).threads, 3);
  EXPECT_FALSE(std::get<Join>(*join).asked);
  const Promise promise{0.001, 0.02, 12.5};
  const auto asking = parse_to_governor(line_of(Join{42, "lab", 1, 3, promise}));
  EXPECT_EQ(std::get<Join>(asking.value()).asked, promise);
  const auto joined = parse_to_guest(line_of(Joined{"process:1", promise}));
  EXPECT_EQ(std::get<Joined>(joined.value()).promise, promise);
  const auto older = parse_to_guest(R"({"joined":{"host":"process:1"}})");
  EXPECT_EQ(std::get<Joined>(older.value()).promise, Promise{});
  const Report report{true, 17, 0.5, {}};
  EXPECT_EQ(std::get<Report>(parse_to_governor(line_of(report)).value()), report);
  EXPECT_TRUE(std::holds_alternative<Ask>(parse_to_governor(line_of(Ask{})).value()));
  EXPECT_EQ(std::get<Joined>(parse_to_guest(line_of(Joined{"process:1"})).value()).host,
            "process:1");
  EXPECT_EQ(std::get<Level>(parse_to_guest(line_of(Level{0.25})).value()).level, 0.25);
}

TEST(MachineMessages, RefuseWhatIsNone) {
  for (
      const char* line :
      {"", "{", "[]", "1", "{}", R"({"join":1})", R"({"join":{},"report":{}})", R"({"quit":{}})",
       R"({"ask":"money"})", R"({"report":{"wants":1,"served":0}})",
       R"({"report":{"wants":true,"served":-1}})",
       R"({"join":{"pid":1,"name":"a","weight":0,"threads":1}})",
       R"({"join":{"pid":1,"name":"a","weight":1e9,"threads":1}})",
       R"({"join":{"pid":1,"name":7,"weight":1,"threads":1}})",
       R"({"join":{"pid":1,"name":"a","weight":1,"threads":0}})",
       R"({"join":{"pid":1,"name":"a","weight":1,"threads":1,"promise":0.1}})",
       R"({"join":{"pid":1,"name":"a","weight":1,"threads":1,"promise":{"hour":0,"minute":1}}})",
       R"({"join":{"pid":1,"name":"a","weight":1,"threads":1,"promise":{"hour":1,"minute":0}}})"}) {
    EXPECT_FALSE(parse_to_governor(line)) << line;
  }
  for (const char* line :
       {R"({"level":1.5})", R"({"level":"1"})", R"({"level":-0.1})", R"({"joined":{}})",
        R"({"joined":{"host":"a","promise":{"hour":2}}})", R"({"status":{}})"}) {
    EXPECT_FALSE(parse_to_guest(line)) << line;
  }
}

// Bytes of any kind, and whole lines with one byte changed, are answered by an error or a message.
TEST(MachineMessages, BearAnyBytes) {
  core::CounterRng rng(5);
  const std::string good = line_of(Join{42, "lab", 2, 3});
  for (int round = 0; round < 20'000; ++round) {
    std::string line = good;
    const std::size_t changes = 1 + rng.next_u64() % 3;
    for (std::size_t i = 0; i < changes; ++i) {
      line[rng.next_u64() % line.size()] = static_cast<char>(rng.next_u64());
    }
    const auto said = parse_to_governor(line);
    if (!said || !std::holds_alternative<Join>(*said)) continue;
    EXPECT_GE(std::get<Join>(*said).weight, 1);
    EXPECT_GE(std::get<Join>(*said).threads, 1);
  }
}

Status status() {
  Status made;
  made.host = "xmrig:http://127.0.0.1:4067";
  made.unit = "hash\"es";
  made.promise = {.hour = 0.001, .minute = 0.02};
  made.confidence = 0.95;
  made.governor.rate = 990.5;
  made.governor.reference = 1000;
  made.governor.loss = 0.0031;
  made.governor.loss_high = 0.0062;
  made.governor.hour_s = 60;
  made.governor.cost = 0.02;
  made.governor.explored_s = 1.5;
  made.governor.trips = 2;
  made.governor.why = "hm";
  made.incomes = {.host = 50, .host_loses = 0.5, .guests = 1, .guests_at_full = 7};
  made.guests.push_back({{7, "a", 3, 2}, {true, 12, 0.5, {}}, 0.25});
  made.guests.push_back({{8, "b", 1, 2}, {true, 4, {}, {}}, 0.5});
  return made;
}

TEST(MachineMetrics, TellWhatIsKnown) {
  const std::string text = metrics_of(line_of(status())).value();
  EXPECT_THAT(text, HasSubstr("# TYPE commensal_host_rate gauge\n"
                              "commensal_host_rate{unit=\"hash\\\"es\"} 990.5\n"));
  EXPECT_THAT(text, HasSubstr("\ncommensal_host_loss 0.0031\n"));
  EXPECT_THAT(text, HasSubstr("\ncommensal_host_loss_upper 0.0062\n"));
  EXPECT_THAT(text, HasSubstr("\ncommensal_host_loss_shown 0\n"));
  EXPECT_THAT(text, HasSubstr("\ncommensal_host_loss_promised 0.001\n"));
  EXPECT_THAT(text, HasSubstr("\ncommensal_host_minute_loss_promised 0.02\n"));
  EXPECT_THAT(text, HasSubstr("\ncommensal_host_hour_seconds 60\n"));
  EXPECT_THAT(text, HasSubstr("\ncommensal_governor_cost_ratio 0.02\n"));
  EXPECT_THAT(text, HasSubstr("\ncommensal_governor_explored_seconds 1.5\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE commensal_governor_trips_total counter\n"
                              "commensal_governor_trips_total 2\n"));
  EXPECT_THAT(text, HasSubstr("\ncommensal_governor_waits{phase=\"waiting\",why=\"hm\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\ncommensal_host_income_loss_per_hour 0.5\n"));
  EXPECT_THAT(text, HasSubstr("\ncommensal_guests_income_full_per_hour 7\n"));
  EXPECT_THAT(text, HasSubstr("\ncommensal_guests 2\n"));
  EXPECT_THAT(text, HasSubstr("commensal_guest_level_ratio{pid=\"7\",name=\"a\"} 0.25\n"
                              "commensal_guest_level_ratio{pid=\"8\",name=\"b\"} 0.5\n"));
  EXPECT_THAT(text, HasSubstr("commensal_guest_requests_per_second{pid=\"7\",name=\"a\"} 0.5\n"));
}

TEST(MachineMetrics, LeaveOutWhatIsNotKnown) {
  Status unknown = status();
  unknown.governor = {};
  unknown.governor.cost = 0.05;  // what it begins with, no knowledge
  const std::string text = metrics_of(line_of(unknown)).value();
  EXPECT_THAT(text, Not(HasSubstr("commensal_host_rate")));
  EXPECT_THAT(text, Not(HasSubstr("\ncommensal_host_loss ")));
  EXPECT_THAT(text, Not(HasSubstr("\ncommensal_host_loss_upper ")));
  EXPECT_THAT(text, Not(HasSubstr("cost_ratio")));
  EXPECT_THAT(text, Not(HasSubstr("joules")));
  EXPECT_THAT(text, Not(HasSubstr("earnings")));
  EXPECT_THAT(text, Not(HasSubstr("requests_per_second{pid=\"8\"")));
  EXPECT_FALSE(metrics_of("{}"));
  EXPECT_FALSE(metrics_of("no"));
}

}  // namespace
}  // namespace commensal::guest
