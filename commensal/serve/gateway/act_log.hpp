// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/base/protocol/record.hpp>
#include <optional>
#include <string>
#include <vector>

namespace commensal::gateway {

/// What an operator did, or tried to.
struct Act {
  static constexpr std::string_view kRecord = "act";

  std::uint64_t number = 0;  // 1, 2, ...
  std::int64_t at_ms = 0;
  std::string account = {};  // the operator's
  std::string token = {};    // its label; "": none was shown
  std::string what = {};     // "account.create"
  std::string on = {};       // whom or what it is about
  std::string outcome = {};  // "done", or why not

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("number", self.number);
    archive.field("at_ms", self.at_ms);
    archive.field("account", self.account);
    archive.field("token", self.token);
    archive.field("what", self.what);
    archive.field("on", self.on);
    archive.field("outcome", self.outcome);
  }
};

/// The acts of operators, each a row, of which the oldest go. Thread-safety: one thread, the
/// store's.
class ActLog {
 public:
  /// Both outlive this object.
  ActLog(core::Store& store, const core::Clock& clock, std::size_t kept_max)
      : store_(store), clock_(clock), kept_max_(kept_max) {}

  /// Gives it its number and its time; what is long is cut. Error: the store's.
  core::Result<void> add(Act act);
  /// Newest first: those with a lower number than `before`, if it is not 0; at most `count`.
  core::Result<std::vector<Act>> read(std::uint64_t before, std::size_t count);

 private:
  core::Result<std::uint64_t> last();

  core::Store& store_;
  const core::Clock& clock_;
  const std::uint64_t kept_max_;
  std::optional<std::uint64_t> last_;  // number; read once
};

}  // namespace commensal::gateway
