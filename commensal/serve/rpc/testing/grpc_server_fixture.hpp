// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/v1/stream.grpc.pb.h>
#include <gmock/gmock.h>
#include <grpc/support/time.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/base/core/thread_loop.hpp>
#include <commensal/serve/rpc/frame.hpp>
#include <commensal/serve/rpc/grpc_client.hpp>
#include <commensal/serve/rpc/grpc_pieces.hpp>
#include <commensal/serve/rpc/grpc_server.hpp>
#include <commensal/serve/rpc/grpc_transport.hpp>
#include <functional>
#include <future>
#include <mutex>
#include <string>

/// A server of streams, and both ends of them by hand.
namespace commensal::rpc::testing {

class ListeningGateway final : public GatewayPort {
 public:
  StreamId on_open(std::shared_ptr<ProviderStream> opened, const Channel&,
                   const std::string&) override {
    stream = std::move(opened);
    if (when_open) when_open();
    ++opens;
    return 1;
  }
  void on_message(StreamId, ToGateway) override { ++messages; }
  void on_close(StreamId) override {
    if (has_one_stream) closed.set_value();
  }
  core::Result<std::string> model_path(const std::string&, const core::Digest&,
                                       const core::Digest&) override {
    const std::lock_guard lock(mutex_);
    if (!model_.empty()) return model_;
    return core::fail(core::ErrorCode::kNotFound, "no\nmodels");
  }
  /// The file of any model that is asked for; "": there is none. Any thread.
  void serve(std::string model) {
    const std::lock_guard lock(mutex_);
    model_ = std::move(model);
  }
  std::function<void()> when_open;
  std::shared_ptr<ProviderStream> stream;
  int opens = 0;
  int messages = 0;
  std::promise<void> closed;   // throws where it is set twice
  bool has_one_stream = true;  // at a time, whose end is waited for

 private:
  std::mutex mutex_;
  std::string model_;
};

class ListeningProvider final : public ProviderPort {
 public:
  void on_message(ToProvider) override { heard.set_value(); }
  void on_close(core::Error reason) override { lost.set_value(std::move(reason)); }
  std::promise<void> heard;
  std::promise<core::Error> lost;
};

class GrpcServerTest : public ::testing::Test {
 protected:
  GrpcServerTest() { loop.start(); }
  ~GrpcServerTest() override { stop(); }

  void on_loop(const std::function<void()>& act) {
    std::promise<void> done;
    loop.post([&] {
      act();
      done.set_value();
    });
    done.get_future().wait();
  }
  std::string address() const { return fmt::format("127.0.0.1:{}", server->port()); }
  /// What a stream of bare frames ends with.
  grpc::Status say(
      const std::function<void(grpc::ClientReaderWriter<wire::Frame, wire::Frame>&)>& act) {
    const auto stub = wire::ProviderStream::NewStub(open_channel(address()));
    grpc::ClientContext context;
    context.set_deadline(gpr_time_from_seconds(30, GPR_TIMESPAN));
    const auto stream = stub->Attach(&context);
    act(*stream);
    return stream->Finish();
  }
  void stop() {
    loop.stop();
    loop.join();
    if (server) server->stop();
  }

  ListeningGateway gateway;
  core::ThreadLoop loop;
  std::unique_ptr<GrpcServer> server = *GrpcServer::start(gateway, loop, "127.0.0.1:0");
};

}  // namespace commensal::rpc::testing
