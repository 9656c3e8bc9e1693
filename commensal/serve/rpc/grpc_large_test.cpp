// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/rpc/frame.hpp>
#include <commensal/serve/rpc/grpc_pieces.hpp>
#include <commensal/serve/rpc/testing/grpc_server_fixture.hpp>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

// Messages that are large, either way.
namespace commensal::rpc {
namespace {

class GrpcLargeTest : public testing::GrpcServerTest {};

/// Looks at messages in pieces happen when the test says so.
class LooksByHand final : public core::Loop {
 public:
  explicit LooksByHand(core::Loop& loop) : loop_(loop) {}
  void post(Task task) override { loop_.post(std::move(task)); }
  void after(std::int64_t delay_ms, Task task) override {
    if (delay_ms == limits::kRpcLookMs) return waiting.push_back(std::move(task));
    loop_.after(delay_ms, std::move(task));
  }
  void offload(Lane lane, Task work, Task done) override {
    loop_.offload(lane, std::move(work), std::move(done));
  }
  std::vector<Task> waiting;  // the loop's

 private:
  core::Loop& loop_;
};

ToGateway large_answer() {
  const std::vector<float> values(3 << 17, 0.5F);
  const auto size = static_cast<std::int64_t>(values.size());
  return Deliver{.job = {1},
                 .step = 1,
                 .output_salt = {2},
                 .outputs = {{"y", tensor::Tensor::of<float>({size}, values)}}};
}

/// By who is no stranger any more: else the door ends it.
void wait_for_welcome(grpc::ClientReaderWriter<wire::Frame, wire::Frame>& stream) {
  wire::Frame reply;
  EXPECT_TRUE(stream.Read(&reply));
}

void send_in_pieces(grpc::ClientReaderWriter<wire::Frame, wire::Frame>& stream) {
  for (Pieces pieces(outgoing(large_answer())); !pieces.is_over();) stream.Write(pieces.next());
}

// A key costs nothing: who was given no work yet has nothing large to say.
TEST_F(GrpcLargeTest, TakesNoLargeMessageThatNobodyAskedFor) {
  const auto after = [this](const std::vector<ToProvider>& said) {
    gateway.closed = {};
    gateway.messages = 0;
    gateway.when_open = [this, &said] {
      for (const ToProvider& message : said) gateway.stream->send(message);
    };
    grpc::Status status = say([](auto& stream) {
      wait_for_welcome(stream);
      send_in_pieces(stream);
      stream.WritesDone();
      wire::Frame reply;
      while (stream.Read(&reply)) continue;
    });
    gateway.closed.get_future().wait();
    return status;
  };
  const std::vector<std::vector<ToProvider>> nobody_asks = {{Welcome{}}, {Welcome{}, Withdraw{}}};
  for (const auto& said : nobody_asks) {
    EXPECT_THAT(after(said).error_message(),
                ::testing::HasSubstr("more than 1048576 bytes, the most that is accepted here"));
    EXPECT_EQ(gateway.messages, 0);
  }
  for (const ToProvider& asked :
       {ToProvider(Begin{}), ToProvider(Offer{}), ToProvider(Countersign{})}) {
    const grpc::Status status = after({Welcome{}, Withdraw{}, asked});
    EXPECT_TRUE(status.ok()) << status.error_message() << asked.index();
    EXPECT_EQ(gateway.messages, 1) << asked.index();
  }
}

TEST_F(GrpcLargeTest, HasOneTimerForAllMessagesInPieces) {
  LooksByHand by_hand(loop);
  on_loop([&] { server = *GrpcServer::start(gateway, by_hand, "127.0.0.1:0"); });
  gateway.when_open = [this] {
    gateway.stream->send(Welcome{});
    gateway.stream->send(Begin{});
  };
  const grpc::Status status = say([](auto& stream) {
    wait_for_welcome(stream);
    for (int i = 0; i < 20; ++i) send_in_pieces(stream);
    stream.WritesDone();
    wire::Frame reply;
    while (stream.Read(&reply)) continue;
  });
  EXPECT_TRUE(status.ok()) << status.error_message();
  gateway.closed.get_future().wait();
  on_loop([&] {
    EXPECT_EQ(gateway.messages, 20);
    EXPECT_EQ(by_hand.waiting.size(), 1u);
    by_hand.waiting.clear();
  });
  stop();
}

TEST_F(GrpcLargeTest, EndsAMessageThatDoesNotGoOn) {
  LooksByHand by_hand(loop);
  on_loop([&] { server = *GrpcServer::start(gateway, by_hand, "127.0.0.1:0"); });
  gateway.when_open = [this] {
    gateway.stream->send(Welcome{});
    gateway.stream->send(Begin{});
  };
  const auto look = [&] {
    for (std::size_t looked = 0; looked == 0;) {
      on_loop([&] {
        const auto due = std::exchange(by_hand.waiting, {});
        looked = due.size();
        for (const auto& task : due) task();
      });
    }
  };
  const grpc::Status status = say([&](auto& stream) {
    wait_for_welcome(stream);
    stream.Write(Pieces(outgoing(large_answer())).next());
    look();  // it has only just begun
    look();
    wire::Frame reply;
    while (stream.Read(&reply)) continue;
  });
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(status.error_message(), "the message took too long to arrive");
  stop();
}

TEST_F(GrpcLargeTest, EndsAStreamThatDoesNotReadWhatIsLarge) {
  LooksByHand by_hand(loop);
  on_loop([&] { server = *GrpcServer::start(gateway, by_hand, "127.0.0.1:0"); });
  const std::vector<float> values(limits::kRpcFrameBytesMax,
                                  0.5F);  // four pieces, more than is on its way
  const auto inputs = [&] {
    const auto size = static_cast<std::int64_t>(values.size());
    return tensor::NamedTensors{{"x", tensor::Tensor::of<float>({size}, values)}};
  };
  gateway.when_open = [&, this] {
    for (int i = 0; i < 8; ++i) {
      Offer offer;
      offer.inputs = inputs();
      gateway.stream->send(Welcome{});
      gateway.stream->send(offer);
    }
  };
  const grpc::Status status = say([&](auto& stream) {
    // Two looks between which nothing moved: what has room gets there within the first.
    auto closed = gateway.closed.get_future();
    bool is_closed = false;
    for (int looks = 0; looks < 50 && !is_closed; ++looks) {
      on_loop([&] {
        for (const auto& task : std::exchange(by_hand.waiting, {})) task();
      });
      is_closed = closed.wait_for(std::chrono::milliseconds(100)) == std::future_status::ready;
    }
    EXPECT_TRUE(is_closed);
    wire::Frame reply;
    while (is_closed && stream.Read(&reply)) continue;
  });
  EXPECT_FALSE(status.ok());
  stop();
}

// It would hold a connection, a file and two chunks for as long as it likes.
TEST_F(GrpcLargeTest, EndsADownloadThatIsNotRead) {
  const auto folder = *core::TemporaryFolder::make("commensal-fetch");
  const std::string file = (folder.path() / "large.onnx").string();
  std::ofstream(file).seekp(64 << 20).put('x');
  gateway.serve(file);
  LooksByHand by_hand(loop);
  on_loop([&] { server = *GrpcServer::start(gateway, by_hand, "127.0.0.1:0"); });
  const auto stub = wire::ProviderStream::NewStub(open_channel(address()));
  grpc::ClientContext context;
  context.set_deadline(gpr_time_from_seconds(30, GPR_TIMESPAN));
  const auto stream = stub->FetchModel(&context);
  wire::FetchModelRequest request;
  request.set_session_token("token");
  request.set_model(std::string(32, 'x'));
  stream->Write(request);
  wire::ModelChunk chunk;
  EXPECT_TRUE(stream->Read(&chunk));
  for (int looks = 0; looks < 3;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // what has room gets there
    on_loop([&] {
      const auto due = std::exchange(by_hand.waiting, {});
      looks += due.empty() ? 0 : 1;
      for (const auto& task : due) task();
    });
  }
  std::size_t read = 1;
  while (stream->Read(&chunk)) ++read;
  EXPECT_FALSE(stream->Finish().ok());
  EXPECT_LT(read, 64u);
  stop();
}

}  // namespace
}  // namespace commensal::rpc
