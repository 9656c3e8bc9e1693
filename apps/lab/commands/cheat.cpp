// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <apps/common/command.hpp>
#include <apps/common/log.hpp>
#include <apps/common/service.hpp>
#include <cmath>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/network.hpp>
#include <commensal/base/protocol/amount.hpp>
#include <commensal/lab/sim/adversaries.hpp>
#include <commensal/lab/sim/training_cheats.hpp>
#include <commensal/serve/daemon/provider_daemon.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::Result;
using Json = nlohmann::ordered_json;

constexpr int kLookEveryMs = 200;

struct CheatArguments {
  daemon::ProviderDaemonConfig daemon;
  std::string folder;
  std::string stake = "1000000";
  std::string lie;  // about trainings; "": all answers are in bfloat16
  sim::TrainingCheatRequest training;
  bool json = false;
};

Result<std::unique_ptr<rollout::EngineFactory>> engines_of(CheatArguments& options) {
  if (options.lie.empty()) return sim::make_bf16_cheat();
  const auto names = sim::enum_names(sim::TrainingLie{});
  const auto found = std::ranges::find(names, options.lie);
  if (found == names.end()) {
    return core::fail(core::ErrorCode::kInvalidArgument, "--lie '{}', expected one of {}",
                      options.lie, fmt::join(names, ", "));
  }
  options.training.lie = static_cast<sim::TrainingLie>(found - names.begin());
  const double rate = options.training.rate;
  if (options.training.lie == sim::TrainingLie::kOtherRate && !(std::isfinite(rate) && rate > 0)) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "--lie other-rate doubles the rate that the training has: expected it as "
                      "--lie-rate, above 0");
  }
  return sim::make_training_cheat(options.training);
}

Result<void> settle(CheatArguments& options) {
  const auto where = core::Endpoint::parse(options.daemon.gateway);
  if (!where || where->port == 0) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "--gateway '{}', expected HOST:PORT of the gateway's port for providers",
                      options.daemon.gateway);
  }
  options.daemon.folder = options.folder;
  COMMENSAL_ASSIGN(options.daemon.purse.stake, protocol::amount_from_text(options.stake));
  return {};
}

void announce(const CheatArguments& options, const crypto::Address& address) {
  const std::string text = crypto::to_text(address);
  if (options.json) {
    fmt::print("{}\n", Json({{"address", text}, {"gateway", options.daemon.gateway}}).dump());
  } else {
    fmt::print("cheat {} connecting to {}\n", text, options.daemon.gateway);
  }
  std::fflush(stdout);
}

Result<int> run(CheatArguments& options) {
  hold_signals();
  COMMENSAL_TRY(settle(options));
  COMMENSAL_ASSIGN(auto engines, engines_of(options));
  COMMENSAL_ASSIGN(const auto daemon,
                   daemon::ProviderDaemon::start(options.daemon, std::move(engines)));
  announce(options, daemon->address());
  std::string accusation;
  wait_for_signal(kLookEveryMs, [&] {
    const provider::ProviderStatus status = daemon->status();
    if (status.accusation != accusation) say(status.accusation);
    accusation = status.accusation;
    return true;
  });
  return 0;
}

}  // namespace

Run declare_cheat(CLI::App& app) {
  const auto options = std::make_shared<CheatArguments>();
  options->folder = state_folder("cheat").string();
  options->daemon.gateway = "127.0.0.1:8090";
  options->daemon.name = "cheat";
  app.add_option("--gateway", options->daemon.gateway,
                 "HOST:PORT of the gateway's provider stream, with TLS unless it is on loopback")
      ->capture_default_str();
  app.add_option("--data-dir", options->folder, "State: key, store, cached models")
      ->capture_default_str();
  app.add_option("--stake", options->stake,
                 "Locked as soon as the gateway's ledger has so much for it: what it loses")
      ->capture_default_str();
  app.add_option("--hash-chain-depth", options->daemon.purse.hash_chain_depth,
                 "The hash chain for a new gateway lasts 2^DEPTH rounds")
      ->check(CLI::Range(1, limits::kHashChainDepthMax))
      ->capture_default_str();
  app.add_option("--lie", options->lie,
                 "Lie about trainings alone: wrong-step, skipped-step, other-rate, other-data, "
                 "nan-loss or other-count");
  app.add_option("--lie-from", options->training.from, "The first segment that is a lie")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--lie-rate", options->training.rate,
                 "The rate of the training, which other-rate doubles");
  app.add_flag("--json", options->json, "Print the address as one line of JSON");
  return [options] { return run(*options); };
}

}  // namespace commensal::apps
