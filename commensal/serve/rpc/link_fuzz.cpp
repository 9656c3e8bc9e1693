// SPDX-License-Identifier: Apache-2.0
// Fuzz target (tests/fuzz), here because it sees the wire. Messages between provider and gateway:
// an even first byte is the gateway's side. What is decoded is encoded and decoded again.
#include <commensal/base/core/check.hpp>
#include <commensal/serve/rpc/grpc_codec.hpp>

namespace {

using namespace commensal;

template <class Wire>
void read(const std::uint8_t* data, std::size_t size) {
  Wire message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) return;
  const auto made = rpc::from_wire(std::move(message));
  if (!made) {
    core::check(made.error().message.find('\n') == std::string::npos, "an error is one line");
    return;
  }
  core::check(rpc::from_wire(rpc::to_wire(*made)).has_value(), "what we write we read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  if (data[0] % 2 == 0) {
    read<rpc::wire::GatewayMessage>(data + 1, size - 1);
  } else {
    read<rpc::wire::ProviderMessage>(data + 1, size - 1);
  }
  return 0;
}
