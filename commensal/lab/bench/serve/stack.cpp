// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/bench/serve/stack.hpp>
#include <commensal/serve/daemon/gateway_daemon.hpp>
#include <commensal/serve/daemon/provider_daemon.hpp>
#include <commensal/serve/worker/process_engine.hpp>
#include <sstream>

namespace commensal::lab::bench::serve {

using core::Result;

Result<GatewayPlace> GatewayPlace::read(const std::string& said) {
  GatewayPlace place;
  std::istringstream words(said);
  if (words >> place.grpc >> place.http >> place.providers >> place.token) return place;
  return core::fail(core::ErrorCode::kDataLoss, "a gateway said '{}'", said);
}

Result<void> gateway(const Part::Side& side, const StackOptions& options) {
  daemon::GatewayDaemonConfig config;
  config.folder = options.folder / "gateway";
  config.http_port = 0;
  config.grpc_address = "127.0.0.1:0";
  config.provider_address = "127.0.0.1:0";
  config.gateway.audit_probability = options.audit_probability;
  config.engines = std::make_shared<worker::ProcessEngineFactory>(worker::ProcessOptions{});
  COMMENSAL_ASSIGN(const auto daemon, daemon::GatewayDaemon::start(config));
  COMMENSAL_ASSIGN(const core::Bytes token, core::read_file(daemon->token_file(), 4096));
  std::string text(core::as_text(token));
  while (text.ends_with('\n')) text.pop_back();
  side.say(fmt::format("127.0.0.1:{} http://127.0.0.1:{} 127.0.0.1:{} {}", daemon->grpc_port(),
                       daemon->http_port(), daemon->provider_port(), text));
  side.wait();
  return {};
}

Result<void> provider(const Part::Side& side, const StackOptions& options,
                      const GatewayPlace& place) {
  daemon::ProviderDaemonConfig config;
  config.folder = options.folder / "provider";
  config.gateway = place.providers;
  config.name = "bench";
  config.threads = static_cast<std::uint32_t>(options.threads);
  config.tasks_at_once.usual = options.at_once;
  worker::ProcessOptions workers;
  workers.session.threads = options.threads;
  COMMENSAL_ASSIGN(const auto daemon,
                   daemon::ProviderDaemon::start(
                       config, std::make_unique<worker::ProcessEngineFactory>(workers)));
  side.say("provider");
  side.wait();
  const provider::Runs runs = daemon->status().runs;
  return core::write_file_atomically(runs_file(options),
                                     core::as_bytes(fmt::format("{} {}", runs.runs, runs.tasks)));
}

core::Path runs_file(const StackOptions& options) { return options.folder / "runs"; }

}  // namespace commensal::lab::bench::serve
