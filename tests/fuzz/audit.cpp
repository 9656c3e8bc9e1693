// SPDX-License-Identifier: Apache-2.0
// What the sides of a sublinear audit send each other: the first byte chooses. What decodes has
// this one encoding. The seeds are messages of a whole audit, made by commensal_verify_spot_test
// (COMMENSAL_WRITE_SEEDS names their folder).
#include <algorithm>
#include <commensal/verify/spot/messages.hpp>
#include <tests/fuzz/fuzz.hpp>

namespace {

using namespace commensal;

template <class T>
void same(const core::Result<T>& decoded, core::ByteView bytes) {
  if (!decoded) return;
  core::check(std::ranges::equal(spot::encode(*decoded), bytes), "one value has one encoding");
}

void read_request(core::ByteView bytes) { same(spot::decode_request(bytes), bytes); }
void read_roots(core::ByteView bytes) {
  const auto roots = spot::decode_roots(bytes);
  same(roots, bytes);
  if (roots) (void)spot::check_signature(*roots, {}, spot::list_root(roots->list), {});
}
void read_openings(core::ByteView bytes) { same(spot::decode_openings(bytes), bytes); }

constexpr void (*kReaders[])(core::ByteView) = {read_request, read_roots, read_openings};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  kReaders[data[0] % std::size(kReaders)]({data + 1, size - 1});
  return 0;
}
