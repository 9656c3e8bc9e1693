// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/base/core/limits_observe.hpp>
#include <commensal/serve/observe/observer.hpp>
#include <commensal/serve/observe/request_log.hpp>
#include <future>
#include <nlohmann/json.hpp>

namespace commensal::observe {
namespace {

using Json = nlohmann::json;

const std::string kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string kParent = "00f067aa0ba902b7";

TEST(RequestTag, KeepsWhatAClientCallsIt) {
  core::CounterRng rng(1);
  const RequestTag tag = tag_of("Order-7.a_b", "00-" + kTrace + "-" + kParent + "-01", rng);
  EXPECT_EQ(tag.id, "Order-7.a_b");
  EXPECT_EQ(tag.trace_id, kTrace);
  EXPECT_EQ(tag.parent_id, kParent);
  EXPECT_TRUE(tag.is_sampled);
  EXPECT_THAT(tag.span_id, ::testing::MatchesRegex("[0-9a-f]+"));
  EXPECT_EQ(tag.span_id.size(), 16u);
  EXPECT_NE(tag.span_id, kParent);
  EXPECT_FALSE(tag_of("", "00-" + kTrace + "-" + kParent + "-02", rng).is_sampled);
}

TEST(RequestTag, PassesOverHostileIds) {
  core::CounterRng rng(1);
  for (const std::string& id :
       {std::string(), std::string(" a"), std::string("a\r\nSet-Cookie: b"), std::string("a\0b", 3),
        std::string("a\"b"), std::string("{}"), std::string("\xc3\xa4"),
        std::string(limits::kRequestIdBytesMax + 1, 'a')}) {
    const RequestTag tag = tag_of(id, "", rng);
    EXPECT_EQ(tag.id.size(), 32u) << id;
    EXPECT_EQ(tag.id.find_first_not_of("0123456789abcdef"), std::string::npos) << tag.id;
  }
  const std::string longest(limits::kRequestIdBytesMax, 'a');
  EXPECT_EQ(tag_of(longest, "", rng).id, longest);
  EXPECT_NE(tag_of("", "", rng).id, tag_of("", "", rng).id);
}

TEST(RequestTag, PassesOverWhatIsNoTraceparent) {
  core::CounterRng rng(1);
  const std::string rest = "-" + kParent + "-01";
  for (const std::string& text :
       {std::string(), "00-" + kTrace + "-" + kParent, "01-" + kTrace + rest, "ff-" + kTrace + rest,
        "00-" + std::string(32, '0') + rest, "00-" + kTrace + "-" + std::string(16, '0') + "-01",
        "00-" + kTrace + rest + "-what", "00-" + kTrace + rest + " ",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736" + rest, "00_" + kTrace + rest,
        "00-" + kTrace + "_" + kParent + "-01", "00-" + kTrace + "-" + kParent + "_01",
        "00-" + kTrace + "-" + kParent + "-0g", "00-" + kTrace.substr(1) + "g" + rest,
        std::string(55, '-'), std::string(1 << 16, '0')}) {
    const RequestTag tag = tag_of("", text, rng);
    EXPECT_NE(tag.trace_id, kTrace) << text;
    EXPECT_EQ(tag.trace_id.size(), 32u);
    EXPECT_EQ(tag.parent_id, "") << text;
    EXPECT_TRUE(tag.is_sampled);
  }
}

TEST(RequestLog, IsOneLineOfJson) {
  const Json line = Json::parse(log_line({.is_success = true,
                                          .wall_ms = 1'764'282'629'007,
                                          .queued_ns = 1'234'567,
                                          .inferred_ns = 20'000'000,
                                          .tag = {.id = "a", .trace_id = kTrace},
                                          .account = "al\nice",
                                          .model = "alice/\xff",
                                          .version = 3,
                                          .bytes_in = 256,
                                          .bytes_out = 40,
                                          .receipt = "ab",
                                          .provider = "0x1"}));
  EXPECT_EQ(line["time"], "2025-11-27T22:30:29.007Z");
  EXPECT_EQ(line["request_id"], "a");
  EXPECT_EQ(line["trace_id"], kTrace);
  EXPECT_EQ(line["account"], "al\nice");
  EXPECT_EQ(line["version"], 3);
  EXPECT_EQ(line["code"], "ok");
  EXPECT_EQ(line["queued_ms"], 1.234);
  EXPECT_EQ(line["computed_ms"], 20);
  EXPECT_EQ(line["bytes_in"], 256);
  EXPECT_EQ(line["receipt"], "ab");
  EXPECT_EQ(log_line({.account = "a\nb"}).find('\n'), std::string::npos);
}

TEST(Batches, WhoPushesNeverWaitsAndWhatDoesNotFitIsCounted) {
  std::promise<void> begun, go_on;
  std::shared_future<void> gate = go_on.get_future().share();
  std::vector<int> taken;
  bool is_first = true;
  {
    Batches<int> batches({.waiting_max = 10, .at_once_max = 4, .every_ms = 1},
                         [&](std::vector<int> batch) {
                           if (std::exchange(is_first, false)) {
                             begun.set_value();
                             gate.wait();
                             return false;  // lost
                           }
                           taken.insert(taken.end(), batch.begin(), batch.end());
                           return true;
                         });
    batches.push(-1);
    begun.get_future().wait();
    for (int i = 0; i < 100; ++i) batches.push(i);  // while nobody takes any
    EXPECT_EQ(batches.dropped(), 90u);
    go_on.set_value();
    for (int tries = 0; tries < 5'000 && batches.dropped() != 91; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(batches.dropped(), 91u);
    for (int i = 0; i < 3; ++i) batches.push(100);
  }
  EXPECT_GE(taken.size(), 4u);  // the last batch at least
  EXPECT_EQ(taken[0], 0);
}

TEST(Observer, LogsEachInference) {
  const core::SystemClock clock;
  core::SystemRng rng;
  std::vector<Json> lines;
  {
    Observer observer(clock, rng,
                      {.log = [&](std::string_view line) { lines.push_back(Json::parse(line)); }});
    for (const char* id : {"a", "b"}) observer.ended({.tag = observer.tag(id, "")});
  }
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["request_id"], "a");
  EXPECT_EQ(lines[1]["request_id"], "b");
}

}  // namespace
}  // namespace commensal::observe
