// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <commensal/compute/train/tensorboard.hpp>
#include <filesystem>

namespace commensal::train {

using core::Bytes;
using core::ByteView;
using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82f63b78U : 0U);
    table[byte] = value;
  }
  return table;
}

void put(Bytes& to, ByteView bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

void put_fixed(Bytes& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void put_varint(Bytes& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<std::uint8_t>(value | 0x80));
  to.push_back(static_cast<std::uint8_t>(value));
}

/// A field of protobuf: its number and how it is written.
enum Wire : std::uint64_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };
void put_tag(Bytes& to, std::uint64_t field, Wire wire) { put_varint(to, field << 3 | wire); }

void put_bytes(Bytes& to, std::uint64_t field, ByteView bytes) {
  put_tag(to, field, kLength);
  put_varint(to, bytes.size());
  put(to, bytes);
}

std::uint32_t masked(std::uint32_t crc) { return std::rotr(crc, 15) + 0xa282ead8U; }

Bytes timed(double time_s) {
  Bytes event;
  put_tag(event, 1, kFixed64);  // Event.wall_time
  put_fixed(event, std::bit_cast<std::uint64_t>(time_s), 8);
  return event;
}

}  // namespace

std::uint32_t crc32c(ByteView bytes) {
  static constexpr auto kTable = crc_table();
  std::uint32_t crc = ~0U;
  for (const std::uint8_t byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ byte) & 0xff];
  return ~crc;
}

Bytes record_of(ByteView event) {
  Bytes made;
  put_fixed(made, event.size(), 8);
  put_fixed(made, masked(crc32c(made)), 4);
  put(made, event);
  put_fixed(made, masked(crc32c(event)), 4);
  return made;
}

Bytes version_event(double time_s) {
  Bytes event = timed(time_s);
  put_bytes(event, 3, core::as_bytes("brain.Event:2"));  // Event.file_version
  return event;
}

Bytes scalars_event(double time_s, std::int64_t step, const Scalars& scalars) {
  Bytes summary;
  for (const auto& [name, number] : scalars) {
    Bytes value;
    put_bytes(value, 1, core::as_bytes(name));  // Summary.Value.tag
    put_tag(value, 2, kFixed32);                // Summary.Value.simple_value
    put_fixed(value, std::bit_cast<std::uint32_t>(number), 4);
    put_bytes(summary, 1, value);  // Summary.value
  }
  Bytes event = timed(time_s);
  put_tag(event, 2, kVarint);  // Event.step
  put_varint(event, static_cast<std::uint64_t>(step));
  put_bytes(event, 5, summary);  // Event.summary
  return event;
}

Result<EventFile> EventFile::create(const core::Path& folder, double time_s) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  // TensorBoard takes files of a folder in the order of their names.
  const auto base =
      fmt::format("events.out.tfevents.{:010}.commensal", static_cast<std::int64_t>(time_s));
  core::Path path = folder / base;
  for (int i = 1; std::filesystem::exists(path, failed); ++i)
    path = folder / fmt::format("{}.{}", base, i);
  EventFile made(path);
  COMMENSAL_TRY(made.write(version_event(time_s)));
  return made;
}

Result<void> EventFile::add(double time_s, std::int64_t step, const Scalars& scalars) {
  return write(scalars_event(time_s, step, scalars));
}

Result<void> EventFile::write(ByteView event) {
  const Bytes record = record_of(event);
  file_.write(reinterpret_cast<const char*>(record.data()),
              static_cast<std::streamsize>(record.size()));
  file_.flush();
  if (file_) return {};
  return fail(ErrorCode::kDataLoss, "cannot write events to '{}'", path_.string());
}

}  // namespace commensal::train
