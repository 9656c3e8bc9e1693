// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <cstdint>
#include <string>

namespace commensal::rpc {

/// A model on its way into a file: collected beside `path` under another name, put in its place
/// only when whole, hashed and durable. Unfinished, it leaves nothing behind.
/// Thread-safety: one object, one thread.
class ModelDownload {
 public:
  explicit ModelDownload(std::string path) : path_(std::move(path)) {}
  ModelDownload(const ModelDownload&) = delete;
  ModelDownload& operator=(const ModelDownload&) = delete;
  ~ModelDownload();

  /// Errors: kDataLoss (the file cannot be written), kResourceExhausted (limits::kModelBytesMax).
  core::Result<void> append(core::ByteView bytes);
  /// Error: kDataLoss (another hash, or as append).
  core::Result<void> finish(const core::Digest& expected);

 private:
  core::Result<void> open();

  std::string path_;
  std::string temporary_;  // empty: there is none
  int file_ = -1;
  std::int64_t bytes_ = 0;
  crypto::Sha256 hash_;
};

}  // namespace commensal::rpc
