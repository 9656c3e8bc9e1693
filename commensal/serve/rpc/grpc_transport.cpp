// SPDX-License-Identifier: Apache-2.0
#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <commensal/base/core/limits.hpp>
#include <commensal/serve/rpc/grpc_transport.hpp>
#include <cstdlib>

namespace commensal::rpc {
namespace {

struct Argument {
  const char* name;
  int value;
};

/// A peer whose machine is gone sends no FIN. A ping each 10 s that must be answered within 10 s
/// finds out in 20.
constexpr Argument kBoth[] = {
    {GRPC_ARG_KEEPALIVE_TIME_MS, 10'000},
    {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000},
    {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1},
    {GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0},
    {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, limits::kRpcMessageBytesMax},
    {GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, limits::kRpcMessageBytesMax},
};
constexpr Argument kServer[] = {
    {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000},
    // Two gateways on one port would share its providers by chance.
    {GRPC_ARG_ALLOW_REUSEPORT, 0},
    {GRPC_ARG_MAX_CONCURRENT_STREAMS, 16},  // per connection; a provider needs two
};
constexpr Argument kClient[] = {
    // The provider's daemon decides when to try again, not the channel.
    {GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1},
    // The address that the operator named, wherever the environment would send HTTP.
    {GRPC_ARG_ENABLE_HTTP_PROXY, 0},
};

/// What gRPC would print reaches the caller as an Error; a program's output is its own.
void silence_grpc() {
  if (std::getenv("GRPC_VERBOSITY") != nullptr) return;  // somebody is looking for something
  gpr_set_log_verbosity(static_cast<gpr_log_severity>(GPR_LOG_SEVERITY_ERROR + 1));
}

}  // namespace

std::shared_ptr<grpc::Channel> open_channel(const std::string& address) {
  silence_grpc();
  grpc::ChannelArguments arguments;
  for (const Argument& argument : kBoth) arguments.SetInt(argument.name, argument.value);
  for (const Argument& argument : kClient) arguments.SetInt(argument.name, argument.value);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

void configure_server(grpc::ServerBuilder& builder, const std::string& address, int* port) {
  silence_grpc();
  for (const Argument& argument : kBoth) builder.AddChannelArgument(argument.name, argument.value);
  for (const Argument& argument : kServer) {
    builder.AddChannelArgument(argument.name, argument.value);
  }
  // The builder's own bound would override the argument's.
  builder.SetMaxReceiveMessageSize(static_cast<int>(limits::kRpcMessageBytesMax));
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), port);
}

}  // namespace commensal::rpc
