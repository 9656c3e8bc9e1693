// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>

namespace commensal::lab {

/// A network with a wide output, each element of which depends on a patch of 11 x 11 pixels: that
/// of the ONNX model zoo's super-resolution (Shi et al. 2016, ESPCN) as an ONNX file, opset 13,
/// input "image" float32 [N,1,H,W], output "enlarged" float32 [N,1,3H,3W]. Its weights are random,
/// drawn from the seed as squeezenet()'s are.
core::Bytes super_resolution(std::uint64_t seed);

}  // namespace commensal::lab
