// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <commensal/base/core/result.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <cstdint>
#include <string_view>
#include <vector>

/// How a gateway has providers let go of models: messages of the stream (messages.hpp), between
/// those who know_release().
namespace commensal::rpc {

/// Gateway to provider: these models' files, and what was made of them, are not to be kept for this
/// gateway any longer. Each is answered with Released; who is asked again answers again. An Offer
/// of such a model, or a Prefetch, takes it back.
struct Release {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kRelease;

  std::vector<core::Digest> models;  // SHA-256 of their files; limits::kHelloModelsMax

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("models", self.models);
  }
  core::Result<void> validity() const;
};

/// Provider to gateway: what has become of them, or when it looks at them next, and says so then.
struct Released {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kReleased;

  struct Item {
    core::Digest model{};
    std::uint64_t until_ms = 0;  // since 1970; 0: nothing is kept for this gateway any more

    bool operator==(const Item&) const = default;
    template <class Archive, class Self>
    static void fields(Archive& archive, Self& self) {
      archive.field("model", self.model);
      archive.field("until_ms", self.until_ms);
    }
  };
  std::vector<Item> items;  // limits::kHelloModelsMax

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("items", self.items);
  }
  core::Result<void> validity() const;
};

/// Whether who is of this version reads, or says, these: from 0.1.4 on.
bool knows_release(std::string_view version);

}  // namespace commensal::rpc
