// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <optional>

/// How the gateway's own records lie in its store: one byte of version, then the fields in the
/// canonical encoding. They are written and read by this gateway only.
namespace commensal::gateway {

inline constexpr std::uint8_t kRecordVersion = 1;

/// Keys that sort from the newest number to the oldest.
core::Bytes newest_first_key(std::uint64_t number);
std::uint64_t number_of_key(core::ByteView key);

/// Decodes `value` by `read`(reader, record). Error: kDataLoss, naming the field: what this gateway
/// wrote it must be able to read.
template <class Record, class Read>
core::Result<Record> decode_record(core::ByteView value, std::string_view what, Read read) {
  protocol::Reader reader(value, what);
  Record record;
  const std::uint8_t version = reader.u8();
  if (reader.ok() && version != kRecordVersion)
    reader.refuse(core::ErrorCode::kDataLoss, fmt::format("unknown version {}", version));
  read(reader, record);
  const core::Result<void> status = reader.finish();
  if (!status) return core::fail(core::ErrorCode::kDataLoss, "{}", status.error().message);
  return record;
}

}  // namespace commensal::gateway
