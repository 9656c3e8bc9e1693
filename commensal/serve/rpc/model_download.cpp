// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <commensal/base/core/limits.hpp>
#include <commensal/serve/rpc/model_download.hpp>
#include <cstdlib>
#include <cstring>

namespace commensal::rpc {
namespace {

tl::unexpected<core::Error> cannot_write(const std::string& path) {
  return core::fail(core::ErrorCode::kDataLoss, "cannot write '{}': {}", path,
                    std::strerror(errno));
}

}  // namespace

ModelDownload::~ModelDownload() {
  if (file_ >= 0) ::close(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

core::Result<void> ModelDownload::open() {
  if (file_ >= 0) return {};
  std::string name = path_ + ".XXXXXX";
  file_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (file_ < 0) return cannot_write(path_);
  temporary_ = std::move(name);
  return {};
}

core::Result<void> ModelDownload::append(core::ByteView bytes) {
  COMMENSAL_TRY(open());
  bytes_ += static_cast<std::int64_t>(bytes.size());
  if (bytes_ > limits::kModelBytesMax) {
    return core::fail(core::ErrorCode::kResourceExhausted,
                      "the model has more than {} bytes, the most that is accepted",
                      limits::kModelBytesMax);
  }
  hash_.update(bytes);
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return cannot_write(path_);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

core::Result<void> ModelDownload::finish(const core::Digest& expected) {
  COMMENSAL_TRY(open());
  const core::Digest found = hash_.finish();
  if (found != expected) {
    return core::fail(core::ErrorCode::kDataLoss,
                      "the gateway's file of the model is damaged: SHA-256 {}, expected {}",
                      core::to_hex(found), core::to_hex(expected));
  }
  // mkostemp makes files for the owner alone; a cached model is for whoever may enter its folder.
  if (::fchmod(file_, 0600) != 0 || ::fsync(file_) != 0) return cannot_write(path_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return cannot_write(path_);
  temporary_.clear();
  return {};
}

}  // namespace commensal::rpc
