// SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include <commensal/compute/io/decode.hpp>
#include <cstring>

namespace commensal::io {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

struct Reader {
  png_image state;
  Reader() {
    std::memset(&state, 0, sizeof state);
    state.version = PNG_IMAGE_VERSION;
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { png_image_free(&state); }
};

}  // namespace

Result<Image> decode_png(core::ByteView bytes) {
  Reader reader;
  const auto damaged = [&reader] {
    return fail(ErrorCode::kInvalidArgument, "damaged PNG: {}", reader.state.message);
  };
  if (png_image_begin_read_from_memory(&reader.state, bytes.data(), bytes.size()) == 0) {
    return damaged();
  }
  const bool colour = (reader.state.format & PNG_FORMAT_FLAG_COLOR) != 0;
  reader.state.format = colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  COMMENSAL_ASSIGN(Image image,
                   make_image(reader.state.width, reader.state.height, colour ? 3 : 1));
  const png_color black = {0, 0, 0};
  if (png_image_finish_read(&reader.state, &black, image.pixels.data(), 0, nullptr) == 0) {
    return damaged();
  }
  return image;
}

}  // namespace commensal::io
