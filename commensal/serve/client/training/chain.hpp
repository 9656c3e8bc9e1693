// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/client/training/begun.hpp>
#include <deque>

// Inside the room: what the trainer's state rests on.
namespace commensal::training {

/// Segments that follow one another, of one rollout or made here.
struct Link {
  std::int64_t began = 0, each = 0;
  std::uint64_t taken = 0;  // segments
  core::Digest from = {};   // as Rollout's, and the next two likewise; made here: none
  client::RolloutInfo info = {};
  std::shared_ptr<RolloutSteps> steps = {};
  bool is_here = false;
  std::int64_t end_of(std::uint64_t segment) const {
    return began + static_cast<std::int64_t>(segment) * each;
  }
};

/// A rollout may lose trust after its end, by an audit that comes late or as its provider is caught
/// in another: then all goes that rests on what it lost. Of a part that nothing is known of, the
/// checkpoint is believed. The context outlives this object. Thread-safety: none.
class Chain {
 public:
  explicit Chain(Context& context) : context_(context), trainer_(context.outside.trainer) {}

  bool is_empty() const { return links_.empty(); }
  /// Of a training that goes on from a checkpoint: backwards from its state, by states that listed
  /// rollouts have delivered, as far as audits had not confirmed it. Errors: is_away().
  core::Result<void> rebuild(const SegmentModel& model, const std::vector<Rollout>& listed);
  /// The trainer goes on in a rollout that has delivered its state, or begins from it.
  void go_on_in(const Rollout& rollout, std::int64_t each);
  void add_here(std::int64_t began, std::int64_t each);
  /// Precondition: not empty. Stays where it is while others follow it.
  Link& last() { return links_.back(); }
  /// If that is one of this rollout's, and the trainer stands at its end; else null.
  const Link* last_of(const core::Digest& rollout) const;

  /// Asks how all stand that may lose trust, and goes back where one has. Returns whether it did;
  /// then others may have, too. Errors: the gateway's, those of go_back().
  core::Result<bool> look_back();
  /// To the last segment of a link that is trusted, or to what that began from. Errors: the
  /// gateway's, kDataLoss, those of taking a state.
  core::Result<void> go_back(const Link& link);
  /// What audits have confirmed of it is confirmed, if all before it is.
  void confirm();
  End end() const;

 private:
  core::Result<std::optional<Link>> explain(const SegmentModel& model,
                                            const std::vector<Rollout>& listed, std::int64_t done,
                                            const core::Digest& state);
  core::Result<void> ask_about(Link& link);
  core::Result<void> take_beginning(const Link& link);
  void cut(std::int64_t done);

  Context& context_;
  train::Trainer& trainer_;
  std::deque<Link> links_;
};

}  // namespace commensal::training
