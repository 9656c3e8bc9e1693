// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/base/core/limits_kept.hpp>
#include <commensal/verify/receipt/opening.hpp>
#include <functional>
#include <memory>

namespace commensal::gateway {

/// Openings that are too large for a row of the store: a file each, named by its receipt. Reading
/// and writing them takes long, and is done off the loop. A file is there before its receipt's row
/// and goes after it; what a kill leaves behind is swept at the next start.
/// Thread-safety: any threads, of different receipts at a time.
class OpeningFolder {
 public:
  /// "": all openings go into rows. The folder is made with its first file.
  explicit OpeningFolder(core::Path folder = {},
                         std::uint64_t row_bytes_max = limits::kOpeningRowBytesMax)
      : folder_(std::move(folder)), row_bytes_max_(row_bytes_max) {}

  /// By the bytes of its tensors.
  bool takes(const receipt::Opening& opening) const;
  /// Its bytes, which are on disk. Errors: protocol::encode_stored's, the disk's.
  core::Result<std::uint64_t> write(const core::Digest& receipt,
                                    const receipt::Opening& opening) const;
  /// Error: kDataLoss.
  core::Result<receipt::Opening> opening(const core::Digest& receipt) const;
  /// As it was encoded. Error: kDataLoss.
  core::Result<core::Bytes> read(const core::Digest& receipt) const;
  /// The same for who shows it: it takes no memory of ours.
  core::Result<std::shared_ptr<const core::MappedFile>> map(const core::Digest& receipt) const;
  void remove(const core::Digest& receipt) const;
  /// Removes all but those of receipts that are kept. Error: kDataLoss.
  core::Result<void> sweep(const std::function<bool(const core::Digest& receipt)>& is_kept) const;

 private:
  core::Path path_of(const core::Digest& receipt) const { return folder_ / core::to_hex(receipt); }

  core::Path folder_;
  std::uint64_t row_bytes_max_;
};

}  // namespace commensal::gateway
