// SPDX-License-Identifier: Apache-2.0
// What becomes of answers: into the book, audited, replaced where their provider was caught.
#include <commensal/serve/gateway/gateway_state.hpp>
#include <commensal/verify/receipt/opening.hpp>

namespace commensal::gateway {
namespace {

AuditState state_after(protocol::Outcome outcome) {
  static constexpr AuditState kStates[] = {AuditState::kMatched, AuditState::kMismatched,
                                           AuditState::kUnanswered};
  return kStates[static_cast<int>(outcome)];
}

bool convicts(AuditState state) {
  return state == AuditState::kMismatched || state == AuditState::kUnanswered;
}

/// Whether the answer of a caught provider still has to be computed again.
bool needs_replacement(const ReceiptRecord& record) {
  return !record.replaced_by && record.audit != AuditState::kMatched;
}

}  // namespace

// After a stop or a kill: the audits that were drawn, and the answers of caught providers. A kill
// between a verdict and what follows from it is made good here.
core::Result<void> Gateway::State::resume() {
  COMMENSAL_TRY(bank.open());
  COMMENSAL_TRY(lottery.open());
  COMMENSAL_TRY(book.open());
  COMMENSAL_TRY(roster.open());
  COMMENSAL_TRY(desk.open(book));
  resume_winners();
  COMMENSAL_ASSIGN(const auto drawn, book.select([](const ReceiptRecord& record) {
    return record.audit == AuditState::kDrawn || convicts(record.audit);
  }));
  for (const ReceiptRecord& record : drawn) {
    // What was replaced has had its consequences.
    if (!convicts(record.audit) || record.replaced_by) continue;
    if (is_penalised(record)) {
      consequences.add(record.id());
    } else if (!is_banned(record.receipt.job.provider)) {
      catch_provider(record);
    }
  }
  for (const ReceiptRecord& record : drawn) {
    if (record.audit != AuditState::kDrawn) continue;
    if (is_banned(record.receipt.job.provider)) {
      conclude_winners(record.receipt.job.provider);
      continue;
    }
    COMMENSAL_ASSIGN(const ReceiptRecord whole, book.find(record.id()));
    auditor.request(whole);
  }
  for (const auto& [address, peer] : roster.peers()) {
    if (!peer.banned.empty()) replace_doubtful(address);
  }
  return chains.open();
}

core::Result<receipt::Opening> Gateway::State::own_opening(const core::Digest& receipt) {
  COMMENSAL_ASSIGN(const ReceiptRecord record, book.find(receipt));
  return receipt::decode_opening(record.opening);
}

ReceiptRecord Gateway::State::record_of(const std::string& account, const ModelVersion& model,
                                        Answer answer) {
  ReceiptRecord record;
  receipt::Opening opening{.job = answer.receipt.job,
                           .model = model.content,
                           .commitment = answer.receipt.commitment,
                           .input_salt = answer.input_salt,
                           .output_salt = answer.output_salt,
                           .inputs = std::move(answer.inputs),
                           .outputs = std::move(answer.outputs)};
  record.opening = receipt::encode(opening);
  record.receipt = std::move(answer.receipt);
  record.account = account;
  record.model = model.name;
  record.version = model.version;
  record.model_content = model.content;
  record.delivered_ms = world.clock.wall_ms();
  // Drawn after the commitment was signed: the provider cannot know.
  const double probability = desk.probability(record.receipt.job.provider);
  record.audit = world.rng.next_unit() < probability ? AuditState::kDrawn : AuditState::kNotDrawn;
  return record;
}

// All answers that are ready share one durable write.
void Gateway::State::keep(ReceiptRecord record,
                          std::function<void(core::Result<ReceiptRecord>)> done) {
  finished.push_back({std::move(record), std::move(done)});
  if (finished.size() > 1) return;
  world.loop.post([this, still = std::weak_ptr(alive)] {
    if (!still.expired()) flush();
  });
}

void Gateway::State::flush() {
  std::vector<Finished> batch;
  std::swap(batch, finished);
  std::vector<ReceiptRecord> records;
  for (Finished& item : batch) records.push_back(std::move(item.record));
  const core::Result<void> saved = write(records);
  report(saved);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!saved) {
      batch[i].done(tl::unexpected(saved.error()));
      continue;
    }
    observer.on_receipt(records[i]);
    desk.on_receipt(records[i]);
    batch[i].done(records[i]);
    if (is_banned(records[i].receipt.job.provider)) {
      consequences.add(records[i].id());  // caught while this answer was on its way
    } else if (records[i].audit == AuditState::kDrawn) {
      auditor.request(records[i]);
    }
  }
}

void Gateway::State::on_verdict(const core::Digest& receipt,
                                core::Result<protocol::Verdict> verdict) {
  if (!verdict) return observer.on_error(verdict.error());
  auto record = book.find(receipt);
  if (!record || record->audit != AuditState::kDrawn) return;
  record->audit = state_after(verdict->outcome);
  record->verdict = *std::move(verdict);
  report(book.update(*record));
  observer.on_verdict(*record);
  desk.on_verdict(*record);
  if (auto judged = judge_winner(*record); !judged) return observer.on_error(judged.error());
  if (is_penalised(*record)) return consequences.add(record->id());
  if (!convicts(record->audit) || is_banned(record->receipt.job.provider)) return;
  catch_provider(*record);
  replace_doubtful(record->receipt.job.provider);
}

bool Gateway::State::is_banned(const crypto::Address& provider) {
  const Roster::Peer* peer = roster.by_address(provider);
  return peer != nullptr && !peer->banned.empty();
}

void Gateway::State::catch_provider(const ReceiptRecord& record) {
  const crypto::Address& provider = record.receipt.job.provider;
  const std::string why =
      fmt::format("receipt {}: {}", core::to_hex(record.id()), record.verdict->reason);
  ban(provider, why);
}

void Gateway::State::ban(const crypto::Address& provider, const std::string& why) {
  report(roster.ban(provider, why));
  observer.on_provider_banned(provider, why);
  conclude_winners(provider);
  chains.on_banned(provider, fmt::format("its provider was caught: {}", why));
}

AuditDesk::World Gateway::State::desk_world() {
  return {.loop = world.loop,
          .clock = world.clock,
          .ledger = [this]() -> const ledger::State& { return bank.state(); },
          .report = [this](const core::Error& error) { observer.on_error(error); }};
}

Chains::World Gateway::State::chains_world() {
  return {.loop = world.loop,
          .clock = world.clock,
          .rng = world.rng,
          .store = store,
          .key = world.key,
          .auditor = auditor_key,
          .roster = roster,
          .hub = hub,
          .lottery = lottery,
          .bank = bank,
          .price = config.money.price,
          .silence_ms_max = config.silence_ms_max,
          .on_judged =
              [this](const crypto::Address& provider) {
                desk.on_change(provider);
                tell_balance(provider);
              },
          .on_caught =
              [this](const crypto::Address& provider, const std::string& why) {
                if (is_banned(provider)) return;
                ban(provider, why);
                replace_doubtful(provider);
              },
          .report = [this](const core::Error& error) { observer.on_error(error); }};
}

void Gateway::State::replace_doubtful(const crypto::Address& provider) {
  const auto doubtful = book.select([&](const ReceiptRecord& record) {
    return record.receipt.job.provider == provider && needs_replacement(record);
  });
  if (!doubtful) return observer.on_error(doubtful.error());
  for (const ReceiptRecord& record : *doubtful) consequences.add(record.id());
}

void Gateway::State::replace(ReceiptRecord old, Answer answer) {
  const Account gateway_itself{.name = "", .role = Role::kOperator};
  const auto model = hub.find(&gateway_itself, old.model, old.version);
  core::check(model.has_value(), "a model that has just run is in the hub");
  ReceiptRecord again = record_of(old.account, *model, std::move(answer));
  again.charged = false;  // it was paid for when it was answered first
  keep(std::move(again), [this, id = old.id()](core::Result<ReceiptRecord> saved) {
    auto record = book.find(id);
    if (!saved || !record) return;
    record->replaced_by = saved->id();
    if (!record->verdict) record->audit = AuditState::kReplaced;
    report(book.update(*record));
    observer.on_replaced(*record, *saved);
  });
}

}  // namespace commensal::gateway
