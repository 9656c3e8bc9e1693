// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/commensal/connection.hpp>
#include <commensal/serve/client/training/training.hpp>
#include <memory>

namespace commensal::apps {

/// What the command line says of a training at a gateway (serve/client/training).
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
  /// Error: kInvalidArgument (it is asked for, and who may have the data is not said, or twice, or
  /// by what is no address).
  core::Result<void> check(bool pushes) const;
};

/// Where a training's segments are made: a gateway that has them.
struct AtGateway;

/// Pushes the segments; where that is broken off, the next time goes on with it. Null: all steps
/// are done. Errors: those of check_checkpoint, of name_to_push and of SegmentModel::push.
core::Result<std::shared_ptr<AtGateway>> place_at_gateway(const train::Trainer& trainer,
                                                          const RemoteTraining& remote);

/// training::run(), once.
core::Result<training::End> train_at_gateway(train::Trainer& trainer, AtGateway& place,
                                             training::Observer& observer,
                                             const std::stop_token& stop);

}  // namespace commensal::apps
