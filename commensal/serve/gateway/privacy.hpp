// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/privacy.hpp>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace commensal::gateway {

/// The classes of private data that a provider may be shown, and when each ends (since 1970).
using PrivacyClasses = std::map<std::string, std::uint64_t, std::less<>>;

/// "" where it may be shown data of this class at `now_ms`, which everybody may of none (""); else
/// why not, as what follows its name.
std::string why_not_shown(const PrivacyClasses& classes, std::string_view privacy_class,
                          std::int64_t now_ms);

/// Those that hold at `now_ms`.
PrivacyClasses still_held(const std::optional<PrivacyClasses>& classes, std::int64_t now_ms);

/// Whose word the operator takes, and on which class. Thread-safety: any thread.
class PrivacyAuditors {
 public:
  using Believed = std::map<std::string, std::set<crypto::Address>, std::less<>>;  // by class

  explicit PrivacyAuditors(Believed believed) : believed_(std::move(believed)) {}

  /// Of a request that names this class, or none (""). Error: kInvalidArgument (nobody is believed
  /// about it, so that no provider could have it).
  core::Result<void> check(std::string_view privacy_class) const;
  /// What a request is of that names the class `asked`, or none (""), where its model is of the
  /// class `own`, or of none. Errors: kInvalidArgument (the model is of another one; check's),
  /// kUnavailable (nobody is believed about the model's).
  core::Result<std::string> class_for(std::string_view model, const std::string& own,
                                      const std::string& asked) const;
  /// "" where a model of this class, or of none (""), may have a provider; else why not.
  std::string why_not_served(std::string_view privacy_class) const;
  /// What holds at `now_ms` of all that a provider shows; of the rest `ignored` hears why it does
  /// not, in a line each.
  PrivacyClasses classes_of(std::span<const protocol::PrivacyStatement> shown,
                            const crypto::Address& provider, std::int64_t now_ms,
                            const std::function<void(core::Error)>& ignored) const;

 private:
  core::Result<void> accept(const protocol::PrivacyStatement& statement,
                            const crypto::Address& provider, std::int64_t now_ms) const;

  Believed believed_;
};

}  // namespace commensal::gateway
