// SPDX-License-Identifier: Apache-2.0
#include <grpc/support/time.h>
#include <grpcpp/server.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include <commensal/serve/rpc/grpc_server.hpp>
#include <commensal/serve/rpc/grpc_server_stream.hpp>
#include <commensal/serve/rpc/grpc_transport.hpp>
#include <cstring>
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

/// gRPC does not say why it cannot listen: the system does.
std::string why_not_listening(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return "expected HOST:PORT";
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found);
  if (failed != 0) return ::gai_strerror(failed);
  const int listening = ::socket(found->ai_family, found->ai_socktype, 0);
  const int one = 1;
  ::setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  std::string why = "expected HOST:PORT that is free";
  if (::bind(listening, found->ai_addr, found->ai_addrlen) != 0) {
    why = errno == EADDRINUSE ? "the port is in use" : std::strerror(errno);
  }
  ::close(listening);
  ::freeaddrinfo(found);
  return why;
}

}  // namespace

struct GrpcServer::State {
  State(GatewayPort& gateway, core::Loop& loop, std::shared_ptr<const tls::Identity> identity)
      : hall(new ServerHall{loop, std::move(identity), &gateway, {}}), service(hall, gateway) {}

  std::shared_ptr<ServerHall> hall;
  StreamService service;
  int port = 0;
  std::shared_ptr<const void> credentials;
  std::unique_ptr<grpc::Server> server;
  bool stopped = false;
};

core::Result<std::unique_ptr<GrpcServer>> GrpcServer::start(
    GatewayPort& port, core::Loop& loop, const std::string& address,
    std::shared_ptr<const tls::Identity> identity) {
  auto state = std::make_unique<State>(port, loop, identity);
  grpc::ServerBuilder builder;
  state->credentials = configure_server(builder, address, &state->port, std::move(identity));
  builder.RegisterService(&state->service);
  state->server = builder.BuildAndStart();
  if (!state->server || state->port == 0) {
    return core::fail(core::ErrorCode::kUnavailable, "cannot listen for providers on '{}': {}",
                      address, why_not_listening(address));
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
