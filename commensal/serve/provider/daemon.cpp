// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/store/state_folder.hpp>
#include <commensal/serve/provider/daemon.hpp>
#include <commensal/serve/rpc/asio_loop.hpp>
#include <commensal/serve/rpc/grpc_client.hpp>
#include <future>

namespace commensal::provider {

// The loop ends first and the rest after it, in the opposite order of these members.
struct Daemon::State {
  core::SystemRng rng;
  core::SystemClock clock;
  store::StateFolder folder;
  std::unique_ptr<EngineFactory> engines;
  rpc::AsioLoop loop;
  std::unique_ptr<rpc::GatewayClient> gateway;
  std::shared_ptr<Provider> provider;

  State(store::StateFolder opened, std::unique_ptr<EngineFactory> factory)
      : folder(std::move(opened)), engines(std::move(factory)) {}
  ~State() {
    loop.stop();
    loop.join();
  }
};

Daemon::Daemon(std::unique_ptr<State> state) : state_(std::move(state)) {}
Daemon::~Daemon() = default;

core::Result<std::unique_ptr<Daemon>> Daemon::start(const DaemonConfig& config,
                                                    std::unique_ptr<EngineFactory> engines) {
  core::SystemRng rng;
  COMMENSAL_ASSIGN(auto folder, store::StateFolder::open(config.folder, rng, config.key));
  auto state = std::make_unique<State>(std::move(folder), std::move(engines));
  state->gateway = rpc::make_grpc_client(state->loop, config.gateway);
  const ProviderWorld world{.loop = state->loop,
                            .clock = state->clock,
                            .rng = state->rng,
                            .store = state->folder.store(),
                            .key = state->folder.key(),
                            .gateway = *state->gateway,
                            .engines = *state->engines,
                            .why_paused = config.why_paused};
  const ProviderConfig provider{.name = config.name,
                                .folder = state->folder.path(),
                                .threads = config.threads,
                                .tasks_at_once = config.tasks_at_once,
                                .purse = config.purse};
  COMMENSAL_ASSIGN(state->provider, Provider::create(world, provider));
  state->loop.post([started = state->provider] { started->start(); });
  state->loop.start();
  return std::unique_ptr<Daemon>(new Daemon(std::move(state)));
}

crypto::Address Daemon::address() const { return state_->provider->address(); }

ProviderStatus Daemon::status() {
  std::promise<ProviderStatus> answer;
  auto future = answer.get_future();
  state_->loop.post([&] { answer.set_value(state_->provider->status()); });
  return future.get();
}

}  // namespace commensal::provider
