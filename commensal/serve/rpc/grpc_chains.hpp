// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/rpc/grpc_codec.hpp>

/// The messages of chains, read off the wire. Error: kInvalidArgument, naming the field.
namespace commensal::rpc::chains {

using core::Result;

Result<ToProvider> read(wire::ChainStart& from);
Result<ToProvider> read(wire::ChainBegin& from);
Result<ToProvider> read(wire::ChainCountersign& from);
Result<ToGateway> read(wire::ChainReady& from);
Result<ToGateway> read(wire::ChainCommit& from);
Result<ToGateway> read(wire::ChainDeliver& from);
Result<ToGateway> read(wire::ChainRefuse& from);

}  // namespace commensal::rpc::chains
