// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/client/client.hpp>

/// Bodies of the HTTP API, as the client writes and reads them. Pure functions; what a gateway
/// sends is no more trusted than anything else that is read from outside.
namespace commensal::client {

/// The gateway's error: its own code, or that of its status where it names none; and its line.
core::Error error_of(const HttpResponse& response);

// Errors of all that follow: kDataLoss.
core::Result<ModelInfo> read_model(core::ByteView body);
core::Result<std::vector<ModelInfo>> read_models(core::ByteView body);
/// One list of those in several answers that read_models() takes.
core::Bytes join_models(std::span<const core::Bytes> pages);
core::Result<AccountInfo> read_account(core::ByteView body);
core::Result<std::vector<AccountInfo>> read_accounts(core::ByteView body);
/// `asked`: the id that was asked for. Where the receipt itself came, its signer is the provider's.
core::Result<ReceiptInfo> read_receipt(core::ByteView body, const core::Digest& asked);
core::Result<std::vector<ReceiptInfo>> read_receipts(core::ByteView body);
core::Result<RolloutInfo> read_rollout(core::ByteView body);
core::Result<std::vector<RolloutInfo>> read_rollouts(core::ByteView body);

/// The JSON before the tensors' bytes, which ask for binary outputs.
std::string infer_head(const tensor::NamedTensors& inputs, const core::Digest& draw_commitment,
                       const std::string& privacy_class = "");
/// Also where the gateway does not say that it was placed by the `privacy_class` that was named,
/// as one that is older than those would not.
core::Result<Answer> read_answer(const HttpResponse& response,
                                 const std::string& privacy_class = "");

/// The JSON before the tensors' bytes.
std::string rollout_head(const RolloutOrder& order);

std::string new_account(const std::string& name, const std::string& role);

}  // namespace commensal::client
