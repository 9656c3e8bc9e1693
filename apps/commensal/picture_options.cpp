// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <apps/commensal/picture_options.hpp>
#include <cmath>
#include <map>

namespace commensal::apps {
namespace {

/// "V", for all channels, or "V,V,V".
std::array<float, 3> channels_from(const std::string& name, const std::string& text) {
  std::vector<float> values;
  for (const std::string& part : CLI::detail::split(text, ',')) {
    float value = 0;
    if (!CLI::detail::lexical_cast(part, value) || !std::isfinite(value)) {
      throw CLI::ValidationError(name, fmt::format("'{}' is no number", part));
    }
    values.push_back(value);
  }
  if (values.size() == 1) return {values[0], values[0], values[0]};
  if (values.size() == 3) return {values[0], values[1], values[2]};
  throw CLI::ValidationError(
      name, fmt::format("expected one number or three, one a channel, found {}", values.size()));
}

using Channels = std::array<float, 3>;

Channels divisors_from(const std::string& name, const std::string& text) {
  const Channels made = channels_from(name, text);
  if (std::ranges::count(made, 0.0f) == 0) return made;
  throw CLI::ValidationError(name, "a picture cannot be divided by 0");
}

void add_channels(CLI::App& app, const char* name, Channels& into, const char* help,
                  const char* otherwise,
                  Channels (*read)(const std::string&, const std::string&) = channels_from) {
  app.add_option_function<std::string>(
         name, [&into, name, read](const std::string& text) { into = read(name, text); }, help)
      ->type_name("V[,V,V]")
      ->default_str(otherwise);
}

}  // namespace

void declare_picture(CLI::App& app, io::PictureRule& rule) {
  static const std::map<std::string, io::Resize> kRules = {{"refuse", io::Resize::kRefuse},
                                                           {"stretch", io::Resize::kStretch},
                                                           {"crop", io::Resize::kCrop},
                                                           {"pad", io::Resize::kPad}};
  app.add_option_function<std::string>(
         "--image-resize", [&rule](const std::string& text) { rule.resize = kRules.at(text); },
         "A picture of other proportions than the model's: stretch it, crop it to its middle, pad "
         "it with black, or refuse it")
      ->check(CLI::IsMember(kRules))
      ->type_name("RULE")
      ->default_str("refuse");
  app.add_flag("--image-convert", rule.convert,
               "Make grey of colour, or colour of grey, where the model wants the other");
  static const std::map<std::string, bool> kLayouts = {{"NCHW", false}, {"NHWC", true}};
  static const std::map<std::string, bool> kColours = {{"RGB", false}, {"BGR", true}};
  app.add_option_function<std::string>(
         "--image-layout",
         [&rule](const std::string& text) { rule.channels_last = kLayouts.at(text); },
         "Where the model's input has its channels: [1,C,H,W] or [1,H,W,C]")
      ->check(CLI::IsMember(kLayouts))
      ->type_name("LAYOUT")
      ->default_str("NCHW");
  app.add_option_function<std::string>(
         "--image-colour", [&rule](const std::string& text) { rule.bgr = kColours.at(text); },
         "In which order three channels are")
      ->check(CLI::IsMember(kColours))
      ->type_name("ORDER")
      ->default_str("RGB");
  add_channels(app, "--image-mean", rule.mean,
               "Subtracted from every pixel value (0..255), by the model's channels", "0");
  add_channels(app, "--image-scale", rule.scale, "What every pixel value is divided by", "1",
               divisors_from);
}

}  // namespace commensal::apps
