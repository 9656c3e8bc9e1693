// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/serve/rpc/frame.hpp>
#include <functional>
#include <set>

namespace commensal::rpc {
namespace {

using core::ErrorCode;
using ::testing::HasSubstr;
using ::testing::StartsWith;

core::Digest digest_of(std::uint8_t byte) {
  core::Digest digest;
  digest.fill(byte);
  return digest;
}

tensor::NamedTensors some_tensors() {
  const std::vector<float> floats = {1.5f, -0.0f, 3.0e-39f, 4, 5, 6};
  const bool flags[] = {true, false, true};
  const std::int64_t one[] = {-7};
  return {{"x", tensor::Tensor::of<float>({2, 3}, floats)},
          {"flags", tensor::Tensor::of<bool>({3}, flags)},
          {"scalar", tensor::Tensor::of<std::int64_t>({}, one)},
          {"words", tensor::Tensor::of_strings({1, 2}, {std::string("a\0", 2), ""})},
          {"empty", tensor::Tensor::of<float>({0, 4}, {})}};
}

protocol::BatchSignature some_signature() {
  protocol::BatchSignature signature;
  signature.signature.bytes.fill(9);
  signature.index = 1;
  signature.count = 2;
  signature.path = {digest_of(5)};
  return signature;
}

HashChainPosition some_position() {
  HashChainPosition chain;
  chain.head.anchor = digest_of(21);
  chain.head.rounds = 1024;
  chain.round = 5;
  chain.value = digest_of(22);
  return chain;
}

protocol::Receipt some_receipt() {
  protocol::Receipt receipt;
  receipt.step = 1;
  receipt.round = 4;
  receipt.commitment = digest_of(23);
  receipt.provider = some_signature();
  receipt.client = some_signature();
  return receipt;
}

Offer some_offer() {
  Offer offer{{}, digest_of(2), digest_of(3), some_tensors(), 2, digest_of(4)};
  offer.job.steps = 3;
  offer.job.feeds = {{0, 1}};
  return offer;
}

Deliver some_delivery() { return {digest_of(5), 17, digest_of(11), some_tensors()}; }

std::vector<ToProvider> all_to_provider() {
  return {Challenge{digest_of(1), {}, {}, std::nullopt},
          Challenge{digest_of(1), {}, {}, some_position()},
          Balance{{},
                  3,
                  protocol::Amount::from_words(1, 2),
                  protocol::Amount(4),
                  protocol::Amount(5),
                  6,
                  7,
                  protocol::Amount(8),
                  protocol::Amount(9),
                  protocol::Amount(10),
                  11,
                  true},
          Reveal{8, digest_of(9)},
          Outcomes{{{digest_of(1), "pay", protocol::Amount(7)}, {digest_of(2), "slash", {}}}},
          Welcome{"token"},
          Dismiss{{ErrorCode::kPermissionDenied, "a receipt did not hold"}},
          some_offer(),
          Begin{digest_of(5), 17, digest_of(6)},
          Countersign{{{digest_of(8), 1, some_signature()}, {digest_of(9), 2, some_signature()}}},
          Withdraw{{digest_of(7), digest_of(9)}},
          Accused{{1, 2, 3}, digest_of(2), {4}, some_tensors(), some_tensors()},
          CaseMoves{digest_of(1), {}, "accused", 2, {{true, {4, 5}}, {false, {6}}}},
          Welcome{"token", "0.1.2"},
          Prefetch{digest_of(1), 1'000},
          Release{{digest_of(1)}}};
}

Hello some_hello() {
  Hello hello{.name = "köln-1",
              .version = "0.1.0",
              .signature = {},
              .cached_models = {digest_of(1), digest_of(2)},
              .threads = 4,
              .hash_chain = std::nullopt,
              .paused = "the signal is stale"};
  hello.address.bytes.fill(6);
  hello.signature.bytes.fill(7);
  return hello;
}

std::vector<ToGateway> all_to_gateway() {
  Hello with_hash_chain = some_hello();
  with_hash_chain.hash_chain = some_position();
  return {some_hello(),
          with_hash_chain,
          Load{3, {digest_of(8)}},
          Load{3, {digest_of(8)}, 5},
          Commit{{{digest_of(8), 1, digest_of(9), 10, some_signature()}}},
          some_delivery(),
          Refuse{digest_of(12), {ErrorCode::kResourceExhausted, "queue full"}},
          Reveal{8, digest_of(9)},
          Claims{{{some_receipt(), digest_of(3), digest_of(4)}}},
          Transact{core::Bytes{1, 2, 3}},
          Pause{"the host lost much just now"},
          Resume{},
          Statements{},
          Released{{{digest_of(1), 5}}},
          HostNow{{{"sol", 2.5, 3, 1e9}}}};
}

template <class Message>
std::string refusal(wire::Frame frame) {
  const auto read = from_frame<Message>(std::move(frame));
  if (read) return "accepted";
  EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  return read.error().message;
}

template <class Message>
void read_what_is_written(const std::vector<Message>& all) {
  // Every field of every message is written, so equal bytes mean equal messages.
  std::set<std::size_t> kinds;
  for (const Message& message : all) {
    const std::string sent = to_frame(message).SerializeAsString();
    const auto read = from_frame<Message>(to_frame(message));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->index(), message.index());
    EXPECT_EQ(to_frame(*read).SerializeAsString(), sent);
    kinds.insert(message.index());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Message>);
}

TEST(Frame, ReadsWhatItWrites) {
  read_what_is_written(all_to_provider());
  read_what_is_written(all_to_gateway());
}

TEST(Frame, KeepsTensorsAndNouns) {
  const Offer sent = some_offer();
  const auto read = from_frame<ToProvider>(to_frame(ToProvider(sent)));
  ASSERT_TRUE(read);
  const Offer& offer = std::get<Offer>(*read);
  EXPECT_EQ(offer.job, sent.job);
  EXPECT_EQ(offer.model, sent.model);
  ASSERT_EQ(offer.inputs.size(), sent.inputs.size());
  for (std::size_t i = 0; i < offer.inputs.size(); ++i) {
    EXPECT_EQ(offer.inputs[i].name, sent.inputs[i].name);
    EXPECT_EQ(offer.inputs[i].value.type(), sent.inputs[i].value.type());
    EXPECT_TRUE(std::ranges::equal(offer.inputs[i].value.bytes(), sent.inputs[i].value.bytes()));
  }
}

TEST(Frame, LeavesElementsWhereProtobufPutThem) {
  const std::vector<float> values(150'000);
  Deliver deliver;
  deliver.outputs = {{"y", tensor::Tensor::of<float>({150'000}, std::span<const float>(values))}};
  wire::Frame frame = to_frame(ToGateway(deliver));
  const void* elements = frame.tensors(0).data();
  const auto read = from_frame<ToGateway>(std::move(frame));
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<Deliver>(*read).outputs[0].value.place(), elements);
}

/// As who is older than tails writes it.
ToProvider without_tail(ToProvider message) {
  if (auto* const welcome = std::get_if<Welcome>(&message)) welcome->version.reset();
  return message;
}
ToGateway without_tail(ToGateway message) {
  if (auto* const load = std::get_if<Load>(&message)) load->room_bytes.reset();
  return message;
}

template <class Message>
void refuse_bent(const std::vector<Message>& all) {
  for (const Message& message : all) {
    const wire::Frame frame = to_frame(message);
    const auto kind = static_cast<protocol::NounKind>(frame.head()[0]);
    const std::size_t plain = to_frame(without_tail(message)).head().size();
    for (std::size_t size = 0; size < frame.head().size(); size += size + 1 == plain ? 2 : 1) {
      wire::Frame bent = frame;
      bent.mutable_head()->resize(size);
      EXPECT_THAT(refusal<Message>(std::move(bent)),
                  StartsWith(size == 0 ? "a frame without a message" : name_of(kind)));
    }
    wire::Frame longer = frame;
    longer.mutable_head()->push_back('\0');
    EXPECT_THAT(refusal<Message>(std::move(longer)), HasSubstr(": 1 bytes left"));
    wire::Frame more = frame;
    more.add_tensors("");
    EXPECT_THAT(refusal<Message>(std::move(more)), HasSubstr(": 1 tensors left over"));
    if (frame.tensors_size() == 0) continue;
    wire::Frame fewer = frame;
    fewer.mutable_tensors()->RemoveLast();
    EXPECT_THAT(refusal<Message>(std::move(fewer)),
                HasSubstr(": 'empty': the frame has no elements of it"));
  }
}

// The fault: 2,000 winners in one message are more than a gateway takes of who was given no work,
// which ended the stream, again and again.
TEST(Frame, WinnersAreClaimedInMessagesThatAreTakenUnasked) {
  EXPECT_TRUE(Claims::in_messages({}).empty());
  const std::vector<Claims::Item> winners(4'096, {some_receipt(), digest_of(3), digest_of(4)});
  const std::vector<Claims> messages = Claims::in_messages(winners);
  std::size_t count = 0;
  for (const Claims& claims : messages) {
    count += claims.items.size();
    EXPECT_LT(to_frame(ToGateway(claims)).SerializeAsString().size(), limits::kRpcFrameBytesMax);
  }
  EXPECT_EQ(count, winners.size());
  EXPECT_LE(messages.size(), winners.size() / limits::kClaimsMax);
}

TEST(Frame, RefusesEveryMessageThatIsCutOrTooLong) {
  refuse_bent(all_to_provider());
  refuse_bent(all_to_gateway());
}

TEST(Frame, RefusesMessagesForTheOtherSide) {
  for (const ToProvider& message : all_to_provider()) {
    if (std::holds_alternative<Reveal>(message)) continue;
    EXPECT_THAT(refusal<ToGateway>(to_frame(message)), HasSubstr(": a message for the other side"));
  }
  for (const ToGateway& message : all_to_gateway()) {
    if (std::holds_alternative<Reveal>(message)) continue;
    EXPECT_THAT(refusal<ToProvider>(to_frame(message)),
                HasSubstr(": a message for the other side"));
  }
}

// Where what lies in the head of some_delivery().
constexpr std::size_t kCount = 2 + 32 + 8 + 32;
constexpr std::size_t kName = kCount + 4;
constexpr std::size_t kType = kName + 4 + 1;
constexpr std::size_t kDims = kType + 2;

struct BadDelivery {
  const char* says;
  std::function<void(std::string& head, wire::Frame& frame)> spoil;
};
const BadDelivery kBadDeliveries[] = {
    {"deliver.output_salt: truncated: 31 bytes left, expected 32",
     [](auto& head, auto&) { head.resize(kCount - 1); }},
    {"deliver.outputs: 'x'", [](auto& head, auto&) { head[kType] = 8; }},
    {"ONNX element type 0 is", [](auto& head, auto&) { head[kType] = 0; }},
    {"is not supported", [](auto& head, auto&) { head[kType] = '\xff'; }},
    {"deliver.outputs: 'x'", [](auto& head, auto&) { head.replace(kDims, 8, 8, '\xfe'); }},
    {"deliver.outputs: 'x'", [](auto& head, auto&) { head[kDims] = 0x40; }},
    {"deliver.outputs: 'x'",
     [](auto& head, auto&) {
       head[kType + 1] = 2 + limits::kRankMax;
       for (int i = 0; i < limits::kRankMax; ++i) head.insert(kDims, std::string(7, '\0') + '\1');
     }},
    {"deliver.outputs: 'x': 23 bytes, expected 24 for float32[2,3]",
     [](auto&, auto& frame) { frame.mutable_tensors(0)->pop_back(); }},
    {"deliver.outputs: 'x': 25 bytes, expected 24 for float32[2,3]",
     [](auto&, auto& frame) { frame.mutable_tensors(0)->push_back('x'); }},
    {"deliver.outputs: 'flags': a bool that is neither 0 nor 1",
     [](auto&, auto& frame) { frame.mutable_tensors(1)->at(1) = 2; }},
    {"deliver.outputs: not UTF-8", [](auto& head, auto&) { head[kName + 4] = '\xff'; }},
    {"deliver.outputs: not one line", [](auto& head, auto&) { head[kName + 4] = '\n'; }},
    {"deliver.outputs: 4097 bytes, at most 4096",
     [](auto& head, auto&) {
       head.replace(kName, 5, std::string("\0\0\x10\1", 4) + std::string(4097, 'a'));
     }},
    {"deliver.outputs: 1025 items, at most 1024",
     [](auto& head, auto&) { head.replace(kCount, 4, std::string("\0\0\4\1", 4)); }},
};

TEST(Frame, RefusesDeliveriesThatDisagreeWithThemselves) {
  for (const BadDelivery& bad : kBadDeliveries) {
    wire::Frame frame = to_frame(ToGateway(some_delivery()));
    bad.spoil(*frame.mutable_head(), frame);
    EXPECT_THAT(refusal<ToGateway>(std::move(frame)), HasSubstr(bad.says));
  }
}

TEST(Frame, RefusesWhatItDoesNotKnow) {
  const auto with = [](const ToGateway& message, std::size_t at, char byte) {
    wire::Frame frame = to_frame(message);
    frame.mutable_head()->at(at) = byte;
    return refusal<ToGateway>(std::move(frame));
  };
  EXPECT_EQ(refusal<ToProvider>(wire::Frame()), "a frame without a message");
  EXPECT_EQ(with(Resume{}, 0, '\xc8'), "a message of kind 200, which is unknown");
  EXPECT_EQ(with(Resume{}, 0, '\1'), "a message of kind 1, which is unknown");
  EXPECT_EQ(with(Resume{}, 1, '\2'), "resume: version 2, expected 1");
  EXPECT_EQ(with(Refuse{}, 2 + 32, '\x63'), "refuse.reason: code 99 is unknown");
  EXPECT_EQ(with(Commit{{{}}}, 2 + 4 + 32 + 8 + 32 + 8, '\x63'),
            "commit.items.signature: this is not a batch signature");
  EXPECT_EQ(with(Pause{"a.b"}, 2 + 4 + 1, '\n'), "pause.reason: not one line");
  EXPECT_EQ(with(Load{}, 2 + 4 + 1, '\2'),
            "load.cached_models: 131072 items, at most 65536 are accepted");
  wire::Frame challenge = to_frame(ToProvider(Challenge{}));
  challenge.mutable_head()->back() = '\2';
  EXPECT_EQ(refusal<ToProvider>(std::move(challenge)),
            "challenge.hash_chain: 2, expected 0 (absent) or 1 (present)");
}

TEST(Frame, RefusesWhatMessagesThemselvesRefuse) {
  Hello hello = some_hello();
  hello.version = std::string(limits::kNameBytesMax + 1, 'a');
  EXPECT_EQ(refusal<ToGateway>(to_frame(ToGateway(hello))),
            "hello: version has 65 bytes, at most 64 are accepted");
  EXPECT_EQ(refusal<ToProvider>(to_frame(ToProvider(Outcomes{{{{}, "a\nb", {}}}}))),
            "outcomes.items: event is not one line");
  Challenge challenge{{}, {}, {}, some_position()};
  challenge.hash_chain->head.rounds = 0;
  EXPECT_THAT(refusal<ToProvider>(to_frame(ToProvider(challenge))),
              StartsWith("challenge.hash_chain.head: "));
}

TEST(Frame, MakesLinesOfWhatItIsToldToSay) {
  const auto pause = from_frame<ToGateway>(to_frame(ToGateway(Pause{"a\nb"})));
  EXPECT_EQ(std::get<Pause>(pause.value()).reason, "a b");
  const Dismiss said{{ErrorCode::kInternal, std::string(600, '\t')}};
  const auto dismiss = from_frame<ToProvider>(to_frame(ToProvider(said)));
  EXPECT_EQ(std::get<Dismiss>(dismiss.value()).reason.message, std::string(512, ' '));
}

TEST(Frame, SurvivesRandomAndMutatedBytes) {
  core::CounterRng rng(17);
  std::vector<std::string> seeds;
  for (const ToGateway& message : all_to_gateway())
    seeds.push_back(to_frame(message).SerializeAsString());
  int parsed = 0;
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = seeds[rng.next_u32() % seeds.size()];
    if (round % 4 == 0) {
      bytes.resize(rng.next_u32() % 64);
      rng.fill({reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()});
    }
    for (std::uint32_t flips = rng.next_u32() % 4; flips > 0 && !bytes.empty(); --flips) {
      bytes[rng.next_u32() % bytes.size()] ^= static_cast<char>(1u << rng.next_u32() % 8);
    }
    if (round % 8 == 1) bytes.resize(rng.next_u32() % (bytes.size() + 1));
    wire::Frame frame;
    if (!frame.ParseFromString(bytes)) continue;
    ++parsed;
    const std::string head = frame.head();
    const auto read = from_frame<ToGateway>(std::move(frame));
    if (!read) {
      EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
      continue;
    }
    // What is accepted is what we would have written.
    ++accepted;
    EXPECT_EQ(to_frame(*read).head(), head);
  }
  EXPECT_GT(parsed, accepted);
  EXPECT_GT(accepted, 1000);
}

// What is in one message is handled in one turn of the gateway's loop.
TEST(FrameOf, ProvidersListNoMoreThanIsHandledAtOnce) {
  Load load;
  load.cached_models.resize(limits::kHelloModelsMax);
  EXPECT_TRUE(from_frame<ToGateway>(to_frame(ToGateway(load))));
  load.cached_models.emplace_back();
  EXPECT_FALSE(from_frame<ToGateway>(to_frame(ToGateway(load))));
  const Hello hello{.cached_models = load.cached_models};
  EXPECT_FALSE(protocol::decode<Hello>(protocol::encode(hello)));
  Commit commit;
  commit.items.resize(limits::kCommitsMax + 1);
  EXPECT_FALSE(from_frame<ToGateway>(to_frame(ToGateway(commit))));
  Claims claims;
  claims.items.resize(limits::kClaimsMax + 1);
  EXPECT_FALSE(protocol::decode<Claims>(protocol::encode(claims)));
  for (const Claims& one : Claims::in_messages(claims.items))
    EXPECT_LE(one.items.size(), limits::kClaimsMax);
}

}  // namespace
}  // namespace commensal::rpc
