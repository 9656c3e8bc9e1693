// SPDX-License-Identifier: Apache-2.0
// What a consumer is shown stays, whatever is killed next.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include <tests/http/raw_client.hpp>
#include <tests/http/wide.hpp>
#include <tests/http/world.hpp>

namespace commensal::tests {
namespace {

using namespace std::chrono_literals;

std::future<RawResponse> get(const World& world, const std::string& path) {
  return std::async(std::launch::async, [&world, path] {
    RawClient raw(world.port());
    raw.send("GET " + path + " HTTP/1.1\r\n" + header(world.alice) + "\r\n");
    return raw.receive();
  });
}

TEST(HttpDurable, NoReceiptIsShownBeforeItIsOnDisk) {
  World world("durable");
  world.start_provider();
  ASSERT_TRUE(world.client(world.alice).infer("alice/digits", 0, picture(0)));
  const auto before = nlohmann::json::parse(get(world, "/v1/receipts").get().body);
  ASSERT_EQ(before["receipts"].size(), 1u);
  world.store().hold();
  auto answer = std::async(std::launch::async, [&] {
    return world.client(world.alice).infer("alice/digits", 0, picture(1));
  });
  while (world.store().waiting() == 0) std::this_thread::sleep_for(1ms);
  std::vector<std::future<RawResponse>> shown;
  for (const char* path : {"/v1/receipts", "/v1/providers"}) shown.push_back(get(world, path));
  for (const auto& one : shown) EXPECT_EQ(one.wait_for(200ms), std::future_status::timeout);
  EXPECT_EQ(answer.wait_for(0ms), std::future_status::timeout);
  world.store().free();
  EXPECT_TRUE(answer.get());
  EXPECT_EQ(nlohmann::json::parse(shown[0].get().body)["receipts"].size(), 2u);
  EXPECT_EQ(shown[1].get().status, 200);
}

}  // namespace
}  // namespace commensal::tests
