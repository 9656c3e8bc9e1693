// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <string>
#include <string_view>

/// The parameter "privacy_class", of a request and in a model's configuration: which providers may
/// see the inputs (gateway/privacy.hpp).
namespace commensal::oip {

inline constexpr std::string_view kPrivacyClass = "privacy_class";

/// As it was said. Error: kInvalidArgument: no class has this name, "" included, since whoever says
/// it means one.
core::Result<std::string> read_privacy_class(std::string_view said);

/// Of a name under which nothing is read. Error: kInvalidArgument: but for case, `-` and `_` it is
/// that parameter's, so that who said it would take for private what is not.
core::Result<void> check_unread(std::string_view name);

}  // namespace commensal::oip
