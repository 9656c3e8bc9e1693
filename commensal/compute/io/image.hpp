// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
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

/// JPEG, PNG, PGM or PPM, told apart by their first bytes. A PNG's transparency is laid over black;
/// 16 bits become 8. JPEG decodes with the exact integer transform, so that the pixels are the same
/// on every machine. PGM and PPM, plain or raw, keep the numbers of their file, whatever number is
/// its white (1 to 255). Sides up to limits::kImageSideMax.
/// Errors: kInvalidArgument (not an image, damaged), kUnsupported (CMYK), kResourceExhausted.
core::Result<Image> decode_image(core::ByteView bytes);
core::Result<Image> read_image_file(const core::Path& path);

/// What becomes of a picture whose sides have other proportions than the model's.
enum class Resize : std::uint8_t {
  kRefuse,
  kStretch,  // each side by itself
  kCrop,     // the middle of it, of the model's proportions
  kPad,      // the whole of it, between black bars
};

/// How pixels become numbers: (value - mean) / scale, for each channel.
struct PictureRule {
  Resize resize = Resize::kRefuse;
  bool convert = false;  // grey out of colour, colour out of grey; else they are refused
  std::array<float, 3> mean{0, 0, 0};   // in the order of the tensor's channels
  std::array<float, 3> scale{1, 1, 1};  // likewise
  bool channels_last = false;           // [1,H,W,C]
  bool bgr = false;                     // three channels are blue, green, red
};

/// float32[1,C,H,W] of the picture, where C is 1 (luma: 0.299 R + 0.587 G + 0.114 B) or 3. The
/// picture is resized to W x H by bilinear interpolation with half-pixel centres, computed in
/// binary32 (docs/numerics.md), without rounding to 8 bits.
/// Error: kInvalidArgument (a shape that is not [1,1|3,H,W] or, channels_last, [1,H,W,1|3],
/// proportions or colours that the rule does not cover, a mean that is no number, a scale that is
/// none or 0).
core::Result<tensor::Tensor> image_tensor(const Image& image, const tensor::Shape& shape,
                                          const PictureRule& rule);

}  // namespace commensal::io
