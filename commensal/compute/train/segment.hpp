// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/tensor/named.hpp>
#include <commensal/compute/train/trainer.hpp>

namespace commensal::train {

/// Some steps of a training as a model of its own, whose runs are the steps of a rollout: it takes
/// the state before them and makes their losses and the state after them. All that decides the
/// steps is in it: the step as a function that is called once for each, hyper-parameters as
/// constants, the data, and which samples each step takes (a row of a table, found by the count of
/// steps in the state). So its roots bind all of that, and whatever audits or disputes a model can
/// do so with it.
/// Inputs: how many steps are done (int64), then the step's state under its own names, but its
/// count. Outputs: the losses, one a step, then the inputs' next values, called
/// commensal.next.NAME.
struct Segment {
  core::Bytes model;               // ONNX
  std::int64_t each = 0;           // steps
  std::vector<std::string> state;  // its inputs
};
inline constexpr const char* kSegmentLosses = "commensal.losses";
inline constexpr const char* kSegmentSteps = "commensal.steps";
std::string next_of(const std::string& state);
/// Inside it: samples of the step's input i, and entry i of the state after step j, j >= 1.
std::string segment_data_name(std::size_t i);
std::string segment_state_name(std::int64_t j, std::size_t i);

/// `each` is at most the steps that the trainer has not done: as many runs as there are whole
/// segments in those; what is left then is another model.
/// Errors, one line: kInvalidArgument, kUnsupported (an operator that is not in a file's opset),
/// kResourceExhausted (a model above limits::kModelBytesMax).
core::Result<Segment> make_segment(const Trainer& trainer, std::int64_t each);

/// What divides `steps` best: about `wanted` a segment, between half and twice as many where that
/// leaves no shorter one behind, at most `most`, and an eighth, so that there are several to audit
/// and to go back to. Precondition: all at least 1.
std::int64_t best_length(std::int64_t steps, std::int64_t wanted, std::int64_t most);
/// So many that hashing the state once costs about a thousandth of their computing (best_length).
/// Depends on the training alone, unless the trainer has done steps that are no multiple: then on
/// what is left. No more than are left. Errors: those of inferring the step's types.
core::Result<std::int64_t> segment_length(const Trainer& trainer);
/// Of the step graph's inputs.
std::vector<tensor::TensorType> step_types(const Trainer& trainer);

/// The trainer's state as a segment's inputs.
tensor::NamedTensors segment_inputs(const Trainer& trainer);
/// The trainer goes on from what a segment made, named as its outputs, whether that lies ahead of
/// it or behind: `done` steps are done then. Errors: kInvalidArgument (other names or types,
/// another count, steps whose losses the trainer lacks), those of Trainer::take.
core::Result<void> take_segment(Trainer& trainer, const tensor::NamedTensors& outputs,
                                std::int64_t done);
/// Whether the trainer stands, to the bit, in the state that a segment with these outputs ends in.
bool is_at_end_of(const Trainer& trainer, const tensor::NamedTensors& outputs);

}  // namespace commensal::train
