// SPDX-License-Identifier: Apache-2.0
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/support/channel_arguments.h>

#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/network.hpp>
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
};
constexpr Argument kServer[] = {
    {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000},
    // All that is read at once becomes streams before anybody is asked about the first.
    {GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, limits::kStrangerBytesMax},
    // Connections that say nothing end, before and after their handshakes.
    {GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, static_cast<int>(limits::kHelloWaitMs)},
    {GRPC_ARG_MAX_CONNECTION_IDLE_MS, static_cast<int>(limits::kHelloWaitMs)},
    {GRPC_ARG_MAX_CONCURRENT_STREAMS, 1},
};
constexpr Argument kClient[] = {
    {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, limits::kRpcWireBytesMax},
    {GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, limits::kRpcWireBytesMax},
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

/// TLS that asks the identity for its certificate at each new connection, which gRPC offers to C
/// only.
class ReloadingCredentials final : public grpc::ServerCredentials {
 public:
  explicit ReloadingCredentials(std::shared_ptr<const tls::Identity> identity)
      : identity_(std::move(identity)),
        credentials_(grpc_ssl_server_credentials_create_with_options(
            grpc_ssl_server_credentials_create_options_using_config_fetcher(
                GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_BUT_DONT_VERIFY, fetch, this))) {}
  ReloadingCredentials(const ReloadingCredentials&) = delete;
  ReloadingCredentials& operator=(const ReloadingCredentials&) = delete;
  ~ReloadingCredentials() override { grpc_server_credentials_release(credentials_); }
  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>& /*processor*/) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }
  // gRPC calls it for one connection at a time.
  static grpc_ssl_certificate_config_reload_status fetch(
      void* of, grpc_ssl_server_certificate_config** config) {
    auto& self = *static_cast<ReloadingCredentials*>(of);
    auto now = self.identity_->current();
    if (now == self.shown_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair{now->pem.key.c_str(), now->pem.certificate.c_str()};
    // gRPC wants authorities, though it is told to hold nobody against them.
    *config = grpc_ssl_server_certificate_config_create(pair.cert_chain, &pair, 1);
    self.shown_ = std::move(now);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const std::shared_ptr<const tls::Identity> identity_;
  std::shared_ptr<const tls::Certificate> shown_;
  grpc_server_credentials* const credentials_;
};

std::shared_ptr<grpc::ChannelCredentials> client_credentials(const tls::Identity* identity) {
  if (identity == nullptr) return grpc::InsecureChannelCredentials();
  namespace experimental = grpc::experimental;
  const auto own = identity->current();
  experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<experimental::StaticDataCertificateProvider>(
      std::vector<experimental::IdentityKeyCertPair>{{own->pem.key, own->pem.certificate}}));
  options.watch_identity_key_cert_pairs();
  options.set_verify_server_certs(false);
  options.set_check_call_host(false);
  options.set_certificate_verifier(std::make_shared<experimental::NoOpCertificateVerifier>());
  return experimental::TlsCredentials(options);
}

}  // namespace

std::shared_ptr<grpc::Channel> open_channel(const std::string& address,
                                            const tls::Identity* identity) {
  silence_grpc();
  grpc::ChannelArguments arguments;
  for (const Argument& argument : kBoth) arguments.SetInt(argument.name, argument.value);
  for (const Argument& argument : kClient) arguments.SetInt(argument.name, argument.value);
  return grpc::CreateCustomChannel(address, client_credentials(identity), arguments);
}

Admission configure_server(grpc::ServerBuilder& builder,
                           std::shared_ptr<const tls::Identity> identity) {
  silence_grpc();
  for (const Argument& argument : kBoth) builder.AddChannelArgument(argument.name, argument.value);
  for (const Argument& argument : kServer) {
    builder.AddChannelArgument(argument.name, argument.value);
  }
  builder.SetMaxReceiveMessageSize(limits::kRpcWireBytesMax);
  builder.SetMaxSendMessageSize(limits::kRpcWireBytesMax);
  builder.SetResourceQuota(grpc::ResourceQuota().Resize(limits::kRpcQuotaBytes));
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
  if (identity) {
    credentials = std::make_shared<ReloadingCredentials>(std::move(identity));
  }
  auto acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  return {std::move(credentials), std::move(acceptor)};
}

void admit_through(Door& door, const Admission& admission) {
  door.begin([acceptor = admission.acceptor.get()](int listening, int accepted) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters one;
    one.listener_fd = listening;
    one.fd = accepted;
    acceptor->HandleNewConnection(&one);
  });
}

core::Digest peer_key_hash(const grpc::AuthContext& context) {
  const auto shown = context.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (shown.empty()) return {};
  return tls::key_hash({shown[0].data(), shown[0].size()}).value_or(core::Digest());
}

}  // namespace commensal::rpc
