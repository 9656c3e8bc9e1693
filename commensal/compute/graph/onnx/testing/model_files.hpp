// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

/// Model files of other rooms' tests, which see nothing of the library that makes them. Each has
/// one input x and one output y, both float32[2,3] where nothing else is said.
namespace commensal::graph::onnx::testing {

/// y = Relu(x), of `rows` rows.
std::string relu_file(std::int64_t rows = 2);
/// y = x twice, one behind the other: texts of any number.
std::string text_file();
/// A loop `loop` of that many turns, in each of which a MatMul `product` of square matrices of 4.
std::string turns_file(std::int64_t turns);
/// Some hours: a loop with a product of square matrices of 256 rows in each turn.
std::string endless_file();
/// y = x + w, which is of four rows.
std::string refused_file();
/// y = Max of x nine times, which are too many for a fast kernel.
std::string slow_file();
/// A loop in a loop and so on, `levels` of them inside the first, all nodes of one name but those
/// that only hand a condition on; the innermost adds a weight of three elements.
std::string nested_file(int levels, const std::string& name);
/// y = x + w, whose elements are in the file `location`.
std::string external_file(const std::string& location);
/// Has a tensor of 6,000 elements inside.
std::string large_inside_file();
/// Has constants that are large enough for packing to be kept; the model is called `name`.
std::string packed_file(const std::string& name);

}  // namespace commensal::graph::onnx::testing
