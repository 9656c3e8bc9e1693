// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <cstdint>
#include <vector>

/// Models that are hard to run, to read or to keep, as bytes of ONNX.
namespace commensal::lab::hostile {

/// float32 y[1] = float32 x[1], after so many products of 512 x 512 matrices, some milliseconds
/// each.
core::Bytes looping_model(std::int64_t trips);
/// float32 y: `value` as often as int64 x[1] says.
core::Bytes hungry_model(float value = 0);
/// float32 y[n] = max(float32 x[n], 0).
core::Bytes relu_model();
/// So many inputs, float32 x0[n, n, ...] and on, of which it takes the first.
core::Bytes listed_model(std::size_t inputs);
/// To be refused: too many inputs, names that are too long, data in another's file, and more
/// weights than are there.
std::vector<core::Bytes> unkeepable_models();
/// To be refused when they are read, some hundred bytes each: gradients that take a square matrix
/// of an axis, constants as large as an image, or twice the nodes for each Gradient more.
std::vector<core::Bytes> swelling_models();

}  // namespace commensal::lab::hostile
