// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <apps/commensal/guest_facts.hpp>
#include <apps/commensal/host_options.hpp>
#include <apps/commensal/key_options.hpp>
#include <apps/commensal/log.hpp>
#include <apps/commensal/money_options.hpp>
#include <apps/commensal/provider_log.hpp>
#include <apps/commensal/provider_status.hpp>
#include <apps/commensal/service.hpp>
#include <apps/common/backend_options.hpp>
#include <apps/common/command.hpp>
#include <array>
#include <commensal/collocation/guest/metrics.hpp>
#include <commensal/serve/daemon/provider_daemon.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::Result;
using Json = nlohmann::ordered_json;

constexpr double kShowHostEveryS = 10;

struct ProviderArguments {
  daemon::ProviderDaemonConfig daemon;
  std::string folder;
  KeyOptions key;
  BackendOptions backend;
  HostOptions host;
  std::string metrics;  // where they are served; empty: nowhere
  StatusOptions status;
  bool json = false;
};

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "provider";
  return name.data();
}

Result<std::unique_ptr<guest::MetricsServer>> serve_metrics(const ProviderArguments& options,
                                                            const core::Clock& clock) {
  if (options.metrics.empty()) return nullptr;
  if (options.host.spec.empty()) {
    return core::fail(core::ErrorCode::kInvalidArgument, "--metrics is about a host: --host");
  }
  return guest::MetricsServer::start(options.metrics, clock, [&clock]() -> Result<std::string> {
    COMMENSAL_ASSIGN(const std::string line, guest::ask_status(runtime_folder(), clock));
    return guest::metrics_of(line);
  });
}

Result<int> run(ProviderArguments& options) {
  hold_signals();
  COMMENSAL_TRY(check_stream_address(options.daemon.gateway));
  options.daemon.folder = options.folder;
  options.daemon.key = options.key.opener();
  options.daemon.threads = static_cast<std::uint32_t>(options.backend.threads);
  COMMENSAL_ASSIGN(const auto host,
                   options.host.start(options.daemon.name, options.backend.threads));
  if (host) options.daemon.why_paused = [keeping = host.get()] { return keeping->why_paused(); };
  const core::SystemClock clock;
  COMMENSAL_ASSIGN(const auto metrics, serve_metrics(options, clock));
  const graph::SessionOptions session = options.backend.session();
  std::unique_ptr<provider::EngineFactory> engines =
      host ? host->engines(session) : std::make_unique<provider::SessionEngineFactory>(session);
  COMMENSAL_ASSIGN(const auto daemon,
                   daemon::ProviderDaemon::start(options.daemon, std::move(engines)));
  const std::string address = crypto::to_text(daemon->address());
  if (options.json) {
    Json said = {{"address", address}, {"gateway", options.daemon.gateway}};
    if (metrics) said["metrics_port"] = metrics->port();
    fmt::print("{}\n", said.dump());
  } else {
    fmt::print("provider {} connecting to {}\n", address, options.daemon.gateway);
  }
  std::fflush(stdout);
  ProviderLog log(options.daemon.gateway);
  GuestFacts facts;
  wait_for_signal(200, [&] {
    const provider::ProviderStatus status = daemon->status();
    for (const std::string& line : log.add(status, clock.monotonic_ns() / 1'000'000)) say(line);
    if (!host) return;
    host->tell(facts.add(static_cast<double>(clock.monotonic_ns()) * 1e-9, status));
    host->show(kShowHostEveryS);
  });
  if (host) host->release();
  return 0;
}

}  // namespace

Run declare_provider(CLI::App& app) {
  const auto options = std::make_shared<ProviderArguments>();
  options->folder = state_folder("provider").string();
  options->daemon.gateway = "127.0.0.1:8090";
  options->daemon.name = host_name();
  app.add_option("--gateway", options->daemon.gateway, "HOST:PORT of the gateway's provider stream")
      ->capture_default_str();
  app.add_option("--folder", options->folder, "State: key, store, cached models")
      ->capture_default_str();
  options->key.declare(app);
  app.add_option("--name", options->daemon.name, "For the gateway's lists")->capture_default_str();
  options->backend.declare(app);
  app.add_option("--batch-max", options->daemon.tasks_at_once,
                 "Requests that wait for one model and may be computed together, where that "
                 "changes no bit")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  declare_purse(app, options->daemon.purse);
  options->host.declare(app);
  app.add_option("--metrics", options->metrics,
                 "ADDRESS:PORT that serves /metrics, what the machine's governor says, to "
                 "Prometheus");
  app.add_flag("--json", options->json, "Print the address as one line of JSON");
  const CLI::App* status = options->status.declare(app);
  return [options, status] { return status->parsed() ? options->status.run() : run(*options); };
}

}  // namespace commensal::apps
