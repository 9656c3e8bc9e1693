// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/io/image.hpp>

namespace commensal::io {

core::Result<Image> decode_jpeg(core::ByteView bytes);
core::Result<Image> decode_png(core::ByteView bytes);
/// PGM and PPM: "P2", "P3", "P5", "P6".
core::Result<Image> decode_netpbm(core::ByteView bytes);

/// An image of that size with its pixels unset. Error: kResourceExhausted.
core::Result<Image> make_image(std::int64_t width, std::int64_t height, int channels);

}  // namespace commensal::io
