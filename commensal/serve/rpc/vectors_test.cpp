// SPDX-License-Identifier: Apache-2.0
// Golden vectors, made by tests/vectors/protocol/stream.py, an implementation of its own.
#include <gtest/gtest.h>

#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/rpc/frame.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace commensal::rpc {
namespace {

using nlohmann::json;

json load(const std::string& name) {
  std::ifstream file(COMMENSAL_SOURCE_DIR "/tests/vectors/protocol/" + name + ".json");
  return json::parse(file);
}

std::string bytes_of(const json& hex) {
  return std::string(core::as_text(*core::from_hex(hex.get<std::string>())));
}

wire::Frame frame_of(const json& vector) {
  wire::Frame frame;
  frame.set_head(bytes_of(vector["head"]));
  for (const json& elements : vector["tensors"]) frame.add_tensors(bytes_of(elements));
  return frame;
}

template <class Message>
void read_all(const std::string& side) {
  std::set<std::size_t> kinds;
  for (const json& vector : load("stream")) {
    if (vector["to"] != side) continue;
    const wire::Frame frame = frame_of(vector);
    const auto message = from_frame<Message>(wire::Frame(frame));
    ASSERT_TRUE(message) << message.error().message;
    const auto name = [](const auto& kind) { return name_of(kind.kKind); };
    EXPECT_EQ(std::visit(name, *message), vector["name"].get<std::string>());
    EXPECT_EQ(to_frame(*message).SerializeAsString(), frame.SerializeAsString());
    kinds.insert(message->index());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Message>);
}

TEST(StreamVectors, ReadAndWriteEveryKindOfMessage) {
  read_all<ToProvider>("provider");
  read_all<ToGateway>("gateway");
}

core::Digest h(std::string_view text) { return crypto::sha256(core::as_bytes(text)); }

template <class Message>
void expect_vector(const std::string& name, const Message& message) {
  bool is_there = false;
  for (const json& vector : load("stream")) {
    if (vector["name"] != name) continue;
    is_there = true;
    EXPECT_EQ(to_frame(message).SerializeAsString(), frame_of(vector).SerializeAsString()) << name;
  }
  EXPECT_TRUE(is_there) << name;
}

TEST(StreamVectors, SayWhatTheirFieldsSay) {
  const float floats[] = {1.5f, -2.0f};
  const bool flag[] = {true};
  Offer offer;
  offer.job =
      *protocol::decode<protocol::Job>(core::as_bytes(bytes_of(load("job").at(1).at("encoding"))));
  offer.model = h("model");
  offer.input_salt = h("salt");
  offer.inputs = {{"x", tensor::Tensor::of<float>({2, 1}, floats)},
                  {"flag", tensor::Tensor::of<bool>({}, flag)},
                  {"none", tensor::Tensor::of<std::int64_t>({0, 3}, {})}};
  expect_vector("offer", ToProvider(offer));
  expect_vector("reveal", ToProvider(Reveal{(1ull << 32) + 7, h("value")}));

  Commit::Item item{h("job"), 17, h("commitment"), 7, {}};
  for (std::uint8_t i = 0; i < 65; ++i) item.signature.signature.bytes[i] = i;
  item.signature.index = 1;
  item.signature.count = 2;
  item.signature.path = {crypto::sha256(core::as_bytes(std::string_view("\0a", 2)))};
  expect_vector("commit", ToGateway(Commit{{item}}));
  expect_vector("deliver", ToGateway(Deliver{h("job"), 17, h("salt"), {offer.inputs[0]}}));
  expect_vector("refuse",
                ToGateway(Refuse{h("job"), {core::ErrorCode::kResourceExhausted, "queue full"}}));
}

}  // namespace
}  // namespace commensal::rpc
