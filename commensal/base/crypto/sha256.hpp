// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/base/core/bytes.hpp>
#include <cstddef>
#include <string_view>

namespace commensal::crypto {

using core::ByteView;
using core::Digest;

/// SHA-256 (FIPS 180-4), fed piece by piece. Needs no heap and may be copied in mid-stream.
/// Thread-safety: one object, one thread.
class Sha256 {
 public:
  Sha256();
  Sha256& update(ByteView bytes);
  /// The hash of everything since construction or the last finish(); the object starts anew.
  Digest finish();

 private:
  void restart();

  static constexpr std::size_t kStateBytes = 112;  // sha256.cpp asserts that the state fits
  alignas(8) std::array<std::byte, kStateBytes> state_;
};

Digest sha256(ByteView bytes);

/// SHA-256(length of tag as one byte | tag | parts...): every hash of this project that is not
/// somebody else's format starts with a tag, so that no two meanings share an input. The parts are
/// simply joined: all but the last must have a fixed width.
/// Precondition: the tag has 1 to 255 bytes.
Sha256 begin_tagged_hash(std::string_view tag);

template <class... Parts>
Digest tagged_hash(std::string_view tag, const Parts&... parts) {
  Sha256 hash = begin_tagged_hash(tag);
  (hash.update(ByteView(parts)), ...);
  return hash.finish();
}

}  // namespace commensal::crypto
