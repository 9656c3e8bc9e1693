// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/attack/attack.hpp>

namespace commensal::attack {

// The rows of the table, family by family.
std::span<const Attack> answer_attacks();
std::span<const Attack> rollout_attacks();
std::span<const Attack> ticket_attacks();
std::span<const Attack> draw_attacks();
std::span<const Attack> money_attacks();
std::span<const Attack> drain_attacks();
std::span<const Attack> auditor_attacks();
std::span<const Attack> framing_attacks();
std::span<const Attack> trust_attacks();

}  // namespace commensal::attack
