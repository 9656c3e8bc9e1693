// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/trade/pay/beacon/hash_chain.hpp>
#include <commensal/verify/noise/noise.hpp>
#include <commensal/verify/receipt/origin.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::receipt {
namespace {

using core::Digest;
using core::ErrorCode;
using core::fail;
using core::Result;
using Shown = std::vector<ShownTensor>;

Shown by_roots(const tensor::NamedTensors& tensors) {
  Shown made;
  for (const auto& [name, value, root] : tensors) {
    made.push_back({name, value.type(), {}, elements_root(value)});
  }
  return made;
}

void show(ShownTensor& one, const tensor::Tensor& value) {
  one.elements.assign(value.bytes().begin(), value.bytes().end());
  if (!one.elements.empty()) one.elements_root = {};
}

/// Error: kInvalidArgument (elements that are none of its type).
Result<Digest> root_of(const ShownTensor& one) {
  if (one.elements.empty()) return tensor_root(one.type, one.elements_root);
  const bool is_whole = one.elements.size() == static_cast<std::uint64_t>(one.type.bytes());
  if (is_whole && noise::is_disturbable(one.type.dtype) && one.elements_root == Digest{}) {
    return tensor_root(tensor::Tensor::copy_of(one.type, one.elements));
  }
  return fail(ErrorCode::kInvalidArgument,
              "'{}': {} bytes shown of {}, expected all of a floating type, or none", one.name,
              one.elements.size(), one.type.text());
}

Result<Digest> root_of(const Shown& shown) {
  tensor::NamedTensors named;
  for (const ShownTensor& one : shown) {
    COMMENSAL_ASSIGN(const Digest root, root_of(one));
    named.push_back({one.name, {}, root});
  }
  return taken_root(named);
}

Result<void> check_before(const Origin& origin, const protocol::Job& job, std::uint64_t step) {
  if (step == 1) {
    if (!origin.before && origin.outputs_before.empty() && origin.salt_before == Digest{}) {
      return {};
    }
    return fail(ErrorCode::kInvalidArgument, "step 1 has none before it, but the task shows one");
  }
  if (!origin.before) {
    return fail(ErrorCode::kInvalidArgument, "step {}: the task lacks the step before it", step);
  }
  const protocol::Receipt& before = *origin.before;
  if (!(before.job == job) || before.step != step - 1) {
    return fail(ErrorCode::kInvalidArgument, "step {}: the receipt before it is of another step",
                step);
  }
  const protocol::ReceiptBody body = before.body();
  COMMENSAL_TRY(protocol::verify_receipt(before, body, protocol::kEmbeddedLedger, nullptr));
  COMMENSAL_ASSIGN(const Digest root, root_of(origin.outputs_before));
  if (protocol::commit_step(body.job_id, before.step, root, origin.salt_before) !=
      before.commitment) {
    return fail(ErrorCode::kDataLoss, "step {}: the state before does not open c_{}", step,
                before.step);
  }
  return {};
}

/// The places whose elements noise changes, of what goes into the step.
std::vector<std::uint32_t> moved_places(const protocol::Job& job, const Shown& given) {
  std::vector<std::uint32_t> places;
  for (std::uint32_t place = 0; place < given.size(); ++place) {
    if (takes_noise(job, place, given[place].type.dtype)) places.push_back(place);
  }
  return places;
}

bool is_too_much(const Shown& given, const std::vector<std::uint32_t>& places) {
  std::uint64_t bytes = 0;
  for (const std::uint32_t place : places) {
    const auto more = static_cast<std::uint64_t>(given[place].type.bytes());
    if (more > limits::kOriginStateBytesMax) return true;
    bytes += more;
  }
  return bytes > limits::kOriginStateBytesMax;
}

/// The tensor at a place, with its noise.
Result<void> move(ShownTensor& one, const noise::Noise& noise, std::uint32_t place) {
  if (one.type.bytes() == 0) return {};
  if (one.elements.empty()) {
    return fail(ErrorCode::kInvalidArgument, "'{}': noise goes onto it, but it is not shown",
                one.name);
  }
  COMMENSAL_ASSIGN(const tensor::Tensor sum,
                   noise::add(tensor::Tensor::copy_of(one.type, one.elements), noise.seed, place,
                              noise.exponent));
  show(one, sum);
  return {};
}

}  // namespace

bool takes_noise(const protocol::Job& job, std::uint32_t place, tensor::DType dtype) {
  const bool is_fed =
      std::ranges::find(job.feeds, place, &protocol::Feed::input) != job.feeds.end();
  return (job.feeds.empty() || is_fed) && noise::is_disturbable(dtype);
}

Origin roots_of(const StepTask& task) {
  return {task.value,  task.input_salt,  by_roots(task.inputs),
          task.before, task.salt_before, by_roots(task.outputs_before)};
}

Origin origin_of(const StepTask& task) {
  Origin made = roots_of(task);
  if (task.job.noise == protocol::NoisePolicy::kNone) return made;
  const auto given = fed(task.job, task.step, made.inputs, made.outputs_before);
  if (!given) return made;
  const auto places = moved_places(task.job, *given);
  if (is_too_much(*given, places)) return made;
  for (const std::uint32_t place : places) {
    const auto feed = std::ranges::find(task.job.feeds, place, &protocol::Feed::input);
    if (task.step == 1 || feed == task.job.feeds.end()) {
      show(made.inputs[place], task.inputs[place].value);
    } else {
      show(made.outputs_before[feed->output], task.outputs_before[feed->output].value);
    }
  }
  return made;
}

Result<void> check_origin(const Origin& origin, const protocol::Job& job, std::uint64_t step) {
  COMMENSAL_TRY(job.validity());
  if (step < 1 || step > job.steps) {
    return fail(ErrorCode::kInvalidArgument, "step {}, expected 1 to {}", step, job.steps);
  }
  if (step > limits::kRolloutStepsMax) {
    return fail(ErrorCode::kResourceExhausted, "step {}, at most {} are accepted", step,
                limits::kRolloutStepsMax);
  }
  const bool has_noise = job.noise != protocol::NoisePolicy::kNone;
  if (has_noise ? beacon::hash_back(origin.value, step) != job.noise_anchor
                : origin.value != Digest{}) {
    return fail(ErrorCode::kDataLoss, "step {}: the noise's value does not lead to its anchor",
                step);
  }
  COMMENSAL_ASSIGN(const Digest inputs, root_of(origin.inputs));
  if (protocol::commit_input(inputs, origin.input_salt) != job.input_commitment) {
    return fail(ErrorCode::kDataLoss, "step {}: the inputs do not open c_0", step);
  }
  return check_before(origin, job, step);
}

Result<Digest> input_root_of(const Origin& origin, const protocol::Job& job, std::uint64_t step) {
  COMMENSAL_TRY(check_origin(origin, job, step));
  COMMENSAL_ASSIGN(Shown given, fed(job, step, origin.inputs, origin.outputs_before));
  const auto noise = noise_of_step(job, protocol::job_id(job), step, origin.value);
  if (!noise) return root_of(given);
  const auto places = moved_places(job, given);
  if (places.empty()) {
    return fail(ErrorCode::kUnsupported, "step {}: its noise goes onto a value inside the graph",
                step);
  }
  if (is_too_much(given, places)) {
    return fail(ErrorCode::kUnsupported,
                "step {}: its noise goes onto more than the {} bytes that are shown", step,
                limits::kOriginStateBytesMax);
  }
  for (const std::uint32_t place : places) COMMENSAL_TRY(move(given[place], *noise, place));
  return root_of(given);
}

}  // namespace commensal::receipt
