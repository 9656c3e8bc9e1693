// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <commensal/compute/io/npy.hpp>
#include <cstring>

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

Result<DType> read_dtype(std::string_view text) {
  const std::size_t end = text.starts_with('\'') ? text.find('\'', 1) : std::string_view::npos;
  if (end == std::string_view::npos) {
    return fail(ErrorCode::kUnsupported, "structured .npy arrays are not supported");
  }
  const std::string_view descr = text.substr(1, end - 1);
  for (const tensor::DTypeTraits& row : tensor::all_dtypes()) {
    if (!row.npy.empty() && row.npy == descr) return row.dtype;
  }
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
Tensor transposed(const tensor::TensorType& type, core::ByteView data) {
  const auto size = static_cast<std::size_t>(tensor::traits(type.dtype).size);
  const int rank = type.shape.rank();
  std::array<std::int64_t, limits::kRankMax> strides{}, index{};
  std::int64_t stride = 1;
  for (int axis = 0; axis < rank; ++axis) {
    strides[static_cast<std::size_t>(axis)] = stride;
    stride *= type.shape[axis];
  }
  core::Bytes out(data.size());
  std::int64_t from = 0;
  for (std::size_t to = 0; to < out.size(); to += size) {
    std::memcpy(out.data() + to, data.data() + static_cast<std::size_t>(from) * size, size);
    for (int axis = rank - 1; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      from += strides[a];
      if (++index[a] < type.shape[axis]) break;
      from -= strides[a] * type.shape[axis];
      index[a] = 0;
    }
  }
  return Tensor::copy_of(type, out);
}

}  // namespace

Result<Tensor> read_npy(core::ByteView bytes) {
  COMMENSAL_ASSIGN(const Header header, split(bytes));
  COMMENSAL_ASSIGN(const auto descr, value_of(header.dictionary, "descr"));
  COMMENSAL_ASSIGN(const auto order, value_of(header.dictionary, "fortran_order"));
  COMMENSAL_ASSIGN(const auto dims, value_of(header.dictionary, "shape"));
  COMMENSAL_ASSIGN(const DType dtype, read_dtype(descr));
  COMMENSAL_ASSIGN(const Shape shape, read_shape(dims));
  const tensor::TensorType type{dtype, shape};
  if (static_cast<std::int64_t>(header.data.size()) != type.bytes()) {
    return malformed(fmt::format("{} needs {} bytes of data, but has {}", type.text(), type.bytes(),
                                 header.data.size()));
  }
  if (auto checked = tensor::check_elements(dtype, header.data); !checked) {
    return malformed(checked.error().message);
  }
  return order.starts_with("True") ? transposed(type, header.data)
                                   : Tensor::copy_of(type, header.data);
}

Result<Tensor> read_npy_file(const core::Path& path) {
  COMMENSAL_ASSIGN(const auto file, core::MappedFile::open(path));
  auto read = read_npy(file->bytes());
  if (!read) return core::in_context(fmt::format("'{}'", path.string()), read.error());
  return read;
}

Result<core::Bytes> write_npy(const Tensor& tensor) {
  const std::string_view descr = tensor::traits(tensor.dtype()).npy;
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
  append(tensor.bytes());
  return out;
}

}  // namespace commensal::io
