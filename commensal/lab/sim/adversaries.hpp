// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/serial/cheat.hpp>
#include <commensal/serve/provider/engine.hpp>
#include <memory>

/// Providers that lie, for demonstrations, tests and simulations. None of it can be reached from
/// the real provider: it takes an EngineFactory, and only lab/ has these.
namespace commensal::sim {

/// Keeps weights, inputs and what every product layer gives in bfloat16, at half the memory, and
/// claims to have followed the numeric specification.
std::unique_ptr<provider::EngineFactory> make_bf16_cheat();

/// Computes nothing: every output is zeros of the right shape and type.
std::unique_ptr<provider::EngineFactory> make_lazy_cheat();

/// Refuses every job at once, as if the request were wrong.
std::unique_ptr<provider::EngineFactory> make_refuser();

/// Computes some steps of rollouts with another weight; all else as it should.
std::unique_ptr<provider::EngineFactory> make_rollout_cheat(serial::Lies lies);

}  // namespace commensal::sim
