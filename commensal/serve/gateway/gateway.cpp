// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/gateway/auditor.hpp>
#include <commensal/serve/gateway/consequences.hpp>
#include <commensal/serve/gateway/dispatcher.hpp>
#include <commensal/serve/gateway/gateway.hpp>
#include <commensal/serve/gateway/inputs.hpp>
#include <commensal/serve/gateway/roster.hpp>
#include <commensal/verify/opening.hpp>

namespace commensal::gateway {
namespace {

using core::ErrorCode;

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

struct Gateway::State {
  /// An answer on its way into the book, and what to do once it is there.
  struct Finished {
    ReceiptRecord record;
    std::function<void(core::Result<ReceiptRecord>)> done;
  };

  GatewayWorld world;
  GatewayConfig config;
  Observer silent;
  Observer& observer;
  Accounts accounts;
  ModelHub hub;
  ReceiptBook book;
  Roster roster;
  Dispatcher dispatcher;
  Auditor auditor;
  Consequences consequences;
  std::vector<Finished> finished;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);

  State(const GatewayWorld& w, const GatewayConfig& c)
      : world(w),
        config(c),
        observer(w.observer != nullptr ? *w.observer : silent),
        accounts(w.store, w.rng),
        hub(w.store, c.folder / "models", w.clock),
        book(w.store),
        roster(w.store, w.rng),
        dispatcher(w.loop, w.rng, w.key, roster, {c.silence_ms_max, c.tries_max}),
        auditor(w.loop, w.key, roster, hub, c.opening_ms_max,
                [this](const core::Digest& receipt, core::Result<protocol::Verdict> verdict) {
                  on_verdict(receipt, std::move(verdict));
                }),
        consequences(w.loop, book, hub, dispatcher, [this](ReceiptRecord old, Answer answer) {
          replace(std::move(old), std::move(answer));
        }) {}

  core::Result<void> resume();
  ReceiptRecord record_of(const std::string& account, const ModelVersion& model, Answer answer);
  void keep(ReceiptRecord record, std::function<void(core::Result<ReceiptRecord>)> done);
  void flush();
  void on_verdict(const core::Digest& receipt, core::Result<protocol::Verdict> verdict);
  bool is_banned(const crypto::Address& provider);
  void catch_provider(const ReceiptRecord& record);
  void replace_doubtful(const crypto::Address& provider);
  void replace(ReceiptRecord old, Answer answer);
  void report(const core::Result<void>& outcome) {
    if (!outcome) observer.on_error(outcome.error());
  }

  void handle(LinkId link, const rpc::Hello& message);
  void handle(LinkId link, const rpc::Load& message);
  void handle(LinkId link, const rpc::Commit& message) { dispatcher.on_commit(link, message); }
  void handle(LinkId link, rpc::Deliver& message) {
    dispatcher.on_deliver(link, std::move(message));
  }
  void handle(LinkId link, const rpc::Refuse& message) { dispatcher.on_refuse(link, message); }
  void handle(LinkId link, const rpc::OpenReply& message) {
    if (const Roster::Peer* peer = roster.at(link)) auditor.on_open_reply(peer->address, message);
  }
};

// After a stop or a kill: the audits that were drawn, and the answers of caught providers. A kill
// between a verdict and its ban is made good here.
core::Result<void> Gateway::State::resume() {
  COMMENSAL_TRY(book.open());
  COMMENSAL_TRY(roster.open());
  COMMENSAL_ASSIGN(const auto drawn, book.select([](const ReceiptRecord& record) {
    return record.audit == AuditState::kDrawn || convicts(record.audit);
  }));
  for (const ReceiptRecord& record : drawn) {
    if (convicts(record.audit) && !is_banned(record.receipt.job.provider)) {
      catch_provider(record);
    }
  }
  for (const ReceiptRecord& record : drawn) {
    if (record.audit != AuditState::kDrawn || is_banned(record.receipt.job.provider)) continue;
    COMMENSAL_ASSIGN(const ReceiptRecord whole, book.find(record.id()));
    auditor.request(whole);
  }
  for (const auto& [address, peer] : roster.peers()) {
    if (!peer.banned.empty()) replace_doubtful(address);
  }
  return {};
}

ReceiptRecord Gateway::State::record_of(const std::string& account, const ModelVersion& model,
                                        Answer answer) {
  ReceiptRecord record;
  verify::Opening opening{.job = answer.receipt.job,
                          .model = model.content,
                          .commitment = answer.receipt.commitment,
                          .input_salt = answer.input_salt,
                          .output_salt = answer.output_salt,
                          .inputs = std::move(answer.inputs),
                          .outputs = std::move(answer.outputs)};
  record.opening = verify::encode(opening);
  record.receipt = std::move(answer.receipt);
  record.account = account;
  record.model = model.name;
  record.version = model.version;
  record.model_content = model.content;
  record.delivered_ms = world.clock.wall_ms();
  // Drawn after the commitment was signed: the provider cannot know.
  record.audit =
      world.rng.next_unit() < config.audit_probability ? AuditState::kDrawn : AuditState::kNotDrawn;
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
  const core::Result<void> saved = book.append(records);
  report(saved);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!saved) {
      batch[i].done(tl::unexpected(saved.error()));
      continue;
    }
    observer.on_receipt(records[i]);
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
  report(roster.ban(provider, why));
  observer.on_provider_banned(provider, why);
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
  keep(record_of(old.account, *model, std::move(answer)),
       [this, id = old.id()](core::Result<ReceiptRecord> saved) {
         auto record = book.find(id);
         if (!saved || !record) return;
         record->replaced_by = saved->id();
         if (!record->verdict) record->audit = AuditState::kReplaced;
         report(book.update(*record));
         observer.on_replaced(*record, *saved);
       });
}

void Gateway::State::handle(LinkId link, const rpc::Hello& message) {
  std::optional<LinkId> replaced;
  auto peer = roster.welcome(link, message, replaced);
  if (!peer) {
    observer.on_error(peer.error());
    roster.refuse(link, peer.error());
    return;
  }
  if (replaced) dispatcher.on_close(*replaced);
  observer.on_provider_connected((*peer)->address, (*peer)->name);
  auditor.on_connected((*peer)->address);
}

void Gateway::State::handle(LinkId link, const rpc::Load& message) {
  if (Roster::Peer* peer = roster.at(link)) {
    peer->cached = {message.cached_models.begin(), message.cached_models.end()};
  }
}

Gateway::Gateway(std::unique_ptr<State> state) : state_(std::move(state)) {}
Gateway::~Gateway() = default;

core::Result<std::unique_ptr<Gateway>> Gateway::create(const GatewayWorld& world,
                                                       const GatewayConfig& config) {
  std::error_code failed;
  std::filesystem::create_directories(config.folder / "models", failed);
  if (failed) {
    return core::fail(ErrorCode::kDataLoss, "cannot create '{}': {}", config.folder.string(),
                      failed.message());
  }
  auto state = std::make_unique<State>(world, config);
  COMMENSAL_TRY(state->resume());
  return std::unique_ptr<Gateway>(new Gateway(std::move(state)));
}

void Gateway::infer(InferRequest request, InferDone done) {
  auto model = state_->hub.find(&request.account, request.model, request.version);
  if (!model) return done(tl::unexpected(model.error()));
  auto inputs = order_inputs(*model, std::move(request.inputs));
  if (!inputs) return done(tl::unexpected(inputs.error()));
  Order order{*model, *std::move(inputs)};
  state_->dispatcher.submit(
      std::move(order), [state = state_.get(), account = request.account.name, version = *model,
                         done = std::move(done)](core::Result<Answer> answer) {
        if (!answer) return done(tl::unexpected(answer.error()));
        InferResponse response{.model = version,
                               .outputs = answer->outputs,
                               .receipt = {},
                               .provider = answer->receipt.job.provider};
        state->keep(state->record_of(account, version, *std::move(answer)),
                    [response = std::move(response), done](core::Result<ReceiptRecord> saved) {
                      if (!saved) return done(tl::unexpected(saved.error()));
                      InferResponse complete = response;
                      complete.receipt = saved->id();
                      done(std::move(complete));
                    });
      });
}

Accounts& Gateway::accounts() { return state_->accounts; }
ModelHub& Gateway::hub() { return state_->hub; }
ReceiptBook& Gateway::receipts() { return state_->book; }
crypto::Address Gateway::address() const { return state_->world.key.address(); }

std::vector<ProviderInfo> Gateway::providers() const {
  std::vector<ProviderInfo> infos;
  for (const auto& [address, peer] : state_->roster.peers()) {
    infos.push_back({.address = address,
                     .name = peer.name,
                     .connected = peer.link != nullptr,
                     .banned = peer.banned,
                     .queued = peer.in_flight,
                     .served = peer.served,
                     .cached_models = peer.cached.size()});
  }
  return infos;
}

std::size_t Gateway::audits_pending() const {
  return state_->auditor.pending() + state_->consequences.pending() + state_->finished.size();
}

Gateway::LinkId Gateway::on_open(std::shared_ptr<rpc::ProviderLink> link) {
  return state_->roster.admit(std::move(link));
}

void Gateway::on_message(LinkId link, rpc::ToGateway message) {
  std::visit([&](auto& word) { state_->handle(link, word); }, message);
}

void Gateway::on_close(LinkId link) {
  const Roster::Peer* peer = state_->roster.at(link);
  if (peer != nullptr) state_->observer.on_provider_lost(peer->address, "the stream ended");
  state_->roster.leave(link);
  state_->dispatcher.on_close(link);
}

core::Result<std::string> Gateway::model_path(const std::string& session_token,
                                              const core::Digest& model) {
  COMMENSAL_TRY(state_->roster.may_fetch(session_token, model));
  return state_->hub.path_of(model).string();
}

}  // namespace commensal::gateway
