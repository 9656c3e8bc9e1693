// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/http/compression.hpp>
#include <optional>

namespace commensal::http {

namespace {

using core::ErrorCode;

struct CodingRow {
  std::string_view name;
  Coding coding;
};
constexpr std::array<CodingRow, 5> kCodings = {{{"gzip", Coding::kGzip},
                                                {"deflate", Coding::kDeflate},
                                                {"identity", Coding::kIdentity},
                                                {"x-gzip", Coding::kGzip},  // RFC 9110, 8.4.1.3
                                                {"", Coding::kIdentity}}};

// Of inflateInit2() and deflateInit2(): the largest window, and the format around it.
constexpr int kZlib = MAX_WBITS, kGzip = MAX_WBITS + 16, kRaw = -MAX_WBITS;
constexpr std::size_t kPiece = std::size_t{1} << 18;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool is_same(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

/// What stands before the next `separator`, which it takes off `text` with it.
std::string_view next_part(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = trimmed(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

/// Of "gzip;q=0.5"; 1 where it has none, 0 where it is no weight.
double weight_of(std::string_view parameters) {
  while (!parameters.empty()) {
    std::string_view parameter = next_part(parameters, ';');
    if (!is_same(next_part(parameter, '='), "q")) continue;
    double weight = 0;
    const auto [stop, error] = std::from_chars(
        parameter.data(), parameter.data() + parameter.size(), weight, std::chars_format::fixed);
    const bool is_weight = error == std::errc() && stop == parameter.data() + parameter.size();
    return is_weight && weight >= 0 && weight <= 1 ? weight : 0;
  }
  return 1;
}

/// RFC 1950, section 2.2: what a stream of zlib's begins with. A raw one that did would begin with
/// a stored block whose padding is not zero.
bool is_zlib(core::ByteView body) {
  return body.size() >= 2 && (body[0] & 0x8f) == Z_DEFLATED && (body[0] * 256 + body[1]) % 31 == 0;
}

class Inflater {
 public:
  explicit Inflater(int format, core::ByteView in) {
    stream_.next_in = const_cast<std::uint8_t*>(in.data());
    stream_.avail_in = static_cast<uInt>(in.size());
    is_there_ = inflateInit2(&stream_, format) == Z_OK;
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (is_there_) inflateEnd(&stream_);
  }

  bool is_there() const { return is_there_; }
  bool is_at_end() const { return stream_.avail_in == 0; }
  void begin_next() { inflateReset(&stream_); }
  /// The next bytes; nothing where they are none, or there are too few. `ended`: of a stream.
  std::optional<std::size_t> read(std::span<std::uint8_t> out, bool& ended) {
    stream_.next_out = out.data();
    stream_.avail_out = static_cast<uInt>(out.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    ended = result == Z_STREAM_END;
    if (!ended && result != Z_OK) return std::nullopt;  // Z_BUF_ERROR: it is cut off
    return out.size() - stream_.avail_out;
  }

 private:
  z_stream stream_ = {};
  bool is_there_ = false;
};

}  // namespace

std::string_view name_of(Coding coding) {
  return std::ranges::find(kCodings, coding, &CodingRow::coding)->name;
}

std::optional<Coding> coding_of(std::string_view content_encoding) {
  const std::string_view name = trimmed(content_encoding);
  for (const CodingRow& row : kCodings) {
    if (is_same(row.name, name)) return row.coding;
  }
  return std::nullopt;
}

Coding accepted_coding(std::string_view accept_encoding) {
  std::array<std::optional<double>, 3> weights;  // by Coding
  double others = 0;
  while (!accept_encoding.empty()) {
    std::string_view item = next_part(accept_encoding, ',');
    const std::string_view name = next_part(item, ';');
    if (name == "*") others = weight_of(item);
    const auto coding = coding_of(name);
    if (!coding || name.empty()) continue;
    auto& weight = weights[static_cast<std::size_t>(*coding)];
    weight = std::max(weight.value_or(0), weight_of(item));
  }
  Coding best = Coding::kIdentity;
  double most = weights[0].value_or(0);
  for (const Coding coding : {Coding::kGzip, Coding::kDeflate}) {
    const double weight = weights[static_cast<std::size_t>(coding)].value_or(others);
    if (weight <= 0 || weight < most || (best != Coding::kIdentity && weight == most)) continue;
    best = coding;
    most = weight;
  }
  return best;
}

core::Result<bool> decompress(Coding coding, core::GrowingBytes& body, std::int64_t bytes_max,
                              core::MemoryBudget::Lease& memory, const std::stop_token& left) {
  const core::ByteView in = body;
  if (coding == Coding::kIdentity || in.empty()) return true;
  const bool is_gzip = coding == Coding::kGzip;
  Inflater inflater(is_gzip ? kGzip : is_zlib(in) ? kZlib : kRaw, in);
  if (!inflater.is_there()) return core::fail(ErrorCode::kUnavailable, "no memory to read a body");
  core::GrowingBytes out;
  while (true) {
    if (left.stop_requested()) return core::fail(ErrorCode::kCancelled, "the client has left");
    // A byte more than may be shows whether more would come.
    const auto room = static_cast<std::size_t>(bytes_max) + 1 - out.size();
    COMMENSAL_TRY(memory.set(static_cast<std::int64_t>(in.size() + out.capacity())));
    bool ended = false;
    const auto read = inflater.read(out.prepare(std::min(kPiece, room), SIZE_MAX / 2), ended);
    if (!read)
      return core::fail(ErrorCode::kInvalidArgument, "the body is no whole \"{}\"",
                        name_of(coding));
    out.commit(*read);
    if (std::cmp_greater(out.size(), bytes_max)) return false;
    if (!ended) continue;
    if (inflater.is_at_end()) break;
    if (!is_gzip)
      return core::fail(ErrorCode::kInvalidArgument, "the body goes on behind its \"deflate\"");
    inflater.begin_next();  // RFC 1952, section 2.2: as many members as there are
  }
  COMMENSAL_TRY(memory.set(static_cast<std::int64_t>(in.size() + out.capacity())));
  body = std::move(out);
  memory.note(static_cast<std::int64_t>(body.size()));
  return true;
}

std::optional<std::string> compress(Coding coding, std::string_view text,
                                    core::MemoryBudget::Lease& memory) {
  if (coding == Coding::kIdentity || text.empty()) return std::nullopt;
  const auto most = text.size() - 1;  // longer is not wanted
  const std::int64_t held = memory.bytes();
  if (!memory.set(held + static_cast<std::int64_t>(most))) return std::nullopt;
  z_stream stream = {};
  const int format = coding == Coding::kGzip ? kGzip : kZlib;
  constexpr int kMemory = 8;  // zlib's default
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, format, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    return std::nullopt;
  std::string out(most, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  // What is sent is at most limits::kHttpBodyBytesMax and some: it fits.
  stream.avail_in = static_cast<uInt>(text.size());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool is_whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  if (!is_whole) {
    memory.note(held);
    return std::nullopt;
  }
  out.shrink_to_fit();
  return out;
}

}  // namespace commensal::http
