// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/serve/client/training/testing/scripted_gateway.hpp>
#include <commensal/verify/noise/noisy_session.hpp>
#include <commensal/verify/rollout/testing/rollout_fixture.hpp>
#include <cstring>
#include <limits>

namespace commensal::training::testing {

using client::RolloutInfo;
using core::Digest;
using core::ErrorCode;
using core::Result;
using tensor::Tensor;

namespace {

/// The first element of a tensor of floats is another one.
Tensor with_first(const Tensor& tensor, float value) {
  core::Bytes bytes(tensor.bytes().begin(), tensor.bytes().end());
  std::memcpy(bytes.data(), &value, sizeof value);
  return Tensor::copy_of(tensor.type(), bytes);
}

class Liar final : public rollout::Engine {
 public:
  Liar(std::unique_ptr<rollout::Engine> honest, const Act& act)
      : honest_(std::move(honest)), act_(act) {}
  const receipt::ModelRoots& roots() const override { return honest_->roots(); }
  const graph::Graph& graph() const override { return honest_->graph(); }
  Result<receipt::Values> run(std::uint64_t step, const receipt::Values& inputs,
                              const std::optional<noise::Noise>& noise,
                              const graph::RunOptions& options) override {
    COMMENSAL_ASSIGN(receipt::Values outputs, honest_->run(step, inputs, noise, options));
    if (act_.lie == Lie::kNone || step < act_.lies_from) return outputs;
    if (act_.lie == Lie::kCount) {
      const std::int64_t count = outputs[1].data<std::int64_t>()[0] - 1;
      outputs[1] = Tensor::of<std::int64_t>({}, std::span(&count, 1));
      return outputs;
    }
    const bool is_state = act_.lie == Lie::kState;
    Tensor& told = is_state ? outputs.back() : outputs.front();
    told = with_first(told, is_state ? 0.25f : std::numeric_limits<float>::quiet_NaN());
    return outputs;
  }

 private:
  const std::unique_ptr<rollout::Engine> honest_;
  const Act act_;
};

std::uint32_t place_in(const graph::Graph& graph, const std::vector<graph::ValueId>& ids,
                       const std::string& name) {
  const auto is_it = [&](graph::ValueId id) { return graph.name_of(id) == name; };
  return static_cast<std::uint32_t>(std::ranges::find_if(ids, is_it) - ids.begin());
}

}  // namespace

Result<client::ModelInfo> ScriptedGateway::model(const std::string& name) {
  if (!knows_models) return core::fail(ErrorCode::kUnavailable, "not now");
  if (graph_) return model_;
  return core::fail(ErrorCode::kNotFound, "unknown model {}", name);
}

Result<client::ModelInfo> ScriptedGateway::push(const client::PushRequest& request) {
  const auto bytes =
      std::make_shared<const core::Bytes>(request.bytes.begin(), request.bytes.end());
  COMMENSAL_ASSIGN(graph_, graph::onnx::import_bytes(*bytes, bytes));
  model_.name = request.model;
  model_.inputs.clear();
  for (const graph::ValueId id : graph_->inputs) {
    model_.inputs.push_back({.name = std::string(graph_->name_of(id)), .dims = {}});
  }
  ++model_.version;
  ++pushed;
  model_.is_private = request.is_private;
  model_.content = crypto::sha256(*bytes);
  return model_;
}

Result<client::ModelInfo> ScriptedGateway::allow(const std::string&,
                                                 const std::vector<crypto::Address>&) {
  return model_;
}

rollout::JobRecord ScriptedGateway::record_of(const client::RolloutOrder& order) {
  rollout::JobRecord record;
  record.inputs = order.inputs;
  record.input_salt = rng_.next_digest();
  const receipt::ModelRoots roots = receipt::model_roots(*graph_);
  protocol::Job& job = record.job;
  job.kind = protocol::JobKind::kRollout;
  job.graph_root = roots.graph;
  job.weight_root = roots.weights;
  job.numerics_version = kernels::kNumericsVersion;
  job.input_commitment =
      protocol::commit_input(receipt::state_root(record.inputs), record.input_salt);
  job.steps = order.steps;
  job.client = consumer_.address();
  job.provider = provider_.address();
  job.states = protocol::StateRule::kFinite;
  for (const auto& [output, input] : order.feeds) {
    job.feeds.push_back(
        {place_in(*graph_, graph_->outputs, output), place_in(*graph_, graph_->inputs, input)});
  }
  std::ranges::sort(job.feeds, {}, &protocol::Feed::input);
  return record;
}

std::vector<rollout::StepRecord> ScriptedGateway::made_of(const rollout::JobRecord& record,
                                                          const Act& act) {
  store::MemoryStore ours, theirs;
  auto client = rollout::ClientJob::start({consumer_, graph_, {}, &ours}, record);
  core::check(client.has_value(), "a scripted job fits");
  rollout::ProviderJob provider({rng_, provider_, &theirs}, record);
  auto session = noise::NoisySession::create(graph_, {}, record.job.feeds);
  core::check(session.has_value(), "a segment can be run");
  Liar engine(std::make_unique<rollout::SessionEngine>(
                  *std::move(session),
                  std::make_shared<const receipt::ModelLeaves>(receipt::model_leaves(*graph_))),
              act);
  std::vector<rollout::StepRecord> steps;
  for (std::uint64_t i = 1; i <= std::min(act.made, record.job.steps); ++i) {
    const auto made = rollout::testing::make_step(*client, provider, engine);
    core::check(made.has_value(), made ? "" : made.error().message);
    steps.push_back(*rollout::JobRows(ours, client->job_id()).step(i));
  }
  return steps;
}

Result<RolloutInfo> ScriptedGateway::start_rollout(const client::RolloutOrder& order) {
  if (is_away) {
    clock_.advance_ms(60'000);
    return core::fail(ErrorCode::kUnavailable, "nobody is there");
  }
  for (const auto& [id, kept] : kept_) {
    if (kept.info.key == order.key) return kept.info;
  }
  ++started;
  Act act;
  if (!script.empty()) {
    act = script.front();
    script.pop_front();
  }
  Kept made;
  made.record = record_of(order);
  made.steps = made_of(made.record, act);
  RolloutInfo& info = made.info;
  info.id = protocol::job_id(made.record.job);
  info.key = order.key;
  info.provider = provider_.address();
  info.state = "running";
  info.steps = order.steps;
  info.steps_done = info.trusted_steps = made.steps.size();
  info.confirmed_steps = std::min(act.confirmed, info.steps_done);
  info.audits_matched = std::min(act.matched, info.steps_done);
  made.open = act.open;
  made.last = info;
  made.last.state = act.state;
  made.last.reason = act.reason;
  made.last.reason_code = act.reason_code;
  made.last.trusted_steps = std::min(act.trusted, info.steps_done);
  made.last.confirmed_steps = std::min(act.confirmed, made.last.trusted_steps);
  made.last.audits_matched = std::min(act.matched, made.last.trusted_steps);
  if (act.moves) {
    info.provider = refuser_;
    info.steps_done = info.trusted_steps = info.confirmed_steps = info.audits_matched = 0;
  }
  ids_.push_back(info.id);
  const RolloutInfo shown = kept_.emplace(info.id, std::move(made)).first->second.info;
  if (const auto found = falls.find(started); found != falls.end()) fall(found->second);
  if (act.is_unanswered) return core::fail(ErrorCode::kUnavailable, "no answer");
  return shown;
}

void ScriptedGateway::fall(const Fall& fall) {
  Kept& kept = kept_.at(ids_.at(fall.of));
  kept.open = fall.open;
  for (RolloutInfo* const info : {&kept.info, &kept.last}) {
    info->trusted_steps = std::min(info->trusted_steps, fall.trusted);
    info->confirmed_steps = std::min(info->confirmed_steps, fall.trusted);
    info->audits_matched = std::min(info->audits_matched, fall.trusted);
    info->state = fall.state;
    info->reason = fall.reason;
  }
}

Result<ScriptedGateway::Kept*> ScriptedGateway::find(const Digest& id) {
  const auto found = kept_.find(id);
  if (found != kept_.end()) return &found->second;
  return core::fail(ErrorCode::kNotFound, "unknown rollout {}", core::to_hex(id));
}

Result<RolloutInfo> ScriptedGateway::rollout(const Digest& id, std::uint64_t, std::int64_t) {
  COMMENSAL_ASSIGN(Kept* const kept, find(id));
  kept->info = kept->last;
  if (kept->open > 0) {
    --kept->open;
    kept->info.audits_open = 1;
    kept->info.trusted_steps = std::min(kept->info.trusted_steps, kept->info.steps_done - 1);
    kept->info.confirmed_steps = std::min(kept->info.confirmed_steps, kept->info.trusted_steps);
  }
  return kept->info;
}

Result<std::vector<RolloutInfo>> ScriptedGateway::rollouts(const std::string& key_prefix) {
  std::vector<RolloutInfo> list;
  for (const auto& [id, kept] : kept_) {
    if (kept.info.key.starts_with(key_prefix)) list.push_back(kept.info);
  }
  return list;
}

Result<void> ScriptedGateway::cancel_rollout(const Digest& id) {
  COMMENSAL_ASSIGN(Kept* const kept, find(id));
  if (refuses > 0) {
    --refuses;
    clock_.advance_ms(1'000);
    return core::fail(ErrorCode::kUnavailable, "not now");
  }
  ++cancelled;
  kept->last.state = "cancelled";
  kept->info = kept->last;
  return {};
}

Result<core::Bytes> ScriptedGateway::rollout_record(const Digest& id) {
  COMMENSAL_ASSIGN(const Kept* const kept, find(id));
  return protocol::encode_stored(kept->record);
}

Result<core::Bytes> ScriptedGateway::rollout_step(const Digest& id, std::uint64_t step) {
  COMMENSAL_ASSIGN(const Kept* const kept, find(id));
  if (step >= 1 && step <= kept->steps.size())
    return protocol::encode_stored(kept->steps[step - 1]);
  return core::fail(ErrorCode::kNotFound, "step {} is not delivered", step);
}

}  // namespace commensal::training::testing
