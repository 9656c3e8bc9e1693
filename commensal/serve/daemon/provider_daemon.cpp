// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/network.hpp>
#include <commensal/base/core/thread_loop.hpp>
#include <commensal/base/store/state_folder.hpp>
#include <commensal/serve/daemon/provider_daemon.hpp>
#include <commensal/serve/rpc/grpc_client.hpp>
#include <commensal/serve/tls/certificate.hpp>
#include <future>

namespace commensal::daemon {

// The loop ends first and the rest after it, in the opposite order of these members.
struct ProviderDaemon::State {
  core::SystemRng rng;
  core::SystemClock clock;
  store::StateFolder folder;
  std::unique_ptr<rollout::EngineFactory> engines;
  std::stop_source closing;
  core::ThreadLoop loop;
  std::unique_ptr<rpc::GatewayClient> gateway;
  std::shared_ptr<provider::Provider> provider;

  State(store::StateFolder opened, std::unique_ptr<rollout::EngineFactory> factory)
      : folder(std::move(opened)), engines(std::move(factory)) {}
  ~State() {
    closing.request_stop();
    loop.stop();
    loop.join();
  }
};

ProviderDaemon::ProviderDaemon(std::unique_ptr<State> state) : state_(std::move(state)) {}
ProviderDaemon::~ProviderDaemon() = default;

core::Result<std::unique_ptr<ProviderDaemon>> ProviderDaemon::start(
    const ProviderDaemonConfig& config, std::unique_ptr<rollout::EngineFactory> engines) {
  core::SystemRng rng;
  COMMENSAL_ASSIGN(auto folder,
                   store::StateFolder::open(config.folder, "provider", rng, config.key));
  auto state = std::make_unique<State>(std::move(folder), std::move(engines));
  std::shared_ptr<tls::Identity> identity;
  const auto is_encrypted = [&](const std::string& gateway) {
    return tls::is_encrypted(config.encryption, core::host_of(gateway));
  };
  if (std::ranges::any_of(core::endpoints_of(config.gateway), is_encrypted)) {
    COMMENSAL_ASSIGN(identity,
                     tls::Identity::open_or_make(state->folder.path(), {}, state->clock.wall_ms()));
  }
  state->gateway = rpc::make_grpc_client(state->loop, config.gateway, std::move(identity));
  const provider::ProviderDependencies deps{.loop = state->loop,
                                            .clock = state->clock,
                                            .rng = state->rng,
                                            .store = state->folder.store(),
                                            .key = state->folder.key(),
                                            .gateway = *state->gateway,
                                            .engines = *state->engines,
                                            .why_paused = config.why_paused,
                                            .host_now = config.host_now,
                                            .closing = state->closing.get_token(),
                                            .job_ended = config.job_ended};
  const provider::ProviderConfig provider{.name = config.name,
                                          .folder = state->folder.path(),
                                          .gateway = config.gateway,
                                          .gateway_key = config.gateway_key,
                                          .threads = config.threads,
                                          .tasks_at_once = config.tasks_at_once,
                                          .purse = config.purse,
                                          .statements = config.statements};
  COMMENSAL_ASSIGN(state->provider, provider::Provider::create(deps, provider));
  state->loop.post([started = state->provider] { started->start(); });
  state->loop.start();
  return std::unique_ptr<ProviderDaemon>(new ProviderDaemon(std::move(state)));
}

crypto::Address ProviderDaemon::address() const { return state_->provider->address(); }

void ProviderDaemon::retire() {
  state_->loop.post([provider = state_->provider] { provider->retire(); });
}

std::size_t ProviderDaemon::left() {
  std::promise<std::size_t> answer;
  auto future = answer.get_future();
  state_->loop.post([&] { answer.set_value(state_->provider->left()); });
  return future.get();
}

provider::ProviderStatus ProviderDaemon::status() {
  std::promise<provider::ProviderStatus> answer;
  auto future = answer.get_future();
  state_->loop.post([&] { answer.set_value(state_->provider->status()); });
  return future.get();
}

}  // namespace commensal::daemon
