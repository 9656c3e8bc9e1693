// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/serve/gateway/hub.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace commensal::gateway {

/// How a picture becomes an input: brought to a size, then (value / scale - mean) / std of each
/// pixel value, 0 to 255.
struct CardPicture {
  std::string input;              // its name; "": the model's only one
  std::int64_t height = 0;        // 0: as the model declares it, or the picture's own
  std::int64_t width = 0;         // likewise
  std::string resize = "refuse";  // or "stretch", "crop", "pad": of other proportions
  std::string layout = {};        // "NCHW", "NHWC"; "": as the model has it
  std::string colour = {};        // "RGB", "BGR", "gray"; "": RGB, or gray where that is wanted
  double scale = 1;
  std::array<double, 3> mean{0, 0, 0};  // in the order of the model's channels
  std::array<double, 3> std{1, 1, 1};
};

/// How an output is read.
struct CardOutput {
  std::string name;  // "": the model's only one
  bool softmax = false;
  std::optional<std::int64_t> top_k;
};

struct CardExample {
  std::string input;
  std::string text;
};

/// What an owner says of a model: the file README.md as hubs have it, YAML front matter before
/// Markdown. Every text but `text` is one line of limits::kCardWordBytesMax at most, "" where
/// nothing is said. A value.
struct ModelCard {
  std::string license;
  std::string parent;  // "base_model"
  std::string task;    // "pipeline_tag"
  std::string language;
  std::string modality;  // "image", "text", "audio", "tabular", "other"
  std::vector<std::string> tags;
  std::vector<std::string> labels;  // of the output's last dimension
  std::optional<CardPicture> picture;
  std::optional<CardOutput> output;
  std::optional<CardExample> example;
  std::string summary;  // the first sentence of `text`
  std::string text;     // Markdown, which nobody has looked at: whoever shows it makes it harmless
};

/// Of `commensal` and the maps in it: what a slip of the pen makes of one would change answers, but
/// a card that is kept may have some that another version of this program knew.
enum class CardKeys : std::uint8_t { kKnown, kAny };

/// Keys that are not known are passed over, but those that CardKeys is of, unless any may be there.
/// Pure; proportional to the file's length. Errors:
/// kInvalidArgument (not UTF-8, control characters, no such front matter, a value that makes no
/// sense), kResourceExhausted (limits::kCardBytesMax).
core::Result<ModelCard> parse_card(std::string_view source, CardKeys keys = CardKeys::kKnown);

/// Holds a card against a model: names that it has, sizes that fit, as many labels as the output
/// has elements in its last dimension (behind which dimensions of 1 do not count). What the card
/// leaves open and the model settles is filled in: names, layout, colour. Pure. Error:
/// kInvalidArgument.
core::Result<void> fit_card(ModelCard& card, const ModelVersion& model);

}  // namespace commensal::gateway
