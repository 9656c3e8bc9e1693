// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/limits.hpp>
#include <commensal/serve/gateway/model_file.hpp>
#include <commensal/serve/gateway/uploads.hpp>
#include <cstring>

namespace commensal::gateway {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUploadSpace = "uploads";  // id -> Upload
constexpr mode_t kOwnersFile = 0600;
constexpr std::size_t kIdBytes = 16;
/// Bytes are set aside, and no version: its model may have as many as are kept by now, which
/// begin_push() looks at.
constexpr const char* kNoModel = "";
constexpr std::int64_t kRetryNs = limits::kUploadRetryMs * 1'000'000;
constexpr std::int64_t kNsOfSecond = 1'000'000'000;

core::Bytes id_bytes(const std::string& id) {
  const core::ByteView view = core::as_bytes(id);
  return {view.begin(), view.end()};
}

/// The last part of the path, an upload's id: its sender is not to see our folders.
tl::unexpected<core::Error> disk_failure(const core::Path& path, std::string_view what) {
  const int number = errno;
  return fail(ErrorCode::kDataLoss, "cannot {} upload '{}': {}", what, path.filename().string(),
              std::strerror(number));
}

Result<void> write_whole(int fd, std::int64_t at, core::ByteView bytes, const core::Path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return disk_failure(path, "write");
    at += written;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> sync_folder_of(const core::Path& file) {
  const core::Descriptor opened(
      ::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid() || ::fsync(opened.get()) != 0) return disk_failure(file, "sync");
  return {};
}

/// 0 where there is none.
std::int64_t size_of(const core::Path& file) {
  std::error_code missing;
  const auto size = fs::file_size(file, missing);
  return missing ? 0 : static_cast<std::int64_t>(size);
}

/// Counts whatever bounds there are now: it was let in by those of its time.
Account unbounded(const std::string& owner) { return {owner, Role::kOperator}; }

}  // namespace

// Whatever accounts have stored keeps nobody from starting: only the store can fail here.
Result<void> Uploads::open() {
  Result<void> status;
  core::Store::Batch over;  // their files are swept
  COMMENSAL_TRY(store_.scan(kUploadSpace, {}, [&](core::ByteView, core::ByteView value) {
    auto upload = protocol::decode_stored<Upload>(value);
    if (!upload) {
      status = tl::unexpected(std::move(upload).error());
      return false;
    }
    if (clock_.wall_ms() >= upload->expires_ms()) {
      over.push_back({std::string(kUploadSpace), id_bytes(upload->id), std::nullopt});
      return true;
    }
    upload->received = std::min(upload->received, size_of(path_of(upload->id)));
    uploads_[upload->id].upload = *std::move(upload);
    return true;
  }));
  COMMENSAL_TRY(status);
  if (!over.empty()) COMMENSAL_TRY(store_.apply(over));
  for (const auto& [id, kept] : uploads_) {
    const Upload& upload = kept.upload;
    COMMENSAL_TRY(hub_.reserve(unbounded(upload.owner), kNoModel, upload.bytes));
  }
  return sweep();
}

/// A kill may have come between a row's end and its file's.
Result<void> Uploads::sweep() const {
  std::error_code error;
  if (!fs::exists(folder_, error)) return {};
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (!uploads_.contains(at->path().filename().string())) fs::remove(at->path(), ignored);
  }
  if (error) return fail(ErrorCode::kDataLoss, "'{}': {}", folder_.string(), error.message());
  return {};
}

Result<Upload> Uploads::create(const Account& owner, const std::string& model,
                               const PushOptions& options, const core::Digest& content,
                               std::int64_t bytes) {
  COMMENSAL_TRY(ModelHub::check_push(owner, model, options));
  if (bytes < 1 || bytes > limits::kHttpBodyBytesMax) {
    return fail(ErrorCode::kInvalidArgument, "the model has {} bytes, expected 1 to {}", bytes,
                limits::kHttpBodyBytesMax);
  }
  COMMENSAL_TRY(expire());
  const auto mine = std::ranges::count_if(
      uploads_, [&](const auto& one) { return one.second.upload.owner == owner.name; });
  if (std::cmp_greater_equal(mine, limits::kUploadsMax)) {
    return fail(ErrorCode::kResourceExhausted,
                "'{}' has {} unfinished uploads, the most of one account: finish or delete one",
                owner.name, mine);
  }
  COMMENSAL_TRY(hub_.reserve(owner, model, bytes));
  std::array<std::uint8_t, kIdBytes> id{};
  rng_.fill(id);
  const Upload upload{.id = core::to_hex(id),
                      .owner = owner.name,
                      .model = model,
                      .is_private = options.is_private,
                      .allowed_providers = options.allowed_providers,
                      .privacy_class = options.privacy_class,
                      .content = content,
                      .bytes = bytes,
                      .received = 0,
                      .created_ms = clock_.wall_ms()};
  if (const auto kept = keep(upload); !kept) {
    release(upload);
    return tl::unexpected(kept.error());
  }
  uploads_[upload.id].upload = upload;
  if (told_) told_();
  return upload;
}

Result<void> Uploads::keep(const Upload& upload) {
  COMMENSAL_ASSIGN(core::Bytes row, protocol::encode_stored(upload));
  return store_.apply({{std::string(kUploadSpace), id_bytes(upload.id), std::move(row)}});
}

Result<Upload> Uploads::find(const std::string& owner, const std::string& id) const {
  const auto found = uploads_.find(id);
  const bool is_there = found != uploads_.end() && found->second.upload.owner == owner &&
                        clock_.wall_ms() < found->second.upload.expires_ms();
  if (is_there) return found->second.upload;
  return fail(ErrorCode::kNotFound, "unknown upload '{}': it has ended, or never began",
              id.substr(0, limits::kNameBytesMax));
}

std::vector<Upload> Uploads::list(const std::string& owner) const {
  std::vector<Upload> own;
  for (const auto& [id, kept] : uploads_) {
    if (find(owner, id)) own.push_back(kept.upload);
  }
  std::ranges::stable_sort(own, {}, &Upload::created_ms);
  return own;
}

Result<Uploads::Kept*> Uploads::free_of(const std::string& owner, const std::string& id) {
  COMMENSAL_TRY(find(owner, id));
  Kept& kept = uploads_.at(id);
  if (!kept.is_busy) return &kept;
  return fail(ErrorCode::kFailedPrecondition,
              "another request is at work on upload '{}': again once that has ended", id);
}

Result<Upload> Uploads::begin_piece(const std::string& owner, const std::string& id,
                                    std::int64_t offset, std::int64_t bytes) {
  COMMENSAL_ASSIGN(Kept* const kept, free_of(owner, id));
  const Upload& upload = kept->upload;
  if (offset != upload.received) {
    return fail(ErrorCode::kFailedPrecondition, "Upload-Offset: {}, expected {}", offset,
                upload.received);
  }
  if (bytes > upload.bytes - offset) {
    return fail(ErrorCode::kInvalidArgument,
                "{} bytes from {} on: the upload was announced with {} in all", bytes, offset,
                upload.bytes);
  }
  kept->is_busy = true;
  return upload;
}

Result<void> Uploads::write(const core::Path& file, std::int64_t offset, core::ByteView bytes) {
  const core::Path folder = file.parent_path();
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) fs::permissions(folder, fs::perms::owner_all, error);
  const std::string id = file.filename().string();
  if (error) return fail(ErrorCode::kDataLoss, "upload '{}': {}", id, error.message());
  const core::Descriptor opened(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kOwnersFile));
  struct stat status {};
  if (!opened.valid() || ::fstat(opened.get(), &status) != 0) return disk_failure(file, "open");
  if (status.st_size < offset) {
    return fail(ErrorCode::kDataLoss, "upload '{}' has {} bytes here, expected {}", id,
                status.st_size, offset);
  }
  // What a kill has left beyond what was acknowledged.
  if (::ftruncate(opened.get(), offset) != 0) return disk_failure(file, "cut");
  COMMENSAL_TRY(write_whole(opened.get(), offset, bytes, file));
  if (::fsync(opened.get()) != 0) return disk_failure(file, "sync");
  return offset == 0 ? sync_folder_of(file) : Result<void>{};
}

Result<Upload> Uploads::end_piece(const Upload& upload, std::int64_t bytes,
                                  const Result<void>& written) {
  Kept& kept = uploads_.at(upload.id);
  kept.is_busy = false;
  if (!written) {
    COMMENSAL_TRY(note_loss(kept));
    return tl::unexpected(written.error());
  }
  Upload longer = kept.upload;
  longer.received += bytes;
  COMMENSAL_TRY(keep(longer));
  return kept.upload = std::move(longer);
}

/// Of a file that the disk, or somebody, has cut or removed, what is left counts as received.
Result<void> Uploads::note_loss(Kept& kept) {
  std::error_code error;
  const auto size = fs::file_size(path_of(kept.upload.id), error);
  if (error && error != std::errc::no_such_file_or_directory) return {};  // nobody can say
  Upload shorter = kept.upload;
  shorter.received = std::min(shorter.received, error ? 0 : static_cast<std::int64_t>(size));
  if (shorter.received == kept.upload.received) return {};
  COMMENSAL_TRY(keep(shorter));
  kept.upload = std::move(shorter);
  return {};
}

Result<Upload> Uploads::begin_push(const Account& owner, const std::string& id) {
  COMMENSAL_ASSIGN(Kept* const kept, free_of(owner.name, id));
  const Upload& upload = kept->upload;
  if (!upload.is_whole()) {
    return fail(ErrorCode::kFailedPrecondition, "{} of {} bytes have come: send the others first",
                upload.received, upload.bytes);
  }
  if (const std::int64_t left_s = retry_s(owner.name, id); left_s > 0) {
    return fail(ErrorCode::kResourceExhausted,
                "the last push of upload '{}' has failed a moment ago: again in {} s", id, left_s);
  }
  // Its bytes count already; others may have become versions since it began.
  COMMENSAL_TRY(hub_.reserve(owner, upload.model, 0));
  kept->is_busy = true;
  return upload;
}

std::int64_t Uploads::retry_s(const std::string& owner, const std::string& id) const {
  const auto kept = uploads_.find(id);
  if (kept == uploads_.end() || kept->second.upload.owner != owner) return 0;
  const std::int64_t left_ns = kept->second.retry_ns - clock_.monotonic_ns();
  return left_ns > 0 ? (left_ns + kNsOfSecond - 1) / kNsOfSecond : 0;
}

Result<void> Uploads::check(const core::Path& file, const Upload& upload) {
  if (const std::int64_t size = size_of(file); size != upload.bytes) {
    return fail(ErrorCode::kDataLoss, "upload '{}' has {} bytes here, expected {}", upload.id, size,
                upload.bytes);
  }
  if (check_model_file(file, upload.content)) return {};
  return fail(ErrorCode::kInvalidArgument,
              "what was sent has another SHA-256 than {}, which was announced: send it anew",
              core::to_hex(upload.content));
}

Result<void> Uploads::end_push(const Upload& upload, bool is_over) {
  Kept& kept = uploads_.at(upload.id);
  kept.is_busy = false;
  if (is_over) return remove(upload.id);
  kept.retry_ns = clock_.monotonic_ns() + kRetryNs;
  return note_loss(kept);
}

Result<void> Uploads::drop(const std::string& owner, const std::string& id) {
  COMMENSAL_TRY(free_of(owner, id));
  return remove(id);
}

Result<void> Uploads::drop_all(const std::string& owner) {
  for (const Upload& upload : list(owner)) {
    if (!uploads_.at(upload.id).is_busy) COMMENSAL_TRY(remove(upload.id));
  }
  return {};
}

Result<void> Uploads::expire() {
  std::vector<std::string> over;
  for (const auto& [id, kept] : uploads_) {
    if (!kept.is_busy && clock_.wall_ms() >= kept.upload.expires_ms()) over.push_back(id);
  }
  for (const std::string& id : over) COMMENSAL_TRY(remove(id));
  return {};
}

/// The row first: what it leaves behind is swept at the next start.
Result<void> Uploads::remove(const std::string& id) {
  COMMENSAL_TRY(store_.apply({{std::string(kUploadSpace), id_bytes(id), std::nullopt}}));
  const auto ended = uploads_.extract(id);
  release(ended.mapped().upload);
  const auto unlink = [file = path_of(id)] {
    std::error_code ignored;
    fs::remove(file, ignored);
  };
  aside_ ? aside_(unlink) : unlink();
  return {};
}

void Uploads::release(const Upload& upload) { hub_.release(unbounded(upload.owner), upload.bytes); }

}  // namespace commensal::gateway
