// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/chain_job.hpp>

namespace commensal::apps {

/// A chain at a gateway: has it made, follows it to its end, prints how it went. Goes on asking
/// while the gateway is away. Exit status 2 where an audit found a mismatch.
core::Result<int> run_remote_chain(const ChainJob& job);

}  // namespace commensal::apps
