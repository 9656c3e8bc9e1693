// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_rollouts.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/serve/gateway/ports.hpp>
#include <commensal/serve/gateway/rollout_plan.hpp>
#include <commensal/verify/noise/noise.hpp>
#include <commensal/verify/noise/targets.hpp>
#include <commensal/verify/rollout/client.hpp>

namespace commensal::gateway {

using core::ErrorCode;
using core::Result;

namespace {

Result<std::uint32_t> place_of(const std::vector<ModelPort>& ports, std::string_view what,
                               const std::string& name) {
  const auto found = std::ranges::find(ports, name, &ModelPort::name);
  if (found != ports.end()) return static_cast<std::uint32_t>(found - ports.begin());
  return core::fail(ErrorCode::kInvalidArgument, "the model has no {} '{}'", what, name);
}

Result<std::vector<protocol::Feed>> feeds_of(const ModelVersion& model,
                                             const RolloutRequest& request) {
  std::vector<protocol::Feed> feeds;
  for (const auto& [output, input] : request.feeds) {
    protocol::Feed feed;
    COMMENSAL_ASSIGN(feed.output, place_of(model.outputs, "output", output));
    COMMENSAL_ASSIGN(feed.input, place_of(model.inputs, "input", input));
    feeds.push_back(feed);
  }
  if (feeds.empty()) {
    return core::fail(ErrorCode::kInvalidArgument, "a rollout feeds at least one output back");
  }
  std::ranges::sort(feeds, {}, &protocol::Feed::input);
  return feeds;
}

Result<void> check_bounds(const RolloutRequest& request) {
  if (request.steps < 1 || request.steps > limits::kRolloutStepsMax) {
    return core::fail(ErrorCode::kInvalidArgument, "{} steps, expected 1 to {}", request.steps,
                      limits::kRolloutStepsMax);
  }
  if (request.noise_exponent &&
      (*request.noise_exponent < 0 || *request.noise_exponent > noise::kExponentMax)) {
    return core::fail(ErrorCode::kInvalidArgument, "noise {}, expected none or 0 to {}",
                      *request.noise_exponent, noise::kExponentMax);
  }
  if (!(request.audit_probability >= 0 && request.audit_probability <= 1)) {
    return core::fail(ErrorCode::kInvalidArgument, "an audit probability is 0 to 1");
  }
  if (request.key.size() > static_cast<std::size_t>(limits::kNameBytesMax) ||
      !protocol::is_utf8(request.key)) {
    return core::fail(ErrorCode::kInvalidArgument, "a key is at most {} bytes of UTF-8",
                      limits::kNameBytesMax);
  }
  return {};
}

}  // namespace

Result<RolloutPlan> plan_rollout(RolloutRequest request, ModelHub& hub,
                                 const PrivacyAuditors& privacy) {
  COMMENSAL_TRY(check_bounds(request));
  RolloutPlan plan;
  Order& order = plan.order;
  COMMENSAL_ASSIGN(order.model, hub.find(&request.account, request.model, request.version));
  const ModelVersion& model = order.model;
  COMMENSAL_ASSIGN(const auto served, hub.repository().config(model.name, model.version));
  COMMENSAL_ASSIGN(order.privacy_class,
                   privacy.class_for(model.name, served->privacy_class, request.privacy_class));
  COMMENSAL_ASSIGN(order.inputs, order_inputs(order.model, std::move(request.inputs)));
  COMMENSAL_ASSIGN(plan.feeds, feeds_of(order.model, request));
  COMMENSAL_TRY(
      noise::check_feeds(*outline_of(order.model.inputs, order.model.outputs), plan.feeds));
  plan.request = std::move(request);
  return plan;
}

rollout::JobRecord record_of(const RolloutPlan& plan, const core::Digest& input_salt,
                             const core::Digest& noise_key, const crypto::Address& client,
                             const crypto::Address& provider, const crypto::Address& auditor) {
  const RolloutRequest& request = plan.request;
  rollout::JobRecord record;
  record.inputs = plan.order.inputs;
  record.input_salt = input_salt;
  protocol::Job& job = record.job;
  job = job_for(plan.order, input_salt, client, provider, auditor);
  job.kind = protocol::JobKind::kRollout;
  // Its consumer knows that others replay its steps, unless model or inputs are not theirs to see.
  if (plan.order.is_public()) admit_all(job);
  job.steps = request.steps;
  job.states = request.states;
  job.feeds = plan.feeds;
  if (request.noise_exponent) {
    job.noise = protocol::NoisePolicy::kCalibrated;
    job.noise_exponent = static_cast<std::uint8_t>(*request.noise_exponent);
    job.noise_anchor = rollout::noise_chain(noise_key, job.steps).anchor();
  }
  return record;
}

rollout::JobRecord record_for(rollout::JobRecord record, const core::Digest& input_salt,
                              const core::Digest& noise_key, const crypto::Address& provider) {
  protocol::Job& job = record.job;
  record.input_salt = input_salt;
  job.input_commitment = protocol::commit_input(receipt::taken_root(record.inputs), input_salt);
  job.provider = provider;
  if (job.noise != protocol::NoisePolicy::kNone) {
    job.noise_anchor = rollout::noise_chain(noise_key, job.steps).anchor();
  }
  return record;
}

}  // namespace commensal::gateway
