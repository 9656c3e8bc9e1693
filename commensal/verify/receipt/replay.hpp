// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits_rollouts.hpp>
#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/base/protocol/verdict.hpp>
#include <commensal/verify/noise/noisy_session.hpp>
#include <commensal/verify/receipt/opening.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <functional>
#include <string_view>

namespace commensal::receipt {

// Step i of a job: Y_i = F(X_i + noise(seed_i)). X_i is the client's inputs, with the outputs of
// step i-1 in the places that the job's feeds name. Pure functions; docs/verification.md,
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

/// Tensors in the order of `ids`, named as the graph names them.
tensor::NamedTensors name_tensors(const graph::Graph& graph, const std::vector<graph::ValueId>& ids,
                                  std::vector<tensor::Tensor> values);
/// The values of `tensors` in the order of `graph.inputs`.
/// Error: kInvalidArgument, naming what is missing, unknown or twice there, and what was expected.
core::Result<Values> order_inputs(const graph::Graph& graph, const tensor::NamedTensors& tensors);

/// X_i before noise, in the graph's order. Errors: kInvalidArgument (names or types that are not
/// the graph's).
core::Result<Values> task_inputs(const StepTask& task, const graph::Graph& graph);

/// check_task(), then the root of X_i with its noise: what a dispute about the step begins with.
/// Needs no model: names and types are the task's. Precondition: the inputs are in the graph's
/// order, as ProviderJob demands.
/// Errors besides: kUnsupported where noise goes onto a value inside the graph.
core::Result<core::Digest> input_root_of(const StepTask& task);

/// That a job is of the model with these roots, and of the numeric specification that this program
/// follows. Error: kFailedPrecondition.
core::Result<void> check_model(const protocol::Job& job, const ModelRoots& roots);

/// What a provider makes sure of before it computes anything of a job that it was offered: the job
/// makes sense, names `provider` and this model, asks for what providers do (n steps of a rollout,
/// or one step without noise), and `inputs`, in the graph's order, open its c_0. Returns them.
/// Errors: kInvalidArgument, kFailedPrecondition (not this provider, model or numeric
/// specification, or other inputs), kUnsupported, kResourceExhausted (limits::kRolloutStepsMax).
core::Result<Values> check_job(const protocol::Job& job, const core::Digest& input_salt,
                               const tensor::NamedTensors& inputs, const crypto::Address& provider,
                               const graph::Graph& graph, const ModelRoots& roots);

/// What of it needs no model: that the job makes sense, names `provider`, and that `inputs` open
/// its c_0. Errors: kInvalidArgument, kFailedPrecondition.
core::Result<void> check_parties(const protocol::Job& job, const core::Digest& input_salt,
                                 const tensor::NamedTensors& inputs,
                                 const crypto::Address& provider);

/// What replay() returns where the model refuses the inputs: the root of no outputs.
inline constexpr core::Digest kRefused{};

/// What computes a step of a model, somewhere.
using Compute = std::function<core::Result<Values>(const Values& inputs,
                                                   const std::optional<noise::Noise>& noise)>;

/// check_task(), then computes the step with the model of these roots, of whose graph the inputs
/// and outputs are looked at, and returns root(Y_i), or kRefused.
/// Errors besides: kFailedPrecondition (not the job's model or numeric specification), those of
/// `compute` but kInvalidArgument.
core::Result<core::Digest> replay(const StepTask& task, const graph::Graph& graph,
                                  const ModelRoots& roots, const Compute& compute);

/// The same by `session`.
/// Errors besides: kFailedPrecondition (not the job's model, feeds or numeric specification), those
/// of the run but kInvalidArgument.
core::Result<core::Digest> replay(const StepTask& task, noise::NoisySession& session,
                                  const ModelRoots& roots, const graph::RunOptions& options = {});

/// Compares the auditor's root with what the provider committed to, by the salt that the client
/// holds, and signs the outcome as `auditor`.
protocol::Verdict judge(const protocol::ReceiptBody& body, const core::Digest& replayed_root,
                        const core::Digest& output_salt, const crypto::SecretKey& auditor);

/// What a re-execution by hand found.
struct Recheck {
  core::Digest receipt;
  core::Digest expected;    // c_i, as both parties signed it
  core::Digest recomputed;  // c_i, from the outputs that were computed now
  bool matches() const { return expected == recomputed; }
};

/// Checks a receipt from nothing but itself, its opening and the model: both signatures, that the
/// opening opens what was signed, that the model is the job's, and that running it gives the same
/// bits. Trusts neither gateway nor provider.
/// `passed` is called with the name of each check as it passes.
/// Errors: by the name of the check that does not pass; a mismatch of bits is no error.
core::Result<Recheck> recheck(const protocol::Receipt& receipt, const Opening& opening,
                              const std::shared_ptr<const graph::Graph>& model,
                              const graph::SessionOptions& options,
                              const std::function<void(std::string_view)>& passed);

}  // namespace commensal::receipt
