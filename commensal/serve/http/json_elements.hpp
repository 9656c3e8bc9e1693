// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/tensor/tensor.hpp>
#include <string>
#include <string_view>

namespace commensal::http {

/// Reads the elements of a tensor from a JSON array, flat or nested (only the count is checked, as
/// the Open Inference Protocol has it). Numbers are rounded once, to the tensor's own type;
/// integers must be in range; booleans are true, false, 0 or 1; BYTES are JSON's strings. 16-bit
/// floating point has no JSON form in the protocol: binary only. Memory grows with the text, never
/// with the shape. Error: kInvalidArgument.
core::Result<tensor::Tensor> read_json_elements(std::string_view array,
                                                const tensor::TensorType& type);

/// Appends the elements as a flat JSON array. Floating point gets the fewest digits that read back
/// to the same bits in its own type (16-bit types: in binary32, which holds them exactly). NaN and
/// the infinities have no form in JSON and become null; binary outputs keep them.
/// On the way `out` is never longer than in the end.
void append_json_elements(std::string& out, const tensor::Tensor& tensor);
/// So long that array is, if not longer than `most`; else more than `most`. Takes as long as
/// writing it, up to there.
std::int64_t json_elements_bytes(const tensor::Tensor& tensor, std::int64_t most);
/// So long it is at least, whatever the values are.
std::int64_t json_elements_bytes_min(const tensor::TensorType& type);
/// So long at most. Takes no longer than a pass over strings' lengths.
std::int64_t json_elements_bytes_max(const tensor::Tensor& tensor);
/// Error: kInvalidArgument, with the way out (strings that are not UTF-8).
core::Result<void> check_json_form(const tensor::Tensor& tensor);

}  // namespace commensal::http
