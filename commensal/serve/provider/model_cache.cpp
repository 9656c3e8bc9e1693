// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/provider/model_cache.hpp>

namespace commensal::provider {

namespace fs = std::filesystem;

core::Result<ModelCache> ModelCache::open(core::Path folder, std::int64_t bytes_max) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) {
    return core::fail(core::ErrorCode::kDataLoss, "cannot create the model cache '{}': {}",
                      folder.string(), failed.message());
  }
  ModelCache cache(std::move(folder), bytes_max);
  std::vector<std::pair<fs::file_time_type, core::Digest>> found;
  for (const auto& item : fs::directory_iterator(cache.folder_, failed)) {
    const auto model = core::digest_from_hex(item.path().stem().string());
    // What has another name is a download that was cut off.
    if (!model || item.path() != cache.path_of(*model)) {
      fs::remove(item.path(), failed);
      continue;
    }
    found.emplace_back(item.last_write_time(failed), *model);
  }
  std::sort(found.begin(), found.end());
  for (const auto& [when, model] : found) cache.touch(model);
  return cache;
}

std::vector<core::Digest> ModelCache::models() const {
  std::vector<core::Digest> models;
  for (const Entry& entry : entries_) models.push_back(entry.model);
  if (models.size() > limits::kHelloModelsMax) {
    models.erase(models.begin(), models.end() - limits::kHelloModelsMax);
  }
  return models;
}

core::Path ModelCache::path_of(const core::Digest& model) const {
  return folder_ / (core::to_hex(model) + ".onnx");
}

void ModelCache::touch(const core::Digest& model) {
  std::error_code failed;
  std::erase_if(entries_, [&](const Entry& entry) { return entry.model == model; });
  const auto size = fs::file_size(path_of(model), failed);
  if (failed) return;
  entries_.push_back({model, static_cast<std::int64_t>(size)});
  std::int64_t total = 0;
  for (const Entry& entry : entries_) total += entry.bytes;
  while (total > bytes_max_ && entries_.size() > 1) {
    fs::remove(path_of(entries_.front().model), failed);
    total -= entries_.front().bytes;
    entries_.erase(entries_.begin());
  }
}

std::uint64_t ModelCache::room_bytes() const {
  std::int64_t room = bytes_max_;
  for (const Entry& entry : entries_) room -= entry.bytes;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(room, 0));
}

void ModelCache::keep(const core::Digest& model) {
  const auto is_it = [&](const Entry& entry) { return entry.model == model; };
  if (std::ranges::any_of(entries_, is_it)) return;
  std::error_code failed;
  const auto size = fs::file_size(path_of(model), failed);
  if (failed) return;
  if (size <= room_bytes()) return touch(model);
  fs::remove(path_of(model), failed);
}

void ModelCache::forget(const core::Digest& model) {
  if (has(model)) return;
  std::erase_if(entries_, [&](const Entry& entry) { return entry.model == model; });
}

}  // namespace commensal::provider
