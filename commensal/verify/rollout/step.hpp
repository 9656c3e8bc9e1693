// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits_rollouts.hpp>
#include <commensal/base/protocol/receipt.hpp>
#include <commensal/compute/tensor/named.hpp>
#include <commensal/verify/noise/noisy_session.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <optional>

namespace commensal::rollout {

// Step i of a rollout: Y_i = F(X_i + noise(seed_i)). X_i is the client's inputs, with the outputs
// of step i-1 in the places that the job's feeds name. Pure functions; docs/verification.md,
// "Rollouts".

using Values = std::vector<tensor::Tensor>;  // in the graph's order

/// X_i before noise. `previous` are the outputs of step i-1, null for step 1.
/// Precondition: feeds, inputs and outputs fit the graph (noise::check_feeds, Session::run).
Values inputs_of_step(const protocol::Job& job, const Values& inputs, const Values* previous);

/// The noise of a step whose chain value the client has shown; none where the job has none.
std::optional<noise::Noise> noise_of_step(const protocol::Job& job, const core::Digest& job_id,
                                          std::uint64_t step, const core::Digest& value);

/// That the fed outputs are states that the job allows. kMovable: a floating format of p binary
/// digits may hold less than 2^(p - exponent) in magnitude, where neighbours are at most
/// 2^-exponent apart. Error: kInvalidArgument, naming step, output and element.
core::Result<void> check_state(const protocol::Job& job, const graph::Graph& graph,
                               std::uint64_t step, const Values& outputs);

/// That outputs from elsewhere are as many and of the types that the graph declares.
/// Error: kInvalidArgument, naming the output.
core::Result<void> check_outputs(const graph::Graph& graph, const Values& outputs);

/// root(Y) of outputs in the graph's order.
core::Digest outputs_root(const graph::Graph& graph, const Values& outputs);

/// What both parties have signed of the step before.
struct Signed {
  core::Digest commitment{};
  std::uint64_t round = protocol::kNoDraw;
  protocol::BatchSignature provider;
  protocol::BatchSignature client;
};

/// All that an auditor is shown of a step: the openings of c_0 and c_(i-1), and the value that
/// seed_i is made of. Neither Y_i nor salt_i, so that it can answer only by computing.
struct StepTask {
  protocol::Job job;
  std::uint64_t step = 1;
  core::Digest value{};  // v_i of the job's noise chain; zero without noise
  core::Digest input_salt{};
  tensor::NamedTensors inputs;  // these two open c_0
  // Of step i-1; nothing of it for step 1.
  std::optional<Signed> signed_before;
  core::Digest salt_before{};
  tensor::NamedTensors outputs_before;
};

core::Bytes encode(const StepTask& task);
/// Error: kInvalidArgument, naming the field.
core::Result<StepTask> decode_step_task(core::ByteView bytes);

/// What an auditor elsewhere is given: a task, and where the model's file is.
struct Assignment {
  core::Digest receipt{};  // its id: names the audit
  std::string model;       // "owner/model"
  std::uint32_t version = 0;
  core::Digest content{};  // SHA-256 of the file
  StepTask task;
};
core::Bytes encode(const Assignment& assignment);
/// Error: kInvalidArgument, naming the field.
core::Result<Assignment> decode_assignment(core::ByteView bytes);

/// That everything in the task is what both parties have agreed on: the inputs open c_0, the value
/// leads back to the job's anchor, both have signed c_(i-1), and what lies before opens it.
/// Errors: kInvalidArgument, kDataLoss (does not open), kUnauthenticated; the message names it.
core::Result<void> check_task(const StepTask& task);

/// X_i before noise, in the graph's order. Errors: kInvalidArgument (names or types that are not
/// the graph's).
core::Result<Values> task_inputs(const StepTask& task, const graph::Graph& graph);

/// check_task(), then the root of X_i with its noise: what a dispute about the step begins with.
/// Needs no model: names and types are the task's. Precondition: the inputs are in the graph's
/// order, as RolloutProvider demands.
/// Errors besides: kUnsupported where noise goes onto a value inside the graph.
core::Result<core::Digest> input_root_of(const StepTask& task);

/// check_task(), then runs the step with the model of `session`, whose roots are `roots`, and
/// returns root(Y_i), for receipt::judge.
/// Errors besides: kFailedPrecondition (not the job's model, feeds or numeric specification), those
/// of the run.
core::Result<core::Digest> replay(const StepTask& task, noise::NoisySession& session,
                                  const receipt::ModelRoots& roots,
                                  graph::Tracer* tracer = nullptr);

}  // namespace commensal::rollout
