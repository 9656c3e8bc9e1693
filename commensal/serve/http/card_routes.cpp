// SPDX-License-Identifier: Apache-2.0
// What owners say of their models, looking for models, and how fast they are.
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_cards.hpp>
#include <commensal/serve/http/api.hpp>
#include <commensal/serve/http/card_json.hpp>
#include <commensal/serve/oip/acts.hpp>

namespace commensal::http {

namespace {

using core::ErrorCode;
using core::Result;
using gateway::Exploration;
using gateway::Explored;
using gateway::Gateway;
using ShownCard = gateway::ModelHub::ShownCard;

/// Written off the loop, on the account's turn.
void reply_card(const Services& services, const CallPtr& call, const Reply& reply,
                Result<ShownCard> shown) {
  if (!shown) return reply(error_response(shown.error()));
  const std::string line = call->line;
  auto write = [call, reply, shown = std::make_shared<const ShownCard>(*std::move(shown))] {
    if (!call->left.stop_requested()) reply(json_response(card_json(*shown)));
  };
  once_durable(services.gateway, reply,
               [&services, line, write = std::move(write)] { services.lists->post(line, write); });
}

void show_card(const Services& services, CallPtr call, Reply reply) {
  const std::string line = call->line;
  services.turns->post(line, [&services, call = std::move(call), reply = std::move(reply)] {
    reply_card(services, call, reply,
               services.gateway.hub().card(call->asker(), call->params.at("model")));
  });
}

/// Read off the loop, on the account's turn; then held against the model.
void put_card(const Services& services, CallPtr call, Reply reply) {
  const std::string line = call->line;
  services.lists->post(line, [&services, line, call = std::move(call), reply = std::move(reply)] {
    if (call->left.stop_requested()) return;
    std::string source(core::as_text(call->body));
    auto card = gateway::parse_card(source);
    if (!card) return reply(error_response(card.error()));
    services.turns->post(line, [&services, call, reply, source = std::move(source),
                                card = *std::move(card)] {
      const std::string& name = call->params.at("model");
      auto set = oip::as_act<ShownCard>(
          services.gateway, *call, {.what = "model.card", .on = name}, [&]() -> Result<ShownCard> {
            COMMENSAL_ASSIGN(auto model,
                             services.gateway.hub().set_card(call->account, name, source, card));
            return ShownCard{std::move(model), source};
          });
      reply_card(services, call, reply, std::move(set));
    });
  });
}

Response remove_card(Gateway& gateway, const Call& call, gateway::Act& act) {
  act.what = "model.card.delete";
  act.on = call.params.at("model");
  const auto removed = gateway.hub().remove_card(call.account, act.on);
  if (!removed) return error_response(removed.error());
  return json_response(fmt::format(R"({{"model":"{}","removed":true}})", *removed));
}

Result<Explored> explored_in(const Call& call) {
  for (const auto& [name, value] : call.query) {
    if (name == "query" || name == "task" || name == "modality" || name == "sort" ||
        name == "count" || name == "after")
      continue;
    return core::fail(ErrorCode::kInvalidArgument,
                      "unknown parameter '{}', expected query, task, modality, sort, count, after",
                      name.substr(0, 32));
  }
  Explored wanted;
  COMMENSAL_TRY(wanted.look_for(query_of(call, "query")));
  wanted.task = query_of(call, "task");
  wanted.modality = query_of(call, "modality");
  const std::string sort = query_of(call, "sort");
  if (!sort.empty() && sort != "name" && sort != "newest" && sort != "used")
    return core::fail(ErrorCode::kInvalidArgument, "sort is name, newest or used");
  wanted.sort = sort == "newest" ? Explored::Sort::kNewest
                : sort == "used" ? Explored::Sort::kUsed
                                 : Explored::Sort::kName;
  COMMENSAL_ASSIGN(wanted.count, count_in(call, "count", limits::kExploredMax));
  const std::string after = query_of(call, "after");
  if (after.empty()) return wanted;
  COMMENSAL_ASSIGN(wanted.after, Explored::Place::parse(after));
  return wanted;
}

/// A little in each turn of the account's on the loop; written off it.
void go_on_exploring(const Services& services, CallPtr call, Reply reply,
                     std::shared_ptr<Exploration> exploration) {
  if (call->left.stop_requested()) return;
  Gateway& gateway = services.gateway;
  const auto is_over =
      exploration->step(gateway.hub(), call->asker(),
                        [&gateway](const std::string& model) { return gateway.served(model); });
  if (!is_over) return reply(error_response(is_over.error()));
  const std::string line = call->line;
  if (!*is_over) {
    return services.turns->post(line, [&services, call = std::move(call), reply, exploration] {
      go_on_exploring(services, call, reply, exploration);
    });
  }
  once_durable(gateway, reply, [&services, line, call = std::move(call), reply, exploration] {
    services.lists->post(line, [call, reply, exploration] {
      if (!call->left.stop_requested()) reply(json_response(explored_json(*exploration)));
    });
  });
}

void explore(const Services& services, CallPtr call, Reply reply) {
  auto wanted = explored_in(*call);
  if (!wanted) return reply(error_response(wanted.error()));
  const std::string line = call->line;
  services.turns->post(line, [&services, call = std::move(call), reply = std::move(reply),
                              made = std::make_shared<Exploration>(*std::move(wanted))] {
    go_on_exploring(services, call, reply, made);
  });
}

Response show_speed(Gateway& gateway, const Call& call) {
  const auto model = find_model(gateway, call);
  if (!model) return error_response(model.error());
  return json_response(speeds_json(gateway.speeds(*model)));
}

constexpr std::int64_t kSmall = limits::kHttpSmallBodyBytesMax;
constexpr std::int64_t kCard = limits::kCardBytesMax;

constexpr Route kRoutes[] = {
    {"GET", "/v1/explore", Auth::kOptional, Scope::kAny, kSmall, explore},
    {"GET", "/v1/models/{model}/card", Auth::kOptional, Scope::kAny, kSmall, show_card},
    {"PUT", "/v1/models/{model}/card", Auth::kAccount, Scope::kModels, kCard, put_card},
    {"DELETE", "/v1/models/{model}/card", Auth::kAccount, Scope::kModels, kSmall,
     changes<remove_card>},
    {"GET", "/v1/models/{model}/speed", Auth::kOptional, Scope::kAny, kSmall, on_loop<show_speed>},
};

}  // namespace

std::span<const Route> card_routes() { return kRoutes; }

}  // namespace commensal::http
