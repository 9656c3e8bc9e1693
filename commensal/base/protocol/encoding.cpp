// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/pages.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/base/protocol/noun_in.hpp>
#include <limits>

namespace commensal::protocol {
namespace {

using core::ErrorCode;

struct NounTraits {
  NounKind kind;
  std::uint8_t version;
  std::string_view name;
};
constexpr NounTraits kNouns[] = {
    {NounKind::kJob, 4, "job"},
    {NounKind::kReceiptBody, 2, "receipt body"},
    {NounKind::kBatchSignature, 1, "batch signature"},
    {NounKind::kReceipt, 4, "receipt"},
    {NounKind::kVerdict, 1, "verdict"},
    {NounKind::kHashChainHead, 1, "hash chain head"},
    {NounKind::kClaim, 1, "claim"},
    {NounKind::kEndorsement, 1, "endorsement"},
    {NounKind::kJointSettlement, 1, "joint settlement"},
    {NounKind::kAuditReport, 1, "audit report"},
    {NounKind::kPrivacyStatement, 1, "privacy statement"},
    {NounKind::kTraceClaim, 2, "trace claim"},
    {NounKind::kElementClaim, 1, "element claim"},
    {NounKind::kVerdictFile, 2, "verdict file"},
    {NounKind::kDisputeMove, 2, "dispute move"},
    {NounKind::kSegmentClaim, 1, "segment claim"},
    {NounKind::kLedgerTransaction, 1, "transaction"},
    {NounKind::kLedgerEntry, 1, "entry"},
    {NounKind::kLedgerState, 1, "ledger state"},
    {NounKind::kRiskEvent, 1, "risk event"},
    {NounKind::kPanelTerms, 1, "panel terms"},
    {NounKind::kPanelMove, 1, "panel move"},
    {NounKind::kPanelDraw, 1, "panel draw"},
    {NounKind::kPanelEvent, 1, "panel event"},
    {NounKind::kChallenge, 1, "challenge"},
    {NounKind::kWelcome, 1, "welcome"},
    {NounKind::kDismiss, 1, "dismiss"},
    {NounKind::kOffer, 1, "offer"},
    {NounKind::kBegin, 1, "begin"},
    {NounKind::kCountersign, 1, "countersign"},
    {NounKind::kWithdraw, 1, "withdraw"},
    {NounKind::kBalance, 1, "balance"},
    {NounKind::kReveal, 1, "reveal"},
    {NounKind::kOutcomes, 1, "outcomes"},
    {NounKind::kAccused, 1, "accused"},
    {NounKind::kCaseMoves, 1, "case moves"},
    {NounKind::kPrefetch, 1, "prefetch"},
    {NounKind::kRelease, 1, "release"},
    {NounKind::kHello, 1, "hello"},
    {NounKind::kLoad, 1, "load"},
    {NounKind::kCommit, 1, "commit"},
    {NounKind::kDeliver, 1, "deliver"},
    {NounKind::kRefuse, 1, "refuse"},
    {NounKind::kClaims, 1, "claims"},
    {NounKind::kTransact, 1, "transact"},
    {NounKind::kPause, 1, "pause"},
    {NounKind::kResume, 1, "resume"},
    {NounKind::kStatements, 1, "statements"},
    {NounKind::kReleased, 1, "released"},
    {NounKind::kHostNow, 1, "host now"},
};

const NounTraits& traits_of(NounKind kind) {
  const auto* found = std::find_if(std::begin(kNouns), std::end(kNouns),
                                   [kind](const NounTraits& noun) { return noun.kind == kind; });
  core::check(found != std::end(kNouns), "a kind of noun without a row in the table");
  return *found;
}

/// The length of a UTF-8 sequence by its first byte and the range of its second (Unicode 15,
/// table 3-7): neither overlong forms nor surrogates nor values above U+10FFFF.
struct Utf8Row {
  std::uint8_t first_min, first_max, second_min, second_max;
  std::size_t size_bytes;
};
constexpr Utf8Row kUtf8[] = {
    {0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

/// Bytes of the sequence that `rest` begins with; 0 if it begins with none.
std::size_t utf8_sequence_bytes(ByteView rest) {
  for (const Utf8Row& row : kUtf8) {
    if (rest[0] < row.first_min || rest[0] > row.first_max) continue;
    if (rest.size() < row.size_bytes) return 0;
    for (std::size_t i = 1; i < row.size_bytes; ++i) {
      const std::uint8_t low = i == 1 ? row.second_min : 0x80;
      const std::uint8_t high = i == 1 ? row.second_max : 0xbf;
      if (rest[i] < low || rest[i] > high) return 0;
    }
    return row.size_bytes;
  }
  return 0;
}

std::string with_article(std::string_view name) {
  const bool has_vowel = std::string_view("aeiou").find(name.front()) != std::string_view::npos;
  return fmt::format("{} {}", has_vowel ? "an" : "a", name);
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

std::string noun_in(ByteView bytes) {
  const auto* const row = std::ranges::find_if(kNouns, [&](const NounTraits& one) {
    return bytes.size() > 1 && bytes[0] == static_cast<std::uint8_t>(one.kind) &&
           bytes[1] == one.version;
  });
  return row == std::end(kNouns) ? "" : with_article(row->name);
}

std::string_view name_of(NounKind kind) { return traits_of(kind).name; }

bool is_utf8(std::string_view text) {
  for (ByteView rest = core::as_bytes(text); !rest.empty();) {
    const std::size_t size = utf8_sequence_bytes(rest);
    if (size == 0) return false;
    rest = rest.subspan(size);
  }
  return true;
}

bool is_line(std::string_view text) {
  return is_utf8(text) && std::none_of(text.begin(), text.end(), is_control);
}

std::string one_line(std::string_view text) {
  std::size_t size = std::min(text.size(), limits::kLineBytesMax);
  while (size < text.size() && size > 0 && (text[size] & 0xc0) == 0x80) --size;
  std::string line(text.substr(0, size));
  std::replace_if(line.begin(), line.end(), is_control, ' ');
  if (!is_utf8(line)) {
    std::replace_if(
        line.begin(), line.end(), [](char c) { return (c & 0x80) != 0; }, '?');
  }
  return line;
}

void Writer::integer(std::uint64_t value, int width_bytes) {
  const auto width = static_cast<std::size_t>(width_bytes);
  std::array<std::uint8_t, sizeof value> big_endian{};
  for (std::size_t i = width; i > 0; value >>= 8)
    big_endian[--i] = static_cast<std::uint8_t>(value);
  raw({big_endian.data(), width});
}

void Writer::raw(ByteView bytes) {
  // Neither a byte at a time at first, nor once more behind a tensor.
  constexpr std::size_t kUsualBytes = 128;
  const std::size_t size = bytes_.size() + bytes.size() + kUsualBytes;
  if (bytes_.capacity() == 0 || bytes.size() > bytes_.capacity()) {
    bytes_.reserve(size);
    core::prefer_large_pages(bytes_.data() + bytes_.size(), size - bytes_.size());
  }
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void Writer::count(std::size_t items) {
  core::check(items <= std::numeric_limits<std::uint32_t>::max(), "a length beyond 32 bits");
  u32(static_cast<std::uint32_t>(items));
}

void Writer::bytes(ByteView bytes) {
  count(bytes.size());
  raw(bytes);
}

void Writer::noun(NounKind kind) {
  u8(static_cast<std::uint8_t>(kind));
  u8(traits_of(kind).version);
}

void Reader::refuse(ErrorCode code, std::string_view why) {
  if (error_) return;
  error_ = core::Error{code, fmt::format("{}: {}", fmt::join(path_, "."), why)};
  rest_ = {};
}

ByteView Reader::raw(std::size_t size) {
  if (error_) return {};
  if (size > rest_.size()) {
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("truncated: {} bytes left, expected {}", rest_.size(), size));
    return {};
  }
  const ByteView taken = rest_.first(size);
  rest_ = rest_.subspan(size);
  return taken;
}

std::uint64_t Reader::integer(std::size_t width_bytes) {
  std::uint64_t value = 0;
  for (std::uint8_t byte : raw(width_bytes)) value = value << 8 | byte;
  return value;
}

std::size_t Reader::count(std::size_t items_max) {
  const std::size_t items = u32();
  if (items <= items_max) return items;
  refuse(ErrorCode::kResourceExhausted,
         fmt::format("{} items, at most {} are accepted", items, items_max));
  return 0;
}

ByteView Reader::bytes(std::size_t size_max) {
  const std::size_t size = u32();
  if (size <= size_max) return raw(size);
  refuse(ErrorCode::kResourceExhausted,
         fmt::format("{} bytes, at most {} are accepted", size, size_max));
  return {};
}

std::string_view Reader::text(std::size_t size_max) {
  const std::string_view text = core::as_text(bytes(size_max));
  if (is_utf8(text)) return text;
  refuse(ErrorCode::kInvalidArgument, "not UTF-8");
  return {};
}

std::string_view Reader::line(std::size_t size_max) {
  const std::string_view line = text(size_max);
  if (is_line(line)) return line;
  refuse(ErrorCode::kInvalidArgument, "not one line");
  return {};
}

void Reader::noun(NounKind kind) {
  const NounTraits& expected = traits_of(kind);
  const auto found = u8();
  if (ok() && found != static_cast<std::uint8_t>(kind)) {
    const std::uint8_t start[] = {found, rest_.empty() ? std::uint8_t{0} : rest_[0]};
    const std::string noun = noun_in(start);
    refuse(ErrorCode::kInvalidArgument,
           noun.empty()
               ? fmt::format("this is not {}", with_article(expected.name))
               : fmt::format("this is {}, expected {}", noun, with_article(expected.name)));
  }
  const auto version = u8();
  if (ok() && version != expected.version) {
    refuse(ErrorCode::kUnsupported,
           fmt::format("version {}, expected {}", version, expected.version));
  }
}

core::Result<void> Reader::status() const {
  if (error_) return tl::unexpected(*error_);
  return {};
}

core::Result<void> Reader::finish() {
  if (!rest_.empty()) {
    refuse(ErrorCode::kInvalidArgument, fmt::format("{} bytes left over", rest_.size()));
  }
  return status();
}

void read_raw(Reader& reader, std::span<std::uint8_t> out) {
  const ByteView taken = reader.raw(out.size());
  std::copy(taken.begin(), taken.end(), out.begin());
}

void write(Writer& writer, const core::Error& error) {
  writer.u8(static_cast<std::uint8_t>(error.code));
  writer.text(one_line(error.message));
}

void read(Reader& reader, core::Error& error) {
  const std::uint8_t code = reader.u8();
  if (code > static_cast<std::uint8_t>(ErrorCode::kInternal)) {
    reader.refuse(ErrorCode::kInvalidArgument, fmt::format("code {} is unknown", code));
    return;
  }
  error = {static_cast<ErrorCode>(code), std::string(reader.line())};
}

bool read_presence(Reader& reader) {
  const std::uint8_t value = reader.u8();
  if (value <= 1) return value == 1;
  reader.refuse(ErrorCode::kInvalidArgument,
                fmt::format("{}, expected 0 (absent) or 1 (present)", value));
  return false;
}

std::uint8_t read_enum(Reader& reader, std::span<const std::string_view> names) {
  const std::uint8_t value = reader.u8();
  if (value < names.size()) return value;
  reader.refuse(ErrorCode::kInvalidArgument,
                fmt::format("{}, expected 0 ({}) to {} ({})", value, names.front(),
                            names.size() - 1, names.back()));
  return 0;
}

}  // namespace commensal::protocol
