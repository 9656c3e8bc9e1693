// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_cards.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/serve/gateway/front_matter.hpp>
#include <commensal/serve/gateway/markdown_summary.hpp>
#include <commensal/serve/gateway/model_card.hpp>
#include <iterator>

namespace commensal::gateway {
namespace {

using core::ErrorCode;
using Kind = YamlValue::Kind;

/// Reads members of one map of a card; the first thing that is wrong sticks.
class CardMembers {
 public:
  /// `place`: of the map in the file, with a dot behind it, or "".
  CardMembers(const YamlValue& map, std::string place, CardKeys keys)
      : map_(map), place_(std::move(place)), keys_(keys) {
    if (map.kind != Kind::kMap && map.kind != Kind::kNothing) refuse("", "expected 'key: value'");
  }

  /// Null: nothing is said.
  const YamlValue* find(std::string_view name) {
    const YamlValue* found = nullptr;
    for (const auto& [key, value] : map_.members) {
      if (key != name) continue;
      if (found != nullptr) refuse(name, "it is there twice");
      found = &value;
    }
    return found == nullptr || found->kind == Kind::kNothing ? nullptr : found;
  }
  std::string text(std::string_view name) {
    const YamlValue* const value = find(name);
    return value == nullptr ? std::string() : word(name, *value);
  }
  /// Of a text, or of a list of texts.
  std::vector<std::string> texts(std::string_view name, std::size_t most) {
    const YamlValue* const value = find(name);
    if (value == nullptr) return {};
    if (value->kind == Kind::kText) return {word(name, *value)};
    if (value->kind != Kind::kList || value->items.size() > most) {
      refuse(name, fmt::format("expected a list of at most {} texts", most));
      return {};
    }
    std::vector<std::string> made;
    for (const YamlValue& item : value->items) made.push_back(word(name, item));
    return made;
  }
  std::string choice(std::string_view name, std::initializer_list<std::string_view> choices,
                     std::string_view otherwise) {
    const YamlValue* const value = find(name);
    if (value == nullptr) return std::string(otherwise);
    std::string said = word(name, *value);
    if (std::ranges::find(choices, said) == choices.end())
      refuse(name, fmt::format("expected {}", fmt::join(choices, ", ")));
    return said;
  }
  bool flag(std::string_view name) { return choice(name, {"true", "false"}, "false") == "true"; }
  std::int64_t whole(std::string_view name, const YamlValue& value, std::int64_t most) {
    std::int64_t number = 0;
    const char* const end = value.text.data() + value.text.size();
    const auto [stop, error] = std::from_chars(value.text.data(), end, number);
    const bool is_sound = value.kind == Kind::kText && error == std::errc() && stop == end;
    if (!is_sound || number < 1 || number > most)
      refuse(name, fmt::format("expected a whole number, 1 to {}", most));
    return number;
  }
  /// One number for all channels, or three.
  std::array<double, 3> channels(std::string_view name, double otherwise, bool divides) {
    const YamlValue* const value = find(name);
    if (value == nullptr) return {otherwise, otherwise, otherwise};
    if (value->kind == Kind::kText) return all(number(name, *value, divides));
    if (value->kind == Kind::kList && value->items.size() == 1)
      return all(number(name, value->items.front(), divides));
    std::array<double, 3> made{};
    if (value->kind != Kind::kList || value->items.size() != made.size()) {
      refuse(name, "expected one number, or a list of three");
      return made;
    }
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = number(name, value->items[i], divides);
    return made;
  }
  double number(std::string_view name, const YamlValue& value, bool divides) {
    constexpr double kMost = 1e6;
    double number = 0;
    const char* const end = value.text.data() + value.text.size();
    const auto [stop, error] = std::from_chars(value.text.data(), end, number);
    const bool is_sound = value.kind == Kind::kText && error == std::errc() && stop == end &&
                          std::abs(number) <= kMost;  // of none it does not hold
    if (!is_sound) refuse(name, "expected a number, -1e6 to 1e6");
    if (is_sound && divides && std::abs(number) < 1 / kMost)
      refuse(name, "pixel values cannot be divided by so little");
    return number;
  }
  /// That there are no members but these, if that is asked for.
  void only(std::initializer_list<std::string_view> names) {
    if (keys_ == CardKeys::kAny) return;
    for (const auto& [key, value] : map_.members) {
      if (std::ranges::find(names, key) == names.end())
        refuse(key, fmt::format("unknown: expected {}", fmt::join(names, ", ")));
    }
  }
  void refuse(std::string_view name, std::string_view why) {
    if (status_)
      status_ = core::fail(
          ErrorCode::kInvalidArgument, "the card's '{}': {}",
          protocol::one_line((place_ + std::string(name)).substr(0, limits::kCardWordBytesMax)),
          why);
  }
  const core::Result<void>& status() const { return status_; }

 private:
  static std::array<double, 3> all(double value) { return {value, value, value}; }
  std::string word(std::string_view name, const YamlValue& value) {
    const bool is_sound = value.kind == Kind::kText && protocol::is_line(value.text) &&
                          value.text.size() <= limits::kCardWordBytesMax;
    if (is_sound) return value.text;
    refuse(name,
           fmt::format("expected a line of text of at most {} bytes", limits::kCardWordBytesMax));
    return {};
  }

  const YamlValue& map_;
  const std::string place_;
  const CardKeys keys_;
  core::Result<void> status_;
};

core::Result<CardPicture> read_picture(const YamlValue& value, CardKeys keys) {
  CardMembers members(value, "commensal.picture.", keys);
  members.only({"input", "size", "resize", "layout", "colour", "scale", "mean", "std"});
  CardPicture picture;
  picture.input = members.text("input");
  if (const YamlValue* const size = members.find("size")) {
    if (size->kind == Kind::kList && size->items.size() == 2) {
      picture.height = members.whole("size", size->items[0], limits::kImageSideMax);
      picture.width = members.whole("size", size->items[1], limits::kImageSideMax);
    } else {
      members.refuse("size", "expected [height, width]");
    }
  }
  picture.resize = members.choice("resize", {"stretch", "crop", "pad", "refuse"}, picture.resize);
  picture.layout = members.choice("layout", {"NCHW", "NHWC"}, "");
  picture.colour = members.choice("colour", {"RGB", "BGR", "gray"}, "");
  if (const YamlValue* const scale = members.find("scale"))
    picture.scale = members.number("scale", *scale, true);
  picture.mean = members.channels("mean", 0, false);
  picture.std = members.channels("std", 1, true);
  COMMENSAL_TRY(members.status());
  return picture;
}

core::Result<CardOutput> read_output(const YamlValue& value, CardKeys keys) {
  CardMembers members(value, "commensal.output.", keys);
  members.only({"name", "softmax", "top_k"});
  CardOutput output{.name = members.text("name"), .softmax = members.flag("softmax"), .top_k = {}};
  if (const YamlValue* const top = members.find("top_k"))
    output.top_k = members.whole("top_k", *top, limits::kCardTopMax);
  COMMENSAL_TRY(members.status());
  return output;
}

core::Result<CardExample> read_example(const YamlValue& value, CardKeys keys) {
  CardMembers members(value, "commensal.example.", keys);
  members.only({"input", "text"});
  CardExample example{.input = members.text("input"), .text = members.text("text")};
  COMMENSAL_TRY(members.status());
  return example;
}

core::Result<void> read_ours(const YamlValue& value, CardKeys keys, ModelCard& card) {
  CardMembers ours(value, "commensal.", keys);
  ours.only({"modality", "labels", "picture", "output", "example"});
  card.modality = ours.choice("modality", {"image", "text", "audio", "tabular", "other"}, "");
  card.labels = ours.texts("labels", limits::kCardValuesMax);
  if (const YamlValue* const said = ours.find("picture")) {
    COMMENSAL_ASSIGN(card.picture, read_picture(*said, keys));
  }
  if (const YamlValue* const said = ours.find("output")) {
    COMMENSAL_ASSIGN(card.output, read_output(*said, keys));
  }
  if (const YamlValue* const said = ours.find("example")) {
    COMMENSAL_ASSIGN(card.example, read_example(*said, keys));
  }
  return ours.status();
}

bool is_plain_text(std::string_view text) {
  const auto is_control = [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t') ||
           c == 0x7f;
  };
  return protocol::is_utf8(text) && std::ranges::none_of(text, is_control);
}

std::string first_of(std::vector<std::string> texts) {
  return texts.empty() ? std::string() : std::move(texts.front());
}

}  // namespace

core::Result<ModelCard> parse_card(std::string_view source, CardKeys keys) {
  if (source.size() > limits::kCardBytesMax)
    return core::fail(ErrorCode::kResourceExhausted, "the card has {} bytes, at most {} are kept",
                      source.size(), limits::kCardBytesMax);
  if (!is_plain_text(source))
    return core::fail(ErrorCode::kInvalidArgument,
                      "a card is a text in UTF-8 without control characters");
  COMMENSAL_ASSIGN(const FrontMatter parts, split_front_matter(source));
  CardMembers head(parts.head, "", keys);
  ModelCard card;
  card.license = first_of(head.texts("license", limits::kCardTagsMax));
  card.parent = first_of(head.texts("base_model", limits::kCardTagsMax));
  card.task = head.text("pipeline_tag");
  card.tags = head.texts("tags", limits::kCardTagsMax);
  card.language = fmt::format("{}", fmt::join(head.texts("language", limits::kCardTagsMax), ", "));
  if (card.language.size() > limits::kCardWordBytesMax)
    head.refuse("language", fmt::format("more than {} bytes", limits::kCardWordBytesMax));
  if (const YamlValue* const ours = head.find("commensal"))
    COMMENSAL_TRY(read_ours(*ours, keys, card));
  COMMENSAL_TRY(head.status());
  card.text = parts.text;
  card.summary = summary_of(card.text);
  return card;
}

}  // namespace commensal::gateway
