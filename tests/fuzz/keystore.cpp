// SPDX-License-Identifier: Apache-2.0
// A keystore that somebody else wrote, up to the slow derivation of its password.
#include <commensal/trade/pay/keys/keystore.hpp>
#include <tests/fuzz/fuzz.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = commensal::core::as_text({data, size});
  (void)commensal::keys::check_form(text);
  (void)commensal::keys::claimed_address(text);
  return 0;
}
