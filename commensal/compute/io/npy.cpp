// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <commensal/base/core/limits_operators.hpp>
#include <commensal/compute/io/npy.hpp>
#include <cstring>
#include <optional>

namespace commensal::io {

using core::ErrorCode;
using core::fail;
using core::Result;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Header {
  std::string_view dictionary;
  core::ByteView data;
};

tl::unexpected<core::Error> malformed(std::string_view what) {
  return fail(ErrorCode::kInvalidArgument, "not a .npy array: {}", what);
}

Result<Header> split(core::ByteView bytes) {
  if (bytes.size() < 10 || !core::as_text(bytes).starts_with(kMagic)) {
    return malformed("it does not begin as one");
  }
  const int version = bytes[6];
  if (version < 1 || version > 3) return malformed(fmt::format("version {}", version));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (bytes.size() < 8 + length_bytes) return malformed("it is truncated");
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    length |= static_cast<std::size_t>(bytes[8 + i]) << (8 * i);
  }
  const std::size_t begin = 8 + length_bytes;
  if (length > limits::kNpyHeaderBytesMax || length > bytes.size() - begin) {
    return malformed("it is truncated");
  }
  return Header{core::as_text(bytes.subspan(begin, length)), bytes.subspan(begin + length)};
}

// The text of `key` in numpy's dictionary, from its colon on; the three keys and their values are
// of a fixed form, so no more of Python's grammar is needed.
Result<std::string_view> value_of(std::string_view dictionary, std::string_view key) {
  const std::size_t at = dictionary.find(fmt::format("'{}'", key));
  if (at == std::string_view::npos) return malformed(fmt::format("its header lacks '{}'", key));
  std::size_t begin = dictionary.find(':', at);
  if (begin != std::string_view::npos) begin = dictionary.find_first_not_of(' ', begin + 1);
  if (begin == std::string_view::npos) return malformed("its header is cut short");
  return dictionary.substr(begin);
}

/// Of one element, as the file has it.
struct Element {
  DType dtype = DType::kUndefined;
  std::size_t size = 0;     // bytes
  bool is_unicode = false;  // of strings: characters of 4 bytes, else bytes
};

/// "|S5", "<U3": strings of so many bytes or characters; zeros at the end are not of them.
std::optional<Element> string_element(std::string_view descr) {
  if (!descr.starts_with("|S") && !descr.starts_with("<U")) return std::nullopt;
  const bool is_unicode = descr[1] == 'U';
  std::size_t length = 0;
  const char* const end = descr.data() + descr.size();
  const auto [stop, error] = std::from_chars(descr.data() + 2, end, length);
  if (error != std::errc() || stop != end || length > limits::kStringBytesMadeMax / 4) {
    return std::nullopt;
  }
  return Element{DType::kString, is_unicode ? 4 * length : length, is_unicode};
}

Result<Element> read_element(std::string_view text) {
  const std::size_t end = text.starts_with('\'') ? text.find('\'', 1) : std::string_view::npos;
  if (end == std::string_view::npos) {
    return fail(ErrorCode::kUnsupported, "structured .npy arrays are not supported");
  }
  const std::string_view descr = text.substr(1, end - 1);
  for (const tensor::DTypeTraits& row : tensor::all_dtypes()) {
    if (!row.npy.empty() && row.npy == descr)
      return Element{row.dtype, static_cast<std::size_t>(row.size)};
  }
  if (const auto strings = string_element(descr)) return *strings;
  return fail(ErrorCode::kUnsupported, "element type '{}' of .npy is not supported",
              descr.substr(0, 40));
}

Result<Shape> read_shape(std::string_view text) {
  const std::size_t end = text.find(')');
  if (!text.starts_with('(') || end == std::string_view::npos) return malformed("bad shape");
  std::vector<std::int64_t> dims;
  const char* at = text.data() + 1;
  const char* const last = text.data() + end;
  while (at != last) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    const auto [next, error] = std::from_chars(at, last, dims.emplace_back());
    if (error != std::errc()) return malformed("bad shape");
    at = next;
  }
  return Shape::of(dims);
}

// Column-major elements in row-major order.
core::Bytes transposed(const Shape& shape, std::size_t size, core::ByteView data) {
  const int rank = shape.rank();
  std::array<std::int64_t, limits::kRankMax> strides{}, index{};
  std::int64_t stride = 1;
  for (int axis = 0; axis < rank; ++axis) {
    strides[static_cast<std::size_t>(axis)] = stride;
    stride *= shape[axis];
  }
  core::Bytes out(data.size());
  std::int64_t from = 0;
  for (std::size_t to = 0; to < out.size(); to += size) {
    std::memcpy(out.data() + to, data.data() + static_cast<std::size_t>(from) * size, size);
    for (int axis = rank - 1; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      from += strides[a];
      if (++index[a] < shape[axis]) break;
      from -= strides[a] * shape[axis];
      index[a] = 0;
    }
  }
  return out;
}

/// Appends the UTF-8 of numpy's UTF-32.
Result<void> append_utf8(core::ByteView characters, std::string& text) {
  for (std::size_t at = 0; at < characters.size(); at += 4) {
    std::uint32_t code = 0;
    std::memcpy(&code, characters.data() + at, sizeof code);
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
      return malformed(fmt::format("{:#x} is no character", code));
    }
    if (code < 0x80) {
      text += static_cast<char>(code);
      continue;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr std::array<std::uint32_t, 4> kFirst = {0, 0xc0, 0xe0, 0xf0};
    text += static_cast<char>(kFirst[static_cast<std::size_t>(more)] | (code >> (6 * more)));
    for (int i = more - 1; i >= 0; --i)
      text += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f));
  }
  return {};
}

/// Views of one text: strings of their own would take more memory than the file has bytes.
Result<Tensor> strings_of(const Shape& shape, const Element& element, core::ByteView data) {
  const auto text = std::make_shared<std::string>();
  std::vector<std::size_t> ends;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    core::ByteView one = data.subspan(static_cast<std::size_t>(i) * element.size, element.size);
    const std::size_t unit = element.is_unicode ? 4 : 1;
    const auto is_zero = [](std::uint8_t byte) { return byte == 0; };
    while (!one.empty() && std::ranges::all_of(one.last(unit), is_zero)) {
      one = one.first(one.size() - unit);
    }
    if (element.is_unicode) {
      COMMENSAL_TRY(append_utf8(one, *text));
    } else {
      text->append(core::as_text(one));
    }
    ends.push_back(text->size());
  }
  std::vector<std::string_view> views;
  for (std::size_t i = 0, begin = 0; i < ends.size(); begin = ends[i++]) {
    views.push_back(std::string_view(*text).substr(begin, ends[i] - begin));
  }
  return Tensor::of_string_views(shape, std::move(views), {text});
}

/// The elements of strings, each as long as the longest. Error: kUnsupported.
Result<core::Bytes> padded(const Tensor& strings, std::size_t longest) {
  core::Bytes out;
  for (const std::string_view text : strings.strings()) {
    if (text.ends_with('\0')) {
      return fail(ErrorCode::kUnsupported, "numpy has no strings that end with a zero byte");
    }
    if (out.size() + longest > static_cast<std::size_t>(limits::kStringBytesMadeMax)) {
      return fail(ErrorCode::kResourceExhausted,
                  "strings as long as the longest take more than {} bytes",
                  limits::kStringBytesMadeMax);
    }
    out.insert(out.end(), text.begin(), text.end());
    out.insert(out.end(), longest - text.size(), 0);
  }
  return out;
}

}  // namespace

Result<Tensor> read_npy(core::ByteView bytes) {
  COMMENSAL_ASSIGN(const Header header, split(bytes));
  COMMENSAL_ASSIGN(const auto descr, value_of(header.dictionary, "descr"));
  COMMENSAL_ASSIGN(const auto order, value_of(header.dictionary, "fortran_order"));
  COMMENSAL_ASSIGN(const auto dims, value_of(header.dictionary, "shape"));
  COMMENSAL_ASSIGN(const Element element, read_element(descr));
  COMMENSAL_ASSIGN(const Shape shape, read_shape(dims));
  const tensor::TensorType type{element.dtype, shape};
  std::int64_t size = 0;
  if (__builtin_mul_overflow(shape.elements(), static_cast<std::int64_t>(element.size), &size) ||
      std::cmp_not_equal(size, header.data.size())) {
    return malformed(fmt::format("{} needs {} bytes of data, but has {}", type.text(), size,
                                 header.data.size()));
  }
  if (element.dtype == DType::kString && shape.elements() > limits::kStringsMadeMax) {
    return fail(ErrorCode::kResourceExhausted, "the file has {} strings, expected at most {}",
                shape.elements(), limits::kStringsMadeMax);
  }
  constexpr std::int64_t kEmptyMax = 1 << 10;  // they take memory, but none of the file
  if (element.size == 0 && shape.elements() > kEmptyMax) {
    return fail(ErrorCode::kResourceExhausted,
                "the file has {} strings of no bytes, expected at most {}", shape.elements(),
                kEmptyMax);
  }
  if (auto checked = tensor::check_elements(element.dtype, header.data); !checked) {
    return malformed(checked.error().message);
  }
  core::Bytes rows;
  core::ByteView data = header.data;
  if (order.starts_with("True")) data = rows = transposed(shape, element.size, data);
  if (element.dtype == DType::kString) return strings_of(shape, element, data);
  return Tensor::copy_of(type, data);
}

Result<Tensor> read_npy_file(const core::Path& path) {
  COMMENSAL_ASSIGN(const auto file, core::MappedFile::open(path));
  auto read = read_npy(file->bytes());
  if (!read) return core::in_context(fmt::format("'{}'", path.string()), read.error());
  return read;
}

Result<core::Bytes> write_npy(const Tensor& tensor) {
  std::string descr(tensor::traits(tensor.dtype()).npy);
  core::Bytes strings;
  if (tensor.dtype() == DType::kString) {
    std::size_t longest = 1;  // numpy's shortest
    for (const std::string_view text : tensor.strings()) longest = std::max(longest, text.size());
    descr = fmt::format("|S{}", longest);
    COMMENSAL_ASSIGN(strings, padded(tensor, longest));
  }
  if (descr.empty()) {
    return fail(ErrorCode::kUnsupported, "numpy has no {}", tensor::traits(tensor.dtype()).name);
  }
  std::string dims;
  for (const std::int64_t dim : tensor.shape().dims()) dims += fmt::format("{}, ", dim);
  if (dims.size() > 2 && tensor.shape().rank() > 1) dims.resize(dims.size() - 2);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, dims);
  // numpy asks that the data begin at a multiple of 64.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  core::Bytes out;
  const auto append = [&out](core::ByteView bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
  };
  append(core::as_bytes(kMagic));
  append(std::array<std::uint8_t, 4>{1, 0, static_cast<std::uint8_t>(header.size() & 0xff),
                                     static_cast<std::uint8_t>(header.size() >> 8)});
  append(core::as_bytes(header));
  append(tensor.dtype() == DType::kString ? core::ByteView(strings) : tensor.bytes());
  return out;
}

}  // namespace commensal::io
