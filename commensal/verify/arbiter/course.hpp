// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/arbiter/referee.hpp>
#include <optional>
#include <span>
#include <vector>

namespace commensal::arbiter {

/// Follows one dispute at a time: whoever is given all of its moves again and again has each of
/// them judged once. Keeps them, at most limits::kDisputeBytesMax of a side.
/// Thread-safety: one thread.
class Course {
 public:
  /// `clock` outlives it.
  explicit Course(const core::Clock& clock) : clock_(clock) {}

  /// Turns to this dispute, before its first move, unless it is the one that is followed.
  /// Errors: those of Referee::open; then it follows what it did.
  core::Result<void> open(const Setup& setup);
  /// Goes to where the dispute stands after these moves, from its beginning where they do not begin
  /// with those that it has seen. Error: of the first move that is refused; then it stands before
  /// that. Precondition: open().
  core::Result<void> go_to(std::span<const Said> moves);
  /// Precondition: open(). Valid until the next call.
  const Referee& referee() const { return *referee_; }

 private:
  const core::Clock& clock_;
  std::optional<Referee> referee_;
  std::vector<Said> moves_;  // that it has seen
};

}  // namespace commensal::arbiter
