// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <commensal/base/protocol/encoding.hpp>
#include <concepts>

/// Records: what a program keeps in its store, or hands on in a file. They are encoded as nouns are
/// (encoding.hpp), but nobody signs them, they may be as large as the tensors in them, and they
/// begin with one byte of version instead of kind and version.
namespace commensal::protocol {

/// A part with `static constexpr std::string_view kRecord`: the first word of every error. What was
/// written with other fields has another `static constexpr std::uint8_t kVersion`; without one, 1.
template <class R>
concept Record = Part<R> && requires {
  std::string_view(R::kRecord);
};

template <Record R>
constexpr std::uint8_t version_of() {
  if constexpr (requires { R::kVersion; }) return R::kVersion;
  return 1;
}

template <std::same_as<bool> B>
void write(Writer& writer, B value) {
  writer.u8(value ? 1 : 0);
}
template <std::same_as<bool> B>
void read(Reader& reader, B& value) {
  value = read_presence(reader);
}
inline void write(Writer& writer, std::int64_t value) {
  writer.u64(static_cast<std::uint64_t>(value));
}
inline void read(Reader& reader, std::int64_t& value) {
  value = static_cast<std::int64_t>(reader.u64());
}
/// IEEE 754's bits.
template <std::same_as<double> D>
void write(Writer& writer, D value) {
  writer.u64(std::bit_cast<std::uint64_t>(value));
}
template <std::same_as<double> D>
void read(Reader& reader, D& value) {
  value = std::bit_cast<double>(reader.u64());
}

/// Errors: as decode() of nouns.
template <Record R>
core::Result<R> decode(ByteView bytes) {
  Reader reader(bytes, R::kRecord);
  R record;
  const std::uint8_t version = reader.u8();
  if (reader.ok() && version != version_of<R>()) {
    reader.refuse(core::ErrorCode::kInvalidArgument,
                  fmt::format("version {}, expected {}: another version of this program wrote "
                              "it; use that, or another folder",
                              version, version_of<R>()));
  }
  read(reader, record);
  COMMENSAL_TRY(reader.finish());
  return record;
}

/// The one way to bytes of a record: what decode() would refuse is never written, or its reader
/// would fail for ever. Error: decode()'s.
template <Record R>
core::Result<Bytes> encode_stored(const R& record) {
  Writer writer;
  writer.u8(version_of<R>());
  write(writer, record);
  Bytes bytes = std::move(writer).take();
  if (const auto again = decode<R>(bytes); !again) {
    return core::in_context("it could not be read back", again.error());
  }
  return bytes;
}

/// What a store holds was written by this program: anything else is damage.
/// Error: kDataLoss, naming the field.
template <Record R>
core::Result<R> decode_stored(ByteView bytes) {
  auto record = decode<R>(bytes);
  if (record) return record;
  return core::fail(core::ErrorCode::kDataLoss, "{}", record.error().message);
}

}  // namespace commensal::protocol
