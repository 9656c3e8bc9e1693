// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/chains.hpp>

/// Bodies about chains, as pure functions between bytes and values.
namespace commensal::http {

/// {"model": "owner/model", "steps": 100, "feeds": [["output", "input"], ...], "inputs": [...]}
/// and, where they are wanted, "version", "key", "noise" (an exponent), "states",
/// "audit_probability". "inputs" and `json_bytes` are those of the Open Inference Protocol
/// (oip.hpp). The account is left to the caller. Error: kInvalidArgument, one line.
core::Result<gateway::ChainRequest> read_chain_body(core::ByteView body,
                                                    const std::optional<std::string>& json_bytes);

/// {"root": "<64 hexadecimal digits>"}. Error: kInvalidArgument.
core::Result<core::Digest> read_root_body(core::ByteView body);

std::string chain_json(const gateway::ChainStatus& status);
std::string chains_json(const std::vector<gateway::ChainStatus>& list);

}  // namespace commensal::http
