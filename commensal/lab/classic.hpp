// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>

/// Classic networks as ONNX files, opset 13, without anybody's libraries: input "image" float32
/// [N,3,224,224], output "logits" float32 [N,1000]. The weights are random.
namespace commensal::lab {

/// Krizhevsky 2014, in torchvision's layout: 61 million weights, most of which each row reads once.
core::Bytes alexnet(std::uint64_t seed);
/// He et al. 2015, with the stride in the 3x3 convolutions, its normalisations folded into them.
core::Bytes resnet50(std::uint64_t seed);

}  // namespace commensal::lab
