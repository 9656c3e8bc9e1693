// SPDX-License-Identifier: Apache-2.0
// What stores and files hold: the first byte chooses the record. What is read has this one
// encoding, which can be written again.
#include <algorithm>
#include <commensal/serve/gateway/accounts.hpp>
#include <commensal/serve/gateway/act_log.hpp>
#include <commensal/serve/gateway/ban_list.hpp>
#include <commensal/serve/gateway/card_book.hpp>
#include <commensal/serve/gateway/hub.hpp>
#include <commensal/serve/gateway/invitations.hpp>
#include <commensal/serve/gateway/receipt_book.hpp>
#include <commensal/serve/gateway/rollout_book.hpp>
#include <commensal/serve/provider/late_steps.hpp>
#include <commensal/serve/rpc/messages.hpp>
#include <commensal/verify/receipt/opening.hpp>
#include <commensal/verify/rollout/record.hpp>
#include <tests/fuzz/fuzz.hpp>

namespace {

using namespace commensal;

template <protocol::Record R>
void read_record(core::ByteView bytes) {
  const auto record = protocol::decode_stored<R>(bytes);
  if (!record) {
    core::check(record.error().message.find('\n') == std::string::npos, "an error is one line");
    return;
  }
  const auto again = protocol::encode_stored(*record);
  core::check(again && std::ranges::equal(*again, bytes), "one record has one encoding");
}

constexpr void (*kReaders[])(core::ByteView) = {read_record<gateway::Account>,
                                                read_record<gateway::ModelVersion>,
                                                read_record<gateway::ReceiptRecord>,
                                                read_record<gateway::RolloutEntry>,
                                                read_record<rpc::HashChainPosition>,
                                                read_record<receipt::StepTask>,
                                                read_record<receipt::Opening>,
                                                read_record<receipt::Assignment>,
                                                read_record<rollout::JobRecord>,
                                                read_record<rollout::StepRecord>,
                                                read_record<provider::LateSteps::Count>,
                                                read_record<gateway::Ban>,
                                                read_record<gateway::Token>,
                                                read_record<gateway::Invitation>,
                                                read_record<gateway::Act>,
                                                read_record<gateway::CardHead>};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  kReaders[data[0] % std::size(kReaders)]({data + 1, size - 1});
  return 0;
}
