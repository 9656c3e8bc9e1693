// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/model_file.hpp>
#include <commensal/serve/gateway/model_folder.hpp>
#include <optional>

namespace commensal::gateway {

using core::ErrorCode;

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".onnx";
constexpr unsigned kOwnersModel = 0600;

core::Path retired(const core::Path& file) { return file.string() + ".gone"; }

/// Of a file's name, whatever follows.
std::optional<core::Digest> content_of(const std::string& name) {
  const std::size_t digits = 2 * core::Digest{}.size();
  if (name.size() < digits + kEnding.size() || name.substr(digits, kEnding.size()) != kEnding)
    return std::nullopt;
  const auto content = core::digest_from_hex(name.substr(0, digits));
  return content ? std::optional(*content) : std::nullopt;
}

}  // namespace

core::Path ModelFolder::path_of(const core::Digest& content) const {
  return folder_ / (core::to_hex(content) + std::string(kEnding));
}

ModelFolder::Pin ModelFolder::pin(const core::Digest& content) const {
  const std::lock_guard lock(pins_->mutex);
  pins_->contents.insert(content);
  return {static_cast<const void*>(pins_.get()), [pins = pins_, content](const void*) {
            const std::lock_guard ended(pins->mutex);
            pins->contents.erase(pins->contents.find(content));
          }};
}

core::Result<void> ModelFolder::keep(const core::Digest& content, core::ByteView bytes) const {
  const core::Path path = path_of(content);
  if (holds(path, bytes)) return {};  // else it is mended: disks lose bits
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error)
    return core::fail(ErrorCode::kDataLoss, "cannot create the folder of models: {}",
                      error.message());
  const auto written = core::write_file_atomically(path, bytes, kOwnersModel);
  if (!written) return core::fail(ErrorCode::kDataLoss, "{}", written.error().message);
  return {};
}

bool ModelFolder::retire(const core::Digest& content) const {
  const std::lock_guard lock(pins_->mutex);
  if (pins_->contents.contains(content)) return false;
  std::error_code ignored;  // it is not there, say: then there is nothing to remove
  fs::rename(path_of(content), retired(path_of(content)), ignored);
  return true;
}

void ModelFolder::remove_retired(const core::Digest& content) const {
  std::error_code ignored;  // the next start removes it
  fs::remove(retired(path_of(content)), ignored);
}

core::Result<std::vector<core::Digest>> ModelFolder::list() const {
  std::vector<core::Digest> contents;
  std::error_code error;
  if (!fs::exists(folder_, error)) return contents;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const auto content = content_of(name);
    if (!content) continue;  // not ours
    std::error_code ignored;
    if (at->path() == path_of(*content)) {
      contents.push_back(*content);
    } else {
      fs::remove(at->path(), ignored);
    }
  }
  if (error) return core::fail(ErrorCode::kDataLoss, "'{}': {}", folder_.string(), error.message());
  return contents;
}

}  // namespace commensal::gateway
