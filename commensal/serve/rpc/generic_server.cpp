// SPDX-License-Identifier: Apache-2.0
#include <grpc/support/time.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>

#include <commensal/base/core/check.hpp>
#include <commensal/serve/rpc/generic_server.hpp>
#include <commensal/serve/rpc/grpc_transport.hpp>
#include <utility>

namespace commensal::rpc {

struct GenericServer::State {
  std::shared_ptr<const tls::Identity> identity;
  PeerTerms terms;
  std::shared_ptr<Door> door;
  Admission admission;
  std::unique_ptr<grpc::Server> server;
};

core::Result<std::unique_ptr<GenericServer>> GenericServer::open(
    const std::string& address, std::shared_ptr<const tls::Identity> identity,
    const PeerTerms& terms, const DoorBounds& bounds, const core::Listener* listening) {
  COMMENSAL_ASSIGN(std::shared_ptr<Door> door, Door::open(address, bounds, listening));
  auto state = std::make_unique<State>();
  state->identity = std::move(identity);
  state->terms = terms;
  state->door = std::move(door);
  return std::unique_ptr<GenericServer>(new GenericServer(std::move(state)));
}

GenericServer::GenericServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

GenericServer::~GenericServer() { stop(); }

void GenericServer::begin(grpc::CallbackGenericService& service) {
  grpc::ServerBuilder builder;
  state_->admission = configure_server(builder, state_->identity, state_->terms);
  builder.RegisterCallbackGenericService(&service);
  state_->server = builder.BuildAndStart();
  core::check(state_->server != nullptr, "gRPC starts where it need not listen");
  admit_through(*state_->door, state_->admission);
}

const std::shared_ptr<Door>& GenericServer::door() const { return state_->door; }

void GenericServer::drain(std::int64_t grace_ms) {
  state_->door->stop();
  if (!state_->server) return;
  const gpr_timespec grace = gpr_time_from_millis(grace_ms, GPR_TIMESPAN);
  state_->server->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), grace));
}

void GenericServer::stop() {
  state_->door->stop();
  if (!state_->server) return;
  state_->server->Shutdown(gpr_inf_past(GPR_CLOCK_REALTIME));
  state_->server.reset();
}

}  // namespace commensal::rpc
