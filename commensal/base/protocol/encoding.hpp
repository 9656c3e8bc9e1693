// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/crypto/address.hpp>
#include <commensal/base/crypto/secp256k1.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// The canonical encoding of the nouns that travel: what is hashed, signed and stored.
//  - integers: fixed width, big-endian; enumerations: one byte, known values only;
//  - hashes, addresses, signatures: their bytes, no length;
//  - bytes and texts (UTF-8): u32 length, then the bytes; lists: u32 count, then the items;
//  - a noun: one byte of kind and one of version (table of kinds in encoding.cpp), then its fields
//    in the order of its `fields` function, which serves both directions; a part of one the same
//    without kind and version; what may be absent: one byte, 0 or 1, then the value.
// One value has one encoding: decoding refuses whatever encoding would not have written, bytes
// left over included. Nouns are bounded by limits::kNounBytesMax.
namespace commensal::protocol {

using core::Bytes;
using core::ByteView;
using core::Digest;

enum class NounKind : std::uint8_t {
  kJob = 1,
  kReceiptBody = 2,
  kBatchSignature = 3,
  kReceipt = 4,
  kVerdict = 5,
  kHashChainHead = 6,
  kClaim = 7,
  kEndorsement = 8,
  kJointSettlement = 9,
  kAuditReport = 10,
  kPrivacyStatement = 11,
  kTraceClaim = 20,
  kElementClaim = 21,
  kVerdictFile = 22,
  kDisputeMove = 23,
  kSegmentClaim = 24,
  kLedgerTransaction = 32,
  kLedgerEntry = 33,
  kLedgerState = 34,
  kRiskEvent = 48,
  kPanelTerms = 49,
  kPanelMove = 50,
  kPanelDraw = 51,
  kPanelEvent = 52,
  // Between provider and gateway (serve/rpc/messages.hpp).
  kChallenge = 64,
  kWelcome = 65,
  kDismiss = 66,
  kOffer = 67,
  kBegin = 68,
  kCountersign = 69,
  kWithdraw = 70,
  kBalance = 71,
  kReveal = 72,  // either way
  kOutcomes = 73,
  kAccused = 74,
  kCaseMoves = 75,
  kPrefetch = 76,
  kRelease = 77,
  kHello = 80,
  kLoad = 81,
  kCommit = 83,
  kDeliver = 84,
  kRefuse = 85,
  kClaims = 86,
  kTransact = 87,
  kPause = 88,
  kResume = 89,
  kStatements = 90,
  kReleased = 91,
  kHostNow = 92,
};
std::string_view name_of(NounKind kind);

/// An enumeration 0, 1, 2... whose names stand in a table: std::span<const std::string_view>
/// enum_names(E), found beside it. Values without a name are not decoded.
template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E value) {
  enum_names(value);
};

template <NamedEnum E>
std::string_view name_of(E value) {
  return enum_names(value)[static_cast<std::size_t>(value)];
}

/// A struct with `static constexpr NounKind kKind`, a static template fields(archive, self) and,
/// where not every value makes sense, `core::Result<void> validity() const`.
template <class N>
concept Noun = requires {
  requires std::is_same_v<decltype(N::kKind), const NounKind>;
};

bool is_utf8(std::string_view text);
/// UTF-8 without control characters.
bool is_line(std::string_view text);

/// At most limits::kLineBytesMax bytes that neither a terminal nor UTF-8 stumbles over.
std::string one_line(std::string_view text);

/// Collects an encoding. Never fails: sizes beyond 32 bits are our own bug.
class Writer {
 public:
  void u8(std::uint8_t value) { integer(value, 1); }
  void u16(std::uint16_t value) { integer(value, 2); }
  void u32(std::uint32_t value) { integer(value, 4); }
  void u64(std::uint64_t value) { integer(value, 8); }
  /// As it is, without a length.
  void raw(ByteView bytes);
  void count(std::size_t items);
  void bytes(ByteView bytes);
  void text(std::string_view text) { bytes(core::as_bytes(text)); }
  void noun(NounKind kind);
  template <class T>
  void field(std::string_view, const T& value) {
    write(*this, value);
  }
  /// At the end of a record, of what was not in it before: where it is absent, nothing is written.
  template <class T>
  void tail(std::string_view name, const std::optional<T>& value) {
    if (value) field(name, *value);
  }

  const Bytes& written() const { return bytes_; }
  Bytes take() && { return std::move(bytes_); }

 private:
  void integer(std::uint64_t value, int width_bytes);

  Bytes bytes_;
};

/// A part of nouns: a struct with `fields`, and `validity` if need be, but no kind of its own.
template <class P>
concept Part = !Noun<P> && requires(Writer & writer, const P& part) {
  P::fields(writer, part);
};

/// Takes an encoding apart. The first refusal sticks: from then on every read gives zero or
/// nothing, so that a caller may read a whole noun and ask once, at the end.
/// The bytes must outlive the reader and the views that it hands out.
class Reader {
 public:
  /// `what` is the first word of every error; it and field names must outlive the reader.
  Reader(ByteView bytes, std::string_view what) : rest_(bytes), path_{what} {}

  std::uint8_t u8() { return static_cast<std::uint8_t>(integer(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(integer(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(integer(4)); }
  std::uint64_t u64() { return integer(8); }
  /// `size` bytes, or none after a refusal.
  ByteView raw(std::size_t size);
  /// A number of items; refused above `items_max`.
  std::size_t count(std::size_t items_max = limits::kListItemsMax);
  /// Refused above `size_max`.
  ByteView bytes(std::size_t size_max = limits::kNounBytesMax);
  /// Refused above `size_max` and where it is not UTF-8.
  std::string_view text(std::size_t size_max = limits::kTextBytesMax);
  /// A text that is one line.
  std::string_view line(std::size_t size_max = limits::kLineBytesMax);
  void noun(NounKind kind);
  /// Reads `value` under this name, for errors.
  template <class T>
  void field(std::string_view name, T& value) {
    path_.push_back(name);
    read(*this, value);
    path_.pop_back();
  }
  /// As Writer's.
  template <class T>
  void tail(std::string_view name, std::optional<T>& value) {
    value.reset();
    if (ok() && remaining() > 0) field(name, value.emplace());
  }

  bool ok() const { return !error_; }
  std::size_t remaining() const { return rest_.size(); }
  void refuse(core::ErrorCode code, std::string_view why);
  core::Result<void> status() const;
  /// status(), and nothing may be left.
  core::Result<void> finish();

 private:
  std::uint64_t integer(std::size_t width_bytes);

  ByteView rest_;
  std::vector<std::string_view> path_;
  std::optional<core::Error> error_;
};

// How each type of field is written and read. Nouns of other rooms may add overloads beside their
// types.

inline void write(Writer& writer, std::uint8_t value) { writer.u8(value); }
inline void write(Writer& writer, std::uint16_t value) { writer.u16(value); }
inline void write(Writer& writer, std::uint32_t value) { writer.u32(value); }
inline void write(Writer& writer, std::uint64_t value) { writer.u64(value); }
inline void write(Writer& writer, const Bytes& value) { writer.bytes(value); }
inline void write(Writer& writer, const std::string& value) { writer.text(value); }
inline void write(Writer& writer, const crypto::Address& value) { writer.raw(value.bytes); }
inline void write(Writer& writer, const crypto::Signature& value) { writer.raw(value.bytes); }
inline void write(Writer& writer, const Digest& value) { writer.raw(value); }
template <NamedEnum E>
void write(Writer& writer, E value) {
  writer.u8(static_cast<std::uint8_t>(value));
}
/// As one line; the code is its place in core::ErrorCode.
void write(Writer& writer, const core::Error& error);
template <Noun N>
void write(Writer& writer, const N& noun) {
  writer.noun(N::kKind);
  N::fields(writer, noun);
}
template <Part P>
void write(Writer& writer, const P& part) {
  P::fields(writer, part);
}
template <class T>
void write(Writer& writer, const std::optional<T>& value) {
  writer.u8(value ? 1 : 0);
  if (value) write(writer, *value);
}
template <class T>
void write(Writer& writer, const std::vector<T>& items) {
  writer.count(items.size());
  for (const T& item : items) write(writer, item);
}

inline void read(Reader& reader, std::uint8_t& value) { value = reader.u8(); }
inline void read(Reader& reader, std::uint16_t& value) { value = reader.u16(); }
inline void read(Reader& reader, std::uint32_t& value) { value = reader.u32(); }
inline void read(Reader& reader, std::uint64_t& value) { value = reader.u64(); }
inline void read(Reader& reader, std::string& value) { value = reader.text(); }
inline void read(Reader& reader, Bytes& value) {
  const ByteView view = reader.bytes();
  value.assign(view.begin(), view.end());
}
void read_raw(Reader& reader, std::span<std::uint8_t> out);
inline void read(Reader& reader, Digest& value) { read_raw(reader, value); }
inline void read(Reader& reader, crypto::Address& value) { read_raw(reader, value.bytes); }
inline void read(Reader& reader, crypto::Signature& value) { read_raw(reader, value.bytes); }
std::uint8_t read_enum(Reader& reader, std::span<const std::string_view> names);
template <NamedEnum E>
void read(Reader& reader, E& value) {
  value = static_cast<E>(read_enum(reader, enum_names(value)));
}
/// Refuses what its own `validity` refuses, if it has one.
template <class T>
void read_validity(Reader& reader, const T& value) {
  if constexpr (requires { value.validity(); }) {
    if (!reader.ok()) return;
    if (const auto valid = value.validity(); !valid) {
      reader.refuse(valid.error().code, valid.error().message);
    }
  }
}
void read(Reader& reader, core::Error& error);
template <Noun N>
void read(Reader& reader, N& noun) {
  reader.noun(N::kKind);
  N::fields(reader, noun);
  read_validity(reader, noun);
}
template <Part P>
void read(Reader& reader, P& part) {
  P::fields(reader, part);
  read_validity(reader, part);
}
/// True where a value follows.
bool read_presence(Reader& reader);
template <class T>
void read(Reader& reader, std::optional<T>& value) {
  value.reset();
  if (read_presence(reader)) read(reader, value.emplace());
}
template <class T>
void read(Reader& reader, std::vector<T>& items) {
  items.clear();
  for (std::size_t left = reader.count(); left > 0 && reader.ok(); --left) {
    read(reader, items.emplace_back());
  }
}

template <Noun N>
Bytes encode(const N& noun) {
  Writer writer;
  write(writer, noun);
  return std::move(writer).take();
}

/// Errors: kInvalidArgument, kResourceExhausted beyond a bound; the message names noun and field.
template <Noun N>
core::Result<N> decode(ByteView bytes) {
  if (bytes.size() > limits::kNounBytesMax) {
    return core::fail(core::ErrorCode::kResourceExhausted, "{}: {} bytes, at most {} are accepted",
                      name_of(N::kKind), bytes.size(), limits::kNounBytesMax);
  }
  Reader reader(bytes, name_of(N::kKind));
  N noun;
  read(reader, noun);
  COMMENSAL_TRY(reader.finish());
  return noun;
}

}  // namespace commensal::protocol
