// SPDX-License-Identifier: Apache-2.0
// How what was deleted goes: rows in portions, then files that nobody needs.
#include <algorithm>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/core/limits_uploads.hpp>
#include <commensal/serve/gateway/hub.hpp>
#include <iterator>

namespace commensal::gateway {

using core::ErrorCode;
using core::Result;
using namespace hub_rows;  // NOLINT(google-build-using-namespace)

namespace {

Result<core::Store::Write> dropped_row(const core::Digest& content, const DroppedFile& file) {
  COMMENSAL_ASSIGN(core::Bytes row, protocol::encode_stored(file));
  return core::Store::Write{std::string(kDroppedSpace), content_key(content), std::move(row)};
}

Result<core::Store::Write> former_row(const std::string& name, const Former& former) {
  COMMENSAL_ASSIGN(core::Bytes row, protocol::encode_stored(former));
  return core::Store::Write{std::string(kFormerSpace), model_name_key(name), std::move(row)};
}

/// Calls look(entry) for so many entries from `next` on, round and round, and sets where it goes
/// on.
template <class Map, class Look>
void each_some(Map& map, typename Map::key_type& next, std::size_t most, const Look& look) {
  auto at = map.lower_bound(next);
  for (std::size_t left = std::min(most, map.size()); left > 0; --left) {
    if (at == map.end()) at = map.begin();
    look(*at++);
  }
  next = at == map.end() ? typename Map::key_type{} : at->first;
}

}  // namespace

void ModelHub::tell() {
  if (told_) told_();
}

void ModelHub::add_usage(const std::string& owner, std::int64_t bytes) {
  const auto known = usage_.find(owner);
  if (known != usage_.end()) known->second.bytes += bytes;
}

Result<void> ModelHub::read_removals() {
  COMMENSAL_TRY(
      each_record<Former>(store_, kFormerSpace, {}, [&](core::ByteView key, const Former& one) {
        former_.insert_or_assign(std::string(core::as_text(key)), one);
        return true;
      }));
  return each_record<DroppedFile>(
      store_, kDroppedSpace, {}, [&](core::ByteView key, const DroppedFile& one) {
        core::Digest content{};
        std::copy_n(key.begin(), std::min(key.size(), content.size()), content.begin());
        dropped_.insert_or_assign(content, one);
        return true;
      });
}

std::uint32_t ModelHub::removed_version(const std::string& name) const {
  const auto former = former_.find(name);
  return former == former_.end() ? 0 : former->second.version;
}

Result<std::uint32_t> ModelHub::first_version(const std::string& name) {
  COMMENSAL_TRY(newest());
  return removed_version(name) + 1;
}

/// All of them are read and written at once where its providers change.
Result<void> ModelHub::check_room(const std::string& name) const {
  std::size_t versions = 0;
  const std::uint32_t removed = removed_version(name);
  COMMENSAL_TRY(
      store_.scan(kModelSpace, model_prefix(name), [&](core::ByteView key, core::ByteView) {
        return version_of_key(key, name) > removed && ++versions > 0;
      }));
  if (versions < limits::kModelVersionsMax) return {};
  return core::fail(ErrorCode::kResourceExhausted,
                    "'{}' has {} versions, the most that are kept: delete the model first", name,
                    versions);
}

Result<std::uint32_t> ModelHub::remove(const Account& asker, const std::string& asked) {
  COMMENSAL_ASSIGN(const ModelVersion last, own_model(asker, asked));
  const std::string& name = last.name;
  const std::uint32_t before = removed_version(name);
  std::uint32_t versions = 0;  // what is not read takes no time
  COMMENSAL_TRY(
      store_.scan(kModelSpace, model_prefix(name), [&](core::ByteView key, core::ByteView) {
        return version_of_key(key, name) > before && ++versions > 0;
      }));
  const Former former{.version = last.version, .bytes = 0, .since_ms = clock_.wall_ms()};
  COMMENSAL_ASSIGN(core::Store::Write row, former_row(name, former));
  core::Store::Batch batch = {std::move(row), Repository::loaded_row(name)};
  std::ranges::move(grants_.without(name), std::back_inserter(batch));
  COMMENSAL_TRY(cards_.open());
  std::ranges::move(cards_.without(name), std::back_inserter(batch));
  COMMENSAL_TRY(store_.apply(batch));
  newest_->erase(name);
  former_.insert_or_assign(name, former);
  purging_[name] = last.version;
  grants_.forget(name);
  cards_.forget(name);
  repository_.forget(name);
  tell();
  return versions;
}

Result<void> ModelHub::add_purge(const ModelVersion& version, core::Store::Batch& batch,
                                 std::map<core::Digest, DroppedFile>& dropped) {
  batch.push_back(
      {std::string(kModelSpace), model_key(version.name, version.version), std::nullopt});
  std::ranges::move(Repository::without(version.name, version.version), std::back_inserter(batch));
  auto& left = used_[version.content];
  left.erase({version.name, version.version});
  if (!left.empty()) return {};
  used_.erase(version.content);
  const DroppedFile file{version.owner, version.bytes, clock_.wall_ms()};
  COMMENSAL_ASSIGN(core::Store::Write row, dropped_row(version.content, file));
  batch.push_back(std::move(row));
  dropped.insert_or_assign(version.content, file);
  return {};
}

Result<void> ModelHub::purge() {
  if (purging_.empty()) return {};
  const auto [name, until] = *purging_.begin();
  std::vector<ModelVersion> rows;
  const auto read = [&] {
    // The newest come first: of what was pushed since nothing is read.
    return store_.scan(kModelSpace, model_prefix(name),
                       [&](core::ByteView key, core::ByteView value) {
                         if (version_of_key(key, name) > until) return true;
                         auto version = protocol::decode_stored<ModelVersion>(value);
                         if (version) rows.push_back(*std::move(version));
                         return version.has_value() && rows.size() < limits::kRemovalRowsMax;
                       });
  };
  const auto write = [&]() -> Result<void> {
    COMMENSAL_TRY(read());
    core::Store::Batch batch;
    std::map<core::Digest, DroppedFile> dropped;
    for (const ModelVersion& version : rows) COMMENSAL_TRY(add_purge(version, batch, dropped));
    if (!batch.empty()) COMMENSAL_TRY(store_.apply(batch));
    for (const ModelVersion& version : rows) {
      add_usage(version.owner, -version.bytes);
      tell_withdrawn(version.content);
    }
    for (const auto& [content, file] : dropped) {
      add_usage(file.owner, file.bytes);
      dropped_.insert_or_assign(content, file);
    }
    return {};
  };
  const auto written = write();
  if (!written || rows.size() < limits::kRemovalRowsMax) purging_.erase(name);
  tell();
  return written;
}

Result<bool> ModelHub::any_version(const core::Digest& content,
                                   const std::function<bool(const ModelVersion&)>& is_it) {
  COMMENSAL_TRY(newest());
  const auto used = used_.find(content);
  if (used == used_.end()) return false;
  std::size_t looked_at = 0;
  for (const auto& [name, version] : used->second) {
    if (version <= removed_version(name)) continue;
    if (++looked_at > limits::kSameFilesMax) return true;
    COMMENSAL_ASSIGN(const auto row, store_.get(kModelSpace, model_key(name, version)));
    if (!row) continue;
    COMMENSAL_ASSIGN(const ModelVersion found, protocol::decode_stored<ModelVersion>(*row));
    if (is_it(found)) return true;
  }
  return false;
}

Result<bool> ModelHub::knows_file(const core::Digest& content) {
  COMMENSAL_TRY(newest());
  return used_.contains(content) || dropped_.contains(content);
}

Result<void> ModelHub::drop(const Account& owner, const ModelFile& file) {
  COMMENSAL_TRY(newest());
  if (used_.contains(file.content) || dropped_.contains(file.content)) return {};
  const DroppedFile dropped{owner.name, file.bytes, clock_.wall_ms()};
  COMMENSAL_ASSIGN(core::Store::Write row, dropped_row(file.content, dropped));
  COMMENSAL_TRY(usage(owner.name));
  COMMENSAL_TRY(store_.apply({std::move(row)}));
  dropped_.emplace(file.content, dropped);
  add_usage(owner.name, dropped.bytes);
  tell();
  return {};
}

Result<void> ModelHub::find_strays() {
  COMMENSAL_TRY(newest());
  COMMENSAL_ASSIGN(const std::vector<core::Digest> contents, folder_.list());
  core::Store::Batch batch;
  for (const core::Digest& content : contents) {
    if (used_.contains(content) || dropped_.contains(content)) continue;
    std::error_code ignored;
    const auto bytes = std::filesystem::file_size(path_of(content), ignored);
    const DroppedFile stray{"", ignored ? 0 : static_cast<std::int64_t>(bytes), clock_.wall_ms()};
    COMMENSAL_ASSIGN(core::Store::Write row, dropped_row(content, stray));
    batch.push_back(std::move(row));
    dropped_.emplace(content, stray);
  }
  if (!batch.empty()) COMMENSAL_TRY(store_.apply(batch));
  if (is_purging() || has_removals()) tell();
  return {};
}

Result<void> ModelHub::remove_files(const Needs& needs) {
  COMMENSAL_TRY(newest());
  COMMENSAL_TRY(remove_some(needs));
  return forget_some(needs);
}

Result<void> ModelHub::remove_some(const Needs& needs) {
  const std::int64_t now_ms = clock_.wall_ms();
  std::vector<core::Digest> gone;
  core::Store::Batch batch;
  each_some(dropped_, next_dropped_, limits::kRemovalFilesMax, [&](const auto& one) {
    const auto& [content, file] = one;
    if (now_ms - file.since_ms < limits::kDroppedFileMs || needs.is_needed(content)) return;
    if (!folder_.retire(content)) return;  // somebody pushes it just now
    batch.push_back({std::string(kDroppedSpace), content_key(content), std::nullopt});
    gone.push_back(content);
  });
  if (batch.empty()) return {};
  COMMENSAL_TRY(store_.apply(batch));
  for (const core::Digest& content : gone) {
    const auto file = dropped_.extract(content);
    add_usage(file.mapped().owner, -file.mapped().bytes);
  }
  const auto unlink = [folder = folder_, gone] {
    for (const core::Digest& content : gone) folder.remove_retired(content);
  };
  aside_ ? aside_(unlink) : unlink();
  return {};
}

/// Nothing that is kept names them any more: the next version under such a name is the first.
Result<void> ModelHub::forget_some(const Needs& needs) {
  const std::int64_t now_ms = clock_.wall_ms();
  std::vector<std::string> gone;
  core::Store::Batch batch;
  Result<void> status;
  each_some(former_, next_former_, limits::kRemovalFilesMax, [&](auto& one) {
    auto& [name, former] = one;
    if (!former.since_ms) {  // of an earlier release
      former.since_ms = now_ms;
      auto row = former_row(name, former);
      row ? batch.push_back(*std::move(row)) : void(status = tl::unexpected(row.error()));
      return;
    }
    const bool is_old = now_ms - *former.since_ms >= needs.named_ms + limits::kFormerModelMs;
    if (!is_old || newest_->contains(name) || purging_.contains(name)) return;
    batch.push_back({std::string(kFormerSpace), model_name_key(name), std::nullopt});
    gone.push_back(name);
  });
  COMMENSAL_TRY(status);
  if (batch.empty()) return {};
  COMMENSAL_TRY(store_.apply(batch));
  for (const std::string& name : gone) {
    former_.erase(name);
    const auto known = usage_.find(name.substr(0, name.find('/')));
    if (known != usage_.end()) known->second.models.erase(name);
  }
  return {};
}

}  // namespace commensal::gateway
