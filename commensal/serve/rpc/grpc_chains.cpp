// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/rpc/grpc_chains.hpp>
#include <commensal/serve/rpc/grpc_parts.hpp>

namespace commensal::rpc::chains {

using parts::take;

Result<ToProvider> read(wire::ChainStart& from) {
  ChainStart to;
  COMMENSAL_TRY(take(to.job, "chain_start.job", from.job()));
  COMMENSAL_TRY(take(to.model, "chain_start.model", from.model()));
  COMMENSAL_TRY(take(to.input_salt, "chain_start.input_salt", from.input_salt()));
  COMMENSAL_TRY(take(to.inputs, "chain_start.inputs", *from.mutable_inputs()));
  return to;
}

Result<ToProvider> read(wire::ChainBegin& from) {
  ChainBegin to;
  COMMENSAL_TRY(take(to.chain, "chain_begin.chain", from.chain()));
  to.link = from.link();
  COMMENSAL_TRY(take(to.value, "chain_begin.value", from.value()));
  return to;
}

Result<ToProvider> read(wire::ChainCountersign& from) {
  ChainCountersign to;
  COMMENSAL_TRY(take(to.chain, "chain_countersign.chain", from.chain()));
  to.link = from.link();
  COMMENSAL_TRY(take(to.signature, "chain_countersign.signature", from.signature()));
  return to;
}

Result<ToGateway> read(wire::ChainReady& from) {
  ChainReady to;
  COMMENSAL_TRY(take(to.chain, "chain_ready.chain", from.chain()));
  return to;
}

Result<ToGateway> read(wire::ChainCommit& from) {
  ChainCommit to;
  COMMENSAL_TRY(take(to.chain, "chain_commit.chain", from.chain()));
  to.link = from.link();
  COMMENSAL_TRY(take(to.commitment, "chain_commit.commitment", from.commitment()));
  to.round = from.round();
  COMMENSAL_TRY(take(to.signature, "chain_commit.signature", from.signature()));
  return to;
}

Result<ToGateway> read(wire::ChainDeliver& from) {
  ChainDeliver to;
  COMMENSAL_TRY(take(to.chain, "chain_deliver.chain", from.chain()));
  to.link = from.link();
  COMMENSAL_TRY(take(to.output_salt, "chain_deliver.output_salt", from.output_salt()));
  COMMENSAL_TRY(take(to.outputs, "chain_deliver.outputs", *from.mutable_outputs()));
  return to;
}

Result<ToGateway> read(wire::ChainRefuse& from) {
  ChainRefuse to;
  COMMENSAL_TRY(take(to.chain, "chain_refuse.chain", from.chain()));
  COMMENSAL_TRY(take(to.reason, "chain_refuse.reason", from.reason()));
  return to;
}

}  // namespace commensal::rpc::chains
