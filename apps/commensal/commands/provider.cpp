// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <apps/commensal/host_options.hpp>
#include <apps/commensal/job_log.hpp>
#include <apps/commensal/key_options.hpp>
#include <apps/commensal/money_options.hpp>
#include <apps/commensal/privacy_options.hpp>
#include <apps/commensal/provider_log.hpp>
#include <apps/commensal/provider_status.hpp>
#include <apps/commensal/provider_tune.hpp>
#include <apps/common/backend_options.hpp>
#include <apps/common/command.hpp>
#include <apps/common/log.hpp>
#include <apps/common/service.hpp>
#include <apps/common/worker_options.hpp>
#include <array>
#include <commensal/base/core/limits_host.hpp>
#include <commensal/base/core/network.hpp>
#include <commensal/collocation/guest/metrics.hpp>
#include <commensal/serve/daemon/provider_daemon.hpp>
#include <commensal/serve/tls/certificate.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::Result;
using Json = nlohmann::ordered_json;

constexpr double kShowHostEveryS = 10;
constexpr std::size_t kAtOnce = 8;  // 16 that wait are run by halves; sessions keep so many plans

struct ProviderArguments {
  daemon::ProviderDaemonConfig daemon;
  std::string folder;
  KeyOptions key;
  BackendOptions backend;
  WorkerOptions worker;
  HostOptions host;
  std::string metrics;  // where they are served; empty: nowhere
  bool plain_metrics = false;
  bool log_jobs = false;
  std::vector<std::string> statements;  // files
  StatusOptions status;
  TuneOptions tune;
  const CLI::App* app = nullptr;
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
  if (options.host.host().empty()) {
    return core::fail(core::ErrorCode::kInvalidArgument, "--metrics is about a host: --host");
  }
  const auto where = core::Endpoint::parse(options.metrics);
  if (!options.plain_metrics && where && !tls::is_loopback(where->host)) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "--metrics {}: beyond loopback everybody could read them, without TLS: "
                      "--plain-metrics if that is meant",
                      options.metrics);
  }
  return guest::serve_governor(options.metrics, guest::runtime_folder(), clock);
}

guest::Work work_of(const provider::ProviderStatus& status) {
  guest::Work work{status.queued, status.delivered, {}};
  const protocol::Amount& expected = status.tickets.expected;
  if (status.tickets.issued > 0) {
    work.earned =
        static_cast<double>(expected.high()) * 0x1p64 + static_cast<double>(expected.low());
  }
  return work;
}

/// What the gateway may show of the host: the machine's governor alone looks at it.
std::function<std::optional<rpc::HostSeen>()> host_now_of(const guest::GuestProcess& guest,
                                                          std::optional<double> income_per_hour) {
  return [&guest, income_per_hour]() -> std::optional<rpc::HostSeen> {
    const auto now = guest.view().view;
    if (!now) return std::nullopt;
    return rpc::HostSeen{std::string(now->unit), now->governor.rate, now->governor.reference,
                         income_per_hour};
  };
}

/// How models run that were tuned beside this host, unless the operator says how all run; none
/// where nothing is between models and this process, which has threads of its own.
Result<Ways> ways_of(const ProviderArguments& options) {
  const bool is_told = options.app->count("--threads") + options.app->count("--batch-max") > 0;
  if (options.host.host().empty() || options.worker.where != "process") return Ways{};
  COMMENSAL_ASSIGN(Ways ways, tuned_ways(options.host.host()));
  if (is_told) {
    if (!ways.empty()) say("all models run by --threads and --batch-max, not as they were tuned");
    return Ways{};
  }
  for (const auto& [model, way] : ways) {
    say(fmt::format("model {} runs as tuned: {}", core::to_hex(model), tuner::words(way)));
  }
  return ways;
}

std::map<core::Digest, worker::Fit> fits_of(const Ways& ways) {
  std::map<core::Digest, worker::Fit> made;
  for (const auto& [model, way] : ways) {
    made[model] = {way.threads, {way.processors.begin(), way.processors.end()}};
  }
  return made;
}

void announce(const ProviderArguments& options, const crypto::Address& address,
              const guest::MetricsServer* metrics) {
  const std::string text = crypto::to_text(address);
  if (options.json) {
    Json said = {{"address", text}, {"gateway", options.daemon.gateway}};
    if (metrics != nullptr) said["metrics_port"] = metrics->port();
    fmt::print("{}\n", said.dump());
  } else {
    fmt::print("provider {} connecting to {}\n", text, options.daemon.gateway);
  }
  std::fflush(stdout);
}

/// Tickets that nobody draws cost a part of the stake where it stays away for days: a round takes a
/// second or so.
void leave(daemon::ProviderDaemon& daemon, const core::Clock& clock) {
  constexpr std::int64_t kNsMax = 5'000'000'000;
  const std::int64_t began_ns = clock.monotonic_ns();
  daemon.retire();
  bool is_said = false;
  std::size_t left = daemon.left();
  for (; left > 0 && clock.monotonic_ns() - began_ns < kNsMax; left = daemon.left()) {
    if (daemon.status().stream != provider::StreamState::kConnected) break;
    if (!std::exchange(is_said, true)) say("stops once its tickets are drawn");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  say(left == 0 ? "stopped: all tickets are drawn"
                : "stopped with tickets that are not drawn: start it again within three days (the "
                  "gateway's --absence-delay-ms), or a part of the stake is lost");
}

Result<int> run(ProviderArguments& options) {
  hold_signals();
  COMMENSAL_TRY(check_stream_address(options.daemon.gateway));
  COMMENSAL_TRY(options.backend.check());
  options.daemon.folder = options.folder;
  options.daemon.key = options.key.opener();
  COMMENSAL_ASSIGN(options.daemon.statements, read_statements(options.statements));
  options.daemon.threads = static_cast<std::uint32_t>(options.backend.threads);
  COMMENSAL_ASSIGN(guest::GuestProcessOptions own, options.host.settle());
  const bool is_beside_host = !options.host.host().empty();
  if (is_beside_host && options.app->count("--batch-max") == 0)
    options.daemon.tasks_at_once.usual = 1;  // unless it is tuned
  COMMENSAL_ASSIGN(const Ways ways, ways_of(options));
  own.client.guest.name = options.daemon.name;
  own.client.guest.threads = options.backend.threads;
  for (const auto& [model, way] : ways) {
    options.daemon.tasks_at_once.by_model[model] = static_cast<std::size_t>(way.at_once);
    own.client.guest.threads = std::max(own.client.guest.threads, way.threads);
  }
  own.client.memory = state_folder("hosts");
  const std::optional<double> host_income_per_hour = own.client.host_income_per_hour;
  own.client.say = [](const std::string& line) { say(line); };
  guest::GuestProcess guest(std::move(own));
  COMMENSAL_TRY(guest.join());
  options.daemon.why_paused = guest.why_paused();
  if (options.host.shows()) options.daemon.host_now = host_now_of(guest, host_income_per_hour);
  std::optional<JobLog> jobs;
  if (options.log_jobs) jobs.emplace();
  if (jobs) options.daemon.job_ended = [&jobs](const provider::JobEnd& end) { jobs->add(end); };
  const core::SystemClock clock;
  for (const std::string& line :
       lines_of_ended(options.statements, options.daemon.statements, clock.wall_ms()))
    say(line);
  const auto is_local = [](const std::string& gateway) {
    return tls::is_loopback(core::host_of(gateway));
  };
  if (std::ranges::all_of(core::endpoints_of(options.daemon.gateway), is_local) &&
      options.app->count("--hash-chain-depth") == 0) {
    options.daemon.purse.hash_chain_depth = kLocalChainDepth;
  }
  const std::string work = hash_chain_note(options.folder, options.daemon.purse, clock);
  if (!work.empty()) fmt::print(stderr, "note: {}\n", work);
  COMMENSAL_ASSIGN(const auto metrics, serve_metrics(options, clock));
  COMMENSAL_ASSIGN(const auto daemon,
                   daemon::ProviderDaemon::start(
                       options.daemon,
                       options.worker.engines(options.backend.session(), &guest, fits_of(ways))));
  announce(options, daemon->address(), metrics.get());
  ProviderLog log(options.daemon.gateway);
  wait_for_signal(200, [&] {
    const provider::ProviderStatus status = daemon->status();
    for (const std::string& line : log.add(status, clock.monotonic_ns() / 1'000'000)) say(line);
    guest.tell(work_of(status));
    if (const auto line = guest.news(kShowHostEveryS)) say(*line);
    return true;
  });
  leave(*daemon, clock);
  guest.release();
  return 0;
}

}  // namespace

Run declare_provider(CLI::App& app) {
  const auto options = std::make_shared<ProviderArguments>();
  options->folder = state_folder("provider").string();
  options->daemon.gateway = "127.0.0.1:8090";
  options->daemon.name = host_name();
  options->daemon.tasks_at_once.usual = kAtOnce;
  app.add_option("--gateway", options->daemon.gateway,
                 "HOST:PORT of the gateway's provider stream, with TLS unless it is on loopback; "
                 "of several on one state with commas between: where one ends the next is tried")
      ->capture_default_str();
  app.add_option("--data-dir", options->folder, "State: key, store, cached models")
      ->capture_default_str();
  options->key.declare(app);
  const auto encrypt = [options](tls::Encryption how) {
    return [options, how](std::int64_t) { options->daemon.encryption = how; };
  };
  app.add_flag_function("--tls", encrypt(tls::Encryption::kAlways), "TLS on loopback too")
      ->excludes(app.add_flag_function("--plain", encrypt(tls::Encryption::kNever),
                                       "No TLS, beyond loopback neither"));
  app.add_option_function<std::string>(
      "--gateway-key",
      [options](const std::string& text) {
        auto key = crypto::address_from_text(text);
        if (!key) throw CLI::ValidationError("--gateway-key", key.error().message);
        options->daemon.gateway_key = *key;
      },
      "The gateway's key, 0x...: no other is served (default: the one that answered first)");
  app.add_option("--name", options->daemon.name, "For the gateway's lists")->capture_default_str();
  options->backend.declare(app);
  options->worker.declare(app);
  app.add_option("--batch-max", options->daemon.tasks_at_once.usual,
                 "Requests that wait for one model and may be computed together, where that "
                 "changes no bit (with --host: 1)")
      ->check(CLI::Range(1, limits::kRequestsAtOnceMax))
      ->capture_default_str();
  declare_purse(app, options->daemon.purse);
  declare_statements(app, options->statements);
  options->host.declare(app);
  app.add_option("--metrics", options->metrics,
                 "ADDRESS:PORT that serves /metrics, what the machine's governor says, to "
                 "Prometheus");
  app.add_flag("--plain-metrics", options->plain_metrics,
               "Serve them beyond loopback too, though without TLS");
  app.add_flag("--log-jobs", options->log_jobs,
               "A line of JSON on stderr for each job that ends, with the id that its request has "
               "at the gateway");
  app.add_flag("--json", options->json, "Print the address as one line of JSON");
  options->app = &app;
  const CLI::App* status = options->status.declare(app);
  const CLI::App* tune = options->tune.declare(app);
  return [options, status, tune] {
    if (tune->parsed()) return options->tune.run();
    return status->parsed() ? options->status.run() : run(*options);
  };
}

}  // namespace commensal::apps
