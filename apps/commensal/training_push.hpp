// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/commensal/connection.hpp>
#include <commensal/compute/train/trainer.hpp>
#include <string>

namespace commensal::apps {

/// Where a trained model is pushed to, and what its card says of where it is from.
struct TrainingPush {
  std::string name;     // "": nowhere
  std::string parent;   // OWNER/MODEL; "": the gateway's model with the bytes of the plan's
  std::string license;  // "": the parent's
  bool is_private = false;
  Connection connection;  // of the command

  void declare(CLI::App& app);
};

/// Before the first step: a gateway that answers, the names as they will be, and a card that it
/// takes. Errors: those of connect(), name_to_push(), parse_card() and of the gateway; kNotFound
/// (no such parent).
core::Result<void> prepare_push(TrainingPush& push, const train::Plan& plan);

/// The card: front matter with parent and licence where they are known, and what was done.
std::string card_of(const TrainingPush& push, const train::Trainer& trainer,
                    const train::Plan& plan);

/// Returns the pushed model as NAME and version. Errors: those of the gateway.
core::Result<std::string> push_trained(const TrainingPush& push, core::ByteView model,
                                       const std::string& card);

}  // namespace commensal::apps
