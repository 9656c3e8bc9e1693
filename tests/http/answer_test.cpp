// SPDX-License-Identifier: Apache-2.0
// Answers that are too large to be given: refused before they are paid for or, where only the work
// shows it, told of with the way to them.
#include <gtest/gtest.h>

#include <commensal/verify/receipt/opening.hpp>

#include <tests/http/raw_client.hpp>
#include <tests/http/wide.hpp>
#include <tests/http/world.hpp>

namespace commensal::tests {
namespace {

constexpr std::int64_t kMemory = 64 << 20;  // 16 MiB for each account

RawResponse ask(const World& world, std::int64_t elements, bool is_binary) {
  RawClient raw(world.port());
  raw.send(ask_wide(world.alice, elements, is_binary));
  return raw.receive();
}

/// That it names a receipt whose opening holds so many elements.
void expect_opening(const World& world, const RawResponse& refused, std::size_t elements) {
  const std::string_view path = "/v1/receipts/";
  const std::size_t at = refused.body.find(path);
  ASSERT_NE(at, std::string::npos) << refused.body;
  RawClient raw(world.port());
  raw.send("GET " + refused.body.substr(at, path.size() + 64 + std::string("/opening").size()) +
           " HTTP/1.1\r\n" + header(world.alice) + "\r\n");
  const RawResponse shown = raw.receive();
  EXPECT_EQ(shown.status, 200) << shown.body;
  const auto opening = protocol::decode_stored<receipt::Opening>(core::as_bytes(shown.body));
  ASSERT_TRUE(opening);
  EXPECT_EQ(receipt::element_bytes(opening->outputs), 4 * elements);
}

// There is no provider: who would be worked for gets 503.
TEST(HttpAnswer, ThatAnAccountCannotHaveIsNotWorkedFor) {
  World world("declared", nullptr, {.models = {}, .memory_bytes_max = kMemory});
  push_wide(world, WideValue::kOne, 2'400'000);
  const RawResponse refused = ask(world, 2'400'000, true);
  EXPECT_EQ(refused.status, 422) << refused.body;
  EXPECT_FALSE(refused.headers.contains("retry-after"));
  EXPECT_NE(refused.body.find("this request needs 19200000 bytes, one account may have 16777216"),
            std::string::npos)
      << refused.body;
  EXPECT_EQ(ask(world, 2'400'000, false).status, 503);  // as text it may be short
}

TEST(HttpAnswer, OfTooMuchJsonForSureIsNotWorkedFor) {
  World world("declared-json");
  push_wide(world, WideValue::kOne, 20'000'000);
  const RawResponse refused = ask(world, 20'000'000, false);
  EXPECT_EQ(refused.status, 400) << refused.body;
  EXPECT_NE(refused.body.find("binary_data_output"), std::string::npos) << refused.body;
  EXPECT_EQ(ask(world, 20'000'000, true).status, 503);
}

TEST(HttpAnswer, IsRefusedAsJsonByItsRealLength) {
  World world("real-json");
  world.start_provider();
  push_wide(world, WideValue::kOne, 3'000'000);
  const RawResponse ones = ask(world, 3'000'000, false);  // 48 MB, were they the longest
  EXPECT_EQ(ones.status, 200) << ones.body.substr(0, 200);
  EXPECT_GT(ones.body.size(), 6'000'000u);
  EXPECT_LT(ones.body.size(), 6'001'000u);
  push_wide(world, WideValue::kLongest, 3'000'000);
  const RawResponse refused = ask(world, 3'000'000, false);
  EXPECT_EQ(refused.status, 400) << refused.body.substr(0, 200);
  EXPECT_NE(refused.body.find("binary_data_output"), std::string::npos);
  expect_opening(world, refused, 3'000'000);
}

TEST(HttpAnswer, HoldsTheMemoryThatItsTextReallyTakes) {
  World world("real-memory", nullptr, {.models = {}, .memory_bytes_max = kMemory});
  world.start_provider();
  push_wide(world, WideValue::kOne);
  const RawResponse ones = ask(world, 2'400'000, false);  // 38 MB, were they the longest
  EXPECT_EQ(ones.status, 200) << ones.body.substr(0, 200);
}

TEST(HttpAnswer, ThatAnAccountCannotHaveNamesItsReceiptAndNoTimeToTryAgain) {
  World world("undelivered", nullptr, {.models = {}, .memory_bytes_max = kMemory});
  world.start_provider();
  push_wide(world, WideValue::kOne);
  for (const std::int64_t elements : {2'400'000, 6'000'000}) {  // twice; once
    const RawResponse refused = ask(world, elements, true);
    EXPECT_EQ(refused.status, 422) << refused.body.substr(0, 200);
    EXPECT_FALSE(refused.headers.contains("retry-after"));
    EXPECT_NE(refused.body.find("one account may have 16777216"), std::string::npos);
    expect_opening(world, refused, static_cast<std::size_t>(elements));
  }
}

}  // namespace
}  // namespace commensal::tests
