// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/base/core/bytes.hpp>
#include <commensal/base/core/result.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace commensal::client {

/// What its owner says of a model. Texts are strangers': who shows them makes them harmless.
struct Card {
  /// How a picture becomes an input: (value / scale - mean) / std.
  struct Picture {
    std::string input;        // name
    std::int64_t height = 0;  // 0: as the model declares it, or the picture's own
    std::int64_t width = 0;   // likewise
    std::string resize;       // "refuse", "stretch", "crop", "pad"
    std::string layout;       // "NCHW", "NHWC"
    std::string colour;       // "RGB", "BGR", "gray", ""
    double scale = 1;         // not 0
    std::array<double, 3> mean{};
    std::array<double, 3> std{};  // none is 0
  };
  struct Output {
    std::string name;  // "": any
    bool softmax = false;
    std::optional<std::int64_t> top_k;
  };

  std::string model;
  std::vector<std::string> labels;
  std::optional<Picture> picture;
  std::optional<Output> output;
  std::string problem;  // what of it is not so of the model's newest version; "": nothing
  std::string source;   // the file
  std::string json;     // as the gateway sent it
};

/// Error: kDataLoss.
core::Result<Card> read_card(core::ByteView body);

/// Which models are looked for; "" and 0: any, as the gateway has it.
struct Wish {
  std::string query, task, modality;
  std::string sort;  // "name", "newest", "used"
  std::size_t count = 0;
  std::string after;  // "next" of the answer before
};

/// A model that was found.
struct FoundModel {
  std::string name, task, modality, license, summary;
  std::uint32_t version = 0;
  bool is_private = false;
  std::int64_t bytes = 0;
  std::uint64_t served = 0;
};

struct FoundModels {
  std::vector<FoundModel> models;
  std::string next;  // "": these are the last
  std::string json;  // as the gateway sent it
};

/// Error: kDataLoss.
core::Result<FoundModels> read_found(core::ByteView body);

}  // namespace commensal::client
