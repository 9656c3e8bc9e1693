// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/hub.hpp>

namespace commensal::gateway {

/// One version of a model as it lies in the store.
core::Bytes encode(const ModelVersion& version);
/// Error: kDataLoss.
core::Result<ModelVersion> decode_model_version(core::ByteView value);

}  // namespace commensal::gateway
