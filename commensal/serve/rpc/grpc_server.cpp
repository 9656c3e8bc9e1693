// SPDX-License-Identifier: Apache-2.0
#include <grpc/support/time.h>
#include <grpcpp/server.h>
#include <commensal/base/core/check.hpp>
#include <commensal/serve/rpc/door.hpp>
#include <commensal/serve/rpc/grpc_server.hpp>
#include <commensal/serve/rpc/grpc_server_stream.hpp>
#include <commensal/serve/rpc/grpc_transport.hpp>
#include <utility>

namespace commensal::rpc {
namespace {

class StreamService final : public wire::ProviderStream::CallbackService {
 public:
  StreamService(std::shared_ptr<ServerHall> hall, GatewayPort& models)
      : hall_(std::move(hall)), models_(models) {}

  grpc::ServerBidiReactor<wire::Frame, wire::Frame>* Attach(
      grpc::CallbackServerContext* context) override {
    return ServerStream::begin(hall_, context);
  }

  grpc::ServerWriteReactor<wire::ModelChunk>* FetchModel(
      grpc::CallbackServerContext* context, const wire::FetchModelRequest* request) override {
    protocol::Reader reader(core::as_bytes(request->model()), "model");
    core::Digest model;
    read(reader, model);
    if (const auto whole = reader.finish(); !whole) {
      return new ModelStream(tl::unexpected(whole.error()));
    }
    return new ModelStream(models_.model_path(request->session_token(), model,
                                              peer_key_hash(*context->auth_context())));
  }

 private:
  const std::shared_ptr<ServerHall> hall_;
  GatewayPort& models_;
};

}  // namespace

struct GrpcServer::State {
  State(GatewayPort& gateway, core::Loop& loop, std::shared_ptr<const tls::Identity> identity)
      : hall(new ServerHall{loop, std::move(identity), &gateway, {}}), service(hall, gateway) {}

  std::shared_ptr<ServerHall> hall;
  StreamService service;
  std::unique_ptr<Door> door;
  Admission admission;
  std::unique_ptr<grpc::Server> server;
  bool stopped = false;
};

core::Result<std::unique_ptr<GrpcServer>> GrpcServer::start(
    GatewayPort& port, core::Loop& loop, const std::string& address,
    std::shared_ptr<const tls::Identity> identity) {
  auto state = std::make_unique<State>(port, loop, identity);
  COMMENSAL_ASSIGN(state->door, Door::open(address));
  grpc::ServerBuilder builder;
  state->admission = configure_server(builder, std::move(identity));
  builder.RegisterService(&state->service);
  state->server = builder.BuildAndStart();
  core::check(state->server != nullptr, "gRPC starts where it need not listen");
  state->door->begin([acceptor = state->admission.acceptor.get()](int listening, int accepted) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters one;
    one.listener_fd = listening;
    one.fd = accepted;
    acceptor->HandleNewConnection(&one);
  });
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(state)));
}

GrpcServer::GrpcServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

GrpcServer::~GrpcServer() { stop(); }

int GrpcServer::port() const { return state_->door->port(); }

void GrpcServer::stop() {
  if (std::exchange(state_->stopped, true)) return;
  state_->door->stop();
  const auto open = state_->hall->open;
  for (const auto& stream : open) stream->tell_closed();
  state_->hall->port = nullptr;
  // Cancels what is left and waits until gRPC has let go of it.
  state_->server->Shutdown(gpr_inf_past(GPR_CLOCK_REALTIME));
}

}  // namespace commensal::rpc
