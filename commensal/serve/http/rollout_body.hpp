// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/rollouts.hpp>

/// Bodies about rollouts, as pure functions between bytes and values.
namespace commensal::http {

/// {"model": "owner/model", "steps": 100, "feeds": [["output", "input"], ...], "inputs": [...]}
/// and, where they are wanted, "version", "key", "noise" (an exponent), "states",
/// "audit_probability". "inputs" and `json_bytes` are those of the Open Inference Protocol
/// (oip.hpp). The account is left to the caller. Error: kInvalidArgument, one line.
core::Result<gateway::RolloutRequest> read_rollout_body(
    core::ByteView body, const std::optional<std::string>& json_bytes);

/// {"root", "auditor", "signature"}, hexadecimal digits; of which receipt, the path says.
/// Error: kInvalidArgument.
core::Result<protocol::AuditReport> read_report_body(core::ByteView body);

std::string rollout_json(const gateway::RolloutStatus& status);
std::string rollouts_json(const std::vector<gateway::RolloutStatus>& list);

}  // namespace commensal::http
