// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/store/state_folder.hpp>
#include <commensal/serve/daemon/gateway_daemon.hpp>
#include <commensal/serve/http/server.hpp>
#include <commensal/serve/rpc/asio_loop.hpp>
#include <commensal/serve/rpc/grpc_server.hpp>
#include <future>

namespace commensal::daemon {
namespace {

constexpr std::string_view kOperator = "operator";

/// A start that was cut off between account and file is mended: a token that nobody can read would
/// lock the operator out.
core::Result<void> ensure_operator(gateway::Accounts& accounts, const core::Path& token_file) {
  const std::string name(kOperator);
  COMMENSAL_ASSIGN(const auto found, accounts.find(name));
  if (found && std::filesystem::exists(token_file)) return {};
  COMMENSAL_ASSIGN(const std::string token,
                   found ? accounts.renew(name) : accounts.create(name, gateway::Role::kOperator));
  return core::write_file_atomically(token_file, core::as_bytes(token + "\n"), 0600);
}

}  // namespace

// The sockets end first, then the loop, then the rest, in the opposite order of these members.
struct GatewayDaemon::State {
  core::SystemRng rng;
  core::SystemClock clock;
  store::StateFolder folder;
  rpc::AsioLoop loop;
  std::unique_ptr<gateway::Gateway> gateway;
  std::unique_ptr<rpc::GrpcServer> providers;
  std::unique_ptr<http::HttpServer> http;

  explicit State(store::StateFolder opened) : folder(std::move(opened)) {}
  ~State() {
    if (http) http->stop();
    if (providers) providers->stop();
    loop.stop();
    loop.join();
  }
};

GatewayDaemon::GatewayDaemon(std::unique_ptr<State> state) : state_(std::move(state)) {}
GatewayDaemon::~GatewayDaemon() = default;

core::Result<std::unique_ptr<GatewayDaemon>> GatewayDaemon::start(const GatewayDaemonConfig& config,
                                                                  gateway::Observer* observer) {
  core::SystemRng rng;
  COMMENSAL_ASSIGN(auto folder,
                   store::StateFolder::open(config.folder, "gateway", rng, config.key));
  auto state = std::make_unique<State>(std::move(folder));
  const gateway::GatewayDependencies deps{.loop = state->loop,
                                          .clock = state->clock,
                                          .rng = state->rng,
                                          .store = state->folder.store(),
                                          .key = state->folder.key(),
                                          .observer = observer};
  gateway::GatewayConfig gateway = config.gateway;
  gateway.folder = state->folder.path();
  COMMENSAL_ASSIGN(state->gateway, gateway::Gateway::create(deps, gateway));
  COMMENSAL_TRY(
      ensure_operator(state->gateway->accounts(), state->folder.path() / "operator.token"));
  state->loop.start();
  COMMENSAL_ASSIGN(state->providers,
                   rpc::GrpcServer::start(*state->gateway, state->loop, config.provider_address));
  const http::HttpOptions http{.address = config.http_address, .port = config.http_port};
  COMMENSAL_ASSIGN(state->http,
                   http::HttpServer::start(*state->gateway, state->loop, state->clock, http));
  return std::unique_ptr<GatewayDaemon>(new GatewayDaemon(std::move(state)));
}

std::uint16_t GatewayDaemon::http_port() const { return state_->http->port(); }
std::uint16_t GatewayDaemon::provider_port() const { return state_->providers->port(); }
core::Path GatewayDaemon::token_file() const { return state_->folder.path() / "operator.token"; }

void GatewayDaemon::ask(const std::function<void(gateway::Gateway&)>& question) {
  std::promise<void> answered;
  state_->loop.post([&] {
    question(*state_->gateway);
    answered.set_value();
  });
  answered.get_future().get();
}

}  // namespace commensal::daemon
