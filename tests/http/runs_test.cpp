// SPDX-License-Identifier: Apache-2.0
// What a provider is told of requests, and what it tells of runs, over real sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <tests/http/raw_client.hpp>
#include <tests/http/world.hpp>

namespace commensal::tests {
namespace {

using Json = nlohmann::json;
using ::testing::UnorderedElementsAre;

class Runs : public ::testing::Test {
 protected:
  Runs() {
    world_.tasks_at_once.usual = 4;
    world_.job_ended = [this](const provider::JobEnd& end) {
      const std::lock_guard lock(mutex_);
      ends_.push_back(end);
    };
    world_.start_provider();
  }
  int ask(std::uint64_t i, const std::string& headers, int rows = 1) const {
    const auto values = picture(i)[0].value.data<float>();
    std::vector<float> data;
    for (int row = 0; row < rows; ++row) data.insert(data.end(), values.begin(), values.end());
    const Json input = {
        {"name", "image"}, {"datatype", "FP32"}, {"shape", {rows, 1, 8, 8}}, {"data", data}};
    const std::string body = Json({{"inputs", Json::array({input})}}).dump();
    RawClient raw(world_.port());
    raw.send(
        fmt::format("POST /v2/models/alice%2Fdigits/infer HTTP/1.1\r\nHost: x\r\n"
                    "Authorization: Bearer {}\r\nContent-Length: {}\r\n{}\r\n{}",
                    world_.alice, body.size(), headers, body));
    return raw.receive().status;
  }
  Json statistics() const {
    RawClient raw(world_.port());
    raw.send(
        fmt::format("GET /v2/models/alice%2Fdigits/stats HTTP/1.1\r\nHost: x\r\n"
                    "Authorization: Bearer {}\r\n\r\n",
                    world_.alice));
    return Json::parse(raw.receive().body)["model_stats"][0];
  }
  std::vector<provider::JobEnd> ends() {
    const std::lock_guard lock(mutex_);
    return ends_;
  }
  std::string config_of(const std::string& config) {
    auto set = world_.client(world_.alice).configure("alice/digits", 0, config, {});
    return set ? "" : set.error().message;
  }

 private:
  std::mutex mutex_;  // guards the next
  std::vector<provider::JobEnd> ends_;

 protected:
  World world_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
};

TEST_F(Runs, AProviderHearsWhatARequestIsCalled) {
  const std::string trace(32, 'a');
  ASSERT_EQ(
      ask(1, "X-Request-Id: order-7\r\ntraceparent: 00-" + trace + "-00f067aa0ba902b7-01\r\n"),
      200);
  ASSERT_EQ(ask(2, ""), 200);
  const auto heard = ends();
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[0].outcome, "delivered");
  EXPECT_EQ(heard[0].request_id, "order-7");
  EXPECT_EQ(heard[0].trace_id, trace);
  EXPECT_EQ(heard[0].tasks, 1u);
  EXPECT_GT(heard[0].computed_ns, 0);
  EXPECT_GE(heard[0].took_ns, heard[0].computed_ns);
  EXPECT_EQ(heard[1].request_id.size(), 32u);
}

TEST_F(Runs, StatisticsHaveTheirSizesAndTimes) {
  ASSERT_EQ(config_of("max_batch_size: 8"), "");
  for (int i = 0; i < 3; ++i) ASSERT_EQ(ask(1, ""), 200);
  ASSERT_EQ(ask(1, "", 4), 200);
  const Json seen = statistics();
  EXPECT_EQ(seen["inference_count"], 7);
  EXPECT_EQ(seen["execution_count"], 4);
  ASSERT_EQ(seen["batch_stats"].size(), 2u);
  EXPECT_EQ(seen["batch_stats"][0]["batch_size"], 1);
  EXPECT_EQ(seen["batch_stats"][0]["compute_infer"]["count"], 3);
  EXPECT_EQ(seen["batch_stats"][1]["batch_size"], 4);
  EXPECT_EQ(seen["batch_stats"][1]["compute_infer"]["count"], 1);
  const auto ns_of = [&](int i) {
    return seen["batch_stats"][i]["compute_infer"]["ns"].get<std::int64_t>();
  };
  EXPECT_GT(ns_of(0), 0);
  EXPECT_GT(ns_of(1), 0);
  EXPECT_LT(ns_of(0) + ns_of(1),
            seen["inference_stats"]["compute_infer"]["ns"].get<std::int64_t>());
}

TEST_F(Runs, WhatWasJoinedIsOneRun) {
  ASSERT_EQ(config_of("max_batch_size: 8 dynamic_batching { max_queue_delay_microseconds: 40000 "
                      "preferred_batch_size: [ 5 ] }"),
            "");
  ASSERT_EQ(ask(1, "", 5), 200);  // so that the model is there
  world_.hold_loop();
  std::vector<std::future<int>> answers;
  for (int i = 0; i < 4; ++i)
    answers.push_back(
        std::async(std::launch::async, [this, i] { return ask(1, "", i == 0 ? 2 : 1); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // until all have come
  world_.free_loop();
  for (auto& answer : answers) EXPECT_EQ(answer.get(), 200);
  const Json seen = statistics();
  EXPECT_EQ(seen["inference_count"], 10);
  EXPECT_EQ(seen["execution_count"], 2);
  ASSERT_EQ(seen["batch_stats"].size(), 1u);
  EXPECT_EQ(seen["batch_stats"][0]["batch_size"], 5);
  EXPECT_EQ(seen["batch_stats"][0]["compute_infer"]["count"], 2);
  const auto heard = ends();
  ASSERT_EQ(heard.size(), 5u);
  for (std::size_t i = 1; i < 5; ++i) {
    EXPECT_EQ(heard[i].tasks, 4u);
    EXPECT_EQ(heard[i].rows, 5u);
    EXPECT_EQ(heard[i].computed_ns, heard[1].computed_ns);
  }
}

}  // namespace
}  // namespace commensal::tests
