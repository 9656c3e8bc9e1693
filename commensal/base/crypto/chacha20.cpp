// SPDX-License-Identifier: Apache-2.0
#include <openssl/evp.h>

#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/crypto/chacha20.hpp>

namespace commensal::crypto {

struct ChaCha20::Context {
  EVP_CIPHER_CTX* evp = EVP_CIPHER_CTX_new();
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { EVP_CIPHER_CTX_free(evp); }
};

ChaCha20::ChaCha20(const core::Digest& key, const std::array<std::uint32_t, 4>& start)
    : context_(std::make_unique<Context>()) {
  std::array<std::uint8_t, 16> words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = static_cast<std::uint8_t>(start[i / 4] >> (8 * (i % 4)));
  }
  core::check(
      EVP_EncryptInit_ex(context_->evp, EVP_chacha20(), nullptr, key.data(), words.data()) == 1,
      "EVP_EncryptInit_ex failed");
}

ChaCha20::ChaCha20(ChaCha20&&) noexcept = default;
ChaCha20& ChaCha20::operator=(ChaCha20&&) noexcept = default;
ChaCha20::~ChaCha20() = default;

void ChaCha20::fill(std::span<std::uint8_t> out) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 30;  // EVP counts in int
  std::ranges::fill(out, std::uint8_t{0});
  while (!out.empty()) {
    const auto piece = out.first(std::min(out.size(), kPieceBytes));
    int written = 0;
    core::check(EVP_EncryptUpdate(context_->evp, piece.data(), &written, piece.data(),
                                  static_cast<int>(piece.size())) == 1 &&
                    static_cast<std::size_t>(written) == piece.size(),
                "EVP_EncryptUpdate failed");
    out = out.subspan(piece.size());
  }
}

}  // namespace commensal::crypto
