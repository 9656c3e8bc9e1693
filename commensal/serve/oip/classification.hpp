// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/compute/tensor/tensor.hpp>
#include <functional>
#include <string>

namespace commensal::oip {

/// The label of an output's element of that index; "" where it has none.
using LabelOf = std::function<std::string(std::int64_t index)>;

/// Whether elements of the type are ordered: numbers of 8 bits or more.
bool has_classes(tensor::DType dtype);

/// An output's largest elements as texts, "VALUE:INDEX" or "VALUE:INDEX:LABEL", the largest first,
/// of equals the one of the lower index; NaN is less than any number. Shape [N], or [rows, N]
/// where `has_rows` says that the first dimension counts rows; N is `classes`, or where they are
/// fewer the elements of a row. Floating point is written as by %f. Takes as long as reading the
/// elements. Pure. Source: Triton, "Classification Extension".
/// Errors: kInvalidArgument (`classes` below 1; a type that is not a number of 8 bits or more).
core::Result<tensor::Tensor> classify(const tensor::Tensor& output, std::int64_t classes,
                                      bool has_rows, const LabelOf& label = {});

}  // namespace commensal::oip
