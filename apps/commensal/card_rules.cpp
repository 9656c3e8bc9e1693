// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/commensal/card_rules.hpp>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

namespace commensal::apps {
namespace {

tl::unexpected<core::Error> unusable(std::string_view what, std::string_view found) {
  return core::fail(core::ErrorCode::kDataLoss,
                    "the model's card has a picture's {} as '{}': --no-card goes without it", what,
                    found);
}

bool is_given(const CLI::App& app, const std::string& option) {
  const CLI::Option* const found = app.get_option_no_throw(option);
  return found != nullptr && found->count() > 0;
}

/// The input of that name, if there is one.
std::optional<std::size_t> input_of(const graph::Graph& graph, const std::string& name) {
  for (const graph::ValueId id : graph.inputs) {
    if (graph.name_of(id) == name) return static_cast<std::size_t>(id);
  }
  return std::nullopt;
}

}  // namespace

core::Result<io::PictureRule> rule_of(const client::Card::Picture& picture) {
  io::PictureRule rule;
  using enum io::Resize;
  constexpr std::pair<std::string_view, io::Resize> kResizes[] = {
      {"refuse", kRefuse}, {"stretch", kStretch}, {"crop", kCrop}, {"pad", kPad}};
  const auto* const resize = std::ranges::find(kResizes, std::string_view(picture.resize),
                                               &std::pair<std::string_view, io::Resize>::first);
  if (resize == std::end(kResizes)) return unusable("resize", picture.resize);
  rule.resize = resize->second;
  rule.channels_last = picture.layout == "NHWC";
  rule.bgr = picture.colour == "BGR";
  rule.convert = !picture.colour.empty();
  for (std::size_t c = 0; c < rule.mean.size(); ++c) {
    // (x / scale - mean) / std, as the one subtraction and the one division that options name.
    rule.mean[c] = static_cast<float>(picture.mean[c] * picture.scale);
    rule.scale[c] = static_cast<float>(picture.std[c] * picture.scale);
    if (!std::isfinite(rule.mean[c])) return unusable("mean", fmt::format("{}", picture.mean[c]));
    if (!std::isfinite(rule.scale[c]) || rule.scale[c] == 0)
      return unusable("std", fmt::format("{}", picture.std[c]));
  }
  return rule;
}

core::Result<void> apply_card(const CLI::App& app, const client::Card& card, io::PictureRule& rule,
                              Reading& reading) {
  if (card.picture) {
    COMMENSAL_ASSIGN(const io::PictureRule said, rule_of(*card.picture));
    if (!is_given(app, "--image-resize")) rule.resize = said.resize;
    if (!is_given(app, "--image-convert")) rule.convert = said.convert;
    if (!is_given(app, "--image-layout")) rule.channels_last = said.channels_last;
    if (!is_given(app, "--image-colour")) rule.bgr = said.bgr;
    if (!is_given(app, "--image-mean")) rule.mean = said.mean;
    if (!is_given(app, "--image-scale")) rule.scale = said.scale;
  }
  if (!is_given(app, "--labels")) reading.card.labels = card.labels;
  if (!card.output) return {};
  reading.card.output = card.output->name;
  if (!is_given(app, "--softmax")) reading.card.softmax = card.output->softmax;
  if (!is_given(app, "--top") && card.output->top_k)
    reading.card.top = static_cast<std::size_t>(*card.output->top_k);
  return {};
}

void fix_size(const client::Card::Picture& picture, graph::Graph& graph) {
  const auto found = input_of(graph, picture.input);
  if (!found || graph.values[*found].declared.dims.size() != 4) return;
  auto& dims = graph.values[*found].declared.dims;
  const bool is_last = picture.layout == "NHWC";
  const auto fix = [&dims](std::size_t at, std::int64_t extent) {
    if (dims[at] < 0 && extent > 0) dims[at] = extent;
  };
  fix(is_last ? 1 : 2, picture.height);
  fix(is_last ? 2 : 3, picture.width);
  fix(is_last ? 3 : 1, picture.colour.empty() ? 0 : picture.colour == "gray" ? 1 : 3);
}

std::string named_input(const client::Card::Picture& picture, const graph::Graph& graph,
                        const std::string& given) {
  const bool is_open = graph.inputs.size() > 1 && given.find('=') == std::string::npos &&
                       input_of(graph, picture.input).has_value();
  const bool is_archive = given.ends_with(".npz");  // which fills what nothing else does
  return is_open && !is_archive ? picture.input + "=" + given : given;
}

}  // namespace commensal::apps
