// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/gateway/privacy.hpp>
#include <utility>

namespace commensal::gateway {

using core::ErrorCode;
using core::fail;

std::string why_not_shown(const PrivacyClasses& classes, std::string_view privacy_class,
                          std::int64_t now_ms) {
  if (privacy_class.empty()) return "";
  const auto found = classes.find(privacy_class);
  if (found == classes.end())
    return fmt::format("has no statement of class '{}' by an auditor of this gateway",
                       privacy_class);
  if (std::cmp_less(now_ms, found->second)) return "";
  return fmt::format("has no statement of class '{}' any more: its last one has ended",
                     privacy_class);
}

PrivacyClasses still_held(const std::optional<PrivacyClasses>& classes, std::int64_t now_ms) {
  PrivacyClasses held = classes.value_or(PrivacyClasses());
  std::erase_if(held, [&](const auto& one) { return std::cmp_less_equal(one.second, now_ms); });
  return held;
}

core::Result<void> PrivacyAuditors::check(std::string_view privacy_class) const {
  if (privacy_class.empty() || believed_.contains(privacy_class)) return {};
  COMMENSAL_TRY(protocol::check_privacy_class(privacy_class));
  std::string known;
  for (const auto& [name, auditors] : believed_)
    known += fmt::format("{}'{}'", known.empty() ? "" : ", ", name);
  return fail(ErrorCode::kInvalidArgument,
              "unknown privacy class '{}': this gateway has auditors for {}", privacy_class,
              known.empty() ? "none" : known);
}

std::string PrivacyAuditors::why_not_served(std::string_view privacy_class) const {
  if (privacy_class.empty() || believed_.contains(privacy_class)) return "";
  return fmt::format(
      "it is of the privacy class '{}', about which this gateway believes no auditor",
      privacy_class);
}

core::Result<std::string> PrivacyAuditors::class_for(std::string_view model, const std::string& own,
                                                     const std::string& asked) const {
  if (own.empty()) {
    COMMENSAL_TRY(check(asked));
    return asked;
  }
  if (!asked.empty() && asked != own) {
    return fail(ErrorCode::kInvalidArgument,
                "'{}' is served to the privacy class '{}', the request names '{}'", model, own,
                asked);
  }
  const std::string why = why_not_served(own);
  if (why.empty()) return own;
  return fail(ErrorCode::kUnavailable, "no provider for '{}': {}", model, why);
}

core::Result<void> PrivacyAuditors::accept(const protocol::PrivacyStatement& statement,
                                           const crypto::Address& provider,
                                           std::int64_t now_ms) const {
  if (statement.provider != provider) {
    return fail(ErrorCode::kInvalidArgument, "it is for {}", crypto::to_text(statement.provider));
  }
  const auto found = believed_.find(statement.privacy_class);
  if (found == believed_.end() || !found->second.contains(statement.auditor)) {
    return fail(ErrorCode::kPermissionDenied, "{} is no auditor of this class here",
                crypto::to_text(statement.auditor));
  }
  if (std::cmp_greater_equal(now_ms, statement.valid_until_ms)) {
    return fail(ErrorCode::kFailedPrecondition, "it has ended");
  }
  return protocol::verify_statement(statement);
}

PrivacyClasses PrivacyAuditors::classes_of(std::span<const protocol::PrivacyStatement> shown,
                                           const crypto::Address& provider, std::int64_t now_ms,
                                           const std::function<void(core::Error)>& ignored) const {
  PrivacyClasses classes;
  for (const protocol::PrivacyStatement& statement : shown) {
    const auto accepted = accept(statement, provider, now_ms);
    if (!accepted) {
      ignored({accepted.error().code,
               fmt::format("provider {}'s statement of class '{}' is ignored: {}",
                           crypto::to_text(provider), statement.privacy_class,
                           accepted.error().message)});
      continue;
    }
    std::uint64_t& until = classes[statement.privacy_class];
    until = std::max(until, statement.valid_until_ms);
  }
  return classes;
}

}  // namespace commensal::gateway
