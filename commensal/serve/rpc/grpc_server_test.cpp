// SPDX-License-Identifier: Apache-2.0
#include <commensal/v1/stream.grpc.pb.h>
#include <gmock/gmock.h>
#include <grpc/support/time.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/limits_grpc.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/base/core/thread_loop.hpp>
#include <commensal/serve/rpc/frame.hpp>
#include <commensal/serve/rpc/grpc_client.hpp>
#include <commensal/serve/rpc/grpc_pieces.hpp>
#include <commensal/serve/rpc/grpc_server.hpp>
#include <commensal/serve/rpc/grpc_transport.hpp>
#include <commensal/serve/rpc/peer.hpp>
#include <commensal/serve/rpc/testing/grpc_server_fixture.hpp>
#include <fstream>
#include <functional>
#include <future>

// What only a network can bring: peers that break the protocol, ports that are taken, gateways that
// are not there. contract_test.cpp has the rest.

namespace commensal::rpc {
namespace {

using core::ErrorCode;

using testing::GrpcServerTest;
using testing::ListeningProvider;

TEST_F(GrpcServerTest, EndsAStreamThatBreaksTheProtocol) {
  const grpc::Status status = say([](auto& stream) {
    wire::Frame frame = to_frame(ToGateway(Load{7, {core::Digest{}}}));
    frame.mutable_head()->pop_back();
    stream.Write(frame);
    wire::Frame reply;
    EXPECT_FALSE(stream.Read(&reply));
  });
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "load.cached_models: truncated: 31 bytes left, expected 32");
  gateway.closed.get_future().wait();
  stop();
  EXPECT_EQ(gateway.opens, 1);
  EXPECT_EQ(gateway.messages, 0);
}

TEST_F(GrpcServerTest, HearsAllThatAPeerSaidBeforeItLeft) {
  const grpc::Status status = say([](auto& stream) {
    for (std::uint32_t i = 0; i < 100; ++i) stream.Write(to_frame(ToGateway(Load{i, {}})));
    stream.WritesDone();
  });
  EXPECT_TRUE(status.ok()) << status.error_message();
  gateway.closed.get_future().wait();
  stop();
  EXPECT_EQ(gateway.messages, 100);
}

TEST_F(GrpcServerTest, HearsMessagesThatComeTogether) {
  const grpc::Status status = say([](auto& stream) {
    wire::Frame bundle = to_frame(ToGateway(Load{0, {}}));
    for (std::uint32_t i = 1; i < 50; ++i) *bundle.add_rest() = to_frame(ToGateway(Load{i, {}}));
    stream.Write(bundle);
    bundle.mutable_rest(7)->mutable_head()->pop_back();
    stream.Write(bundle);
    wire::Frame reply;
    EXPECT_FALSE(stream.Read(&reply));
  });
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  gateway.closed.get_future().wait();
  stop();
  EXPECT_EQ(gateway.messages, 50);
}

// What is said in one turn of the loop, or waits together, is sent together to who says that it
// reads such, and singly to others.
TEST_F(GrpcServerTest, SendsTogetherToWhoReadsIt) {
  gateway.when_open = [this] {
    for (int i = 0; i < 400; ++i) gateway.stream->send(Welcome{"you"});
  };
  for (const bool reads : {false, true}) {
    grpc::ClientContext context;
    context.set_deadline(gpr_time_from_seconds(30, GPR_TIMESPAN));
    if (reads) context.AddMetadata(kBundles, kYes);
    const auto stub = wire::ProviderStream::NewStub(open_channel(address()));
    const auto stream = stub->Attach(&context);
    int frames = 0, messages = 0;
    wire::Frame frame;
    while (messages < 400 && stream->Read(&frame)) {
      ++frames;
      messages += 1 + frame.rest_size();
    }
    EXPECT_EQ(messages, 400);
    constexpr int kMost = limits::kRpcBundleMax;
    EXPECT_EQ(frames, reads ? (400 + kMost - 1) / kMost : 400);
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
    gateway.closed.get_future().wait();
    gateway.closed = {};
  }
}

TEST_F(GrpcServerTest, EndsAStreamWhosePeerDoesNotRead) {
  gateway.when_open = [this] {
    const std::string kilobyte(1000, 'x');
    for (int i = 0; i < 20'000; ++i) gateway.stream->send(Welcome{kilobyte});
  };
  auto closed = gateway.closed.get_future();
  const grpc::Status status = say([&closed](auto& stream) {
    closed.wait();
    wire::Frame reply;
    while (stream.Read(&reply)) continue;
  });
  EXPECT_FALSE(status.ok());
}

TEST_F(GrpcServerTest, RefusesModelsByNameOnTheWire) {
  const auto stub = wire::ProviderStream::NewStub(open_channel(address()));
  for (const std::size_t size : {31u, 32u}) {
    grpc::ClientContext context;
    wire::FetchModelRequest request;
    request.set_model(std::string(size, 'm'));
    wire::ModelChunk chunk;
    const auto stream = stub->FetchModel(&context);
    stream->Write(request);
    EXPECT_FALSE(stream->Read(&chunk));
    const grpc::Status status = stream->Finish();
    EXPECT_EQ(status.error_message(),
              size == 32 ? "no models" : "model: truncated: 31 bytes left, expected 32");
  }
}

// Nor one that goes on without its provider.
TEST_F(GrpcServerTest, ServesAProviderFewModelsAtATime) {
  const auto folder = *core::TemporaryFolder::make("commensal-fetch");
  const std::string file = (folder.path() / "large.onnx").string();
  std::ofstream(file).seekp(64 << 20).put('x');
  gateway.serve(file);
  struct Download {
    std::unique_ptr<wire::ProviderStream::Stub> stub;
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<wire::FetchModelRequest, wire::ModelChunk>> stream;
  };
  const auto fetch = [&] {
    auto made = std::make_unique<Download>();
    made->stub = wire::ProviderStream::NewStub(open_channel(address()));
    made->context.set_deadline(gpr_time_from_seconds(30, GPR_TIMESPAN));
    made->stream = made->stub->FetchModel(&made->context);
    wire::FetchModelRequest request;
    request.set_session_token("token");
    request.set_model(std::string(32, 'x'));
    made->stream->Write(request);
    return made;
  };
  const auto status_of = [](Download& one) {
    wire::ModelChunk chunk;
    while (one.stream->Read(&chunk)) {
    }
    return one.stream->Finish();
  };
  std::vector<std::unique_ptr<Download>> many;
  for (std::size_t i = 0; i < limits::kFetchesOfOneMax; ++i) {
    wire::ModelChunk chunk;
    EXPECT_TRUE(many.emplace_back(fetch())->stream->Read(&chunk)) << i;
  }
  EXPECT_EQ(status_of(*fetch()).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(status_of(*many[0]).ok());
  EXPECT_TRUE(status_of(*fetch()).ok());
  gateway.serve("");
  EXPECT_EQ(status_of(*many[1]).error_code(), grpc::StatusCode::NOT_FOUND);
}

// Welcome as it is: a stranger's connection is cut off, at whatever byte of it (door_test.cpp).
TEST_F(GrpcServerTest, TakesNoLargeMessageOfWhoIsAskedForNone) {
  gateway.when_open = [this] { gateway.stream->send(Welcome{"you"}); };
  const auto size_of_refused = [this](std::size_t bytes, std::uint64_t more) {
    return say([&](auto& stream) {
      wire::Frame frame;
      EXPECT_TRUE(stream.Read(&frame));
      frame.Clear();
      frame.add_tensors(std::string(bytes, 'x'));
      frame.set_more(more);
      stream.Write(frame);
      wire::Frame reply;
      while (stream.Read(&reply)) continue;
    });
  };
  // By gRPC before it is in memory, and in pieces at the first.
  EXPECT_EQ(size_of_refused(2 << 20, 0).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  gateway.closed.get_future().wait();
  gateway.closed = {};
  const grpc::Status status = size_of_refused(1 << 19, 1 << 20);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(),
            "a message of more than 1048576 bytes, the most that is accepted here");
}

// Each costs a challenge to be signed.
TEST_F(GrpcServerTest, EndsAConnectionThatOpensStreamsWithoutEnd) {
  gateway.has_one_stream = false;
  const auto stub = wire::ProviderStream::NewStub(open_channel(address()));
  const core::SystemClock clock;
  const std::int64_t until_ns = clock.monotonic_ns() + 1'000'000'000;
  int tries = 0;
  for (; tries < 5'000 && clock.monotonic_ns() < until_ns; ++tries) {
    grpc::ClientContext context;
    const auto stream = stub->Attach(&context);
    wire::Frame reply;
    context.TryCancel();
    std::ignore = stream->Finish();
  }
  stop();
  // Each time that it dials again it may call a little more, and it may not dial often.
  EXPECT_GT(tries, 2'000);
  EXPECT_LE(gateway.opens, limits::kDoorCallsAtOnce *
                               (limits::kNewcomersAtOnce + 2 * limits::kNewcomersPerSecond));
}

TEST_F(GrpcServerTest, SpeaksToNobodyWithoutACertificate) {
  const auto folder = *core::TemporaryFolder::make("tls");
  const auto identity =
      *tls::Identity::open_or_make(folder.path(), {}, core::SystemClock().wall_ms());
  on_loop([&] { server = *GrpcServer::start(gateway, loop, "127.0.0.1:0", identity); });
  const auto attach = [this](const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    const auto stub = wire::ProviderStream::NewStub(grpc::CreateChannel(address(), credentials));
    grpc::ClientContext context;
    context.set_deadline(gpr_time_from_seconds(30, GPR_TIMESPAN));
    const auto stream = stub->Attach(&context);
    wire::Frame reply;
    EXPECT_FALSE(stream->Read(&reply));
    return stream->Finish().error_code();
  };
  EXPECT_EQ(attach(grpc::InsecureChannelCredentials()), grpc::StatusCode::UNAVAILABLE);
  grpc::SslCredentialsOptions no_certificate;
  no_certificate.pem_root_certs = identity->current()->pem.certificate;
  EXPECT_EQ(attach(grpc::SslCredentials(no_certificate)), grpc::StatusCode::UNAVAILABLE);
  stop();
  EXPECT_EQ(gateway.opens, 0);
}

TEST_F(GrpcServerTest, ShowsNewConnectionsANewCertificate) {
  const auto folder = *core::TemporaryFolder::make("tls");
  const std::int64_t now_ms = core::SystemClock().wall_ms();
  const auto identity = *tls::Identity::open_or_make(folder.path(), {}, now_ms);
  const auto of_provider = *core::TemporaryFolder::make("tls");
  on_loop([&] { server = *GrpcServer::start(gateway, loop, "127.0.0.1:0", identity); });
  gateway.when_open = [this] { gateway.stream->send(Challenge{}); };
  const auto client = make_grpc_client(
      loop, address(), *tls::Identity::open_or_make(of_provider.path(), {}, now_ms));
  for (int i = 0; i < 3; ++i) {
    const auto provider = std::make_shared<ListeningProvider>();
    on_loop([&] { client->attach(provider); });
    if (i > 0) gateway.closed.get_future().wait();  // the one before
    gateway.closed = {};
    provider->heard.get_future().wait();
    on_loop([&] { EXPECT_EQ(client->channel().gateway, identity->current()->key_hash); });
    ASSERT_TRUE(tls::Identity::write(folder.path(), *tls::make_certificate({}, now_ms)));
    EXPECT_TRUE(*identity->reload());
  }
  stop();
}

TEST(Peer, IsReadFromItsName) {
  const auto of = [](const char* name) {
    const Peer peer = peer_of(name);
    return peer.network + " " + peer.connection;
  };
  EXPECT_EQ(of("ipv4:10.0.0.1:4711"), "0a000001 0a000001:4711");
  EXPECT_EQ(of("ipv6:%5B2001:db8:1:2::4%5D:80"),
            "20010db80001 20010db8000100020000000000000004:80");
  EXPECT_EQ(of("ipv6:[::ffff:10.0.0.1]:80"), "0a000001 0a000001:80");
  EXPECT_EQ(of("unix:/run/x"), "unix:/run/x unix:/run/x");
}

TEST_F(GrpcServerTest, SaysWhatItCannotListenOn) {
  for (const std::string& taken : {address(), std::string("nowhere.invalid:1")}) {
    const auto second = GrpcServer::start(gateway, loop, taken);
    ASSERT_FALSE(second) << taken;
    EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(second.error().message, ::testing::HasSubstr(taken));
  }
}

TEST_F(GrpcServerTest, IsFoundAgainAfterARestart) {
  const std::string where = address();
  const auto client = make_grpc_client(loop, where);
  on_loop([this] { server.reset(); });
  const auto early = std::make_shared<ListeningProvider>();
  on_loop([&] { client->attach(early); });
  const core::Error error = early->lost.get_future().get();
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, ::testing::StartsWith("gateway " + where));
  EXPECT_EQ(error.message.find('\n'), std::string::npos);

  gateway.when_open = [this] { gateway.stream->send(Challenge{}); };
  const auto late = std::make_shared<ListeningProvider>();
  on_loop([&] {
    server = *GrpcServer::start(gateway, loop, where);
    client->attach(late);
  });
  late->heard.get_future().wait();
  stop();
}

}  // namespace
}  // namespace commensal::rpc
