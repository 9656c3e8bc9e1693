// SPDX-License-Identifier: Apache-2.0
#include <grpc/support/time.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <commensal/base/core/check.hpp>
#include <commensal/serve/rpc/door.hpp>
#include <commensal/serve/rpc/grpc_server.hpp>
#include <commensal/serve/rpc/grpc_server_stream.hpp>
#include <commensal/serve/rpc/grpc_transport.hpp>
#include <commensal/serve/rpc/peer.hpp>
#include <utility>

namespace commensal::rpc {
namespace {

const grpc::Status kTooMany(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many calls");

/// Whether its connection may have one call more.
bool is_taken(ServerHall& hall, const grpc::CallbackServerContext& context) {
  return hall.door->call(peer_of(context.peer()).connection);
}

/// What is none of our calls counts as one.
class Unknown final : public grpc::CallbackGenericService {
 public:
  explicit Unknown(std::shared_ptr<ServerHall> hall) : hall_(std::move(hall)) {}
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    const bool is_first = is_taken(*hall_, *context);
    return new Refused<grpc::ServerGenericBidiReactor>(
        is_first ? grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no such call") : kTooMany);
  }

 private:
  const std::shared_ptr<ServerHall> hall_;
};

class StreamService final : public wire::ProviderStream::CallbackService {
 public:
  StreamService(std::shared_ptr<ServerHall> hall, GatewayPort& models)
      : hall_(std::move(hall)), models_(models) {}

  grpc::ServerBidiReactor<wire::Frame, wire::Frame>* Attach(
      grpc::CallbackServerContext* context) override {
    using Reactor = grpc::ServerBidiReactor<wire::Frame, wire::Frame>;
    if (!is_taken(*hall_, *context)) return new Refused<Reactor>(kTooMany);
    return ServerStream::begin(hall_, context);
  }

  grpc::ServerBidiReactor<wire::FetchModelRequest, wire::ModelChunk>* FetchModel(
      grpc::CallbackServerContext* context) override {
    using Reactor = grpc::ServerBidiReactor<wire::FetchModelRequest, wire::ModelChunk>;
    if (!is_taken(*hall_, *context)) return new Refused<Reactor>(kTooMany);
    return new ModelStream(hall_, models_, context);
  }

 private:
  const std::shared_ptr<ServerHall> hall_;
  GatewayPort& models_;
};

}  // namespace

struct GrpcServer::State {
  State(std::unique_ptr<Door> listening, GatewayPort& gateway, core::Loop& loop,
        std::shared_ptr<const tls::Identity> identity)
      : hall(new ServerHall{.loop = loop,
                            .door = std::move(listening),
                            .identity = std::move(identity),
                            .port = &gateway,
                            .open = {}}),
        service(hall, gateway),
        unknown(hall) {}

  const std::shared_ptr<ServerHall> hall;
  StreamService service;
  Unknown unknown;
  Admission admission;
  std::unique_ptr<grpc::Server> server;
  bool stopped = false;
};

core::Result<std::unique_ptr<GrpcServer>> GrpcServer::start(
    GatewayPort& port, core::Loop& loop, const std::string& address,
    std::shared_ptr<const tls::Identity> identity, const core::Listener* listening) {
  COMMENSAL_ASSIGN(auto door, Door::open(address, {}, listening));
  auto state = std::make_unique<State>(std::move(door), port, loop, identity);
  grpc::ServerBuilder builder;
  state->admission = configure_server(builder, std::move(identity));
  builder.RegisterService(&state->service);
  builder.RegisterCallbackGenericService(&state->unknown);
  state->server = builder.BuildAndStart();
  core::check(state->server != nullptr, "gRPC starts where it need not listen");
  admit_through(*state->hall->door, state->admission);
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(state)));
}

GrpcServer::GrpcServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

GrpcServer::~GrpcServer() { stop(); }

int GrpcServer::port() const { return state_->hall->door->port(); }

void GrpcServer::stop() {
  if (std::exchange(state_->stopped, true)) return;
  state_->hall->door->stop();
  const auto open = state_->hall->open;
  for (const auto& stream : open) stream->tell_closed();
  state_->hall->port = nullptr;
  // Cancels what is left and waits until gRPC has let go of it.
  state_->server->Shutdown(gpr_inf_past(GPR_CLOCK_REALTIME));
}

}  // namespace commensal::rpc
