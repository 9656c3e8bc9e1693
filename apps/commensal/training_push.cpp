// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/commensal/training_push.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/gateway/model_card.hpp>
#include <nlohmann/json.hpp>

namespace commensal::apps {

using core::Result;
using Json = nlohmann::ordered_json;

namespace {

Result<std::string> parent_of(client::Client& client, const core::Path& model) {
  COMMENSAL_ASSIGN(const auto file, core::MappedFile::open(model));
  const core::Digest content = crypto::sha256(file->bytes());
  COMMENSAL_ASSIGN(const auto all, client.models());
  const auto found = std::ranges::find(all, content, &client::ModelInfo::content);
  return found == all.end() ? std::string() : found->name;
}

/// "" where its card says none, or it has no card.
Result<std::string> license_of(client::Client& client, const std::string& model) {
  COMMENSAL_ASSIGN(const auto card, client.card(model));
  if (!card) return std::string();
  const Json json = Json::parse(card->json, nullptr, false);
  const bool has_card = json.is_object() && json.contains("card") && json["card"].is_object();
  const Json head = has_card ? json["card"] : Json::object();
  const bool has = head.contains("license") && head["license"].is_string();
  return has ? head["license"].get<std::string>() : std::string();
}

/// Double quotes of JSON are YAML's too.
std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string front_matter_of(const TrainingPush& push) {
  std::string made = "---\n";
  if (!push.license.empty()) made += fmt::format("license: {}\n", quoted(push.license));
  if (!push.parent.empty()) made += fmt::format("base_model: {}\n", quoted(push.parent));
  return made + "---\n";
}

}  // namespace

void TrainingPush::declare(CLI::App& app) {
  CLI::Option* const push =
      app.add_option("--push", name, "Push the trained model as [OWNER/]MODEL, with a card");
  app.add_option("--parent", parent,
                 "What the card names as its parent (default: the gateway's model of these bytes)")
      ->needs(push);
  app.add_option("--license", license, "What the card names as its licence (default: the parent's)")
      ->needs(push);
  app.add_flag("--private", is_private, "Only the owner sees what is pushed")->needs(push);
}

Result<void> prepare_push(TrainingPush& push, const train::Plan& plan) {
  COMMENSAL_ASSIGN(client::Client client, connect(push.connection));
  COMMENSAL_ASSIGN(push.name, name_to_push(client, push.name));
  if (push.parent.empty()) {
    COMMENSAL_ASSIGN(push.parent, parent_of(client, plan.model));
  } else {
    COMMENSAL_ASSIGN(push.parent, full_model_name(client, push.parent));
    COMMENSAL_TRY(client.model(push.parent));
  }
  if (push.license.empty() && !push.parent.empty()) {
    COMMENSAL_ASSIGN(push.license, license_of(client, push.parent));
  }
  COMMENSAL_TRY(gateway::parse_card(front_matter_of(push)));
  return {};
}

std::string card_of(const TrainingPush& push, const train::Trainer& trainer,
                    const train::Plan& plan) {
  std::string made = front_matter_of(push);
  made += fmt::format("# {}\n\nTrained{}: {} steps of {} samples, loss {:.4g} to {:.4g}.",
                      push.name, push.parent.empty() ? "" : " from " + push.parent, trainer.done(),
                      plan.batch, trainer.losses().front(), trainer.losses().back());
  if (!trainer.held_out().empty()) {
    const auto& last = trainer.held_out().back();
    made += fmt::format(" Held out: loss {:.4g}", last.loss);
    if (last.accuracy >= 0) made += fmt::format(", {:.2f} % right", 100 * last.accuracy);
    made += ".";
  }
  made += fmt::format("\n\nTraining `{}`, weights `{}`.\n", core::to_hex(trainer.training()),
                      core::to_hex(trainer.weights_digest()));
  return made;
}

Result<std::string> push_trained(const TrainingPush& push, core::ByteView model,
                                 const std::string& card) {
  COMMENSAL_ASSIGN(client::Client client, connect(push.connection));
  client::PushRequest request;
  request.bytes = model;
  request.model = push.name;
  request.is_private = push.is_private;
  COMMENSAL_ASSIGN(const auto pushed, client.push(request));
  if (const auto set = client.set_card(pushed.name, card); !set) {
    core::Error error = set.error();
    error.message +=
        fmt::format("; {} version {} is there without its card", pushed.name, pushed.version);
    return tl::unexpected(std::move(error));
  }
  return fmt::format("{} version {}", pushed.name, pushed.version);
}

}  // namespace commensal::apps
