// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/compute/tensor/tensor.hpp>

/// numpy's array files. Source: numpy.lib.format (versions 1.0, 2.0 and 3.0).
namespace commensal::io {

/// Errors: kInvalidArgument (not .npy, truncated, shape and size disagree), kUnsupported (element
/// type or byte order). Strings of bytes or of characters, which become UTF-8, lose zeros at their
/// ends, as they do in numpy.
core::Result<tensor::Tensor> read_npy(core::ByteView bytes);
core::Result<tensor::Tensor> read_npy_file(const core::Path& path);

/// Version 1.0, row-major; strings as bytes (|S). Errors: kUnsupported (what numpy lacks: bfloat16,
/// strings that end with a zero byte), kResourceExhausted (strings of very different lengths).
core::Result<core::Bytes> write_npy(const tensor::Tensor& tensor);

/// One array of an .npz archive; `member` without ".npy".
/// Errors: kNotFound, naming the members that there are; those of read_npy.
core::Result<tensor::Tensor> read_npz_file(const core::Path& path, std::string_view member);

}  // namespace commensal::io
