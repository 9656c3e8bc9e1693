// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/check.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/serve/gateway/numbered_key.hpp>

namespace commensal::gateway {

core::Bytes newest_first_key(std::uint64_t number) {
  protocol::Writer writer;
  writer.u64(~number);
  return std::move(writer).take();
}

std::uint64_t number_of_key(core::ByteView key) {
  core::check(key.size() == 8, "a key of newest_first_key has 8 bytes");
  return ~protocol::Reader(key, "key").u64();
}

}  // namespace commensal::gateway
