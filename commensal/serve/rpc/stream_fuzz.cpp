// SPDX-License-Identifier: Apache-2.0
// Fuzz target (tests/fuzz), here because it sees the wire. Frames between provider and gateway: an
// even first byte is the gateway's side. What is decoded has this one encoding.
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/serve/rpc/frame.hpp>

namespace {

using namespace commensal;

template <class Message>
void read(const std::uint8_t* data, std::size_t size) {
  rpc::wire::Frame frame;
  if (!frame.ParseFromArray(data, static_cast<int>(size))) return;
  const auto made = rpc::from_frame<Message>(rpc::wire::Frame(frame));
  if (!made) {
    core::check(made.error().message.find('\n') == std::string::npos, "an error is one line");
    return;
  }
  const rpc::wire::Frame again = rpc::to_frame(*made);
  core::check(again.head() == frame.head() && std::ranges::equal(again.tensors(), frame.tensors()),
              "one message has one encoding");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  if (data[0] % 2 == 0) {
    read<rpc::ToProvider>(data + 1, size - 1);
  } else {
    read<rpc::ToGateway>(data + 1, size - 1);
  }
  return 0;
}
