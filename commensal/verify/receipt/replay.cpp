// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::receipt {
namespace {

using core::ErrorCode;
using core::fail;

std::string expected_inputs(const graph::Graph& graph) {
  std::string text;
  for (const graph::ValueId id : graph.inputs) {
    const graph::ValueInfo& value = graph.values[static_cast<std::size_t>(id)];
    text += fmt::format("{}'{}' {}", text.empty() ? "" : ", ", value.name, value.declared.text());
  }
  return text;
}

}  // namespace

core::Result<void> check_model(const protocol::Job& job, const ModelRoots& roots) {
  if (job.numerics_version != kernels::kNumericsVersion) {
    return fail(ErrorCode::kFailedPrecondition,
                "the job follows version {} of the numeric specification, this program version {}",
                job.numerics_version, kernels::kNumericsVersion);
  }
  if (roots != ModelRoots{job.graph_root, job.weight_root}) {
    return fail(ErrorCode::kFailedPrecondition, "the model is not the one that the job names");
  }
  return {};
}

core::Result<core::Digest> replay(const AuditTask& task, graph::Session& session,
                                  const ModelRoots& roots) {
  COMMENSAL_TRY(check_model(task.job, roots));
  if (protocol::commit_input(state_root(task.inputs), task.input_salt) !=
      task.job.input_commitment) {
    return fail(ErrorCode::kDataLoss, "the inputs are not those that the job was made with");
  }
  const graph::Graph& graph = session.graph();
  COMMENSAL_ASSIGN(const auto inputs, order_inputs(graph, task.inputs));
  COMMENSAL_ASSIGN(auto outputs, session.run(inputs));
  return state_root(name_tensors(graph, graph.outputs, std::move(outputs)));
}

protocol::Verdict judge(const protocol::ReceiptBody& body, const core::Digest& replayed_root,
                        const core::Digest& output_salt, const crypto::SecretKey& auditor) {
  protocol::Verdict verdict;
  verdict.receipt_id = protocol::receipt_id(body);
  verdict.expected_commitment = body.commitment;
  verdict.recomputed_commitment =
      protocol::commit_step(body.job_id, body.step, replayed_root, output_salt);
  const bool same = verdict.recomputed_commitment == verdict.expected_commitment;
  verdict.outcome = same ? protocol::Outcome::kMatch : protocol::Outcome::kMismatch;
  verdict.reason = same ? "re-executed to the same bits"
                        : "re-executed to other bits than the provider committed to";
  return protocol::sign_verdict(auditor, std::move(verdict));
}

core::Result<Recheck> recheck(const protocol::Receipt& receipt, const Opening& opening,
                              const std::shared_ptr<const graph::Graph>& model,
                              const graph::SessionOptions& options,
                              const std::function<void(std::string_view)>& passed) {
  COMMENSAL_TRY(protocol::verify_receipt(receipt));
  passed("provider and client have signed the receipt");
  const protocol::ReceiptBody body = receipt.body();
  COMMENSAL_TRY(check_opening(opening, body));
  passed("inputs and outputs open what was signed");
  COMMENSAL_ASSIGN(auto session, graph::Session::create(model, options));
  COMMENSAL_ASSIGN(
      const core::Digest root,
      replay({receipt.job, opening.input_salt, opening.inputs}, session, model_roots(*model)));
  passed("graph and weights are those of the job; re-executed");
  return Recheck{
      .receipt = protocol::receipt_id(body),
      .expected = receipt.commitment,
      .recomputed = protocol::commit_step(body.job_id, body.step, root, opening.output_salt)};
}

tensor::NamedTensors name_tensors(const graph::Graph& graph, const std::vector<graph::ValueId>& ids,
                                  std::vector<tensor::Tensor> values) {
  core::check(ids.size() == values.size(), "one value for each id");
  tensor::NamedTensors named;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    named.push_back({graph.name_of(ids[i]), std::move(values[i])});
  }
  return named;
}

core::Result<std::vector<tensor::Tensor>> order_inputs(const graph::Graph& graph,
                                                       const tensor::NamedTensors& tensors) {
  std::vector<tensor::Tensor> ordered;
  for (const graph::ValueId id : graph.inputs) {
    const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const auto& item) {
      return item.name == graph.name_of(id);
    });
    if (found == tensors.end()) {
      return fail(ErrorCode::kInvalidArgument, "input '{}' is missing; expected {}",
                  graph.name_of(id), expected_inputs(graph));
    }
    ordered.push_back(found->value);
  }
  if (tensors.size() != ordered.size()) {
    return fail(ErrorCode::kInvalidArgument, "{} inputs, expected {}: {}", tensors.size(),
                ordered.size(), expected_inputs(graph));
  }
  return ordered;
}

}  // namespace commensal::receipt
