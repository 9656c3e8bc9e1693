// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <apps/commensal/database_options.hpp>
#include <apps/commensal/gateway_options.hpp>
#include <apps/commensal/key_options.hpp>
#include <apps/commensal/money_options.hpp>
#include <apps/commensal/privacy_options.hpp>
#include <apps/commensal/trace_options.hpp>
#include <apps/common/command.hpp>
#include <apps/common/log.hpp>
#include <apps/common/service.hpp>
#include <apps/common/worker_options.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/disk_full.hpp>
#include <commensal/base/core/limits_relay.hpp>
#include <commensal/base/core/network.hpp>
#include <commensal/base/core/rates.hpp>
#include <commensal/serve/daemon/gateway_daemon.hpp>
#include <commensal/serve/gateway/audit_policy.hpp>
#include <commensal/serve/tls/certificate.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::Result;
using ledger::AccountKind;
using Json = nlohmann::ordered_json;

struct GatewayArguments {
  daemon::GatewayDaemonConfig daemon;
  std::string folder;
  KeyOptions key;
  DatabaseOptions database;
  WorkerOptions worker;
  TraceOptions trace;
  std::string http = "127.0.0.1:8080";
  std::string grpc = "127.0.0.1:8081";
  std::string metrics;
  std::string providers = "127.0.0.1:8090";
  const CLI::App* app = nullptr;
  bool json = false;
};

/// One line per event.
class EventLog final : public gateway::Observer {
 public:
  void on_provider_connected(const crypto::Address& address, const std::string& name) override {
    say(fmt::format("provider {} connected ({})", crypto::to_text(address), name));
  }
  void on_provider_lost(const crypto::Address& address, const std::string& why) override {
    say(fmt::format("provider {} left: {}", crypto::to_text(address), why));
  }
  void on_provider_banned(const crypto::Address& address, const std::string& why) override {
    say(fmt::format("provider {} banned: {}", crypto::to_text(address), why));
  }
  void on_verdict(const gateway::ReceiptRecord& record) override {
    say(fmt::format("receipt {} audited: {}", core::to_hex(record.id()),
                    protocol::name_of(record.audit)));
  }
  void on_judged(const gateway::ReceiptRecord& record,
                 const gateway::Judgement& judgement) override {
    const std::string lost = judgement.taken == protocol::Amount()
                                 ? ""
                                 : fmt::format(", {} of the stake taken", to_text(judgement.taken));
    say(fmt::format("ticket of receipt {}: {}{}", core::to_hex(record.id()),
                    protocol::name_of(judgement.event), lost));
  }
  void on_case(const ledger::CaseKey& key, const ledger::CaseRow& row,
               const ledger::Entry&) override {
    if (row.moves > 0) return;  // the moves of both would fill the log
    const bool is_provider = row.dispute.accused == row.dispute.receipt.job.provider;
    say(fmt::format("receipt {}: {} {}, accused by {}: {}",
                    core::to_hex(protocol::receipt_id(row.dispute.receipt.body())),
                    is_provider ? "provider" : "auditor", crypto::to_text(row.dispute.accused),
                    crypto::to_text(key.accuser), protocol::name_of(row.status)));
  }
  void on_replaced(const gateway::ReceiptRecord& old, const gateway::ReceiptRecord& now) override {
    say(fmt::format("receipt {} replaced by {}", core::to_hex(old.id()), core::to_hex(now.id())));
  }
  /// What others send wrongly is not to fill the disk.
  void on_error(const core::Error& error) override {
    if (!errors_.take(0, clock_.monotonic_ns())) {
      ++more_errors_;
      return;
    }
    if (more_errors_ > 0) say(fmt::format("{} more errors", std::exchange(more_errors_, 0)));
    say(fmt::format("{}: {}", core::name_of(error.code), error.message));
  }

 private:
  core::SystemClock clock_;
  core::Rates<int> errors_{3, 5};  // lines a second, and seconds of them at once
  std::uint64_t more_errors_ = 0;
};

Result<core::Endpoint> endpoint_of(const char* option, const std::string& text) {
  auto where = core::Endpoint::parse(text);
  if (!where) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "{} '{}', expected IP:PORT, as 127.0.0.1:8080", option, text);
  }
  if (where->host == "localhost") where->host = "127.0.0.1";
  return *std::move(where);
}

/// "": none. Of the default nothing depends: where somebody else has it, a note says so.
Result<std::string> grpc_address(const GatewayArguments& options) {
  if (options.grpc.empty() || options.grpc == "off") return std::string();
  COMMENSAL_ASSIGN(const core::Endpoint where, endpoint_of("--grpc", options.grpc));
  if (options.app->count("--grpc") > 0 || core::listen_on(where)) return where.text();
  fmt::print(stderr, "note: no gRPC for consumers, as {} is taken: name another, --grpc IP:PORT\n",
             where.text());
  return std::string();
}

/// Tops an escrow of the gateway's up: what its own account lacks for that is booked as a deposit,
/// since its key is the ledger's operator.
Result<void> fill(gateway::Gateway& gateway, AccountKind kind, const protocol::Amount& wanted) {
  const ledger::State& ledger = gateway.ledger();
  const protocol::Amount there = ledger.balance(gateway.address(), kind);
  if (there >= wanted) return {};
  COMMENSAL_ASSIGN(const protocol::Amount lacking, wanted.minus(there));
  const protocol::Amount own = ledger.balance(gateway.address(), AccountKind::kAvailable);
  if (own < lacking) {
    core::SystemRng rng;
    COMMENSAL_ASSIGN(const protocol::Amount paid, lacking.minus(own));
    COMMENSAL_TRY(gateway.deposit(gateway.address(), paid, rng.next_digest()));
  }
  return gateway.fund(kind, lacking);
}

/// The honesty inequality, with these settings (docs/verification.md).
std::string words_of_honesty(const gateway::GatewayConfig& config) {
  const gateway::Honesty honesty =
      gateway::honesty_of(config.money.stake_min, gateway::expected_pay(config.money),
                          {.floor = config.audit_probability});
  return fmt::format(
      "a wrong answer (of one request, not of a rollout's many steps) saves its provider at most "
      "{:.10g} and costs it at least {:.10g} if it is audited: a loss if {:.3g} % are",
      honesty.saved, honesty.lost, 100 * honesty.audits);
}

void announce(const GatewayArguments& options, const daemon::GatewayDaemon& daemon) {
  const core::Endpoint http{options.daemon.http_address, daemon.http_port()};
  const std::string url =
      fmt::format("{}://{}", daemon.is_http_secure() ? "https" : "http", http.text());
  const std::string pin = daemon.key_hash() ? core::to_hex(*daemon.key_hash()) : "";
  const std::string key = crypto::to_text(daemon.address());
  const core::Endpoint grpc{core::host_of(options.daemon.grpc_address), daemon.grpc_port()};
  const std::string grpc_text = grpc.port == 0 ? "" : grpc.text();
  const core::Endpoint metrics{core::host_of(options.daemon.metrics_address),
                               daemon.metrics_port()};
  const std::string metrics_text =
      metrics.port == 0
          ? ""
          : fmt::format("{}://{}/metrics", daemon.is_metrics_secure() ? "https" : "http",
                        metrics.text());
  if (options.json) {
    fmt::print("{}\n", Json({{"http", url},
                             {"grpc", grpc_text},
                             {"metrics", metrics_text},
                             {"provider_port", daemon.provider_port()},
                             {"operator_token_file", daemon.token_file().string()},
                             {"gateway_key", key},
                             {"pin", pin}})
                           .dump());
  } else {
    const core::Endpoint providers{core::host_of(options.daemon.provider_address),
                                   daemon.provider_port()};
    const auto secured = [](bool is_secure) { return is_secure ? " (TLS)" : ""; };
    fmt::print("consumers: {}{}{}\nproviders: {}{}\noperator's token: {}\n", url,
               grpc_text.empty() ? "" : ", gRPC " + grpc_text,
               grpc_text.empty() ? "" : secured(daemon.is_grpc_secure()), providers.text(),
               secured(daemon.are_providers_secure()), daemon.token_file().string());
    fmt::print("for providers: --gateway-key {}\n", key);
    if (!options.daemon.page.empty()) fmt::print("for browsers: {}/\n", url);
    if (!metrics_text.empty()) fmt::print("metrics: {}\n", metrics_text);
    if (!pin.empty()) fmt::print("for consumers: --pin {}\n", pin);
    if (options.daemon.gateway.money.face_value != protocol::Amount()) {
      fmt::print("{}\n", words_of_honesty(options.daemon.gateway));
    }
  }
  std::fflush(stdout);
}

/// The first start with money takes seconds, says so, and may be broken off.
Result<std::unique_ptr<daemon::GatewayDaemon>> start(const GatewayArguments& options,
                                                     EventLog& log) {
  const core::SystemClock clock;
  const std::string work = hash_chain_note(options.folder, options.daemon.gateway.money, clock);
  if (!work.empty()) fmt::print(stderr, "note: {}\n", work);
  const EndingAtOnce ending;
  return daemon::GatewayDaemon::start(options.daemon, &log);
}

/// That the ledger has the rules that are asked for, and what answers cost; notes what it lacks.
Result<void> settle_money(const GatewayArguments& options, daemon::GatewayDaemon& daemon) {
  const gateway::MoneyConfig& money = options.daemon.gateway.money;
  Result<void> fits;
  daemon.ask([&](gateway::Gateway& gateway) {
    fits = check_rules(*options.app, money.rules, gateway.ledger().scalars.config);
  });
  COMMENSAL_TRY(fits);
  COMMENSAL_TRY(remember_terms(options.folder, money));
  Result<void> funded;
  std::vector<std::string> doubts;
  daemon.ask([&](gateway::Gateway& gateway) {
    funded = fill(gateway, AccountKind::kEscrow, money.escrow).and_then([&] {
      return fill(gateway, AccountKind::kPenaltyEscrow, money.penalty_escrow);
    });
    const auto there = [&](AccountKind kind) {
      return gateway.ledger().balance(gateway.address(), kind);
    };
    doubts = doubts_about(gateway.money(), there(AccountKind::kEscrow),
                          there(AccountKind::kPenaltyEscrow));
  });
  COMMENSAL_TRY(funded);
  for (const std::string& doubt : doubts) fmt::print(stderr, "note: {}\n", doubt);
  return {};
}

Result<std::string> money_note(GatewayArguments& options) {
  const daemon::GatewayDaemonConfig& daemon = options.daemon;
  const auto is_local_port = [](const std::string& address) {
    return address.empty() || tls::is_loopback(core::host_of(address));
  };
  const bool is_local = tls::is_loopback(daemon.http_address) &&
                        is_local_port(daemon.provider_address) &&
                        is_local_port(daemon.grpc_address);
  gateway::MoneyConfig& money = options.daemon.gateway.money;
  COMMENSAL_ASSIGN(const std::string kept,
                   settle_terms(*options.app, options.folder, is_local, money));
  const std::string about = words_about(money, options.daemon.gateway.audit_probability);
  return kept + (kept.empty() || about.empty() ? "" : "; ") + about;
}

/// Until a signal, or until it can't.
Result<int> serve(GatewayArguments& options, const Database& database) {
  COMMENSAL_ASSIGN(const std::string note, money_note(options));
  if (!note.empty()) fmt::print(stderr, "note: {}\n", note);
  EventLog log;
  options.daemon.engines = options.worker.engines({});
  options.daemon.store = database.store;
  if (database.standby) {
    COMMENSAL_ASSIGN(options.daemon.listeners, database.standby->listeners(*database.store));
  }
  COMMENSAL_ASSIGN(const auto daemon, start(options, log));
  options.daemon.store.reset();  // so that the lease is given back when the daemon has ended
  options.daemon.listeners.reset();
  COMMENSAL_TRY(settle_money(options, *daemon));
  if (database.standby) {
    database.store->publish(database.standby->addresses());
    database.standby->take_over(database.store->secret());
  }
  announce(options, *daemon);
  std::optional<core::Error> failure;
  wait_for_signal(1000, [&] {
    daemon->ask([&](gateway::Gateway& gateway) { failure = gateway.failure(); });
    if (!failure && database.store) failure = database.store->taken_over();
    return !failure;
  });
  if (!failure) {
    const EndingAtOnce ending;  // with another signal
    daemon->drain(limits::kDrainMs);
    // What it has said last to those that waited for it, before it wrote.
    if (database.standby) database.standby->drain(0);
    return 0;
  }
  return core::fail(failure->code, "{}: {}; nothing that was acknowledged is lost",
                    failure->message,
                    core::is_disk_full(*failure) ? "make room on its disk, then start it again"
                                                 : "start the gateway again");
}

Result<int> run(GatewayArguments& options) {
  hold_signals();
  const std::uint64_t files = core::raise_file_limit();
  if (files < limits::kFilesWanted) {
    fmt::print(stderr,
               "note: {} open files are allowed, {} serve all connections that the gateway keeps: "
               "raise `ulimit -Hn`, or LimitNOFILE of its unit\n",
               files, limits::kFilesWanted);
  }
  options.daemon.folder = options.folder;
  options.daemon.key = options.key.opener();
  COMMENSAL_ASSIGN(const core::Endpoint http, endpoint_of("--http", options.http));
  options.daemon.http_address = http.host;
  options.daemon.http_port = http.port;
  if (!options.metrics.empty()) {
    COMMENSAL_ASSIGN(const core::Endpoint metrics, endpoint_of("--metrics", options.metrics));
    options.daemon.metrics_address = metrics.text();
  }
  COMMENSAL_ASSIGN(const core::Endpoint providers, endpoint_of("--providers", options.providers));
  options.daemon.provider_address = providers.text();
  COMMENSAL_ASSIGN(options.daemon.grpc_address, grpc_address(options));
  COMMENSAL_ASSIGN(options.daemon.serving.observe.trace.send, options.trace.sender());
  // Before anything else: until then state and folder may be another gateway's.
  auto database = options.database.open(options.daemon);
  const bool is_told = !database && database.error().code == core::ErrorCode::kCancelled;
  if (is_told) return 0;
  if (!database) return tl::unexpected(database.error());
  return serve(options, *database);
}

void declare_ports(CLI::App& app, GatewayArguments& options) {
  app.add_option("--http", options.http, "IP:PORT for consumers, or localhost:PORT; port 0: any")
      ->capture_default_str();
  app.add_option(
         "--grpc", options.grpc,
         "The same for consumers that speak gRPC, as Triton's clients do; \"\" or off: none")
      ->capture_default_str();
  app.add_option("--providers", options.providers, "IP:PORT for providers, likewise")
      ->capture_default_str();
}

}  // namespace

Run declare_gateway(CLI::App& app) {
  const auto options = std::make_shared<GatewayArguments>();
  options->folder = state_folder("gateway").string();
  gateway::GatewayConfig& gateway = options->daemon.gateway;
  app.add_option("--data-dir", options->folder, "State: key, store, models")->capture_default_str();
  options->database.declare(app);
  options->key.declare(app);
  options->worker.declare(app);
  declare_ports(app, *options);
  declare_encryption(app, options->daemon);
  app.add_option("--audit-probability", gateway.audit_probability,
                 "Share of the receipts that are re-executed")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_flag(
      "--outside-auditors", gateway.outside_auditors,
      "Auditors with a stake here may audit answers of public models, whose inputs they see");
  app.add_option("--recheck-probability", gateway.recheck_probability,
                 "Share of what such an auditor confirms that is re-executed here too")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_flag("--audit-by-risk,!--no-audit-by-risk", gateway.audit_by_risk,
               "Re-execute more of them where the risk desk says so, and hold rollouts to their "
               "provider's stake (the default)");
  app.add_option("--turn-ms-max", options->daemon.turn_ms_max,
                 "Log turns of the loop that take more of the processor; 0: none")
      ->check(CLI::Range(0, 60'000))
      ->group("");
  app.add_option("--ops-max", gateway.ops_max,
                 "Operations that one step of a model may take; more is refused with 422")
      ->check(CLI::Range(std::int64_t{1}, limits::kStepOpsMax))
      ->capture_default_str();
  app.add_option("--silence-ms", gateway.silence_ms_max,
                 "A provider that holds a task longer without a word loses it")
      ->check(CLI::Range(1, 3'600'000))
      ->capture_default_str();
  app.add_option("--pause-ms", gateway.pause_ms_max,
                 "A request waits at most so long for providers that pause for their hosts")
      ->check(CLI::Range(1, 3'600'000))
      ->capture_default_str();
  declare_serving(app, options->daemon.serving);
  declare_page(app, options->daemon.page);
  declare_signup(app, gateway);
  declare_privacy_auditors(app, gateway.privacy_auditors);
  declare_observation(app, options->metrics, options->daemon.serving.observe);
  options->trace.declare(app, options->daemon.serving.observe.trace);
  declare_quotas(app, gateway.quotas);
  app.add_option("--receipts", gateway.receipts.records_max,
                 "Receipts that are kept; beyond that the oldest of the account that has most go")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 26))
      ->capture_default_str();
  app.add_option("--openings-bytes", gateway.receipts.opening_bytes_max,
                 "Likewise of the inputs and outputs that are kept with them")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 50))
      ->capture_default_str();
  app.add_option("--receipt-age-ms", gateway.receipts.age_ms_max, "Receipts go when they are older")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 42))
      ->capture_default_str();
  app.add_option("--private-idle-ms", gateway.private_idle_ms,
                 "Providers let go of private models that had no request for so long; 0: never")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 42))
      ->capture_default_str();
  options->app = &app;
  declare_money(app, gateway.money);
  app.add_flag("--json", options->json, "Print addresses as one line of JSON");
  return [options] { return run(*options); };
}

}  // namespace commensal::apps
