// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/commensal/connection.hpp>
#include <apps/commensal/model_name.hpp>
#include <apps/commensal/privacy_options.hpp>
#include <apps/commensal/rollout_summary.hpp>
#include <apps/common/command.hpp>
#include <apps/common/feeds.hpp>
#include <apps/common/log.hpp>
#include <apps/common/outputs.hpp>
#include <apps/common/progress.hpp>
#include <apps/common/rollout_job.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/serve/client/ask_again.hpp>
#include <commensal/serve/client/training/http_gateway.hpp>
#include <commensal/serve/client/training/rollout_steps.hpp>
#include <cstdio>
#include <memory>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using core::Result;
using Json = nlohmann::ordered_json;

struct RolloutArguments {
  RolloutJob job;
  Connection connection;
  std::string key;
  std::string privacy_class;
};

constexpr std::int64_t kWaitMs = 2'000;      // for news, at a time
constexpr std::int64_t kAwayMsMax = 60'000;  // a gateway that is away for longer is given up

Result<client::RolloutOrder> order_for(const RolloutArguments& options,
                                       const client::ModelInfo& model) {
  const RolloutJob& job = options.job;
  const graph::Graph ports = ports_graph(model);
  client::RolloutOrder order;
  order.model = model.name;
  order.version = model.version;
  core::SystemRng rng;
  order.key = options.key.empty() ? core::to_hex(rng.next_digest()).substr(0, 32) : options.key;
  order.steps = job.steps;
  COMMENSAL_ASSIGN(const auto feeds, read_feeds(ports, job.state));
  for (const protocol::Feed& feed : feeds) {
    order.feeds.emplace_back(model.outputs[feed.output].name, model.inputs[feed.input].name);
  }
  COMMENSAL_ASSIGN(order.noise, read_noise(job.noise));
  COMMENSAL_TRY(read_state_rule(job.states));
  order.states = !order.noise && job.states == "movable" ? "finite" : job.states;
  order.audit_probability = job.audit_probability;
  order.privacy_class = options.privacy_class;
  COMMENSAL_ASSIGN(order.inputs, rollout_inputs(ports, job.inputs));
  return order;
}

void stream(const client::RolloutInfo& info) {
  fmt::print("{}\n", Json{{"step", info.steps_done},
                          {"state", core::to_hex(info.final_state)},
                          {"audits", info.audits_matched + info.mismatches.size()},
                          {"mismatches", info.mismatches.size()}}
                         .dump());
  std::fflush(stdout);
}

void print(const RolloutJob& job, const client::RolloutInfo& info) {
  if (job.json) {
    fmt::print("{}\n", summary_of(info).dump(2));
  } else if (!job.streams) {
    fmt::print("{} of {} steps, {}{}{}\njob {}\nfinal state {}\n{} audits, {} mismatches\n",
               info.steps_done, info.steps, info.state, info.reason.empty() ? "" : ": ",
               info.reason, core::to_hex(info.id), core::to_hex(info.final_state),
               info.audits_matched + info.mismatches.size(), info.mismatches.size());
  }
}

Result<client::RolloutInfo> follow(const RolloutJob& job, training::Gateway& gateway,
                                   client::RolloutInfo info) {
  const core::SystemClock clock;
  Progress progress("rollout");
  while (!info.is_over()) {
    const std::uint64_t seen = info.steps_done;
    COMMENSAL_ASSIGN(info, client::ask_again(clock, kAwayMsMax, [&] {
                       return gateway.rollout(info.id, seen, kWaitMs);
                     }));
    progress.show(info.steps_done, info.steps);
    if (job.streams && info.steps_done > seen) stream(info);
  }
  return info;
}

Result<void> save(const RolloutJob& job, training::Gateway& gateway,
                  const client::RolloutOrder& order, const client::RolloutInfo& info) {
  if (job.output_dir.empty() || info.steps_done == 0) return {};
  const core::SystemClock clock;
  const auto open = [&](const rollout::JobRecord& record) {
    return rollout::SignedSteps::open(record, info.provider, order.inputs);
  };
  COMMENSAL_ASSIGN(
      const auto outputs,
      training::RolloutSteps(gateway, clock, info.id, open, kAwayMsMax).outputs(info.steps_done));
  return write_outputs(outputs, job.output_dir);
}

// Once it has begun, goes on asking while the gateway is away.
Result<int> run(const RolloutArguments& options) {
  const RolloutJob& job = options.job;
  COMMENSAL_ASSIGN(ModelName named, read_model_name(job.model));
  COMMENSAL_ASSIGN(client::Client client, connect(options.connection));
  COMMENSAL_ASSIGN(named.model, full_model_name(client, named.model));
  COMMENSAL_ASSIGN(const auto model, look_up(client, named));
  COMMENSAL_ASSIGN(const auto order, order_for(options, model));
  COMMENSAL_ASSIGN(auto begun, client.start_rollout(order));
  if (begun.audit_probability > order.audit_probability) {
    say(
        fmt::format("a step is audited with probability {:.3g}, at the gateway's cost: with {:.3g} "
                    "false ones would pay a provider of this stake",
                    begun.audit_probability, order.audit_probability));
  }
  training::HttpGateway gateway(client);
  COMMENSAL_ASSIGN(const auto info, follow(job, gateway, std::move(begun)));
  COMMENSAL_TRY(save(job, gateway, order, info));
  print(job, info);
  if (!info.mismatches.empty()) return 2;
  if (info.state == "finished") return 0;
  return core::fail(ErrorCode::kFailedPrecondition, "step {} was not made: {}", info.steps_done + 1,
                    info.reason);
}

}  // namespace

Run declare_rollout(CLI::App& app) {
  const auto options = std::make_shared<RolloutArguments>();
  options->job.declare(app, "[OWNER/]MODEL[:VERSION], as it was pushed");
  options->connection.declare(app);
  app.add_option("--key", options->key, "A name for this rollout; the same again goes on with it");
  declare_privacy_class(app, options->privacy_class);
  return [options] { return run(*options); };
}

}  // namespace commensal::apps
