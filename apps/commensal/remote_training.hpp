// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/commensal/connection.hpp>
#include <apps/commensal/training_report.hpp>
#include <commensal/compute/train/trainer.hpp>
#include <memory>
#include <stop_token>

namespace commensal::apps {

/// A training whose steps others make, a segment (compute/train/segment.hpp) at a time: a rollout.
struct RemoteTraining {
  Connection connection;  // of the command
  std::string model;      // it is pushed as
  std::int64_t each = 0;  // steps of a segment; 0: train::segment_length()
  double audit_probability = 0.1;
  std::vector<std::string> allowed;  // providers
  bool is_public = false;
  const CLI::App* app = nullptr;  // parsed

  void declare(CLI::App& command);
  /// Whether the command line asks for it, which settings alone do not: else it is made here.
  /// `pushes`: a gateway is wanted for that, too.
  bool is_asked(bool pushes) const;
  bool audits_all() const { return audit_probability >= 1; }
  /// Error: kInvalidArgument (it is asked for, and who may have the data is not said, or twice).
  core::Result<void> check(bool pushes) const;
};

/// Of the segments that the trainer went on from. One that was made here counts as audited.
struct RemoteEnd {
  std::uint64_t segments = 0, audited = 0;
};

/// Where a training's segments are made: a gateway that has them.
struct AtGateway;

/// Pushes the segments; where that is broken off, the next time goes on with it. Null: all steps
/// are done. Errors: those of make_segment and of the client; kFailedPrecondition (data that are
/// public already; steps that no audit has confirmed in a checkpoint where all are to be).
core::Result<std::shared_ptr<AtGateway>> place_at_gateway(const train::Trainer& trainer,
                                                          const RemoteTraining& remote);

/// Takes the trainer to its plan's last step. The same again goes on where it was: the gateway
/// keeps the state after each segment. It goes on from segments alone that have no open audit;
/// after a provider that was caught it goes back to the last one that audits have confirmed, and on
/// with another one. What cannot be right, and what a provider says that cannot be made, is made
/// here. Where all are to be audited, it takes those alone that audits have confirmed, and has the
/// first that none has made again. At `stop` it cancels what is under way; the gateway keeps the
/// states.
/// Errors: those of the client, of signed steps and of Trainer::step; kFailedPrecondition
/// (providers give up again and again, with the reason of the last); kCancelled (`stop`: how it
/// goes on).
core::Result<RemoteEnd> train_at_gateway(train::Trainer& trainer, AtGateway& place,
                                         TrainingReport& report, const std::stop_token& stop);

}  // namespace commensal::apps
