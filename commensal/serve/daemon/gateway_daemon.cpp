// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <array>
#include <commensal/base/core/network.hpp>
#include <commensal/base/core/thread_loop.hpp>
#include <commensal/base/store/state_folder.hpp>
#include <commensal/serve/daemon/gateway_daemon.hpp>
#include <commensal/serve/gateway/auditor.hpp>
#include <commensal/serve/http/server.hpp>
#include <commensal/serve/oip_grpc/server.hpp>
#include <commensal/serve/rpc/grpc_server.hpp>
#include <commensal/serve/tls/certificate.hpp>
#include <future>
#include <thread>
#include <utility>

namespace commensal::daemon {
namespace {

constexpr std::string_view kOperator = "operator";

/// A start that was cut off between account and file is mended: a token that nobody can read would
/// lock the operator out.
core::Result<void> ensure_operator(gateway::Gateway& gateway, const core::Path& token_file) {
  const std::string name(kOperator);
  gateway::Accounts& accounts = gateway.accounts();
  COMMENSAL_ASSIGN(const auto found, accounts.find(name));
  if (found && std::filesystem::exists(token_file)) return {};
  if (!found) COMMENSAL_TRY(gateway.create_account(name, gateway::Role::kOperator));
  COMMENSAL_ASSIGN(const std::string token, accounts.renew(name));
  return core::write_file_atomically(token_file, core::as_bytes(token + "\n"), 0600);
}

constexpr std::int64_t kLookAtFilesMs = 1'000;

core::Result<std::shared_ptr<tls::Identity>> open_identity(const GatewayDaemonConfig& config,
                                                           const core::Path& folder,
                                                           std::int64_t now_ms) {
  if (!config.tls_certificate.empty()) {
    return tls::Identity::open(config.tls_certificate, config.tls_key);
  }
  std::vector<std::string> hosts = {"localhost", "127.0.0.1", "::1"};
  std::array<char, 256> own{};
  if (::gethostname(own.data(), own.size() - 1) == 0) hosts.emplace_back(own.data());
  for (const std::string& host :
       {config.http_address, core::host_of(config.grpc_address),
        core::host_of(config.metrics_address), core::host_of(config.provider_address)}) {
    const bool is_any = host.empty() || host == "0.0.0.0" || host == "::";
    if (!is_any && !tls::is_loopback(host)) hosts.push_back(host);
  }
  return tls::Identity::open_or_make(folder, hosts, now_ms);
}

core::TurnWatch watch_of(const GatewayDaemonConfig& config, gateway::Observer* observer) {
  if (config.turn_ms_max == 0 || observer == nullptr) return {};
  return {config.turn_ms_max * 1'000'000, [observer](std::int64_t cpu_ns) {
            observer->on_error({core::ErrorCode::kDeadlineExceeded,
                                fmt::format("a turn of the loop took {:.1f} ms of the processor",
                                            static_cast<double>(cpu_ns) * 1e-6)});
          }};
}

}  // namespace

// The sockets end first, then the loop, then the rest, in the opposite order of these members.
struct GatewayDaemon::State {
  core::SystemRng rng;
  core::SystemClock clock;
  store::StateFolder folder;
  core::ThreadLoop loop;
  std::shared_ptr<tls::Identity> identity;  // null: no port speaks TLS
  bool http_secure = false;
  bool grpc_secure = false;
  bool metrics_secure = false;
  bool providers_secure = false;
  std::string reload_failed;  // the loop's: the last reason
  std::unique_ptr<gateway::Gateway> gateway;
  std::unique_ptr<rpc::GrpcServer> providers;
  std::unique_ptr<http::HttpServer> http;
  std::unique_ptr<oip_grpc::GrpcInferenceServer> grpc;  // null: none was asked for

  State(store::StateFolder opened, core::TurnWatch watch)
      : folder(std::move(opened)), loop(std::move(watch)) {}
  ~State() {
    if (gateway) gateway->stop_computing();
    if (grpc) grpc->stop();  // it works with what is the other's
    if (http) http->stop();
    if (providers) on_loop([this] { providers->stop(); });
    loop.stop();
    loop.join();
  }

  void on_loop(const std::function<void()>& act) {
    std::promise<void> done;
    loop.post([&] {
      act();
      done.set_value();
    });
    done.get_future().get();
  }
  core::Result<void> secure(const GatewayDaemonConfig& config, gateway::Observer* observer);
  std::optional<http::MetricsPort> metrics_port_of(const GatewayDaemonConfig& config) const;
  void look_at_files(gateway::Observer* observer);
};

core::Result<void> GatewayDaemon::State::secure(const GatewayDaemonConfig& config,
                                                gateway::Observer* observer) {
  const bool is_given = !config.tls_certificate.empty();
  const auto is_secure = [&](const std::string& host) {
    return is_given || tls::is_encrypted(config.encryption, host);
  };
  const auto is_secure_port = [&](const std::string& address) {
    return !address.empty() && is_secure(core::host_of(address));
  };
  http_secure = is_secure(config.http_address);
  providers_secure = is_secure(core::host_of(config.provider_address));
  grpc_secure = is_secure_port(config.grpc_address);
  metrics_secure = is_secure_port(config.metrics_address);
  if (!http_secure && !grpc_secure && !metrics_secure && !providers_secure) return {};
  COMMENSAL_ASSIGN(identity, open_identity(config, folder.path(), clock.wall_ms()));
  look_at_files(observer);
  return {};
}

std::optional<http::MetricsPort> GatewayDaemon::State::metrics_port_of(
    const GatewayDaemonConfig& config) const {
  const auto where = core::Endpoint::parse(config.metrics_address);
  if (!where) return std::nullopt;
  return http::MetricsPort{where->host, where->port, metrics_secure ? identity : nullptr};
}

void GatewayDaemon::State::look_at_files(gateway::Observer* observer) {
  loop.after(kLookAtFilesMs, [this, observer] {
    const auto reloaded = identity->reload();
    const std::string failed = reloaded ? "" : reloaded.error().message;
    const bool is_news = failed != std::exchange(reload_failed, failed) && !reloaded;
    if (is_news && observer != nullptr) observer->on_error(reloaded.error());
    look_at_files(observer);
  });
}

GatewayDaemon::GatewayDaemon(std::unique_ptr<State> state) : state_(std::move(state)) {}
GatewayDaemon::~GatewayDaemon() = default;

core::Result<std::unique_ptr<GatewayDaemon>> GatewayDaemon::start(const GatewayDaemonConfig& config,
                                                                  gateway::Observer* observer) {
  std::shared_ptr<const http::Page> page;
  if (!config.page.empty()) {
    COMMENSAL_ASSIGN(page, http::Page::read(config.page));
  }
  core::SystemRng rng;
  COMMENSAL_ASSIGN(auto folder, store::StateFolder::open(config.folder, "gateway", rng, config.key,
                                                         config.store));
  auto state = std::make_unique<State>(std::move(folder), watch_of(config, observer));
  const gateway::GatewayDependencies deps{.loop = state->loop,
                                          .clock = state->clock,
                                          .rng = state->rng,
                                          .store = state->folder.store(),
                                          .key = state->folder.key(),
                                          .engines = config.engines,
                                          .observer = observer};
  gateway::GatewayConfig gateway = config.gateway;
  gateway.folder = state->folder.path();
  COMMENSAL_ASSIGN(state->gateway, gateway::Gateway::create(deps, gateway));
  COMMENSAL_TRY(ensure_operator(*state->gateway, state->folder.path() / "operator.token"));
  COMMENSAL_TRY(state->secure(config, observer));
  state->loop.start();
  const GatewayListeners* const there = config.listeners.get();
  COMMENSAL_ASSIGN(state->providers,
                   rpc::GrpcServer::start(*state->gateway, state->loop, config.provider_address,
                                          state->providers_secure ? state->identity : nullptr,
                                          there != nullptr ? &there->providers : nullptr));
  const http::HttpOptions http{.address = config.http_address,
                               .port = config.http_port,
                               .identity = state->http_secure ? state->identity : nullptr,
                               .listening = there != nullptr ? &there->http : nullptr,
                               .metrics = state->metrics_port_of(config),
                               .serving = config.serving,
                               .page = std::move(page)};
  COMMENSAL_ASSIGN(state->http, http::HttpServer::start(*state->gateway, state->loop, state->clock,
                                                        state->rng, http));
  if (!config.grpc_address.empty()) {
    COMMENSAL_ASSIGN(state->grpc, oip_grpc::GrpcInferenceServer::start(
                                      state->http->services(), config.grpc_address,
                                      state->grpc_secure ? state->identity : nullptr,
                                      there != nullptr ? &there->grpc : nullptr));
  }
  return std::unique_ptr<GatewayDaemon>(new GatewayDaemon(std::move(state)));
}

std::uint16_t GatewayDaemon::http_port() const { return state_->http->port(); }
bool GatewayDaemon::is_http_secure() const { return state_->http_secure; }
std::uint16_t GatewayDaemon::grpc_port() const { return state_->grpc ? state_->grpc->port() : 0; }
bool GatewayDaemon::is_grpc_secure() const { return state_->grpc_secure; }
std::uint16_t GatewayDaemon::metrics_port() const { return state_->http->metrics_port(); }
bool GatewayDaemon::is_metrics_secure() const { return state_->metrics_secure; }
bool GatewayDaemon::are_providers_secure() const { return state_->providers_secure; }
std::optional<core::Digest> GatewayDaemon::key_hash() const {
  if (!state_->identity) return std::nullopt;
  return state_->identity->current()->key_hash;
}
std::uint16_t GatewayDaemon::provider_port() const { return state_->providers->port(); }
crypto::Address GatewayDaemon::address() const { return state_->gateway->address(); }
core::Path GatewayDaemon::token_file() const { return state_->folder.path() / "operator.token"; }

void GatewayDaemon::drain(std::int64_t grace_ms) {
  std::jthread calls;
  if (state_->grpc) calls = std::jthread([&] { state_->grpc->drain(grace_ms); });
  state_->http->drain(grace_ms);
}

void GatewayDaemon::ask(const std::function<void(gateway::Gateway&)>& question) {
  state_->on_loop([&] { question(*state_->gateway); });
}

}  // namespace commensal::daemon
