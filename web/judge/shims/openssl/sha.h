// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// SHA-256 (FIPS 180-4) under the names by which base/crypto calls it.
struct SHA256_CTX {
  std::uint32_t state[8];
  std::uint64_t bytes;
  unsigned char block[64];
};

int SHA256_Init(SHA256_CTX* context);
int SHA256_Update(SHA256_CTX* context, const void* data, std::size_t size);
/// `digest` has 32 bytes.
int SHA256_Final(unsigned char* digest, SHA256_CTX* context);
