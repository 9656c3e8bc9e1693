// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/collocation/guest/guest_process.hpp>
#include <optional>
#include <string>
#include <vector>

namespace commensal::apps {

/// A share: a number such as 0.01, or of a hundred such as 1%. Error: kInvalidArgument (neither, or
/// not in (0, 1]).
core::Result<double> share_from_text(const std::string& text);

/// --host and what goes with it, for commands that run guests.
class HostOptions {
 public:
  /// This object outlives the app.
  void declare(CLI::App& app);
  /// What they amount to. Error: kInvalidArgument (two that exclude each other, or about a host
  /// where none is named). To be called while the app is there.
  core::Result<guest::GuestProcessOptions> settle() const;
  const std::string& host() const { return guest_.client.host; }
  /// Whether the gateway may show the host.
  bool shows() const { return shows_; }

 private:
  core::Result<std::optional<guest::Promise>> asked() const;

  guest::GuestProcessOptions guest_;
  const CLI::Option* given_ = nullptr;  // --host
  std::vector<const CLI::Option*> of_a_host_;
  std::optional<double> loss_max_;
  std::optional<double> loss_minute_max_;
  std::optional<double> kept_min_;
  bool shows_ = false;
};

}  // namespace commensal::apps
