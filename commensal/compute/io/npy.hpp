// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/compute/tensor/tensor.hpp>

/// numpy's array files. Source: numpy.lib.format (versions 1.0, 2.0 and 3.0).
namespace commensal::io {

/// Errors: kInvalidArgument (not .npy, truncated, shape and size disagree), kUnsupported (element
/// type or byte order).
core::Result<tensor::Tensor> read_npy(core::ByteView bytes);
core::Result<tensor::Tensor> read_npy_file(const core::Path& path);

/// Version 1.0, row-major. Error: kUnsupported (bfloat16, which numpy lacks).
core::Result<core::Bytes> write_npy(const tensor::Tensor& tensor);

/// One array of an .npz archive; `member` without ".npy".
/// Errors: kNotFound, naming the members that there are; those of read_npy.
core::Result<tensor::Tensor> read_npz_file(const core::Path& path, std::string_view member);

}  // namespace commensal::io
