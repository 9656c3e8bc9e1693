// SPDX-License-Identifier: Apache-2.0
#include <commensal/trade/pay/ledger/testing/random_tickets.hpp>

namespace commensal::ledger::testing {
namespace {

using ticket::testing::Pair;

constexpr std::size_t kPairs = 4;
constexpr std::size_t kTickets = 200;
constexpr int kDepth = 14;  // 16,384 rounds: enough for a run
constexpr std::uint64_t kFunds = 1'000'000;

std::uint64_t known_round(const State& state, const protocol::HashChainHead& head) {
  const HashChainRow* row = state.hash_chains.find(hash_chain_key(head));
  return row == nullptr ? 0 : row->round;
}

}  // namespace

RandomTickets::RandomTickets(std::uint64_t seed) : rng_(seed, 2), disputes_(seed) {
  for (std::uint64_t i = 0; i < kPairs; ++i) pairs_.emplace_back(100 + i, kDepth);
}

std::vector<Sent> RandomTickets::beginning(const Address& operator_address) {
  operator_ = operator_address;
  std::vector<Sent> sent = {{operator_address, AdmitAuditor{auditor_.address(), 1}}};
  for (const Pair& pair : pairs_) {
    const Address gateway = pair.gateway_key.address(), provider = pair.provider_key.address();
    sent.push_back({operator_address, Deposit{gateway, Amount(3 * kFunds), rng_.next_digest()}});
    sent.push_back({operator_address, Deposit{provider, Amount(kFunds), rng_.next_digest()}});
    sent.push_back({gateway, Fund{AccountKind::kEscrow, Amount(2 * kFunds)}});
    sent.push_back({gateway, Fund{AccountKind::kPenaltyEscrow, Amount(kFunds)}});
    sent.push_back({provider, Fund{AccountKind::kStake, Amount(kFunds)}});
    sent.push_back({provider, RegisterBeacon{pair.gateway_head, pair.provider_head}});
  }
  disputes_.beginning(operator_address, sent);
  return sent;
}

RandomTickets::Ticket RandomTickets::make_ticket(const State& state) {
  const std::size_t at = below(pairs_.size());
  Pair& pair = pairs_[at];
  const auto threshold = ticket::threshold_of(0.25 * static_cast<double>(1 + below(4)));
  protocol::Job job = pair.job(*threshold, Amount(1 + below(5000)));
  if (below(4) != 0) job.draw_commitment = RandomDisputes::commitment();
  Ticket made{at, pair.step(job, known_round(state, pair.gateway_head) + 1 + below(3))};
  pair.sign({&made.step, 1});
  return made;
}

RandomTickets::Ticket& RandomTickets::some_ticket(const State& state) {
  if (tickets_.size() < kTickets) return tickets_.emplace_back(make_ticket(state));
  Ticket& chosen = tickets_[below(tickets_.size())];
  if (below(4) == 0) chosen = make_ticket(state);
  return chosen;
}

Body RandomTickets::judge(const Ticket& ticket) {
  const protocol::Receipt& receipt = ticket.step.receipt;
  const bool match = below(8) != 0;  // else refused
  const protocol::Verdict verdict{protocol::receipt_id(receipt.body()),
                                  match ? protocol::Outcome::kMatch : protocol::Outcome::kMismatch,
                                  {},
                                  receipt.commitment,
                                  match ? receipt.commitment : Digest{1},
                                  {},
                                  {}};
  return Judge{receipt, protocol::sign_verdict(auditor_, verdict)};
}

Body RandomTickets::settle(const State& state, const Ticket& ticket) {
  const Pair& pair = pairs_[ticket.pair];
  const protocol::Receipt& receipt = ticket.step.receipt;
  // Now and then nearly all that the escrow has: what others win is missing then.
  const Amount few(below(3000));
  const auto rest = state.balance(receipt.job.client, AccountKind::kEscrow).minus(few);
  protocol::JointSettlement outcome{protocol::ticket_id(receipt.body()),
                                    receipt.job.client,
                                    receipt.job.provider,
                                    rest && below(4) == 0 ? *rest : few,
                                    Amount(below(100)),
                                    {},
                                    {}};
  outcome.by_client = protocol::sign_settlement(pair.gateway_key, outcome);
  outcome.by_holder = protocol::sign_settlement(pair.provider_key, outcome);
  return Settle{receipt, {}, outcome};
}

Sent RandomTickets::refill(const State& state, const protocol::Job& job) {
  const Amount funds(kFunds / 10);
  constexpr AccountKind kKinds[] = {AccountKind::kEscrow, AccountKind::kPenaltyEscrow,
                                    AccountKind::kStake};
  const AccountKind kind = kKinds[below(std::size(kKinds))];
  const Address& owner = kind == AccountKind::kStake ? job.provider : job.client;
  if (state.balance(owner, AccountKind::kAvailable) < funds) {
    return {operator_, Deposit{owner, funds, rng_.next_digest()}};
  }
  return {owner, Fund{kind, funds}};
}

Body RandomTickets::reveal(const State& state, std::size_t at) {
  Pair& pair = pairs_[at];
  const bool gateway = below(2) == 0;
  beacon::HashChain& chain = gateway ? pair.gateway_chain : pair.provider_chain;
  const protocol::HashChainHead& head = gateway ? pair.gateway_head : pair.provider_head;
  const std::uint64_t round = known_round(state, head) + 1 + below(2);
  if (round > head.rounds) return Reveal{hash_chain_key(head), round, {}};
  return Reveal{hash_chain_key(head), round, *chain.reveal(round)};
}

/// By its holder, for at most a little more than it may ask.
Sent RandomTickets::sell(const State& state, const Ticket& ticket) {
  const protocol::Receipt& receipt = ticket.step.receipt;
  const Digest id = protocol::ticket_id(receipt.body());
  const ClaimRow* const claim = state.claims.find(id);
  const Address& holder = claim == nullptr ? receipt.job.provider : claim->holder;
  return {holder, Sell{id, Amount(below(receipt.job.face_value.low() + 2))}};
}

/// One of those for sale, by anybody, now and then by whom nobody sells to.
Sent RandomTickets::buy(const State& state) {
  Buy body;
  const auto& asked = state.asked.rows();
  if (!asked.empty()) {
    const auto at = std::next(asked.begin(), static_cast<std::ptrdiff_t>(below(asked.size())));
    body = {at->first, below(8) == 0 ? Amount(1 + below(5000)) : at->second};
  }
  const Pair& pair = pairs_[below(pairs_.size())];
  const Address buyers[] = {operator_, pair.provider_key.address(), pair.gateway_key.address(),
                            auditor_.address()};
  return {buyers[below(std::size(buyers))], body};
}

void RandomTickets::bend(Body& body) {
  protocol::Writer writer;
  write(writer, body);
  core::Bytes bytes = std::move(writer).take();
  bytes[1 + below(bytes.size() - 1)] ^= static_cast<std::uint8_t>(1u << below(8));
  protocol::Reader reader(bytes, "body");
  Body bent;
  read(reader, bent);
  if (reader.finish()) body = std::move(bent);
}

Sent RandomTickets::next(const State& state) {
  const Ticket ticket = some_ticket(state);
  Pair& pair = pairs_[ticket.pair];
  const protocol::Receipt& receipt = ticket.step.receipt;
  const Digest id = protocol::ticket_id(receipt.body());
  const Address& gateway = receipt.job.client;
  const Address& provider = receipt.job.provider;
  if (below(8) == 0) return refill(state, receipt.job);
  if (below(10) == 0) {
    Sent disputed = disputes_.next(state, ticket.step);
    if (below(16) == 0) bend(disputed.body);
    return disputed;
  }
  Sent sent{below(2) == 0 ? gateway : provider, Mature{id}};
  switch (below(15)) {
    case 0:
    case 1:
    case 2:
      sent.body = Open{pair.claim(ticket.step), {}};
      break;
    case 3:
    case 4:
      sent.body = judge(ticket);
      break;
    case 5:
      sent.body = settle(state, ticket);
      break;
    case 6:
      sent.body = Silence{receipt};
      break;
    case 7:
      sent.body = Demand{receipt};
      break;
    case 8:
    case 11:
      sent.body = Default{receipt, {}};
      break;
    case 9:
      sent.body = reveal(state, ticket.pair);
      break;
    case 10:
      sent.body = Endorse{
          protocol::sign_endorsement(pair.provider_key, {id, 0, {}, auditor_.address(), {}})};
      break;
    case 12:
      sent = sell(state, ticket);
      break;
    case 13:
      sent = buy(state);
      break;
    default:
      break;
  }
  if (below(10) == 0) bend(sent.body);
  return sent;
}

}  // namespace commensal::ledger::testing
