// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <inference/model_config.pb.h>

#include <commensal/base/core/result.hpp>
#include <commensal/serve/oip/batching_config.hpp>

/// For this room's own sources only.
namespace commensal::oip {

/// Error: kInvalidArgument or kUnsupported, with the field's name.
core::Result<BatchingConfig> batching_config(const inference::ModelConfig& said);

}  // namespace commensal::oip
