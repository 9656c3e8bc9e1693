// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/commensal/remote_training.hpp>

namespace commensal::apps {

using core::ErrorCode;
using core::Result;

void RemoteTraining::declare(CLI::App& command) {
  app = &command;
  command.add_option(
      "--model", model,
      "At a gateway: [OWNER/]MODEL under which the training, with its data, is pushed, no model "
      "that is served (default: the name of the one that is trained and -training)");
  command
      .add_option("--segment", each,
                  "At a gateway: steps between two states that are committed to, the last fewer "
                  "(default: so many that hashing costs about a thousandth, an eighth at most)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24));
  command
      .add_option("--audit-probability", audit_probability,
                  "At a gateway: of each segment, that it is computed again")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command
      .add_option("--allow", allowed,
                  "At a gateway: address of a provider that may have model and data")
      ->allow_extra_args(false);
  command.add_flag("--public", is_public, "At a gateway: anybody may have model and data");
}

bool RemoteTraining::is_asked(bool pushes) const {
  // What the parser met in the words; what a settings file says was there before.
  const auto& said = app->parse_order();
  const auto is_said = [&](const char* option) {
    return std::ranges::find(said, app->get_option(option)) != said.end();
  };
  return is_said("--allow") || is_said("--public") || is_said("--model") || is_said("--segment") ||
         is_said("--audit-probability") || (is_said("--gateway") && !pushes);
}

Result<void> RemoteTraining::check(bool pushes) const {
  if (!is_asked(pushes)) return {};
  if (is_public && !allowed.empty()) {
    return core::fail(ErrorCode::kInvalidArgument,
                      "--public admits everybody, --allow those it names: expected one of them");
  }
  for (const std::string& text : allowed) {
    const auto address = crypto::address_from_text(text);
    if (!address) return core::in_context("--allow", address.error());
  }
  if (is_public || !allowed.empty()) return {};
  return core::fail(ErrorCode::kInvalidArgument,
                    "model and data go to who trains: expected --allow ADDRESS of each provider "
                    "that may have them, or --public for anybody");
}

}  // namespace commensal::apps
