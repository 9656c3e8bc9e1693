// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
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

struct Size {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

/// Equal but for the rounding of one side to whole pixels.
bool is_alike(Size own, Size wanted) {
  const std::int64_t off = std::abs(own.width * wanted.height - own.height * wanted.width);
  return 2 * off <= std::max(wanted.width, wanted.height);
}

std::int64_t rounded(std::int64_t dividend, std::int64_t divisor) {
  return std::max<std::int64_t>(1, (dividend + divisor / 2) / divisor);
}

/// The largest size of the proportions of `shape` that fits into `box`.
Size fitted(Size shape, Size box) {
  if (shape.width * box.height > shape.height * box.width) {
    return {box.width, std::min(box.height, rounded(box.width * shape.height, shape.width))};
  }
  return {std::min(box.width, rounded(box.height * shape.width, shape.height)), box.height};
}

Plane middle_of(const Plane& plane, Size kept) {
  const std::int64_t left = (plane.width - kept.width) / 2;
  const std::int64_t top = (plane.height - kept.height) / 2;
  Plane middle{static_cast<int>(kept.width), static_cast<int>(kept.height), {}};
  for (std::int64_t y = top; y < top + kept.height; ++y) {
    const auto row = plane.values.begin() + y * plane.width + left;
    middle.values.insert(middle.values.end(), row, row + kept.width);
  }
  return middle;
}

Plane between_bars(const Plane& plane, Size whole) {
  Plane padded{static_cast<int>(whole.width), static_cast<int>(whole.height), {}};
  padded.values.resize(static_cast<std::size_t>(whole.width * whole.height));
  const std::int64_t left = (whole.width - plane.width) / 2;
  const std::int64_t top = (whole.height - plane.height) / 2;
  for (std::int64_t y = 0; y < plane.height; ++y) {
    std::copy_n(plane.values.begin() + y * plane.width, plane.width,
                padded.values.begin() + (top + y) * whole.width + left);
  }
  return padded;
}

Plane resized_by(Resize rule, const Plane& plane, Size wanted) {
  const Size own{plane.width, plane.height};
  const auto to = [](const Plane& from, Size size) {
    return resize_bilinear(from, static_cast<int>(size.width), static_cast<int>(size.height));
  };
  if (rule == Resize::kCrop) return to(middle_of(plane, fitted(wanted, own)), wanted);
  if (rule == Resize::kPad) return between_bars(to(plane, fitted(own, wanted)), wanted);
  return to(plane, wanted);
}

Result<void> check_rule(const PictureRule& rule) {
  for (const float mean : rule.mean) {
    if (!std::isfinite(mean)) {
      return fail(ErrorCode::kInvalidArgument, "a mean of {} is no number", mean);
    }
  }
  for (const float scale : rule.scale) {
    if (!std::isfinite(scale) || scale == 0) {
      return fail(ErrorCode::kInvalidArgument, "an image cannot be divided by {}", scale);
    }
  }
  return {};
}

Result<void> check_fit(const Image& image, const tensor::Shape& shape, const PictureRule& rule) {
  if (image.channels != shape[1] && !rule.convert) {
    return fail(ErrorCode::kInvalidArgument, "the picture is {}, the model wants {}: convert it",
                image.channels == 1 ? "grey" : "coloured", shape[1] == 1 ? "grey" : "colour");
  }
  if (rule.resize == Resize::kRefuse &&
      !is_alike({image.width, image.height}, {shape[3], shape[2]})) {
    return fail(ErrorCode::kInvalidArgument,
                "the picture is {} x {}, the model wants {} x {}: stretch, crop or pad it",
                image.width, image.height, shape[3], shape[2]);
  }
  return {};
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
  const bool is_netpbm = text.starts_with("P2") || text.starts_with("P3") ||
                         text.starts_with("P5") || text.starts_with("P6");
  if (is_netpbm) return decode_netpbm(bytes);
  return fail(ErrorCode::kInvalidArgument, "neither JPEG nor PNG nor PGM nor PPM");
}

Result<Image> read_image_file(const core::Path& path) {
  COMMENSAL_ASSIGN(const auto file, core::MappedFile::open(path));
  auto image = decode_image(file->bytes());
  if (!image) return core::in_context(fmt::format("'{}'", path.string()), image.error());
  return image;
}

Result<tensor::Tensor> image_tensor(const Image& image, const tensor::Shape& shape,
                                    const PictureRule& rule) {
  if (shape.rank() != 4 || shape[0] != 1 || (shape[1] != 1 && shape[1] != 3) || shape[2] < 1 ||
      shape[3] < 1 || shape[2] > limits::kImageSideMax || shape[3] > limits::kImageSideMax) {
    return fail(ErrorCode::kInvalidArgument, "an image fills [1,1|3,H,W], not {}", shape.text());
  }
  COMMENSAL_TRY(check_rule(rule));
  COMMENSAL_TRY(check_fit(image, shape, rule));
  const int channels = static_cast<int>(shape[1]);
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(shape.elements()));
  for (int channel = 0; channel < channels; ++channel) {
    const auto c = static_cast<std::size_t>(channel);
    const Plane resized =
        resized_by(rule.resize, plane_of(image, channel, channels), {shape[3], shape[2]});
    for (const float value : resized.values) {
      values.push_back((value - rule.mean[c]) / rule.scale[c]);
    }
  }
  return tensor::Tensor::of<float>(shape, values);
}

}  // namespace commensal::io
