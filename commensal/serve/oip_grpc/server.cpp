// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/stubs/logging.h>

#include <commensal/base/core/limits_grpc.hpp>
#include <commensal/serve/oip_grpc/call.hpp>
#include <commensal/serve/oip_grpc/server.hpp>
#include <utility>
#include <vector>

namespace commensal::oip_grpc {

namespace {

constexpr std::int64_t kLookMs = 10'000;  // at clients that are waited for

/// Connections as over HTTP: so many, those that nobody speaks on end, nobody's make room first.
constexpr http2::Terms kTerms{.calls_max = limits::kGrpcCallsMax,
                              .idle_ms = limits::kHttpIdleWaitMs,
                              .write_ms = limits::kHttpPieceWaitMs};
constexpr rpc::DoorBounds kBounds{
    .stranger_ms = 2 * limits::kHttpIdleWaitMs,  // it says goodbye before
    .strangers_max = limits::kConnectionsMax,
    .connections_max = limits::kConnectionsMax,
    .stranger_bytes_max = limits::kGrpcStrangerBytesMax,
    .known_bytes_max = limits::kGrpcKnownBytesMax,
    .whom = "consumers (gRPC)",
};

std::vector<std::shared_ptr<Call>> calls_of(Hall& hall) {
  std::vector<std::shared_ptr<Call>> calls;
  const std::lock_guard lock(hall.mutex);
  if (hall.is_stopped) return calls;
  for (const auto& [key, call] : hall.calls)
    if (auto one = call.lock()) calls.push_back(std::move(one));
  return calls;
}

void look_later(const std::shared_ptr<Hall>& hall) {
  hall->services.loop.after(kLookMs, [weak = std::weak_ptr(hall)] {
    const auto at = weak.lock();
    if (!at) return;
    const auto calls = calls_of(*at);
    const std::int64_t now_ns = at->services.clock.monotonic_ns();
    for (const auto& call : calls) call->look(now_ns);
    look_later(at);
  });
}

}  // namespace

struct GrpcInferenceServer::State {
  State(const oip::Services& services, std::unique_ptr<http2::CallServer> opened)
      : server(std::move(opened)), hall(new Hall{.services = services, .door = server->door()}) {}

  const std::unique_ptr<http2::CallServer> server;
  const std::shared_ptr<Hall> hall;
};

core::Result<std::unique_ptr<GrpcInferenceServer>> GrpcInferenceServer::start(
    const oip::Services& services, const std::string& address,
    std::shared_ptr<const tls::Identity> identity, const core::Listener* listening) {
  COMMENSAL_ASSIGN(auto server, http2::CallServer::open(address, std::move(identity), kTerms,
                                                        kBounds, listening));
  // It would write a line for each text of a client that is no UTF-8, as often as one likes.
  google::protobuf::SetLogHandler(nullptr);
  auto state = std::make_unique<State>(services, std::move(server));
  state->server->begin([hall = state->hall](http2::Head head, http2::Line line) {
    return Call::begin(hall, std::move(head), std::move(line));
  });
  services.loop.post([hall = state->hall] { look_later(hall); });
  return std::unique_ptr<GrpcInferenceServer>(new GrpcInferenceServer(std::move(state)));
}

GrpcInferenceServer::GrpcInferenceServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

GrpcInferenceServer::~GrpcInferenceServer() { stop(); }

std::uint16_t GrpcInferenceServer::port() const {
  return static_cast<std::uint16_t>(state_->hall->door->port());
}

void GrpcInferenceServer::drain(std::int64_t grace_ms) {
  for (const auto& call : calls_of(*state_->hall)) call->leave();
  state_->server->drain(grace_ms);
}

void GrpcInferenceServer::stop() {
  {
    const std::lock_guard lock(state_->hall->mutex);
    state_->hall->is_stopped = true;
  }
  state_->server->stop();
}

}  // namespace commensal::oip_grpc
