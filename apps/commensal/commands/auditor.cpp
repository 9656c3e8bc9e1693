// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/connection.hpp>
#include <apps/commensal/service.hpp>
#include <apps/common/command.hpp>
#include <apps/common/log.hpp>
#include <apps/common/worker_options.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/verify/rollout/replayer.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::Result;

constexpr int kPauseMs = 50;  // where no audit waits

struct AuditorArguments {
  Connection connection;
  std::string folder;
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
  Audits(client::Client client, core::Path folder, std::shared_ptr<rollout::EngineFactory> engines)
      : client_(std::move(client)), folder_(std::move(folder)), replayer_(std::move(engines)) {}

  /// Whether there is one.
  Result<bool> find() {
    if (next_.empty()) {
      COMMENSAL_ASSIGN(next_, client_.take_audit());
    }
    return !next_.empty();
  }
  /// The one that was found.
  Result<void> audit() {
    const core::Bytes bytes = std::exchange(next_, {});
    COMMENSAL_ASSIGN(const auto given, protocol::decode<receipt::Assignment>(bytes));
    COMMENSAL_ASSIGN(const core::Path model, model_file(given));
    COMMENSAL_ASSIGN(const core::Digest root,
                     replayer_.replay(given.task, model, {.ops_max = limits::kReplayOpsMax}));
    COMMENSAL_TRY(client_.answer_audit(given.receipt, root));
    say(fmt::format("receipt {}: step {} of {} computed again", core::to_hex(given.receipt),
                    given.task.step, given.model));
    ++done_;
    return {};
  }
  std::uint64_t done() const { return done_; }

 private:
  Result<core::Path> model_file(const receipt::Assignment& given) {
    const core::Path path = folder_ / (core::to_hex(given.content) + ".onnx");
    if (std::filesystem::exists(path)) return path;
    COMMENSAL_ASSIGN(const core::Bytes bytes, client_.model_content(given.model, given.version));
    if (crypto::sha256(bytes) != given.content) {
      return core::fail(core::ErrorCode::kDataLoss, "the file of '{}' is not the receipt's model",
                        given.model);
    }
    COMMENSAL_TRY(core::write_file_atomically(path, bytes));
    return path;
  }

  client::Client client_;
  core::Path folder_;
  core::Bytes next_;
  rollout::Replayer replayer_;
  std::uint64_t done_ = 0;
};

Result<int> run(const AuditorArguments& options) {
  hold_signals();
  COMMENSAL_ASSIGN(client::Client client, connect(options.connection));
  std::error_code failed;
  std::filesystem::create_directories(options.folder, failed);
  Audits audits(std::move(client), options.folder, options.worker.engines({}));
  Result<bool> found = audits.find();
  const auto is_over = [&] { return !found && is_final(found.error().code); };
  if (is_over()) return tl::unexpected(found.error());
  if (options.json) {
    fmt::print("{}\n", nlohmann::json{{"auditing", true}}.dump());
  } else {
    fmt::print("audits until it is stopped\n");
  }
  std::fflush(stdout);
  std::string last_error;
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
  app.add_option("--data-dir", options->folder, "For models that were fetched")
      ->capture_default_str();
  options->worker.declare(app);
  app.add_flag("--json", options->json, "Print one line of JSON once it is at work");
  return [options] { return run(*options); };
}

}  // namespace commensal::apps
