// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

/// Event files as TensorBoard reads them: records of TFRecord (length, masked CRC-32C of it, the
/// record, masked CRC-32C of that; little-endian), each an Event of protobuf.
/// Sources: tensorflow/core/lib/io/record_writer.h, tensorflow/core/util/event.proto; RFC 3720 for
/// CRC-32C.
namespace commensal::train {

/// Castagnoli's polynomial. Thread-safety of all functions here: any thread.
std::uint32_t crc32c(core::ByteView bytes);

core::Bytes record_of(core::ByteView event);
/// What every file begins with. Times in seconds since 1970.
core::Bytes version_event(double time_s);
using Scalars = std::vector<std::pair<std::string, float>>;
core::Bytes scalars_event(double time_s, std::int64_t step, const Scalars& scalars);

/// A file of events that grows; what was written is there for who reads meanwhile.
/// Thread-safety: none.
class EventFile {
 public:
  /// In `folder`, which is made where it is not there, under a name that none has yet.
  /// Errors: kDataLoss (the folder or the file cannot be written).
  static core::Result<EventFile> create(const core::Path& folder, double time_s);
  /// Error: kDataLoss.
  core::Result<void> add(double time_s, std::int64_t step, const Scalars& scalars);
  const core::Path& path() const { return path_; }

 private:
  explicit EventFile(core::Path path)
      : path_(std::move(path)), file_(path_, std::ios::binary | std::ios::app) {}
  core::Result<void> write(core::ByteView event);

  core::Path path_;
  std::ofstream file_;
};

}  // namespace commensal::train
