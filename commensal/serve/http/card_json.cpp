// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/http/card_json.hpp>
#include <commensal/serve/http/json_parts.hpp>

namespace commensal::http {

namespace {

using gateway::ModelCard;
using Json = nlohmann::ordered_json;

Json picture_of(const ModelCard& card) {
  if (!card.picture) return nullptr;
  const gateway::CardPicture& picture = *card.picture;
  Json size = nullptr;
  if (picture.height > 0) size = {picture.height, picture.width};
  return {{"input", picture.input},   {"size", std::move(size)},  {"resize", picture.resize},
          {"layout", picture.layout}, {"colour", picture.colour}, {"scale", picture.scale},
          {"mean", picture.mean},     {"std", picture.std}};
}

Json output_of(const ModelCard& card) {
  if (!card.output) return nullptr;
  Json output = {{"name", card.output->name}, {"softmax", card.output->softmax}};
  output["top_k"] = card.output->top_k ? Json(*card.output->top_k) : Json(nullptr);
  return output;
}

Json example_of(const ModelCard& card) {
  if (!card.example) return nullptr;
  return {{"input", card.example->input}, {"text", card.example->text}};
}

Json found_model(const gateway::Exploration::Found& found) {
  static const gateway::CardHead kNone;
  const gateway::ModelVersion& model = *found.model;
  const gateway::CardHead& card = found.card ? *found.card : kNone;
  return {{"name", model.name},
          {"version", model.version},
          {"private", model.is_private},
          {"task", card.task},
          {"modality", card.modality},
          {"license", card.license},
          {"parent", card.parent},
          {"tags", card.tags},
          {"bytes", model.bytes},
          {"created_ms", model.created_ms},
          {"summary", card.summary},
          {"served", found.served},
          {"inputs", ports_json(model.inputs)},
          {"outputs", ports_json(model.outputs)}};
}

}  // namespace

std::string card_json(const gateway::ModelHub::ShownCard& shown) {
  auto read = gateway::parse_card(shown.source, gateway::CardKeys::kAny);
  ModelCard card = read ? *std::move(read) : ModelCard();
  const auto fits = read ? gateway::fit_card(card, shown.model) : tl::unexpected(read.error());
  return text_of({{"model", shown.model.name},
                  {"card",
                   {{"license", card.license},
                    {"parent", card.parent},
                    {"task", card.task},
                    {"tags", card.tags},
                    {"language", card.language},
                    {"modality", card.modality},
                    {"labels", card.labels},
                    {"picture", picture_of(card)},
                    {"output", output_of(card)},
                    {"example", example_of(card)}}},
                  {"problem", fits ? Json(nullptr) : Json(fits.error().message)},
                  {"summary", card.summary},
                  {"text", card.text},
                  {"source", shown.source}});
}

std::string explored_json(const gateway::Exploration& exploration) {
  std::string text = "{\"models\":[";
  const auto& all = exploration.found();
  auto one = all.begin();
  const gateway::Explored::Place* last = nullptr;
  for (; one != all.end(); ++one) {
    const std::string model = text_of(found_model(one->second));
    if (last != nullptr && text.size() + model.size() > limits::kHttpListBytesMax) break;
    if (last != nullptr) text += ",";
    text += model;
    last = &one->first;
  }
  const bool has_more = last != nullptr && (one != all.end() || exploration.has_more());
  text += "],\"next\":" + (has_more ? text_of(Json(last->text())) : std::string("null"));
  return text + "}";
}

std::string speeds_json(const std::vector<gateway::MeasuredSpeed>& speeds) {
  Json devices = Json::array();
  for (const gateway::MeasuredSpeed& one : speeds)
    devices.push_back({{"device", "cpu"},  // no session computes on others yet
                       {"provider", crypto::to_text(one.provider)},
                       {"ms", one.ms},
                       {"answers", one.answers}});
  return text_of({{"devices", std::move(devices)}});
}

}  // namespace commensal::http
