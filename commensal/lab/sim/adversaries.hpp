// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/rollout/engine_factory.hpp>
#include <memory>

/// Providers that lie, for demonstrations, tests and simulations. None of it can be reached from
/// the real provider: it takes an EngineFactory, and only lab/ has these.
namespace commensal::sim {

/// Keeps weights, inputs and what every product layer gives in bfloat16, at half the memory, and
/// claims to have followed the numeric specification.
std::unique_ptr<rollout::EngineFactory> make_bf16_cheat();

}  // namespace commensal::sim
