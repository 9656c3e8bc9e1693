// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/oip/batching_wire.hpp>
#include <set>

namespace commensal::oip {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using Said = inference::ModelDynamicBatching;

Result<QueuePolicy> policy_of(const inference::ModelQueuePolicy& said, std::string_view field) {
  constexpr auto kTimeoutUsMax = static_cast<std::uint64_t>(limits::kInferTimeoutMsMax) * 1000;
  if (said.default_timeout_microseconds() > kTimeoutUsMax) {
    return fail(ErrorCode::kInvalidArgument, "{}.default_timeout_microseconds is {}, at most {}",
                field, said.default_timeout_microseconds(), kTimeoutUsMax);
  }
  return QueuePolicy{.is_delayed = said.timeout_action() == inference::ModelQueuePolicy::DELAY,
                     .timeout_us = static_cast<std::int64_t>(said.default_timeout_microseconds()),
                     .may_override = said.allow_timeout_override(),
                     .queue_max = said.max_queue_size()};
}

Result<gateway::Batching> sizes_of(const Said& said, std::int64_t batch_max) {
  gateway::Batching made{.rows_max = static_cast<std::uint32_t>(batch_max), .preferred = {}};
  std::set<std::uint32_t> sizes;
  for (const std::int32_t size : said.preferred_batch_size()) {
    if (size < 1 || size > batch_max) {
      return fail(ErrorCode::kInvalidArgument,
                  "dynamic_batching.preferred_batch_size has {}, expected 1 to max_batch_size, "
                  "which is {}",
                  size, batch_max);
    }
    sizes.insert(static_cast<std::uint32_t>(size));
  }
  if (sizes.size() > limits::kPreferredSizesMax) {
    return fail(ErrorCode::kInvalidArgument,
                "dynamic_batching.preferred_batch_size has {} sizes, at most {}", sizes.size(),
                limits::kPreferredSizesMax);
  }
  made.preferred.assign(sizes.begin(), sizes.end());
  const std::uint64_t wait_us = said.max_queue_delay_microseconds();
  // Of a provider that has been busy for longer others think that something long holds it.
  constexpr std::uint64_t kLongestUs = 40'000;
  static_assert(kLongestUs < limits::kBatchWaitUsMax);
  if (wait_us > kLongestUs) {
    return fail(ErrorCode::kInvalidArgument,
                "dynamic_batching.max_queue_delay_microseconds is {}, at most {}", wait_us,
                kLongestUs);
  }
  if (wait_us > 0 && batch_max == 0) {
    return fail(ErrorCode::kInvalidArgument,
                "dynamic_batching.max_queue_delay_microseconds is {}, but max_batch_size is 0: "
                "nothing is known to be a batch",
                wait_us);
  }
  made.wait_us = static_cast<std::uint32_t>(wait_us);
  return made;
}

Result<void> read_levels(const Said& said, BatchingConfig& made) {
  const std::uint64_t levels = said.priority_levels(), usual = said.default_priority_level();
  if (levels > limits::kPriorityLevelsMax) {
    return fail(ErrorCode::kInvalidArgument, "dynamic_batching.priority_levels is {}, at most {}",
                levels, limits::kPriorityLevelsMax);
  }
  const bool is_level = levels == 0 ? usual == 0 : usual >= 1 && usual <= levels;
  if (!is_level) {
    return fail(ErrorCode::kInvalidArgument,
                "dynamic_batching.default_priority_level is {}, expected a level of the {} that "
                "priority_levels says",
                usual, levels);
  }
  made.levels = static_cast<std::uint32_t>(levels);
  made.default_level = static_cast<std::uint32_t>(usual);
  COMMENSAL_ASSIGN(made.policy,
                   policy_of(said.default_queue_policy(), "dynamic_batching.default_queue_policy"));
  for (const auto& [level, policy] : said.priority_queue_policy()) {
    const std::string field = fmt::format("dynamic_batching.priority_queue_policy[{}]", level);
    if (level < 1 || level > levels) {
      return fail(ErrorCode::kInvalidArgument,
                  "{}: expected a level of the {} that "
                  "priority_levels says",
                  field, levels);
    }
    COMMENSAL_ASSIGN(made.policies[static_cast<std::uint32_t>(level)], policy_of(policy, field));
  }
  return {};
}

/// A provider runs one batch at a time, which is within any bound of how many run at once.
Result<void> check_instances(const inference::ModelConfig& said) {
  for (const auto& group : said.instance_group()) {
    if (group.count() < 0) {
      return fail(ErrorCode::kInvalidArgument, "instance_group.count is {}, expected 0 or more",
                  group.count());
    }
    const char* const field = group.kind() == inference::ModelInstanceGroup::KIND_GPU ? "kind"
                              : !group.gpus().empty()                                 ? "gpus"
                              : !group.profile().empty()                              ? "profile"
                              : group.passive()                                       ? "passive"
                              : !group.host_policy().empty() ? "host_policy"
                                                             : nullptr;
    if (field == nullptr) continue;
    return fail(ErrorCode::kUnsupported,
                "instance_group.{} is not supported: providers run models on their processors, as "
                "their owners say",
                field);
  }
  return {};
}

}  // namespace

Result<BatchingConfig> batching_config(const inference::ModelConfig& said) {
  COMMENSAL_TRY(check_instances(said));
  for (const auto& input : said.input()) {
    if (!input.allow_ragged_batch()) continue;
    return fail(ErrorCode::kUnsupported,
                "allow_ragged_batch of '{}' is not supported: inputs of different shapes are run "
                "apart",
                input.name());
  }
  if (said.optimization().eager_batching())
    return fail(ErrorCode::kUnsupported, "optimization.eager_batching is not supported");
  const Said& dynamic = said.dynamic_batching();
  if (dynamic.preserve_ordering()) {
    return fail(ErrorCode::kUnsupported,
                "dynamic_batching.preserve_ordering is not supported: several providers answer as "
                "they are done (a ModelStreamInfer answers in order)");
  }
  BatchingConfig made;
  COMMENSAL_ASSIGN(const gateway::Batching sizes, sizes_of(dynamic, said.max_batch_size()));
  if (said.max_batch_size() > 0) made.batching = sizes;
  COMMENSAL_TRY(read_levels(dynamic, made));
  return made;
}

Scheduled schedule(const BatchingConfig& config, std::uint64_t priority, std::int64_t timeout_us) {
  Scheduled made;
  made.scheduling.batching = config.batching;
  const bool is_level = priority >= 1 && priority <= config.levels;
  made.scheduling.level = is_level ? static_cast<std::uint32_t>(priority) : config.default_level;
  const auto own = config.policies.find(made.scheduling.level);
  const QueuePolicy& policy = own == config.policies.end() ? config.policy : own->second;
  std::int64_t queue_us = policy.timeout_us;
  if (policy.may_override && timeout_us > 0 && timeout_us < queue_us) queue_us = timeout_us;
  made.scheduling.queue_max = policy.queue_max;
  made.scheduling.queue_timeout_ms = (queue_us + 999) / 1000;
  made.scheduling.is_delayed_then = policy.is_delayed;
  made.is_deadline = !(policy.may_override && policy.is_delayed);
  return made;
}

}  // namespace commensal::oip
