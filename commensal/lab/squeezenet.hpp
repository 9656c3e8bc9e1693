// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>

namespace commensal::lab {

/// SqueezeNet 1.1 (Iandola et al. 2016) as an ONNX file, opset 13: input "image" float32
/// [N,3,224,224], output "logits" float32 [N,1000]. The weights are random: those that
/// models/classic/write_classic.py draws from the same seed.
core::Bytes squeezenet(std::uint64_t seed);

}  // namespace commensal::lab
