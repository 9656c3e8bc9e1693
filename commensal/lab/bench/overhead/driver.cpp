// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/base/protocol/ticket.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/lab/bench/overhead/driver.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>
#include <commensal/trade/pay/ticket/state.hpp>

namespace commensal::lab::bench::overhead {
namespace {

constexpr int kHashChainDepth = 16;  // more rounds than a benchmark lasts
constexpr std::int64_t kRoundNs = 1'000'000'000;
constexpr std::uint64_t kFace = 1000;  // of a ticket; it wins once in a hundred times
constexpr std::uint64_t kPrice = 10;

}  // namespace

Driver::Driver(Dependencies deps)
    : deps_(std::move(deps)),
      key_(crypto::SecretKey::generate(deps_.rng)),
      chain_(beacon::HashChain::make(deps_.rng.next_digest(), kHashChainDepth)) {
  head_.anchor = chain_.anchor();
  head_.rounds = chain_.rounds();
  head_ = protocol::sign_hash_chain_head(key_, head_);
}

rpc::GatewayPort::StreamId Driver::on_open(std::shared_ptr<rpc::ProviderStream> stream,
                                           const rpc::Channel& channel, const std::string&) {
  stream_ = std::move(stream);
  const core::Digest nonce = deps_.rng.next_digest();
  const crypto::Address own = key_.address();
  stream_->send(rpc::Challenge{nonce, own,
                               crypto::sign(key_, rpc::challenge_digest(nonce, own, channel)),
                               rpc::HashChainPosition{head_, 0, chain_.anchor()}});
  return 1;
}

void Driver::on_message(StreamId, rpc::ToGateway message) {
  const core::CpuMeter meter(own_cpu_ns_);
  std::visit([this](auto&& word) { handle(std::move(word)); }, std::move(message));
}

void Driver::handle(rpc::Hello hello) {
  provider_ = hello.address;
  if (hello.hash_chain) beacon_ = protocol::beacon_id(head_, hello.hash_chain->head);
  connected_ = true;
  stream_->send(rpc::Welcome{});
  rpc::Balance balance;
  balance.ledger = key_.address();
  balance.escrow = protocol::Amount::from_words(1, 0);
  stream_->send(balance);
}

void Driver::run(std::size_t requests, std::size_t in_flight, Done done) {
  const core::CpuMeter meter(own_cpu_ns_);
  to_send_ = to_answer_ = requests;
  done_ = std::move(done);
  outcome_ = {};
  for (std::size_t i = 0; i < in_flight; ++i) send_offer();
}

tensor::NamedTensors Driver::decoded(const Input& input) {
  std::int64_t spent_ns = 0;
  tensor::NamedTensors copies;
  {
    const core::CpuMeter meter(spent_ns);
    for (const tensor::NamedTensor& item : input.tensors) {
      copies.push_back({item.name, tensor::Tensor::copy_of(item.value.type(), item.value.bytes())});
    }
  }
  own_cpu_ns_ -= spent_ns;
  return copies;
}

void Driver::send_offer() {
  if (to_send_ == 0) return;
  --to_send_;
  const Input& input = deps_.inputs[next_ % deps_.inputs.size()];
  ++next_;
  rpc::Offer offer;
  offer.model = deps_.model;
  offer.input_salt = deps_.rng.next_digest();
  offer.inputs = decoded(input);
  offer.job.graph_root = deps_.roots.graph;
  offer.job.weight_root = deps_.roots.weights;
  offer.job.numerics_version = kernels::kNumericsVersion;
  offer.job.input_commitment = protocol::commit_input(input.root, offer.input_salt);
  offer.job.client = key_.address();
  offer.job.provider = provider_;
  if (beacon_) {
    offer.job.face_value = protocol::Amount(kFace);
    offer.job.win_threshold =
        *ticket::threshold_for(protocol::Amount(kPrice), protocol::Amount(kFace));
    offer.job.beacons = {*beacon_};
    offer.job.valid_until_ms = static_cast<std::uint64_t>(deps_.clock.wall_ms()) + 86'400'000;
  }
  stream_->send(std::move(offer));
}

void Driver::handle(rpc::Commit commit) {
  std::vector<protocol::ReceiptBody> bodies;
  rpc::Countersign countersign;
  for (const rpc::Commit::Item& item : commit.items) {
    bodies.push_back({item.job, item.step, item.commitment, item.round});
    countersign.items.push_back({item.job, item.step, {}});
  }
  auto signatures = protocol::sign_batch(key_, protocol::Role::kClient, bodies);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    countersign.items[i].signature = std::move(signatures[i]);
  }
  ++batches_;
  stream_->send(std::move(countersign));
  close_round();
}

void Driver::close_round() {
  const std::int64_t now_ns = deps_.clock.monotonic_ns();
  if (now_ns - round_closed_ns_ < kRoundNs) return;
  round_closed_ns_ = now_ns;
  const std::uint64_t round = chain_.round() + 1;
  if (const auto value = chain_.reveal(round)) stream_->send(rpc::Reveal{round, *value});
}

void Driver::handle(rpc::Claims claims) {
  rpc::Outcomes outcomes;
  for (const rpc::Claims::Item& item : claims.items) {
    outcomes.items.push_back({protocol::ticket_id(item.receipt.body()),
                              std::string(protocol::name_of(ticket::Event::kPay)),
                              item.receipt.job.face_value});
  }
  winners_ += claims.items.size();
  stream_->send(std::move(outcomes));
}

void Driver::handle(rpc::Deliver) { answered(); }

void Driver::handle(rpc::Refuse refusal) {
  if (outcome_) outcome_ = tl::unexpected(std::move(refusal.reason));
  answered();
}

void Driver::answered() {
  send_offer();
  if (--to_answer_ == 0) done_(outcome_);
}

}  // namespace commensal::lab::bench::overhead
