// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/serial/cheat.hpp>
#include <commensal/verify/rollout/engine_factory.hpp>
#include <memory>

/// Providers that lie, for tests only; those that others play too are in lab/sim/adversaries.hpp.
namespace commensal::sim::testing {

/// Computes nothing: every output is zeros of the right shape and type.
std::unique_ptr<rollout::EngineFactory> make_lazy_cheat();

/// Refuses every job at once, as if the request were wrong; `asked` counts them.
std::unique_ptr<rollout::EngineFactory> make_refuser(int* asked = nullptr);

/// Computes some steps of rollouts with another weight; all else as it should.
std::unique_ptr<rollout::EngineFactory> make_rollout_cheat(serial::Lies lies);

/// Refuses so many models for good, whoever of its providers is asked first; then it is honest.
std::unique_ptr<rollout::EngineFactory> make_refusing(std::shared_ptr<int> left);

}  // namespace commensal::sim::testing
