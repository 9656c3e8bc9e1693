// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/compute/tensor/tensor.hpp>
#include <functional>
#include <string>

namespace commensal::oip {

/// The label of an output's element of that index; "" where it has none.
using LabelOf = std::function<std::string(std::int64_t index)>;

/// So many texts at most become of an output.
inline constexpr std::int64_t kClassTextsMax = 1 << 16;
/// Error: kInvalidArgument, but for 1 to kClassTextsMax.
core::Result<void> check_class_count(std::int64_t classes);
/// Whether elements of the type are ordered: numbers of 8 bits or more.
bool has_classes(tensor::DType dtype);

/// An output's largest elements as texts, "VALUE:INDEX" or "VALUE:INDEX:LABEL", the largest first,
/// of equals the one of the lower index; NaN is less than any number. Shape [N], or [rows, N]
/// where `has_rows` says that the first dimension counts rows; N is `classes`, or where they are
/// fewer the elements of a row. Floating point is written as by %f. Takes as long as reading the
/// elements, and memory for the texts alone. Pure. Source: Triton, "Classification Extension".
/// Errors: check_class_count's, kInvalidArgument (a type that is not a number of 8 bits or more;
/// more than kClassTextsMax texts in all rows).
core::Result<tensor::Tensor> classify(const tensor::Tensor& output, std::int64_t classes,
                                      bool has_rows, const LabelOf& label = {});

}  // namespace commensal::oip
