// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx_pb.h>

/// ONNX's checker is not here: it refuses models and changes none, and the one that a gateway has
/// taken in has passed it.
namespace onnx::checker {

inline void check_model(const ModelProto& /*model*/) {}

}  // namespace onnx::checker
