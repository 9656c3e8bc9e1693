// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <optional>
#include <string>

/// Numbers as text and back, for Cast. Text is in the C locale's form, whatever the program's.
namespace commensal::kernels::ref {

/// The number that a text names, in what `to` is computed in: an integer in decimal digits, a float
/// as by strtod without hexadecimals ("-INF", "nan", "1e-5"), correctly rounded; a leading + and
/// spaces around it are taken; what `to` cannot hold is none. bool: "1", "0", "True" and "False" in
/// any case. None if it names none that fits.
std::optional<Scalar> number_of(std::string_view text, tensor::DType to);

/// The shortest decimal that gives element `index` back, "NaN", "INF" and "-INF", "True" and
/// "False".
std::string text_of(const Tensor& from, std::int64_t index);

}  // namespace commensal::kernels::ref
