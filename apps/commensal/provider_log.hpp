// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/provider/provider.hpp>
#include <string>
#include <vector>

namespace commensal::apps {

/// Error: kInvalidArgument for what is not HOST:PORT of a gateway's port for providers, or
/// several of them with commas between.
core::Result<void> check_stream_address(const std::string& text);

/// What a provider's log says: a line whenever the stream, the pause or the money changes, and,
/// while it works, one every ten seconds about its jobs.
class ProviderLog {
 public:
  explicit ProviderLog(std::string gateway) : gateway_(std::move(gateway)) {}
  /// The lines that this status is worth; `now_ms` of a monotonic clock.
  std::vector<std::string> add(const provider::ProviderStatus& now, std::int64_t now_ms);

 private:
  std::string stream_line(const provider::ProviderStatus& now) const;
  std::string fetch_line(const provider::ProviderStatus& now, std::int64_t now_ms);
  std::string money_line(const provider::ProviderStatus& now) const;

  std::string gateway_;
  std::string trust_;
  std::string stream_;
  std::string paused_;
  std::string money_;
  std::string fetch_;
  std::uint64_t fetches_ = 0;  // begun, as the log has it
  std::int64_t fetch_told_ms_ = 0;
  std::uint64_t delivered_ = 0;  // as the log has it
  std::uint64_t refused_ = 0;
  std::int64_t told_ms_ = 0;
};

}  // namespace commensal::apps
