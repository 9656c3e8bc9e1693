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

/// What a tensor of pixels has, wherever its shape says so.
struct Frame {
  int channels = 0;
  Size size;
};

Result<Frame> frame_of(const tensor::Shape& shape, bool channels_last) {
  const auto side = [](std::int64_t extent) {
    return extent >= 1 && extent <= limits::kImageSideMax;
  };
  const int rows = channels_last ? 1 : 2, channels = channels_last ? 3 : 1;
  if (shape.rank() != 4 || shape[0] != 1 || (shape[channels] != 1 && shape[channels] != 3) ||
      !side(shape[rows]) || !side(shape[rows + 1])) {
    return fail(ErrorCode::kInvalidArgument, "an image fills {}, not {}",
                channels_last ? "[1,H,W,1|3]" : "[1,1|3,H,W]", shape.text());
  }
  return Frame{static_cast<int>(shape[channels]), {shape[rows + 1], shape[rows]}};
}

Result<void> check_fit(const Image& image, const Frame& frame, const PictureRule& rule) {
  if (image.channels != frame.channels && !rule.convert) {
    return fail(ErrorCode::kInvalidArgument, "the picture is {}, the model wants {}: convert it",
                image.channels == 1 ? "grey" : "coloured", frame.channels == 1 ? "grey" : "colour");
  }
  if (rule.resize == Resize::kRefuse && !is_alike({image.width, image.height}, frame.size)) {
    return fail(ErrorCode::kInvalidArgument,
                "the picture is {} x {}, the model wants {} x {}: stretch, crop or pad it",
                image.width, image.height, frame.size.width, frame.size.height);
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
  COMMENSAL_ASSIGN(const Frame frame, frame_of(shape, rule.channels_last));
  COMMENSAL_TRY(check_rule(rule));
  COMMENSAL_TRY(check_fit(image, frame, rule));
  const auto channels = static_cast<std::size_t>(frame.channels);
  const auto pixels = static_cast<std::size_t>(frame.size.width * frame.size.height);
  std::vector<float> values(channels * pixels);
  for (std::size_t c = 0; c < channels; ++c) {
    const int own = static_cast<int>(rule.bgr ? channels - 1 - c : c);
    const Plane resized = resized_by(rule.resize, plane_of(image, own, frame.channels), frame.size);
    const std::size_t from = rule.channels_last ? c : c * pixels;
    const std::size_t step = rule.channels_last ? channels : 1;
    for (std::size_t i = 0; i < pixels; ++i)
      values[from + i * step] = (resized.values[i] - rule.mean[c]) / rule.scale[c];
  }
  return tensor::Tensor::of<float>(shape, values);
}

}  // namespace commensal::io
