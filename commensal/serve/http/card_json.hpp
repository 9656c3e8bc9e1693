// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/explore.hpp>
#include <commensal/serve/gateway/gateway.hpp>
#include <commensal/serve/gateway/model_card.hpp>
#include <string>
#include <vector>

/// Cards and what is found by them as JSON (docs/http.md). Pure functions.
namespace commensal::http {

/// Reads the card anew, which takes milliseconds: off the loop. "problem" says what of it is not so
/// of the model's newest version, which may be younger.
std::string card_json(const gateway::ModelHub::ShownCard& shown);
/// At most limits::kHttpListBytesMax, one model at least; "next" is where others follow.
std::string explored_json(const gateway::Exploration& exploration);
std::string speeds_json(const std::vector<gateway::MeasuredSpeed>& speeds);

}  // namespace commensal::http
