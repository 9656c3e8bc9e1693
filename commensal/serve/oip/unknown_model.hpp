// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <string>
#include <string_view>

namespace commensal::oip {

/// Whether it says that a model, or a version of one, is not there.
bool is_unknown_model(const core::Error& error);
/// The same in Triton's words, which its clients look for; any other error as it is. `model` and
/// `version`, if not "": as asked for.
core::Error in_tritons_words(core::Error error, std::string_view model, std::string_view version);

}  // namespace commensal::oip
