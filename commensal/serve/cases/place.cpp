// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/cases/place.hpp>
#include <commensal/verify/arbiter/parting.hpp>

namespace commensal::cases {

using arbiter::Phase;
using arbiter::Side;

namespace {

bool goes_down(Phase phase) {
  return phase == Phase::kCheckpoints || phase == Phase::kNodes || phase == Phase::kElements ||
         phase == Phase::kSteps;
}

void add_finding(Place& place, const arbiter::Finding& found) {
  place.node = found.node;
  place.op = found.op;
  if (found.matter == arbiter::Matter::kCarried) return;
  place.output = found.output;
  if (found.matter != arbiter::Matter::kOperation) return;
  place.element = found.element;
  place.operation = found.step;
  place.operations = found.steps;
  place.computed = found.result;
  place.accused.claimed = found.claimed[arbiter::at(Side::kProvider)];
  place.accuser.claimed = found.claimed[arbiter::at(Side::kChallenger)];
}

}  // namespace

Place place_of(const arbiter::Referee& referee) {
  const Phase phase = referee.phase();
  Place place;
  place.phase = arbiter::name_of(phase);
  place.round = referee.round();
  const auto& words = referee.file().words;
  place.accused.outputs = words[arbiter::at(Side::kProvider)].claim.output_root;
  place.accuser.outputs = words[arbiter::at(Side::kChallenger)].claim.output_root;
  if (const auto& outcome = referee.outcome()) {
    place.verdict = outcome->reason;
    place.accused.is_wrong = outcome->wrong[arbiter::at(Side::kProvider)];
    place.accuser.is_wrong = outcome->wrong[arbiter::at(Side::kChallenger)];
    if (outcome->finding) add_finding(place, *outcome->finding);
    return place;
  }
  if (goes_down(phase)) {
    place.accused.hash = referee.descent().hash(Side::kProvider);
    place.accuser.hash = referee.descent().hash(Side::kChallenger);
  }
  if (phase >= Phase::kFacts) place.node = arbiter::node_of(referee.file());
  if (phase >= Phase::kElements) place.output = referee.output();
  if (phase >= Phase::kElementClaims) {
    place.element = referee.element();
    place.operations = referee.program().steps();
  }
  if (phase >= Phase::kOperands) place.operation = referee.step();
  return place;
}

}  // namespace commensal::cases
