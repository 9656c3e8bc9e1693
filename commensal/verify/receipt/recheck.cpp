// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/verify/receipt/recheck.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::receipt {

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

}  // namespace commensal::receipt
