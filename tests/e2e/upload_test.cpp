// SPDX-License-Identifier: Apache-2.0
// A large model's push that is killed in the middle, or whose gateway is: called again, it sends
// the rest and nothing else.
#include <gmock/gmock.h>

#include <commensal/base/core/limits_uploads.hpp>
#include <csignal>
#include <fstream>
#include <tests/e2e/system.hpp>

namespace commensal::e2e {
namespace {

constexpr std::size_t kPieces = 12;

class LargePush : public System {
 protected:
  /// The digit network, and so much behind it that it has that many pieces.
  void SetUp() override {
    core::Bytes model = *core::read_file(kModel);
    const std::size_t rest = kPieces * limits::kUploadPieceBytesMax - 1'000 - model.size();
    const auto varint = [&](std::uint64_t value) {
      for (; value >= 128; value >>= 7) model.push_back(static_cast<std::uint8_t>(value | 128));
      model.push_back(static_cast<std::uint8_t>(value));
    };
    varint(1000 << 3 | 2);  // a field that nobody knows, of bytes
    varint(rest);
    core::Bytes random(rest);
    core::CounterRng(3).fill(random);
    model.insert(model.end(), random.begin(), random.end());
    ASSERT_TRUE(core::write_file_atomically(file(), model));
  }
  std::string file() const { return folder_.at("large.onnx"); }
  std::unique_ptr<Process> push() {
    return std::make_unique<Process>(at_gateway({"push", file(), "large", "--json"}, token_file_),
                                     folder_.at("push.log"));
  }
  /// Bytes of the only upload there is; 0: none.
  std::size_t received() {
    auto client = connect();
    const auto text = client.get_json("/v1/uploads");
    if (!text) return 0;
    const Json all = Json::parse(*text)["uploads"];
    return all.empty() ? 0 : all[0]["received"].get<std::size_t>();
  }
  /// Waits until so many bytes are there.
  std::size_t wait_for(std::size_t bytes) {
    for (int tries = 0; tries < 20'000 && received() < bytes; ++tries) pause_ms(1);
    return received();
  }
  /// Pieces that this gateway has taken.
  std::size_t pieces() {
    auto client = connect();
    const std::string text = *client.get_json("/metrics");
    const std::size_t at =
        text.find(R"(method="PATCH",route="/v1/uploads/{upload}",status="204"})");
    EXPECT_NE(at, std::string::npos) << text.substr(0, 2'000);
    return at == std::string::npos ? 0 : std::stoul(text.substr(text.find("} ", at) + 2));
  }
  void expect_whole(Process& pushed) {
    int status = -1;
    const std::string said = pushed.read_all(status);
    ASSERT_EQ(status, 0);
    EXPECT_EQ(Json::parse(said)["version"], 1);
    EXPECT_EQ(received(), 0u);
    auto client = connect();
    EXPECT_EQ(*client.model_content("operator/large"), *core::read_file(file()));
  }
};

TEST_F(LargePush, ThatIsKilledGoesOnWhereItWas) {
  start_gateway();
  const auto first = push();
  ASSERT_GE(wait_for(limits::kUploadPieceBytesMax), std::size_t{limits::kUploadPieceBytesMax});
  first->signal(SIGSTOP);
  first->kill();
  pause_ms(1'500);  // what it had sent whole is written
  const std::size_t there = received();
  ASSERT_GE(there, std::size_t{limits::kUploadPieceBytesMax});
  ASSERT_LT(there, kPieces * limits::kUploadPieceBytesMax - 1'000);
  EXPECT_EQ(there % limits::kUploadPieceBytesMax, 0u);
  expect_whole(*push());
  EXPECT_EQ(pieces(), kPieces);
}

TEST_F(LargePush, WhoseGatewayIsKilledGoesOnWhereItWas) {
  start_gateway();
  const auto first = push();
  const std::size_t there = wait_for(2 * limits::kUploadPieceBytesMax);
  ASSERT_GE(there, 2 * std::size_t{limits::kUploadPieceBytesMax});
  gateway_->kill();
  int status = -1;
  first->read_all(status);
  EXPECT_EQ(status, 1);
  start_gateway();
  const std::size_t kept = received();
  EXPECT_GE(kept, there);
  ASSERT_LT(kept, kPieces * limits::kUploadPieceBytesMax - 1'000);
  EXPECT_EQ(kept % limits::kUploadPieceBytesMax, 0u);
  expect_whole(*push());
  EXPECT_EQ(pieces(), kPieces - kept / limits::kUploadPieceBytesMax);
}

}  // namespace
}  // namespace commensal::e2e
