// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/io/decode.hpp>
#include <commensal/compute/io/resize.hpp>

namespace commensal::io {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

// Channel `channel` of `wanted` at a pixel, from one grey or three coloured bytes.
float sample(const std::uint8_t* pixel, int channels, int channel, int wanted) {
  if (channels == 1) return static_cast<float>(pixel[0]);
  if (wanted == 3) return static_cast<float>(pixel[channel]);
  return 0.299f * static_cast<float>(pixel[0]) + 0.587f * static_cast<float>(pixel[1]) +
         0.114f * static_cast<float>(pixel[2]);
}

Plane plane_of(const Image& image, int channel, int wanted) {
  Plane plane{image.width, image.height, {}};
  plane.values.reserve(image.pixels.size() / static_cast<std::size_t>(image.channels));
  for (std::size_t at = 0; at < image.pixels.size();
       at += static_cast<std::size_t>(image.channels)) {
    plane.values.push_back(sample(&image.pixels[at], image.channels, channel, wanted));
  }
  return plane;
}

}  // namespace

Result<Image> make_image(std::int64_t width, std::int64_t height, int channels) {
  if (width < 1 || height < 1 || width > limits::kImageSideMax || height > limits::kImageSideMax ||
      width * height > limits::kImagePixelsMax) {
    return fail(ErrorCode::kResourceExhausted,
                "an image of {} x {}, at most {} a side and {} pixels are accepted", width, height,
                limits::kImageSideMax, limits::kImagePixelsMax);
  }
  Image image{static_cast<int>(width), static_cast<int>(height), channels, {}};
  image.pixels.resize(static_cast<std::size_t>(width * height * channels));
  return image;
}

Result<Image> decode_image(core::ByteView bytes) {
  const std::string_view text = core::as_text(bytes);
  if (text.starts_with("\xff\xd8\xff")) return decode_jpeg(bytes);
  if (text.starts_with("\x89PNG\r\n\x1a\n")) return decode_png(bytes);
  return fail(ErrorCode::kInvalidArgument, "neither JPEG nor PNG");
}

Result<Image> read_image_file(const core::Path& path) {
  COMMENSAL_ASSIGN(const auto file, core::MappedFile::open(path));
  auto image = decode_image(file->bytes());
  if (!image) return core::in_context(fmt::format("'{}'", path.string()), image.error());
  return image;
}

Result<tensor::Tensor> image_tensor(const Image& image, const tensor::Shape& shape, float mean,
                                    float scale) {
  if (shape.rank() != 4 || shape[0] != 1 || (shape[1] != 1 && shape[1] != 3) || shape[2] < 1 ||
      shape[3] < 1 || shape[2] > limits::kImageSideMax || shape[3] > limits::kImageSideMax) {
    return fail(ErrorCode::kInvalidArgument, "an image fills [1,1|3,H,W], not {}", shape.text());
  }
  if (!(scale > 0 || scale < 0)) {
    return fail(ErrorCode::kInvalidArgument, "an image cannot be divided by {}", scale);
  }
  const int channels = static_cast<int>(shape[1]);
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(shape.elements()));
  for (int channel = 0; channel < channels; ++channel) {
    const Plane resized = resize_bilinear(plane_of(image, channel, channels),
                                          static_cast<int>(shape[3]), static_cast<int>(shape[2]));
    for (const float value : resized.values) values.push_back((value - mean) / scale);
  }
  return tensor::Tensor::of<float>(shape, values);
}

}  // namespace commensal::io
