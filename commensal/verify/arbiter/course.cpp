// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/verify/arbiter/course.hpp>

namespace commensal::arbiter {

core::Result<void> Course::open(const Setup& setup) {
  if (referee_ && referee_->setup() == setup) return {};
  COMMENSAL_ASSIGN(referee_, Referee::open(setup, clock_));
  moves_.clear();
  return {};
}

core::Result<void> Course::go_to(std::span<const Said> moves) {
  const bool goes_on =
      moves.size() >= moves_.size() && std::ranges::equal(moves_, moves.first(moves_.size()));
  if (!goes_on) {
    COMMENSAL_ASSIGN(referee_, Referee::open(referee_->setup(), clock_));
    moves_.clear();
  }
  for (std::size_t i = moves_.size(); i < moves.size(); ++i) {
    const auto moved = referee_->move(moves[i].side, moves[i].move);
    if (!moved) return core::in_context(fmt::format("move {}", i), moved.error());
    moves_.push_back(moves[i]);
  }
  return {};
}

}  // namespace commensal::arbiter
