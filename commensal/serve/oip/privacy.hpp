// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/oip/model_config.hpp>
#include <string>
#include <string_view>

/// The parameter "privacy_class", of a request and in a model's configuration: which providers may
/// see the inputs (gateway/privacy.hpp).
namespace commensal::oip {

inline constexpr std::string_view kPrivacyClass = "privacy_class";

/// As it was said. Error: kInvalidArgument: no class has this name, "" included, since whoever says
/// it means one.
core::Result<std::string> read_privacy_class(std::string_view said);

/// Of a request of a model that names the class `asked`, or none (""). Error: kInvalidArgument
/// (its model has another one).
core::Result<std::string> privacy_class_of(const ModelConfig& config, const std::string& model,
                                           const std::string& asked);

}  // namespace commensal::oip
