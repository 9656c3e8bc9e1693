// SPDX-License-Identifier: Apache-2.0
#include <grpc/support/time.h>
#include <grpcpp/server.h>

#include <commensal/serve/rpc/grpc_server.hpp>
#include <commensal/serve/rpc/grpc_server_stream.hpp>
#include <commensal/serve/rpc/grpc_transport.hpp>
#include <utility>

namespace commensal::rpc {
namespace {

class LinkService final : public wire::ProviderLink::CallbackService {
 public:
  LinkService(std::shared_ptr<ServerHall> hall, GatewayPort& models)
      : hall_(std::move(hall)), models_(models) {}

  grpc::ServerBidiReactor<wire::Frame, wire::Frame>* Attach(
      grpc::CallbackServerContext* context) override {
    return ServerStream::begin(hall_, context);
  }

  grpc::ServerWriteReactor<wire::ModelChunk>* FetchModel(
      grpc::CallbackServerContext*, const wire::FetchModelRequest* request) override {
    protocol::Reader reader(core::as_bytes(request->model()), "model");
    core::Digest model;
    read(reader, model);
    if (const auto whole = reader.finish(); !whole) {
      return new ModelStream(tl::unexpected(whole.error()));
    }
    return new ModelStream(models_.model_path(request->session_token(), model));
  }

 private:
  const std::shared_ptr<ServerHall> hall_;
  GatewayPort& models_;
};

}  // namespace

struct GrpcServer::State {
  State(GatewayPort& gateway, core::Loop& loop)
      : hall(new ServerHall{loop, &gateway, {}}), service(hall, gateway) {}

  std::shared_ptr<ServerHall> hall;
  LinkService service;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
  bool stopped = false;
};

core::Result<std::unique_ptr<GrpcServer>> GrpcServer::start(GatewayPort& port, core::Loop& loop,
                                                            const std::string& address) {
  auto state = std::make_unique<State>(port, loop);
  grpc::ServerBuilder builder;
  configure_server(builder, address, &state->port);
  builder.RegisterService(&state->service);
  state->server = builder.BuildAndStart();
  if (!state->server || state->port == 0) {
    return core::fail(core::ErrorCode::kUnavailable,
                      "cannot listen for providers on '{}': expected a free host:port", address);
  }
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(state)));
}

GrpcServer::GrpcServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

GrpcServer::~GrpcServer() { stop(); }

int GrpcServer::port() const { return state_->port; }

void GrpcServer::stop() {
  if (std::exchange(state_->stopped, true)) return;
  const auto open = state_->hall->open;
  for (const auto& stream : open) stream->tell_closed();
  state_->hall->port = nullptr;
  // Cancels what is left and waits until gRPC has let go of it.
  state_->server->Shutdown(gpr_inf_past(GPR_CLOCK_REALTIME));
}

}  // namespace commensal::rpc
