// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>

namespace inference {
class ModelConfig;
}

namespace commensal::oip {

/// What no configuration may say, whatever its model: more fields than limits::kConfigFieldsMax (it
/// is written out, again and again), a value that its enum has not, what would change answers and
/// is not done here, and a privacy class under another name than its own. Pure. Errors:
/// kInvalidArgument, kUnsupported, by the field's name.
core::Result<void> check_config(const inference::ModelConfig& said);

}  // namespace commensal::oip
