// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/base/protocol/record.hpp>
#include <commensal/serve/gateway/numbered_key.hpp>
#include <optional>
#include <string>

/// What ModelHub keeps in its store, for its own sources only. Pure functions.
namespace commensal::gateway::hub_rows {

// "owner/model", a zero byte, and the version so that the newest comes first -> ModelVersion.
inline constexpr std::string_view kModelSpace = "models";
inline constexpr std::string_view kFormerSpace = "models_removed";        // "owner/model" -> Former
inline constexpr std::string_view kDroppedSpace = "model_files_dropped";  // content -> DroppedFile

/// What was removed under a name: all versions up to this one (0: none).
struct Former {
  static constexpr std::string_view kRecord = "removed model";

  std::uint32_t version = 0;
  std::int64_t bytes = 0;  // once of files that stayed; 0 now
  std::optional<std::int64_t> since_ms = {};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("version", self.version);
    archive.field("bytes", self.bytes);
    archive.tail("since_ms", self.since_ms);
  }
};

/// A file that no version has any more, or never had.
struct DroppedFile {
  static constexpr std::string_view kRecord = "dropped file";

  std::string owner;  // in whose bounds it counts; "": nobody's
  std::int64_t bytes = 0;
  std::int64_t since_ms = 0;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("owner", self.owner);
    archive.field("bytes", self.bytes);
    archive.field("since_ms", self.since_ms);
  }
};

inline core::Bytes content_key(const core::Digest& content) {
  return {content.begin(), content.end()};
}

inline core::Bytes model_name_key(std::string_view text) {
  const core::ByteView view = core::as_bytes(text);
  return {view.begin(), view.end()};
}

/// What the keys of all versions of a model begin with.
inline core::Bytes model_prefix(const std::string& name) {
  core::Bytes key = model_name_key(name);
  key.push_back(0);
  return key;
}

inline core::Bytes model_key(const std::string& name, std::uint32_t version) {
  core::Bytes key = model_prefix(name);
  const core::Bytes number = newest_first_key(version);
  key.insert(key.end(), number.begin(), number.end());
  return key;
}

inline std::uint32_t version_of_key(core::ByteView key, const std::string& name) {
  return static_cast<std::uint32_t>(number_of_key(key.subspan(name.size() + 1)));
}

/// Calls take(key, record) for each of a space whose key begins so, until it returns false. Error:
/// kDataLoss.
template <class Record, class Take>
core::Result<void> each_record(core::Store& store, std::string_view space, core::ByteView prefix,
                               const Take& take) {
  core::Result<void> status;
  COMMENSAL_TRY(store.scan(space, prefix, [&](core::ByteView key, core::ByteView value) {
    auto record = protocol::decode_stored<Record>(value);
    if (record) return take(key, *std::move(record));
    status = tl::unexpected(std::move(record).error());
    return false;
  }));
  return status;
}

}  // namespace commensal::gateway::hub_rows
