// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/bank.hpp>
#include <commensal/serve/provider/purse.hpp>

namespace commensal::sim {

/// What a simulation and the demo play for, in play units.
struct Terms {
  gateway::MoneyConfig gateway;
  provider::PurseConfig provider;
  protocol::Amount consumer_deposit;
  protocol::Amount gateway_escrow;
};
/// A ticket wins with `audit_probability`, as every winner is audited. There is money for so many
/// requests, whatever is drawn.
Terms play_terms(double audit_probability, int requests);

}  // namespace commensal::sim
