// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits_disputes.hpp>
#include <commensal/verify/receipt/opening.hpp>
#include <vector>

/// Where a step's inputs come from, shown to whoever has neither the model nor the tensors: a
/// ledger. Pure functions; docs/verification.md, "Rollouts".
namespace commensal::receipt {

/// A tensor in full, or by what its root is made of.
struct ShownTensor {
  std::string name;
  tensor::TensorType type;
  core::Bytes elements;          // all of them, or
  core::Digest elements_root{};  // where these are not shown; else zero

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("name", self.name);
    archive.field("type", self.type);
    archive.field("elements", self.elements);
    archive.field("elements_root", self.elements_root);
  }
};

/// A StepTask without its job and step, and with those tensors in full that noise goes onto.
struct Origin {
  static constexpr std::string_view kRecord = "origin";

  core::Digest value{};
  core::Digest input_salt{};
  std::vector<ShownTensor> inputs;
  std::optional<protocol::Receipt> before;
  core::Digest salt_before{};
  std::vector<ShownTensor> outputs_before;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("value", self.value);
    archive.field("input_salt", self.input_salt);
    archive.field("inputs", self.inputs);
    archive.field("before", self.before);
    archive.field("salt_before", self.salt_before);
    archive.field("outputs_before", self.outputs_before);
  }
};

/// Of states beyond limits::kOriginStateBytesMax no elements are shown.
Origin origin_of(const StepTask& task);
/// The same without any elements.
Origin roots_of(const StepTask& task);

/// That everything in it is what both parties have agreed on, as check_task() says.
core::Result<void> check_origin(const Origin& origin, const protocol::Job& job, std::uint64_t step);
/// check_origin(), then the root of X_i with its noise. Errors besides: kUnsupported where noise
/// goes onto a value inside the graph, or onto more than limits::kOriginStateBytesMax: nobody can
/// show it; kInvalidArgument where what noise goes onto is not shown.
core::Result<core::Digest> input_root_of(const Origin& origin, const protocol::Job& job,
                                         std::uint64_t step);

/// What goes into a step, noise apart: `inputs`, those of the fed places taken from `before`.
/// `Named` is a tensor with a name. Error: kInvalidArgument.
template <class Named>
core::Result<std::vector<Named>> fed(const protocol::Job& job, std::uint64_t step,
                                     std::vector<Named> inputs, const std::vector<Named>& before) {
  if (step == 1) return inputs;
  for (const protocol::Feed& feed : job.feeds) {
    if (feed.input >= inputs.size() || feed.output >= before.size()) {
      return core::fail(core::ErrorCode::kInvalidArgument,
                        "step {}: no output {} or no input {} to feed it to", step, feed.output,
                        feed.input);
    }
    std::string name = std::move(inputs[feed.input].name);
    inputs[feed.input] = before[feed.output];
    inputs[feed.input].name = std::move(name);
  }
  return inputs;
}

/// Whether noise goes onto the input at this place: noise::noisy_inputs, without a graph.
bool takes_noise(const protocol::Job& job, std::uint32_t place, tensor::DType dtype);

}  // namespace commensal::receipt
