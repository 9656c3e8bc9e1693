// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/base/protocol/receipt.hpp>
#include <commensal/base/protocol/verdict.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/verify/receipt/opening.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <functional>
#include <string_view>

namespace commensal::receipt {

/// Everything an auditor is shown: never the output's salt nor the output, so that it cannot copy
/// the answer but must compute it.
struct AuditTask {
  protocol::Job job;
  core::Digest input_salt;
  tensor::NamedTensors inputs;
};

/// That a job is of the model with these roots, and of the numeric specification that this program
/// follows. Error: kFailedPrecondition.
core::Result<void> check_model(const protocol::Job& job, const ModelRoots& roots);

/// Re-executes a step with the model of `session`, whose roots are `roots`, and returns root(Y).
/// Errors: kFailedPrecondition (the model or the numeric specification is not the job's),
/// kDataLoss (the inputs do not open c_0), and what Session::run returns.
core::Result<core::Digest> replay(const AuditTask& task, graph::Session& session,
                                  const ModelRoots& roots);

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

/// Tensors in the order of `ids`, named as the graph names them.
tensor::NamedTensors name_tensors(const graph::Graph& graph, const std::vector<graph::ValueId>& ids,
                                  std::vector<tensor::Tensor> values);
/// The values of `tensors` in the order of `graph.inputs`.
/// Error: kInvalidArgument, naming what is missing, unknown or twice there, and what was expected.
core::Result<std::vector<tensor::Tensor>> order_inputs(const graph::Graph& graph,
                                                       const tensor::NamedTensors& tensors);

}  // namespace commensal::receipt
