// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_cards.hpp>
#include <commensal/serve/client/card.hpp>
#include <commensal/serve/client/client.hpp>
#include <nlohmann/json.hpp>

namespace commensal::client {

namespace {

using CardJson = nlohmann::json;

tl::unexpected<core::Error> broken_card(std::string_view what) {
  return core::fail(core::ErrorCode::kDataLoss,
                    "the gateway's answer makes no sense: \"{}\" of "
                    "a card is missing or broken",
                    what);
}

/// Null where it is missing or null.
const CardJson* part_of(const CardJson& json, const char* name) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(name);
  return found == json.end() || found->is_null() ? nullptr : &*found;
}

std::string text_in(const CardJson& json, const char* name) {
  const CardJson* const found = part_of(json, name);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

/// A whole number of 1 to `most`, or none.
std::optional<std::int64_t> count_of(const CardJson* json, std::int64_t most) {
  if (json == nullptr || !json->is_number_unsigned()) return std::nullopt;
  const auto number = json->get<std::uint64_t>();
  if (number < 1 || std::cmp_greater(number, most)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

bool read_channels(const CardJson* json, std::array<double, 3>& into) {
  if (json == nullptr || !json->is_array() || json->size() != into.size()) return false;
  for (std::size_t i = 0; i < into.size(); ++i) {
    if (!(*json)[i].is_number()) return false;
    into[i] = (*json)[i].get<double>();
  }
  return true;
}

core::Result<Card::Picture> picture_in(const CardJson& json) {
  Card::Picture picture{.input = text_in(json, "input"),
                        .resize = text_in(json, "resize"),
                        .layout = text_in(json, "layout"),
                        .colour = text_in(json, "colour")};
  if (const CardJson* const size = part_of(json, "size")) {
    const bool is_pair = size->is_array() && size->size() == 2;
    const auto height = count_of(is_pair ? &(*size)[0] : nullptr, limits::kImageSideMax);
    const auto width = count_of(is_pair ? &(*size)[1] : nullptr, limits::kImageSideMax);
    if (!height || !width) return broken_card("size");
    picture.height = *height;
    picture.width = *width;
  }
  const CardJson* const scale = part_of(json, "scale");
  if (scale == nullptr || !scale->is_number()) return broken_card("scale");
  picture.scale = scale->get<double>();
  if (!read_channels(part_of(json, "mean"), picture.mean)) return broken_card("mean");
  if (!read_channels(part_of(json, "std"), picture.std)) return broken_card("std");
  return picture;
}

Card::Output output_in(const CardJson& json) {
  const CardJson* const softmax = part_of(json, "softmax");
  return {.name = text_in(json, "name"),
          .softmax = softmax != nullptr && softmax->is_boolean() && softmax->get<bool>(),
          .top_k = count_of(part_of(json, "top_k"), limits::kCardTopMax)};
}

}  // namespace

core::Result<Card> read_card(core::ByteView body) {
  const CardJson json = CardJson::parse(body.begin(), body.end(), nullptr, false);
  const CardJson* const said = part_of(json, "card");
  if (said == nullptr || !said->is_object()) return broken_card("card");
  Card card{.model = text_in(json, "model"),
            .labels = {},
            .picture = {},
            .output = {},
            .problem = text_in(json, "problem"),
            .source = text_in(json, "source"),
            .json = std::string(core::as_text(body))};
  if (const CardJson* const labels = part_of(*said, "labels")) {
    for (const CardJson& label : *labels) {
      if (!label.is_string()) return broken_card("labels");
      card.labels.push_back(label.get<std::string>());
    }
  }
  if (const CardJson* const picture = part_of(*said, "picture")) {
    COMMENSAL_ASSIGN(card.picture, picture_in(*picture));
  }
  if (const CardJson* const output = part_of(*said, "output")) card.output = output_in(*output);
  return card;
}

core::Result<FoundModels> read_found(core::ByteView body) {
  const CardJson json = CardJson::parse(body.begin(), body.end(), nullptr, false);
  const CardJson* const models = part_of(json, "models");
  if (models == nullptr || !models->is_array()) return broken_card("models");
  FoundModels found{
      .models = {}, .next = text_in(json, "next"), .json = std::string(core::as_text(body))};
  const auto number = [](const CardJson& of, const char* name) -> std::uint64_t {
    const CardJson* const value = part_of(of, name);
    return value != nullptr && value->is_number_unsigned() ? value->get<std::uint64_t>() : 0;
  };
  for (const CardJson& one : *models) {
    const CardJson* const is_private = part_of(one, "private");
    found.models.push_back({.name = text_in(one, "name"),
                            .task = text_in(one, "task"),
                            .modality = text_in(one, "modality"),
                            .license = text_in(one, "license"),
                            .summary = text_in(one, "summary"),
                            .version = static_cast<std::uint32_t>(number(one, "version")),
                            .is_private = is_private != nullptr && *is_private == true,
                            .bytes = static_cast<std::int64_t>(number(one, "bytes")),
                            .served = number(one, "served")});
  }
  return found;
}

core::Result<Card> Client::set_card(const std::string& name, std::string_view source) {
  COMMENSAL_ASSIGN(const std::string set, send("PUT", "/v1/models/" + escaped_path(name) + "/card",
                                               "text/markdown", core::as_bytes(source)));
  return read_card(core::as_bytes(set));
}

core::Result<std::optional<Card>> Client::card(const std::string& name) {
  const auto body = get_json("/v1/models/" + escaped_path(name) + "/card");
  if (!body && body.error().code == core::ErrorCode::kNotFound) return std::nullopt;
  if (!body) return tl::unexpected(body.error());
  COMMENSAL_ASSIGN(Card card, read_card(core::as_bytes(*body)));
  return std::optional<Card>(std::move(card));
}

core::Result<FoundModels> Client::explore(const Wish& wish) {
  std::string target = "/v1/explore";
  char before = '?';
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) target += std::exchange(before, '&') + (name + ("=" + escaped_path(value)));
  };
  add("query", wish.query);
  add("task", wish.task);
  add("modality", wish.modality);
  add("sort", wish.sort);
  if (wish.count > 0) add("count", std::to_string(wish.count));
  add("after", wish.after);
  COMMENSAL_ASSIGN(const std::string body, get_json(target));
  return read_found(core::as_bytes(body));
}

}  // namespace commensal::client
