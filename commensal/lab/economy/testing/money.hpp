// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/economy/testing/trip.hpp>

namespace commensal::economy::testing {

/// What is paid in, locked, announced and paid out at a gateway in a round, tickets apart.
/// Errors: refusals.
Result<void> move_money(World& world, Gateway& gateway, const std::vector<Link>& links);

}  // namespace commensal::economy::testing
