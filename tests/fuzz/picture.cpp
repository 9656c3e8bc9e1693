// SPDX-License-Identifier: Apache-2.0
// JPEG, PNG, PGM and PPM, and the tensor that is made of a picture.
#include <commensal/compute/io/image.hpp>
#include <tests/fuzz/fuzz.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace commensal;
  const auto image = io::decode_image({data, size});
  if (!image) return 0;
  const auto bytes = static_cast<std::size_t>(image->width) *
                     static_cast<std::size_t>(image->height) *
                     static_cast<std::size_t>(image->channels);
  core::check(image->pixels.size() == bytes, "a picture has all its pixels");
  for (const io::Resize resize : {io::Resize::kStretch, io::Resize::kCrop, io::Resize::kPad}) {
    const auto tensor = io::image_tensor(*image, {1, 3, 4, 5}, {.resize = resize, .convert = true});
    core::check(tensor.has_value() && tensor->elements() == 60, "a picture becomes a tensor");
  }
  return 0;
}
