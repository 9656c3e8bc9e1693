// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/commensal/connection.hpp>
#include <commensal/compute/train/trainer.hpp>
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

  void declare(CLI::App& app);
  /// Whether it is asked for, which a gateway in the settings alone is not; else it is made here.
  bool is_asked() const { return is_public || !allowed.empty(); }
};

/// Takes the trainer to its plan's last step. The same again goes on where it was: the gateway
/// keeps the state after each segment. After a provider that was caught it goes back to the last
/// segment that audits have confirmed, and on with another one. `prints`: lines on stdout. `stop`:
/// it returns where it is; the gateway goes on, and keeps the states.
/// Errors: those of make_segment and of the client; kFailedPrecondition (providers give up again
/// and again, with the reason of the last).
core::Result<void> train_at_gateway(train::Trainer& trainer, const RemoteTraining& remote,
                                    bool prints, const std::stop_token& stop);

}  // namespace commensal::apps
