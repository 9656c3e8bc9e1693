// SPDX-License-Identifier: Apache-2.0
// The canonical encoding: the first byte chooses the noun. What decodes has this one encoding.
#include <algorithm>
#include <commensal/base/protocol/beacon.hpp>
#include <commensal/base/protocol/job.hpp>
#include <commensal/base/protocol/privacy.hpp>
#include <commensal/base/protocol/ticket.hpp>
#include <commensal/base/protocol/verdict.hpp>
#include <tests/fuzz/fuzz.hpp>

namespace {

using namespace commensal;

template <class Noun>
void read(core::ByteView bytes) {
  const auto noun = protocol::decode<Noun>(bytes);
  if (!noun) return;
  core::check(std::ranges::equal(protocol::encode(*noun), bytes), "one value has one encoding");
}

constexpr void (*kReaders[])(core::ByteView) = {read<protocol::Job>,
                                                read<protocol::ReceiptBody>,
                                                read<protocol::BatchSignature>,
                                                read<protocol::Receipt>,
                                                read<protocol::Verdict>,
                                                read<protocol::HashChainHead>,
                                                read<protocol::Claim>,
                                                read<protocol::Endorsement>,
                                                read<protocol::JointSettlement>,
                                                read<protocol::PrivacyStatement>};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  kReaders[data[0] % std::size(kReaders)]({data + 1, size - 1});
  return 0;
}
