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
using protocol::Amount;

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

protocol::BatchSignature batch() {
  protocol::BatchSignature made;
  for (std::uint8_t i = 0; i < 65; ++i) made.signature.bytes[i] = i;
  made.index = 1;
  made.count = 2;
  made.path = {crypto::sha256(core::as_bytes(std::string_view("\0a", 2)))};
  return made;
}

template <class Noun>
Noun noun(const json& hex) {
  return *protocol::decode<Noun>(core::as_bytes(bytes_of(hex)));
}

crypto::Address address_of(std::string_view name) {
  return crypto::SecretKey::from_bytes(h(name))->address();
}

protocol::PrivacyStatement statement(const std::string& privacy_class, std::uint64_t until_ms) {
  protocol::PrivacyStatement made;
  made.provider = address_of("provider");
  made.privacy_class = privacy_class;
  made.valid_until_ms = until_ms;
  return protocol::sign_statement(*crypto::SecretKey::from_bytes(h("auditor")), made);
}

/// Those whose fields are what stream.py says, as C++ makes them, in stream.json's order.
std::vector<ToProvider> to_provider() {
  const float floats[] = {1.5f, -2.0f};
  const bool flag[] = {true};
  Offer offer;
  offer.job = noun<protocol::Job>(load("job").at(1).at("encoding"));
  offer.model = h("model");
  offer.input_salt = h("salt");
  offer.inputs = {{"x", tensor::Tensor::of<float>({2, 1}, floats)},
                  {"flag", tensor::Tensor::of<bool>({}, flag)},
                  {"none", tensor::Tensor::of<std::int64_t>({0, 3}, {})}};
  offer.step = 17;
  offer.value = h("value");
  offer.ops_max = (std::uint64_t{1} << 40) + 5;
  Offer batched = offer;
  batched.batching = Batching{1500, 64, {4, 16}};
  const HashChainPosition position{
      protocol::sign_hash_chain_head(*crypto::SecretKey::from_bytes(h("client")),
                                     {{}, h("anchor"), 64, {}, 5}),
      9, h("revealed")};
  const Countersign::Item item{h("job"), 17, batch()};
  const crypto::Address gateway = address_of("client");
  return {
      Challenge{h("nonce"), gateway, batch().signature, {}},
      Challenge{h("nonce"), gateway, batch().signature, position},
      Welcome{"token"},
      Dismiss{{core::ErrorCode::kPermissionDenied, "a receipt did not hold"}},
      offer,
      Begin{h("job"), 17, h("value")},
      Countersign{{item, item}},
      Withdraw{{h("job"), h("job 2")}},
      Balance{address_of("auditor"), 3, Amount::from_words(1ull << 63, 0), Amount(4), Amount(5), 6,
              7, Amount(8), Amount::from_words(1, 0), Amount(10), 11, true},
      Reveal{(1ull << 32) + 7, h("value")},
      Outcomes{{{h("ticket"), "pay", Amount(7)}, {h("ticket 2"), "slash", Amount(0)}}},
      Accused{{1, 2, 3},
              h("model"),
              {4, 5},
              {{"x", tensor::Tensor::of<float>({2, 1}, floats)}},
              {{"flag", tensor::Tensor::of<bool>({}, flag)}}},
      CaseMoves{h("receipt"), address_of("auditor"), "contested", 5, {{true, {7, 8}}, {false, {}}}},
      batched,
      Welcome{"token", "0.1.2"},
      Prefetch{h("model"), (1ull << 33) + 3},
      Release{{h("model"), h("model 2")}}};
}

std::vector<ToGateway> to_gateway() {
  Hello hello;
  hello.name = "k\u00f6ln-1";
  hello.version = "0.1.0";
  hello.address = address_of("provider");
  hello.signature = batch().signature;
  hello.cached_models = {h("model"), h("model 2")};
  hello.threads = 4;
  Hello paused = hello;
  hello.hash_chain = HashChainPosition{
      protocol::sign_hash_chain_head(*crypto::SecretKey::from_bytes(h("provider")),
                                     {{}, h("anchor"), 64, {}}),
      0, h("anchor")};
  paused.paused = "the signal is stale";
  const float floats[] = {1.5f, -2.0f};
  Claims::Item claim;
  claim.receipt.job = noun<protocol::Job>(load("job").at(0).at("encoding"));
  claim.receipt.step = 1;
  claim.receipt.commitment = h("commitment");
  claim.receipt.round = 7;
  claim.receipt.provider = claim.receipt.client = batch();
  claim.output_root = h("output root");
  claim.output_salt = h("output salt");
  return {hello,
          paused,
          Load{3, {h("model")}},
          Commit{{{h("job"), 17, h("commitment"), 7, batch()}}},
          Deliver{h("job"), 17, h("salt"), {{"x", tensor::Tensor::of<float>({2, 1}, floats)}}},
          Refuse{h("job"), {core::ErrorCode::kResourceExhausted, "queue full"}},
          Claims{{claim}},
          Transact{{1, 2, 3}},
          Reveal{(1ull << 32) + 7, h("value")},
          Pause{"the host needs it"},
          Resume{},
          Load{3, {h("model")}, 1ull << 40},
          Statements{{statement("medical", 5), statement("legal", 1ull << 60)}},
          Released{{{h("model"), 0}, {h("model 2"), 1ull << 40}}},
          HostNow{},
          HostNow{{{"sol", 2.5, 3, {}}}},
          HostNow{{{"sol", 2.5, 3, 1e-3}}}};
}

template <class Message>
void expect_vectors(const std::string& side, const std::vector<Message>& messages) {
  std::size_t at = 0;
  for (const json& vector : load("stream")) {
    if (vector["to"] != side) continue;
    ASSERT_LT(at, messages.size());
    EXPECT_EQ(to_frame(messages[at++]).SerializeAsString(), frame_of(vector).SerializeAsString())
        << vector["name"];
  }
  EXPECT_EQ(at, messages.size());
}

TEST(StreamVectors, SayWhatTheirFieldsSay) {
  expect_vectors("provider", to_provider());
  expect_vectors("gateway", to_gateway());
}

}  // namespace
}  // namespace commensal::rpc
