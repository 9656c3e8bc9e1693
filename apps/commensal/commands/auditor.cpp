// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/cases.hpp>
#include <apps/commensal/key_options.hpp>
#include <apps/common/command.hpp>
#include <apps/common/log.hpp>
#include <apps/common/service.hpp>
#include <apps/common/worker_options.hpp>
#include <commensal/base/store/state_folder.hpp>
#include <cstdio>
#include <memory>

namespace commensal::apps {
namespace {

using core::Result;

constexpr int kPauseMs = 50;  // where no audit waits

struct AuditorArguments {
  Connection connection;
  std::string folder;
  KeyOptions key;
  WorkerOptions worker;
  bool json = false;
};

/// What does not get better by itself: the wrong token, role or address.
bool is_final(core::ErrorCode code) {
  using enum core::ErrorCode;
  return code == kUnauthenticated || code == kPermissionDenied || code == kNotFound ||
         code == kUnsupported || code == kDataLoss;
}

/// Audits one after the other, as the gateway gives them.
class Audits {
 public:
  Audits(client::Client client, core::Path folder, const crypto::SecretKey& key,
         std::shared_ptr<rollout::EngineFactory> engines)
      : client_(std::move(client)),
        key_(key),
        litigant_(client_, std::move(folder), key, std::move(engines)) {}

  /// So that it may be drawn in the ledger, with all of its stake.
  Result<void> enlist() {
    COMMENSAL_ASSIGN(const Json now, balances_of(client_, crypto::to_text(key_.address())));
    const std::string stake = text_in(now.value("balances", Json::object()), "stake");
    if (stake.empty() || stake == text_in(now, "listed")) return {};
    COMMENSAL_TRY(litigant_.book(ledger::Enlist{}));
    say(fmt::format("on the list of auditors from now on, with a stake of {}", stake));
    return {};
  }
  /// Whether there is one.
  Result<bool> find() {
    if (!next_.empty() || brief_) return true;
    COMMENSAL_ASSIGN(brief_, litigant_.next());
    if (!brief_) {
      COMMENSAL_ASSIGN(next_, client_.take_audit(key_.address()));
    }
    return !next_.empty() || brief_;
  }
  /// The one that was found, or what it is accused of itself.
  Result<void> audit() {
    if (brief_) return defend(*std::exchange(brief_, std::nullopt));
    const core::Bytes bytes = std::exchange(next_, {});
    COMMENSAL_ASSIGN(const auto given, protocol::decode<receipt::Assignment>(bytes));
    COMMENSAL_TRY(receipt::check_assignment(given));
    const core::Digest receipt = protocol::receipt_id(given.receipt.body());
    COMMENSAL_ASSIGN(const core::Path model,
                     litigant_.model_file(given.model, given.version, given.content));
    COMMENSAL_ASSIGN(
        const core::Digest root,
        litigant_.replayer().replay(given.task, model, {.ops_max = limits::kReplayOpsMax}));
    if (given.accuser) {
      COMMENSAL_TRY(litigant_.book(ledger::Report{given.subject(), *given.accuser, root}));
    } else {
      COMMENSAL_TRY(client_.answer_audit(protocol::sign_report(key_, {receipt, root, {}, {}})));
    }
    say(fmt::format("receipt {}: step {} of {} computed again{}", core::to_hex(receipt),
                    given.task.step, given.model,
                    !given.accuser ? ""
                    : given.report ? ", and reported: its auditor is accused"
                                   : ", and reported: its provider is accused"));
    ++done_;
    return {};
  }
  std::uint64_t done() const { return done_; }

 private:
  /// As a provider would: everybody answers for what it has signed.
  Result<void> defend(const cases::Brief& brief) {
    if (!brief.task) {
      return core::fail(core::ErrorCode::kDataLoss, "the gateway gave a case without its step");
    }
    COMMENSAL_ASSIGN(const std::string said,
                     litigant_.answer(brief, arbiter::Side::kProvider, *brief.task));
    say(fmt::format("accused of a false report, {}: {}", protocol::name_of(brief.status), said));
    return {};
  }

  client::Client client_;
  const crypto::SecretKey& key_;
  Litigant litigant_;
  core::Bytes next_;
  std::optional<cases::Brief> brief_;
  std::uint64_t done_ = 0;
};

Result<int> run(const AuditorArguments& options) {
  hold_signals();
  COMMENSAL_ASSIGN(client::Client client, connect(options.connection));
  core::SystemRng rng;
  COMMENSAL_ASSIGN(const auto folder,
                   store::StateFolder::open(options.folder, "auditor", rng, options.key.opener()));
  const std::string address = crypto::to_text(folder.key().address());
  Audits audits(std::move(client), options.folder, folder.key(), options.worker.engines({}));
  Result<bool> found = audits.find();
  bool is_at_work = false;
  // Later on it may be that its stake is gone, or on its way out: it still answers for what it
  // said.
  const auto is_over = [&] {
    const bool may_pass =
        is_at_work && !found && found.error().code == core::ErrorCode::kPermissionDenied;
    return !found && !may_pass && is_final(found.error().code);
  };
  if (is_over()) return tl::unexpected(found.error());
  if (const auto listed = audits.enlist(); !listed) {
    fmt::print(stderr, "not on the list of auditors: {}\n", listed.error().message);
  }
  if (options.json) {
    fmt::print("{}\n", Json{{"auditing", true}, {"address", address}}.dump());
  } else {
    fmt::print("auditor {} audits until it is stopped\n", address);
  }
  std::fflush(stdout);
  std::string last_error;
  is_at_work = true;
  wait_for_signal(kPauseMs, [&] {
    found = audits.find();
    Result<void> done;
    // Not for ever: a signal is looked at in between.
    for (int i = 0; done && found && *found && i < 100; ++i) {
      done = audits.audit();
      found = audits.find();
    }
    if (is_over()) return false;
    const std::string error = done ? found ? "" : found.error().message : done.error().message;
    if (error != last_error && !error.empty()) fmt::print(stderr, "{}\n", error);
    last_error = error;
    return true;
  });
  fmt::print(stderr, "{} audits done\n", audits.done());
  if (is_over()) return tl::unexpected(found.error());
  return 0;
}

}  // namespace

Run declare_auditor(CLI::App& app) {
  const auto options = std::make_shared<AuditorArguments>();
  options->folder = state_folder("auditor").string();
  options->connection.declare(app);
  app.add_option("--data-dir", options->folder, "State: key, models that were fetched")
      ->capture_default_str();
  options->key.declare(app);
  options->worker.declare(app);
  app.add_flag("--json", options->json, "Print one line of JSON once it is at work");
  return [options] { return run(*options); };
}

}  // namespace commensal::apps
