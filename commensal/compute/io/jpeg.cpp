// SPDX-License-Identifier: Apache-2.0
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <jpeglib.h>

#include <commensal/compute/io/decode.hpp>
#include <limits>

namespace commensal::io {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

/// libjpeg reports errors by a jump. Every function that sets the target of one holds no object
/// with a destructor.
struct Decoder {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  std::jmp_buf target;
  char message[JMSG_LENGTH_MAX];
};

Decoder& decoder_of(j_common_ptr info) { return *static_cast<Decoder*>(info->client_data); }

void jump_out(j_common_ptr info) {
  info->err->format_message(info, decoder_of(info).message);
  std::longjmp(decoder_of(info).target, 1);
}

// libjpeg only warns of data that is cut short or damaged, and makes the rest up.
void on_message(j_common_ptr info, int level) {
  if (level < 0) jump_out(info);
}

bool begin(Decoder& decoder, core::ByteView bytes) {
  std::memset(&decoder.info, 0, sizeof decoder.info);
  decoder.info.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = jump_out;
  decoder.errors.emit_message = on_message;
  decoder.info.client_data = &decoder;
  if (setjmp(decoder.target) != 0) return false;
  jpeg_create_decompress(&decoder.info);
  jpeg_mem_src(&decoder.info, bytes.data(), static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&decoder.info, TRUE);
  return true;
}

bool read_rows(Decoder& decoder, std::uint8_t* pixels, std::size_t row_bytes) {
  if (setjmp(decoder.target) != 0) return false;
  jpeg_start_decompress(&decoder.info);
  while (decoder.info.output_scanline < decoder.info.output_height) {
    JSAMPROW row = pixels + decoder.info.output_scanline * row_bytes;
    jpeg_read_scanlines(&decoder.info, &row, 1);
  }
  jpeg_finish_decompress(&decoder.info);
  return true;
}

Result<Image> decode(Decoder& decoder, core::ByteView bytes) {
  const auto damaged = [&decoder] {
    return fail(ErrorCode::kInvalidArgument, "damaged JPEG: {}", decoder.message);
  };
  if (!begin(decoder, bytes)) return damaged();
  jpeg_decompress_struct& info = decoder.info;
  if (info.num_components != 1 && info.num_components != 3) {
    return fail(ErrorCode::kUnsupported, "a JPEG of {} channels, expected 1 or 3",
                info.num_components);
  }
  info.out_color_space = info.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  info.dct_method = JDCT_ISLOW;
  COMMENSAL_ASSIGN(Image image,
                   make_image(info.image_width, info.image_height, info.num_components));
  const auto row_bytes = static_cast<std::size_t>(image.width * image.channels);
  if (!read_rows(decoder, image.pixels.data(), row_bytes)) return damaged();
  return image;
}

}  // namespace

Result<Image> decode_jpeg(core::ByteView bytes) {
  Decoder decoder;
  auto image = decode(decoder, bytes);
  jpeg_destroy_decompress(&decoder.info);
  return image;
}

}  // namespace commensal::io
