// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/io/decode.hpp>

namespace commensal::io {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

constexpr std::int64_t kNumberMax = 1'000'000'000;  // more than any side may have

/// What follows the two letters, number by number.
class NetpbmText {
 public:
  explicit NetpbmText(core::ByteView bytes) : rest_(bytes) {}

  /// The next decimal number, after blanks and comments; -1 where there is none.
  std::int64_t number() {
    skip_blanks();
    std::int64_t value = -1;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      value = std::min(kNumberMax, std::max<std::int64_t>(value, 0) * 10 + (rest_.front() - '0'));
      rest_ = rest_.subspan(1);
    }
    return value;
  }
  /// The bytes after the one blank that ends the head.
  core::ByteView raw() const { return rest_.empty() ? rest_ : rest_.subspan(1); }

 private:
  void skip_blanks() {
    while (!rest_.empty()) {
      if (rest_.front() == '#') {
        rest_ =
            rest_.subspan(static_cast<std::size_t>(std::ranges::find(rest_, '\n') - rest_.begin()));
      } else if (rest_.front() == ' ' || (rest_.front() >= '\t' && rest_.front() <= '\r')) {
        rest_ = rest_.subspan(1);
      } else {
        return;
      }
    }
  }

  core::ByteView rest_;
};

}  // namespace

Result<Image> decode_netpbm(core::ByteView bytes) {
  const std::uint8_t kind = bytes[1];
  NetpbmText text(bytes.subspan(2));
  const std::int64_t width = text.number(), height = text.number(), white = text.number();
  if (width < 0 || height < 0 || white < 1 || white > 255) {
    return fail(ErrorCode::kInvalidArgument,
                "a PGM or PPM begins with its width, its height and its white, 1 to 255");
  }
  COMMENSAL_ASSIGN(Image image, make_image(width, height, kind == '3' || kind == '6' ? 3 : 1));
  const bool is_plain = kind == '2' || kind == '3';
  const core::ByteView raw = text.raw();
  if (!is_plain && raw.size() < image.pixels.size()) {
    return fail(ErrorCode::kInvalidArgument, "the PGM or PPM is cut short");
  }
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    const std::int64_t value = is_plain ? text.number() : raw[i];
    if (value < 0 || value > white) {
      return fail(ErrorCode::kInvalidArgument, "a pixel of the PGM or PPM is {}",
                  value < 0 ? "missing" : "brighter than its white");
    }
    image.pixels[i] = static_cast<std::uint8_t>(value);
  }
  return image;
}

}  // namespace commensal::io
