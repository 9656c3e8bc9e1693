// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/probe/kinds.hpp>
#include <commensal/collocation/probe/probe.hpp>
#include <commensal/collocation/probe/spec.hpp>

namespace commensal::probe {

/// Errors of these: kInvalidArgument.
core::Result<std::unique_ptr<Probe>> open_miner(const Miner& miner, const Spec& spec,
                                                const World& world);
core::Result<std::unique_ptr<Probe>> open_prometheus(const Spec& spec, const World& world);

/// What a miner at `endpoint` answers, not decoded yet. Errors as exchange.hpp.
core::Result<std::string> ask(const Miner& miner, const Endpoint& endpoint,
                              const core::Clock& clock, std::int64_t wait_ms);

}  // namespace commensal::probe
