// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/compute/tensor/elements.hpp>
#include <commensal/compute/tensor/float16.hpp>
#include <commensal/compute/tensor/small.hpp>
#include <commensal/serve/http/json_cursor.hpp>
#include <commensal/serve/http/json_elements.hpp>
#include <commensal/serve/http/oip.hpp>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

namespace commensal::http {

namespace {

using tensor::Tensor;
using tensor::TensorType;

/// Types that are not numbers in C++: written as the numbers they stand for, and not read.
template <class T>
inline constexpr bool kIsStorage = !std::is_arithmetic_v<T>;

std::size_t digits(std::string_view text, std::size_t at) {
  const std::size_t begin = at;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  return at - begin;
}

/// number = [ "-" ] int [ "." digits ] [ ("e"|"E") [sign] digits ], RFC 8259 section 6. from_chars
/// alone would also take "01", "1.", "inf" and "nan".
bool is_json_number(std::string_view text) {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const std::size_t whole = digits(text, at);
  if (whole == 0 || (whole > 1 && text[at] == '0')) return false;
  at += whole;
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = digits(text, at + 1);
    if (fraction == 0) return false;
    at += 1 + fraction;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const std::size_t exponent = digits(text, at);
    if (exponent == 0) return false;
    at += exponent;
  }
  return at == text.size();
}

/// What from_chars reports as out of range: rounds to zero or a subnormal number, or is too large.
template <class T>
bool read_extreme(std::string_view text, T& out) {
  const std::string copy(text);
  if constexpr (std::is_same_v<T, float>) {
    out = std::strtof(copy.c_str(), nullptr);
  } else {
    out = std::strtod(copy.c_str(), nullptr);
  }
  return std::isfinite(out);
}

template <class T>
bool read_element(std::string_view text, T& out) {
  if constexpr (std::is_same_v<T, bool>) {
    out = text == "true" || text == "1";
    return out || text == "false" || text == "0";
  } else if constexpr (kIsStorage<T>) {
    return false;
  } else {
    if (!is_json_number(text)) return false;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, out);
    if constexpr (std::is_floating_point_v<T>) {
      if (error == std::errc::result_out_of_range) return read_extreme(text, out);
    }
    return error == std::errc() && stop == end;
  }
}

tl::unexpected<core::Error> wrong_count(const TensorType& type, std::string_view count) {
  return core::fail(core::ErrorCode::kInvalidArgument,
                    "the shape {} has {} elements, \"data\" holds {}", type.shape.text(),
                    type.shape.elements(), count);
}

/// Calls item() with the cursor at each element of an array, flat or nested.
template <class Item>
core::Result<void> each_element(JsonCursor& cursor, Item item, int level = 1) {
  if (level > limits::kRankMax)
    return core::fail(core::ErrorCode::kInvalidArgument, "arrays are nested more than {} deep",
                      limits::kRankMax);
  return cursor.array([&]() -> core::Result<void> {
    return cursor.at_array() ? each_element(cursor, item, level + 1) : item();
  });
}

template <class T>
class ElementReader {
 public:
  ElementReader(JsonCursor& cursor, const TensorType& type, std::size_t text_bytes)
      : cursor_(cursor), type_(type) {
    // An element and what follows it take two bytes of text at least: more cannot come, and a
    // shape alone takes no memory.
    const auto most = static_cast<std::int64_t>(text_bytes / 2 + 1);
    const std::int64_t count = std::min(most, type.shape.elements());
    values_->resize(static_cast<std::size_t>(count) * sizeof(T));
  }

  core::Result<void> read() {
    const std::string_view text = cursor_.token();
    T value{};
    if (!read_element(text, value)) return refuse(text);
    if (count_ >= type_.shape.elements()) return wrong_count(type_, "more");
    std::memcpy(values_->data() + static_cast<std::size_t>(count_) * sizeof(T), &value, sizeof(T));
    ++count_;
    return {};
  }

  core::Result<Tensor> finish() {
    if (count_ != type_.shape.elements()) return wrong_count(type_, fmt::format("{}", count_));
    const core::ByteView view(*values_);
    return Tensor::view_of(type_, view.first(static_cast<std::size_t>(type_.bytes())), values_);
  }

 private:
  tl::unexpected<core::Error> refuse(std::string_view text) const {
    return core::fail(core::ErrorCode::kInvalidArgument, "\"data\": '{}' is no {}",
                      text.substr(0, 32), tensor::traits(type_.dtype).oip);
  }

  JsonCursor& cursor_;
  const TensorType& type_;
  std::shared_ptr<core::Bytes> values_ = std::make_shared<core::Bytes>();
  std::int64_t count_ = 0;
};

core::Result<Tensor> read_strings(JsonCursor& cursor, const TensorType& type) {
  const auto bytes = std::make_shared<std::string>();
  std::vector<std::size_t> ends;
  COMMENSAL_TRY(each_element(cursor, [&]() -> core::Result<void> {
    COMMENSAL_ASSIGN(const std::string text, cursor.string());
    if (std::ssize(ends) >= type.shape.elements()) return wrong_count(type, "more");
    *bytes += text;
    ends.push_back(bytes->size());
    return {};
  }));
  COMMENSAL_TRY(cursor.end());
  if (std::ssize(ends) != type.shape.elements())
    return wrong_count(type, std::to_string(ends.size()));
  std::vector<std::string_view> strings;
  strings.reserve(ends.size());
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    strings.push_back(std::string_view(*bytes).substr(begin, end - begin));
    begin = end;
  }
  return Tensor::of_string_views(type.shape, std::move(strings), {bytes});
}

/// The longest text of one element: sign, digits, point, exponent.
template <class T>
constexpr std::size_t chars_max() {
  if constexpr (std::is_same_v<T, bool>) {
    return 5;
  } else if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::digits10 + 1 + std::is_signed_v<T>;
  } else if constexpr (std::is_same_v<T, double>) {
    return std::numeric_limits<T>::max_digits10 + 7;
  } else {  // float, and what is written as one
    return std::numeric_limits<float>::max_digits10 + 6;
  }
}

/// Writes one element at `at`, which has room for chars_max().
template <class T>
char* write_element(char* at, T value) {
  if constexpr (kIsStorage<T>) {
    return write_element(at, tensor::to_float(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    const std::string_view text = value ? "true" : "false";
    return static_cast<char*>(std::memcpy(at, text.data(), text.size())) + text.size();
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) return static_cast<char*>(std::memcpy(at, "null", 4)) + 4;
    }
    return std::to_chars(at, at + chars_max<T>(), value).ptr;
  }
}

/// Hands out the texts of the elements, a comma behind each, some at a time, until `take` is false.
template <class Take>
void each_text(const Tensor& tensor, Take take) {
  if (tensor.dtype() == tensor::DType::kString) {
    for (const std::string_view text : tensor.strings())
      if (!take(json_quote(text) + ',')) return;
    return;
  }
  tensor::with_type(tensor.dtype(), [&]<class T>() {
    constexpr std::size_t kBatch = 256;
    std::array<char, kBatch*(chars_max<T>() + 1)> text;
    const std::span<const T> values = tensor.data<T>();
    for (std::size_t first = 0; first < values.size(); first += kBatch) {
      char* at = text.data();
      for (const T value : values.subspan(first, std::min(kBatch, values.size() - first))) {
        at = write_element(at, value);
        *at++ = ',';
      }
      if (!take(std::string_view(text.data(), static_cast<std::size_t>(at - text.data())))) return;
    }
  });
}

}  // namespace

core::Result<Tensor> read_json_elements(std::string_view array, const TensorType& type) {
  JsonCursor cursor(array);
  if (type.dtype == tensor::DType::kString) return read_strings(cursor, type);
  const bool is_number = tensor::with_type(type.dtype, []<class T>() { return !kIsStorage<T>; });
  if (!is_number)
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "{} has no JSON form: send it as binary data",
                      tensor::traits(type.dtype).oip);
  return tensor::with_type(type.dtype, [&]<class T>() -> core::Result<Tensor> {
    ElementReader<T> reader(cursor, type, array.size());
    COMMENSAL_TRY(each_element(cursor, [&] { return reader.read(); }));
    COMMENSAL_TRY(cursor.end());
    return reader.finish();
  });
}

std::int64_t json_elements_bytes_min(const TensorType& type) {
  const std::int64_t shortest = type.dtype == tensor::DType::kBool     ? 4   // true
                                : type.dtype == tensor::DType::kString ? 2   // ""
                                                                       : 1;  // 0
  const std::int64_t count = type.shape.elements();
  return 2 + count * (shortest + 1) - (count > 0);
}

std::int64_t json_elements_bytes_max(const Tensor& tensor) {
  if (tensor.dtype() == tensor::DType::kString) {
    constexpr std::int64_t kEscapedMax = 6;                  // \u0000
    return 2 + kEscapedMax * tensor::encoded_bytes(tensor);  // lengths: more than quotes and comma
  }
  return tensor::with_type(tensor.dtype(), [&]<class T>() -> std::int64_t {
    return 2 + tensor.elements() * static_cast<std::int64_t>(chars_max<T>() + 1);
  });
}

core::Result<void> check_json_form(const Tensor& tensor) {
  if (tensor.dtype() != tensor::DType::kString ||
      std::ranges::all_of(tensor.strings(), protocol::is_utf8))
    return {};
  return core::fail(core::ErrorCode::kInvalidArgument,
                    "a string is not UTF-8, which JSON cannot hold: ask for binary outputs "
                    "(\"parameters\":{{\"binary_data_output\":true}})");
}

std::int64_t json_elements_bytes(const Tensor& tensor, std::int64_t most) {
  std::int64_t bytes = tensor.elements() > 0 ? 1 : 2;  // each element's comma but the last is there
  each_text(tensor, [&](std::string_view text) { return (bytes += std::ssize(text)) <= most; });
  return bytes;
}

void append_json_elements(std::string& out, const Tensor& tensor) {
  out.push_back('[');
  each_text(tensor, [&](std::string_view text) { return !out.append(text).empty(); });
  if (tensor.elements() > 0) out.pop_back();
  out.push_back(']');
}

}  // namespace commensal::http
