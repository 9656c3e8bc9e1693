// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/serve/rpc/grpc_codec.hpp>
#include <commensal/serve/rpc/grpc_status.hpp>
#include <functional>

namespace commensal::rpc {
namespace {

using core::ErrorCode;
using ::testing::HasSubstr;

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

ChainPosition some_chain() {
  ChainPosition chain;
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

ChainStart some_chain_start() {
  ChainStart start{{}, digest_of(2), digest_of(3), some_tensors()};
  start.job.steps = 3;
  start.job.feeds = {{0, 1}};
  return start;
}

std::vector<ToProvider> all_to_provider() {
  Task task{.id = 7, .job = {}, .model = digest_of(2), .input_salt = digest_of(3), .inputs = {}};
  task.job.steps = 3;
  task.inputs = some_tensors();
  return {
      Challenge{digest_of(1), std::nullopt},
      Challenge{digest_of(1), some_chain()},
      Balance{
          {}, 3, protocol::Amount::from_words(1, 2), protocol::Amount(4), protocol::Amount(5), 6},
      Reveal{8, digest_of(9)},
      Outcomes{{{digest_of(1), "pay", protocol::Amount(7)}, {digest_of(2), "slash", {}}}},
      Welcome{"token"},
      Dismiss{{ErrorCode::kPermissionDenied, "a receipt did not hold"}},
      task,
      Countersign{{{8, some_signature()}, {9, some_signature()}}},
      OpenRequest{digest_of(4)},
      some_chain_start(),
      ChainBegin{digest_of(5), 17, digest_of(6)},
      ChainCountersign{digest_of(5), 17, some_signature()},
      Withdraw{{7, 9}}};
}

std::vector<ToGateway> all_to_gateway() {
  Hello hello{.name = "köln-1",
              .version = "0.1.0",
              .address = {},
              .signature = {},
              .cached_models = {digest_of(1), digest_of(2)},
              .threads = 4,
              .chain = std::nullopt,
              .paused = "the signal is stale"};
  hello.address.bytes.fill(6);
  hello.signature.bytes.fill(7);
  Hello with_chain = hello;
  with_chain.chain = some_chain();
  return {hello,
          Load{3, {digest_of(8)}},
          Commit{{{8, digest_of(9), 10, some_signature()}}},
          Deliver{10, digest_of(11), some_tensors()},
          Refuse{12, {ErrorCode::kResourceExhausted, "queue full"}},
          OpenReply{digest_of(13), core::Bytes{1, 2, 3}},
          OpenReply{digest_of(13), std::nullopt},
          with_chain,
          Reveal{8, digest_of(9)},
          Claims{{{some_receipt(), digest_of(3), digest_of(4)}}},
          Transact{core::Bytes{1, 2, 3}},
          ChainReady{digest_of(5)},
          ChainCommit{digest_of(5), 17, digest_of(9), 10, some_signature()},
          ChainDeliver{digest_of(5), 17, digest_of(11), some_tensors()},
          ChainRefuse{digest_of(5), {ErrorCode::kFailedPrecondition, "link 3 is begun"}},
          Pause{"the host lost much just now"},
          Resume{}};
}

std::string bytes_of(const google::protobuf::MessageLite& message) {
  return message.SerializeAsString();
}

TEST(GrpcCodec, ReadsWhatItWrites) {
  // Every field of every message is written, so equal bytes mean equal messages.
  for (const ToProvider& message : all_to_provider()) {
    const std::string sent = bytes_of(to_wire(message));
    const auto read = from_wire(to_wire(message));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->index(), message.index());
    EXPECT_EQ(bytes_of(to_wire(*read)), sent);
  }
  for (const ToGateway& message : all_to_gateway()) {
    const std::string sent = bytes_of(to_wire(message));
    const auto read = from_wire(to_wire(message));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->index(), message.index());
    EXPECT_EQ(bytes_of(to_wire(*read)), sent);
  }
}

TEST(GrpcCodec, KeepsTensorsAndNouns) {
  const auto all = all_to_provider();
  const ToProvider& message = *std::ranges::find_if(
      all, [](const ToProvider& one) { return std::holds_alternative<Task>(one); });
  const Task& sent = std::get<Task>(message);
  const auto read = from_wire(to_wire(message));
  ASSERT_TRUE(read);
  const Task& task = std::get<Task>(*read);
  EXPECT_EQ(task.id, 7u);
  EXPECT_EQ(task.job, sent.job);
  ASSERT_EQ(task.inputs.size(), sent.inputs.size());
  for (std::size_t i = 0; i < task.inputs.size(); ++i) {
    EXPECT_EQ(task.inputs[i].name, sent.inputs[i].name);
    EXPECT_EQ(task.inputs[i].value.type(), sent.inputs[i].value.type());
    EXPECT_TRUE(std::ranges::equal(task.inputs[i].value.bytes(), sent.inputs[i].value.bytes()));
  }
}

struct BadDelivery {
  const char* says;
  std::function<void(wire::Deliver&)> spoil;
};

TEST(GrpcCodec, RefusesDeliveriesThatDisagreeWithThemselves) {
  const BadDelivery cases[] = {
      {"deliver.output_salt has 31 bytes, not 32",
       [](auto& deliver) { deliver.mutable_output_salt()->pop_back(); }},
      {"deliver.outputs 'x'", [](auto& deliver) { deliver.mutable_outputs(0)->set_dtype(8); }},
      {"ONNX element type 0 is", [](auto& deliver) { deliver.mutable_outputs(0)->set_dtype(0); }},
      {"is not supported",
       [](auto& deliver) { deliver.mutable_outputs(0)->set_dtype(0xffffff01); }},
      {"deliver.outputs 'x'", [](auto& deliver) { deliver.mutable_outputs(0)->set_dims(0, -2); }},
      {"deliver.outputs 'x'",
       [](auto& deliver) {
         deliver.mutable_outputs(0)->set_dims(0, std::int64_t{1} << 62);
         deliver.mutable_outputs(0)->set_dims(1, 4);
       }},
      {"deliver.outputs 'x'",
       [](auto& deliver) {
         for (int i = 0; i < limits::kRankMax; ++i) deliver.mutable_outputs(0)->add_dims(1);
       }},
      {"23 bytes for float32[2,3], which has 24",
       [](auto& deliver) { deliver.mutable_outputs(0)->mutable_data()->pop_back(); }},
      {"neither 0 nor 1",
       [](auto& deliver) { deliver.mutable_outputs(1)->mutable_data()->at(1) = 2; }},
      {"not one line of UTF-8",
       [](auto& deliver) { deliver.mutable_outputs(0)->set_name("\xff"); }},
      {"at most 4096",
       [](auto& deliver) { deliver.mutable_outputs(0)->set_name(std::string(4097, 'a')); }},
      {"has 1025 items, at most 1024",
       [](auto& deliver) {
         while (deliver.outputs_size() < 1025) *deliver.add_outputs() = deliver.outputs(0);
       }},
  };
  for (const BadDelivery& bad : cases) {
    wire::ProviderMessage message = to_wire(all_to_gateway()[3]);
    bad.spoil(*message.mutable_deliver());
    const auto read = from_wire(std::move(message));
    ASSERT_FALSE(read) << bad.says;
    EXPECT_THAT(read.error().message, HasSubstr(bad.says));
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
}

TEST(GrpcCodec, RefusesMessagesOfChainsByName) {
  for (const ToProvider& message : all_to_provider()) {
    wire::GatewayMessage sent = to_wire(message);
    if (!sent.has_chain_begin()) continue;
    sent.mutable_chain_begin()->mutable_chain()->pop_back();
    EXPECT_EQ(from_wire(std::move(sent)).error().message, "chain_begin.chain has 31 bytes, not 32");
  }
  for (const ToGateway& message : all_to_gateway()) {
    wire::ProviderMessage sent = to_wire(message);
    if (!sent.has_chain_commit()) continue;
    sent.mutable_chain_commit()->mutable_signature()->append("x");
    EXPECT_THAT(from_wire(std::move(sent)).error().message, HasSubstr("chain_commit.signature"));
  }
}

TEST(GrpcCodec, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(from_wire(wire::GatewayMessage()).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(from_wire(wire::ProviderMessage()).error().code, ErrorCode::kInvalidArgument);

  wire::ProviderMessage refuse = to_wire(all_to_gateway()[4]);
  refuse.mutable_refuse()->mutable_reason()->set_code(static_cast<wire::ErrorCode>(99));
  EXPECT_EQ(from_wire(std::move(refuse)).error().message, "refuse.reason.code 99 is unknown");

  wire::ProviderMessage commit = to_wire(all_to_gateway()[2]);
  commit.mutable_commit()->mutable_items(0)->mutable_signature()->append("x");
  EXPECT_THAT(from_wire(std::move(commit)).error().message, HasSubstr("commit.items.signature"));

  wire::ProviderMessage hello = to_wire(all_to_gateway()[0]);
  hello.mutable_hello()->set_name(std::string(limits::kNameBytesMax + 1, 'a'));
  EXPECT_THAT(from_wire(std::move(hello)).error().message, HasSubstr("hello.name has 65 bytes"));
}

TEST(GrpcCodec, SurvivesRandomAndMutatedBytes) {
  core::CounterRng rng(17);
  std::vector<std::string> seeds;
  for (const ToGateway& message : all_to_gateway()) seeds.push_back(bytes_of(to_wire(message)));
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
    wire::ProviderMessage message;
    if (!message.ParseFromString(bytes)) continue;
    ++parsed;
    const auto read = from_wire(std::move(message));
    if (!read) {
      EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
      continue;
    }
    // What is accepted is a message in its own right.
    ++accepted;
    const auto again = from_wire(to_wire(*read));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(bytes_of(to_wire(*again)), bytes_of(to_wire(*read)));
  }
  EXPECT_GT(parsed, accepted);
  EXPECT_GT(accepted, 1000);
}

TEST(GrpcStatus, HasACounterpartForEveryError) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); ++i) {
    const core::Error error{static_cast<ErrorCode>(i), "why"};
    EXPECT_EQ(from_status(to_status(error)).code, error.code) << core::name_of(error.code);
    EXPECT_EQ(from_status(to_status(error)).message, "why");
  }
  EXPECT_EQ(to_status({ErrorCode::kUnavailable, ""}).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(to_status({ErrorCode::kUnsupported, ""}).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(from_status(grpc::Status::CANCELLED).code, ErrorCode::kUnavailable);
  EXPECT_EQ(from_status({grpc::StatusCode::UNKNOWN, ""}).code, ErrorCode::kInternal);
}

TEST(GrpcStatus, MakesOneBoundedLine) {
  EXPECT_EQ(one_line("a\nb\x1b[0m"), "a b [0m");
  EXPECT_EQ(one_line("\xff\xfe."), "??.");
  std::string umlauts;
  for (int i = 0; i < 400; ++i) umlauts += "ü";
  EXPECT_EQ(one_line(fmt::format(".{}", umlauts)), fmt::format(".{}", umlauts.substr(0, 510)));
}

}  // namespace
}  // namespace commensal::rpc
