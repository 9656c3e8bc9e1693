// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/gateway/opening_folder.hpp>

namespace commensal::gateway {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

namespace fs = std::filesystem;

constexpr unsigned kOwnersAlone = 0600;

/// What is missing or cannot be read is lost.
template <class T>
Result<T> kept(const core::Digest& receipt, Result<T> found) {
  if (found) return found;
  return fail(ErrorCode::kDataLoss, "the opening of receipt {}: {}", core::to_hex(receipt),
              found.error().message);
}

}  // namespace

bool OpeningFolder::takes(const receipt::Opening& opening) const {
  return !folder_.empty() &&
         receipt::element_bytes(opening.task.inputs) + receipt::element_bytes(opening.outputs) >
             row_bytes_max_;
}

Result<std::uint64_t> OpeningFolder::write(const core::Digest& receipt,
                                           const receipt::Opening& opening) const {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (!error) fs::permissions(folder_, fs::perms::owner_all, error);
  if (error) return fail(ErrorCode::kDataLoss, "'{}': {}", folder_.string(), error.message());
  COMMENSAL_ASSIGN(const core::Bytes bytes, protocol::encode_stored(opening));
  COMMENSAL_TRY(
      core::write_file_atomically(path_of(receipt), bytes, kOwnersAlone, core::ReadAgain::kSeldom));
  return bytes.size();
}

Result<core::Bytes> OpeningFolder::read(const core::Digest& receipt) const {
  return kept(receipt, core::read_file(path_of(receipt)));
}

Result<std::shared_ptr<const core::MappedFile>> OpeningFolder::map(
    const core::Digest& receipt) const {
  return kept(receipt, core::MappedFile::open(path_of(receipt)));
}

Result<receipt::Opening> OpeningFolder::opening(const core::Digest& receipt) const {
  COMMENSAL_ASSIGN(const core::Bytes bytes, read(receipt));
  return protocol::decode_stored<receipt::Opening>(bytes);
}

void OpeningFolder::remove(const core::Digest& receipt) const {
  std::error_code ignored;  // it is swept later
  fs::remove(path_of(receipt), ignored);
}

Result<void> OpeningFolder::sweep(
    const std::function<bool(const core::Digest& receipt)>& is_kept) const {
  std::error_code error;
  if (folder_.empty() || !fs::exists(folder_, error)) return {};
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    const auto receipt = core::digest_from_hex(at->path().filename().string());
    std::error_code ignored;
    if (!receipt || !is_kept(*receipt)) fs::remove(at->path(), ignored);
  }
  if (error) return fail(ErrorCode::kDataLoss, "'{}': {}", folder_.string(), error.message());
  return {};
}

}  // namespace commensal::gateway
