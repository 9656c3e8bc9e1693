// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/compute/tensor/tensor.hpp>

namespace commensal::io {

/// Pixels as they are seen: rows from the top, channels interleaved, 8 bits each.
struct Image {
  int width = 0;
  int height = 0;
  int channels = 0;  // 1 grey, 3 red green blue
  core::Bytes pixels;
};

/// JPEG or PNG, told apart by their first bytes. A PNG's transparency is laid over black; 16 bits
/// become 8. JPEG decodes with the exact integer transform, so that the pixels are the same on
/// every machine. Sides up to limits::kImageSideMax.
/// Errors: kInvalidArgument (not an image, damaged), kUnsupported (CMYK), kResourceExhausted.
core::Result<Image> decode_image(core::ByteView bytes);
core::Result<Image> read_image_file(const core::Path& path);

/// float32[1,C,H,W] of (value - mean) / scale, where C is 1 (luma: 0.299 R + 0.587 G + 0.114 B) or
/// 3. The picture is resized to W x H by bilinear interpolation with half-pixel centres, computed
/// in binary32 (docs/numerics.md), without rounding to 8 bits.
/// Error: kInvalidArgument (a shape that is not [1,1|3,H,W], a scale of 0).
core::Result<tensor::Tensor> image_tensor(const Image& image, const tensor::Shape& shape,
                                          float mean, float scale);

}  // namespace commensal::io
