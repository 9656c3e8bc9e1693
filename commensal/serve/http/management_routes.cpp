// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/limits.hpp>
#include <commensal/serve/http/api.hpp>
#include <commensal/serve/http/json_text.hpp>
#include <commensal/serve/http/oip.hpp>
#include <commensal/serve/http/push.hpp>
#include <commensal/serve/oip/acts.hpp>
#include <commensal/serve/oip/management.hpp>

namespace commensal::http {

namespace {

using core::ErrorCode;
using gateway::Gateway;
using gateway::ModelVersion;
using gateway::ReceiptRecord;

template <core::Result<gateway::ModelVersion> (*kFind)(Gateway&, const Call&)>
void model_of(const Services& services, CallPtr call, Reply reply) {
  const std::string line = call->line;
  services.turns->post(line, [&services, call = std::move(call), reply = std::move(reply)] {
    reply_model(services, call, reply, kFind(services.gateway, *call));
  });
}

void push_model(const Services& services, CallPtr call, Reply reply) {
  auto options = push_options(call->query);
  if (!options) return reply(error_response(options.error()));
  const std::string& name = call->params.at("model");
  const auto allowed = gateway::ModelHub::check_push(call->account, name, *options);
  if (!allowed) return reply(error_response(allowed.error()));
  services.turns->post(call->line, [&services, call, reply = std::move(reply),
                                    options = *std::move(options)] {
    gateway::ModelHub& hub = services.gateway.hub();
    const std::string& model = call->params.at("model");
    const auto bytes = static_cast<std::int64_t>(call->body.size());
    const auto room = hub.reserve(call->account, model, bytes);
    if (!room) return reply(refusal_of_push(room.error()));
    const auto open = [call]() -> core::Result<FileBytes> {
      return FileBytes{call->body, {nullptr, [call](const void*) { call->body.clear(); }}};
    };
    const auto done = [&hub, call, bytes](const auto&, bool) { hub.release(call->account, bytes); };
    push_file(services, call, reply, {model, options, open, done});
  });
}

/// ?after=NAME: those behind it, as many as models_json() takes. Written off the loop.
void list_models(const Services& services, CallPtr call, Reply reply) {
  const std::string line = call->line;
  services.turns->post(line, [&services, line, call = std::move(call), reply = std::move(reply)] {
    auto models = services.gateway.hub().list(call->asker(), query_of(*call, "after"));
    if (!models) return reply(error_response(models.error()));
    call->memory.note(call->memory.bytes() +
                      static_cast<std::int64_t>(models->size() * sizeof(gateway::ModelPtr)));
    services.lists->post(line, [call, models = *std::move(models), reply] {
      if (!call->left.stop_requested()) reply(json_response(models_json(models)));
    });
  });
}

Response remove_model(Gateway& gateway, const Call& call, gateway::Act& act) {
  const std::string& name = call.params.at("model");
  act.what = "model.delete";
  act.on = name;
  const auto removed = gateway.hub().remove(call.account, name);
  if (!removed) return error_response(removed.error());
  return json_response(
      fmt::format(R"({{"name":{},"versions_removed":{}}})", json_quote(name), *removed));
}

core::Result<gateway::ModelVersion> allow_providers(Gateway& gateway, const Call& call) {
  // A slip of the pen would empty the list.
  if (call.query.size() != 1 || !call.query.contains("allow"))
    return core::fail(ErrorCode::kInvalidArgument,
                      "expected ?allow=ADDRESS,ADDRESS..., or ?allow= for nobody");
  COMMENSAL_ASSIGN(const auto providers, addresses_in(query_of(call, "allow")));
  return gateway.hub().allow(call.account, call.params.at("model"), providers);
}

void change_providers(const Services& services, CallPtr call, Reply reply) {
  const std::string line = call->line;
  services.turns->post(line, [&services, call = std::move(call), reply = std::move(reply)] {
    reply_model(
        services, call, reply,
        oip::as_act<ModelVersion>(services.gateway, *call,
                                  {.what = "model.allow", .on = call->params.at("model")},
                                  [&] { return allow_providers(services.gateway, *call); }));
  });
}

/// Of application/octet-stream, read while it is sent.
Response file_response(core::Result<std::shared_ptr<const core::MappedFile>> file) {
  if (!file) return error_response(file.error());
  Response response;
  response.content_type = "application/octet-stream";
  response.rest = (*file)->bytes();
  response.is_file = true;
  response.owner = *std::move(file);
  return response;
}

Response model_content(Gateway& gateway, const Call& call) {
  const auto version = version_of(call);
  if (!version) return error_response(version.error());
  const auto model = gateway.hub().find_file(call.asker(), call.params.at("model"), *version);
  if (!model) return error_response(model.error());
  auto file = core::MappedFile::open(gateway.hub().path_of(model->content));
  if (!file) {  // the error names our folders: it is for the log
    gateway.report(file.error());
    return error_response(
        {ErrorCode::kDataLoss, "the gateway cannot read the model's file: its log says why"});
  }
  Response response = file_response(std::move(file));
  if (response.is_file)
    response.headers.emplace_back("ETag", fmt::format("\"{}\"", core::to_hex(model->content)));
  return response;
}

Response list_providers(Gateway& gateway, const Call&) {
  return json_response(providers_json(gateway.providers()));
}

/// Who has an account's models, an operator's being all; ?after=PROVIDER/CONTENT: those behind it.
Response list_holders(Gateway& gateway, const Call& call) {
  gateway::Holders::Key after;
  if (const std::string text = query_of(call, "after"); !text.empty()) {
    const std::size_t slash = std::min(text.find('/'), text.size() - 1);
    const auto provider = crypto::address_from_text(text.substr(0, slash));
    const auto content = core::digest_from_hex(text.substr(slash + 1));
    if (!provider || !content)
      return error_response({ErrorCode::kInvalidArgument, "after: expected PROVIDER/CONTENT"});
    after = {*provider, *content};
  }
  return json_response(holders_json(gateway, is_operator(call) ? "" : call.account.name, after));
}

/// What is known of a provider, for the asker's own risk desk.
Response show_facts(Gateway& gateway, const Call& call) {
  const auto provider = crypto::address_from_text(call.params.at("provider"));
  if (!provider) return error_response(provider.error());
  return json_response(facts_json(gateway.risk(*provider)));
}

struct Listing {
  std::vector<std::uint64_t> numbers;
  std::size_t next = 0;
  std::string text = "{\"receipts\":[";

  bool is_read() const { return next == numbers.size(); }
  void add(const ReceiptRecord& record) {
    if (text.back() != '[') text += ",";
    text += listed_receipt_json(record);
  }
};

/// One in a turn of the account's on the loop, which is written off it, then the next: what one
/// account lists holds nobody up for long anywhere. (Beside hostile's expensive-reads the p99 of
/// small requests was 15 ms, with four at a time 25, with sixteen 44, read or only written so.)
void read_receipts(const Services& services, CallPtr call, Reply reply,
                   std::shared_ptr<Listing> listing) {
  if (call->left.stop_requested()) return;
  std::optional<ReceiptRecord> record;
  if (!listing->is_read()) {
    auto read = services.gateway.receipts().read(listing->numbers[listing->next++]);
    if (!read && read.error().code != ErrorCode::kNotFound) {  // forgotten meanwhile
      return reply(error_response(read.error()));
    }
    if (read) record = *std::move(read);
  }
  const bool is_last = listing->is_read();
  auto write = [&services, call = std::move(call), reply, listing = std::move(listing),
                record = std::move(record)] {
    if (record) listing->add(*record);
    if (listing->is_read()) return reply(json_response(std::move(listing->text) + "]}"));
    const std::string line = call->line;
    services.turns->post(
        line, [&services, call, reply, listing] { read_receipts(services, call, reply, listing); });
  };
  if (!is_last) return services.codec(std::move(write));
  once_durable(services.gateway, reply,
               [&services, write = std::move(write)] { services.codec(write); });
}

void list_receipts(const Services& services, CallPtr call, Reply reply) {
  const auto count = count_in(*call, "count", limits::kReceiptsListedMax);
  if (!count) return reply(error_response(count.error()));
  const std::string line = call->line;
  services.turns->post(
      line, [&services, call = std::move(call), reply = std::move(reply), count = *count] {
        const std::string account =
            is_operator(*call) ? query_of(*call, "account") : call->account.name;
        auto numbers = services.gateway.receipts().numbers(account, count);
        if (!numbers) return reply(error_response(numbers.error()));
        auto listing = std::make_shared<Listing>();
        listing->numbers = *std::move(numbers);
        read_receipts(services, call, reply, std::move(listing));
      });
}

Response show_receipt(Gateway& gateway, const Call& call) {
  const auto record = find_receipt(gateway, call);
  if (!record) return error_response(record.error());
  return json_response(receipt_json(*record));
}

/// It lies on the disk until it is sent, whatever becomes of its receipt: so much of an account's
/// does.
Response opening_file(Gateway& gateway, const Call& call, const ReceiptRecord& record) {
  struct Shown {
    core::MemoryBudget::Lease lease;
    std::shared_ptr<const void> file;
  };
  Response response = file_response(gateway.receipts().folder().map(record.id()));
  if (is_operator(call)) return response;  // whoever else sends how much
  auto lease = gateway.quotas().files().lease(call.account.name);
  if (!lease) return error_response(lease.error());
  const auto held = lease->set(static_cast<std::int64_t>(response.rest.size()));
  if (!held) return error_response(held.error());
  response.owner =
      std::make_shared<const Shown>(Shown{*std::move(lease), std::move(response.owner)});
  return response;
}

/// As it is kept, which is how it is shown; what opens a step of a rollout is put together. One
/// that is in a file can be had whatever memory the account has.
void show_opening(const Services& services, CallPtr call, Reply reply) {
  const std::string line = call->line;
  services.turns->post(line, [&services, call = std::move(call), reply = std::move(reply)] {
    const auto record = find_receipt(services.gateway, *call);
    if (!record) return reply(error_response(record.error()));
    gateway::ReceiptBook& book = services.gateway.receipts();
    if (record->is_in_file) {
      return reply_durably(services.gateway, opening_file(services.gateway, *call, *record), reply);
    }
    const auto held = call->memory.set(static_cast<std::int64_t>(record->opening_bytes));
    if (!held) return reply(error_response(held.error()));
    if (record->opening_bytes > 0) {
      return reply_durably(services.gateway, bytes_response(book.opening_bytes(*record)), reply);
    }
    auto opening = book.opening(*record);
    if (!opening) return reply(error_response(opening.error()));
    auto write = [opening = std::make_shared<const receipt::Opening>(*std::move(opening)), reply] {
      reply(bytes_response(protocol::encode_stored(*opening)));
    };
    once_durable(services.gateway, reply, [&services, write] { services.codec(write); });
  });
}

constexpr std::int64_t kSmall = limits::kHttpSmallBodyBytesMax;
constexpr std::int64_t kLarge = limits::kHttpBodyBytesMax;

constexpr Route kRoutes[] = {
    {"GET", "/v1/models", Auth::kOptional, Scope::kAny, kSmall, list_models},
    {"PUT", "/v1/models/{model}", Auth::kAccount, Scope::kModels, kLarge, push_model},
    {"GET", "/v1/models/{model}", Auth::kOptional, Scope::kAny, kSmall, model_of<find_model>},
    {"DELETE", "/v1/models/{model}", Auth::kAccount, Scope::kModels, kSmall, changes<remove_model>},
    {"POST", "/v1/models/{model}/providers", Auth::kAccount, Scope::kModels, kSmall,
     change_providers},
    {"GET", "/v1/models/{model}/content", Auth::kOptional, Scope::kModels, kSmall,
     on_loop<model_content>},
    {"GET", "/v1/models/{model}/versions/{version}", Auth::kOptional, Scope::kAny, kSmall,
     model_of<find_model>},
    {"GET", "/v1/models/{model}/versions/{version}/content", Auth::kOptional, Scope::kModels,
     kSmall, on_loop<model_content>},
    {"GET", "/v1/holders", Auth::kAccount, Scope::kModels, kSmall, on_loop<list_holders>},
    {"GET", "/v1/providers", Auth::kAccount, Scope::kAny, kSmall, on_loop<list_providers>},
    {"GET", "/v1/providers/{provider}/facts", Auth::kAccount, Scope::kAny, kSmall,
     on_loop<show_facts>},
    {"GET", "/v1/receipts", Auth::kAccount, Scope::kReceipts, kSmall, list_receipts},
    {"GET", "/v1/receipts/{receipt}", Auth::kAccount, Scope::kReceipts, kSmall,
     on_loop<show_receipt>},
    {"GET", "/v1/receipts/{receipt}/opening", Auth::kAccount, Scope::kReceipts, kSmall,
     show_opening},
};

}  // namespace

std::span<const Route> management_routes() { return kRoutes; }

}  // namespace commensal::http
