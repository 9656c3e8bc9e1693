// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/graph/onnx/wire.hpp>

namespace commensal::graph::onnx {
namespace {

using core::ByteView;
using core::ErrorCode;
using core::fail;
using core::Result;

constexpr std::uint32_t kLengthDelimited = 2;

// The messages that contain messages.
enum Message : std::uint8_t {
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kSparse,
  kValueInfo,
  kType,
  kTensorType,
  kElementType,
  kMapType,
  kShape,
  kDimension,
  kTraining,
  kFunction,
  kAnnotation,
  kPlain,
  kLeaf,
};

struct Child {
  Message parent;
  std::uint32_t number;
  Message child;
};

constexpr Child kChildren[] = {
    {kModel, 7, kGraph},       {kModel, 8, kPlain},       {kModel, 14, kPlain},
    {kModel, 20, kTraining},   {kModel, 25, kFunction},   {kGraph, 1, kNode},
    {kGraph, 5, kTensor},      {kGraph, 11, kValueInfo},  {kGraph, 12, kValueInfo},
    {kGraph, 13, kValueInfo},  {kGraph, 14, kAnnotation}, {kGraph, 15, kSparse},
    {kNode, 5, kAttribute},    {kAttribute, 5, kTensor},  {kAttribute, 6, kGraph},
    {kAttribute, 10, kTensor}, {kAttribute, 11, kGraph},  {kAttribute, 14, kType},
    {kAttribute, 15, kType},   {kAttribute, 22, kSparse}, {kAttribute, 23, kSparse},
    {kTensor, 3, kPlain},      {kTensor, 13, kPlain},     {kSparse, 1, kTensor},
    {kSparse, 2, kTensor},     {kValueInfo, 2, kType},    {kType, 1, kTensorType},
    {kType, 4, kElementType},  {kType, 5, kMapType},      {kType, 8, kTensorType},
    {kType, 9, kElementType},  {kTensorType, 2, kShape},  {kElementType, 1, kType},
    {kMapType, 2, kType},      {kShape, 1, kDimension},   {kTraining, 1, kGraph},
    {kTraining, 2, kGraph},    {kTraining, 3, kPlain},    {kTraining, 4, kPlain},
    {kFunction, 7, kNode},     {kFunction, 9, kPlain},    {kAnnotation, 2, kPlain},
};

Message child_of(Message parent, std::uint32_t number) {
  for (const Child& row : kChildren) {
    if (row.parent == parent && row.number == number) return row.child;
  }
  return kLeaf;
}

struct Field {
  std::uint32_t number = 0;
  std::uint32_t wire = 0;
  ByteView whole;    // tag included
  ByteView payload;  // of a length-delimited field
};

class Reader {
 public:
  explicit Reader(ByteView bytes) : bytes_(bytes) {}
  bool done() const { return at_ == bytes_.size(); }

  Result<Field> next() {
    const std::size_t begin = at_;
    COMMENSAL_ASSIGN(const std::uint64_t tag, varint());
    Field field;
    field.number = static_cast<std::uint32_t>(tag >> 3);
    field.wire = static_cast<std::uint32_t>(tag & 7);
    if (tag >> 32 != 0 || field.number == 0) return malformed("a field without a number");
    COMMENSAL_TRY(skip_value(field));
    field.whole = bytes_.subspan(begin, at_ - begin);
    return field;
  }

 private:
  static tl::unexpected<core::Error> malformed(std::string_view what) {
    return fail(ErrorCode::kInvalidArgument, "not an ONNX model: {}", what);
  }

  Result<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (done()) return malformed("it ends in the middle of a field");
      const std::uint8_t byte = bytes_[at_++];
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return malformed("an integer of more than 64 bits");
  }

  Result<void> skip_value(Field& field) {
    std::uint64_t size = 0;
    switch (field.wire) {
      case 0:
        COMMENSAL_TRY(varint());
        return {};
      case 1:
        size = 8;
        break;
      case 5:
        size = 4;
        break;
      case kLengthDelimited: {
        COMMENSAL_ASSIGN(size, varint());
        break;
      }
      default:
        return malformed("a field of unknown kind");
    }
    if (size > bytes_.size() - at_) return malformed("it ends in the middle of a field");
    field.payload = bytes_.subspan(at_, size);
    at_ += size;
    return {};
  }

  ByteView bytes_;
  std::size_t at_ = 0;
};

Result<void> check_nesting(ByteView model) {
  struct Level {
    Message message;
    Reader reader;
  };
  std::vector<Level> stack = {{kModel, Reader(model)}};
  std::int64_t fields = 0;
  while (!stack.empty()) {
    if (stack.back().reader.done()) {
      stack.pop_back();
      continue;
    }
    COMMENSAL_ASSIGN(const Field field, stack.back().reader.next());
    if (field.wire != kLengthDelimited) continue;
    if (++fields > limits::kModelFieldsMax) {
      return fail(ErrorCode::kResourceExhausted, "the model has more than {} fields",
                  limits::kModelFieldsMax);
    }
    const Message child = child_of(stack.back().message, field.number);
    if (child == kLeaf) continue;
    if (stack.size() == limits::kModelDepthMax) {
      return fail(ErrorCode::kInvalidArgument, "the model is nested deeper than {} levels",
                  limits::kModelDepthMax);
    }
    stack.push_back({child, Reader(field.payload)});
  }
  return {};
}

void append(core::Bytes& out, ByteView bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

void append_message(core::Bytes& out, std::uint32_t number, ByteView payload) {
  const auto varint = [&out](std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::uint8_t>(value | 0x80));
    out.push_back(static_cast<std::uint8_t>(value));
  };
  varint(number << 3 | kLengthDelimited);
  varint(payload.size());
  append(out, payload);
}

// The three levels model, graph and tensor are copied field by field; all else as it is.
Result<core::Bytes> strip_tensor(ByteView tensor, std::optional<ByteView>& raw) {
  core::Bytes out;
  for (Reader reader(tensor); !reader.done();) {
    COMMENSAL_ASSIGN(const Field field, reader.next());
    if (field.number != 9 || field.wire != kLengthDelimited) {
      append(out, field.whole);
      continue;
    }
    if (raw) return fail(ErrorCode::kInvalidArgument, "an initialiser has raw_data twice");
    raw = field.payload;
    append_message(out, 9, field.payload.first(std::min<std::size_t>(field.payload.size(), 1)));
  }
  return out;
}

Result<core::Bytes> strip_graph(ByteView graph, std::vector<std::optional<ByteView>>& raw) {
  core::Bytes out;
  for (Reader reader(graph); !reader.done();) {
    COMMENSAL_ASSIGN(const Field field, reader.next());
    if (field.number != 5 || field.wire != kLengthDelimited) {
      append(out, field.whole);
      continue;
    }
    COMMENSAL_ASSIGN(const core::Bytes tensor, strip_tensor(field.payload, raw.emplace_back()));
    append_message(out, 5, tensor);
  }
  return out;
}

/// A model's first byte is 8, as a rule, which is in no text.
bool is_text(ByteView bytes) {
  constexpr std::size_t kLookedAt = 256;
  return std::ranges::all_of(bytes.first(std::min(bytes.size(), kLookedAt)), [](std::uint8_t c) {
    return (c >= 0x20 && c != 0x7f) || (c >= '\t' && c <= '\r');
  });
}

/// What was downloaded in a model's place: a page that says why not, a pointer to it, an archive.
Result<void> refuse_others(ByteView bytes) {
  const std::string_view text = core::as_text(bytes);
  if (text.starts_with("PK\x03\x04")) {
    return fail(ErrorCode::kInvalidArgument,
                "not an ONNX model: it is a ZIP archive (unpack it; if PyTorch saved it, "
                "torch.onnx.export makes a model)");
  }
  if (text.starts_with("\x1f\x8b"))
    return fail(ErrorCode::kInvalidArgument, "not an ONNX model: it is compressed by gzip");
  if (!is_text(bytes)) return {};
  const bool is_pointer = core::as_text(bytes).starts_with("version https://git-lfs.github.com/");
  return fail(ErrorCode::kInvalidArgument, "not an ONNX model: it is {}",
              is_pointer ? "a Git LFS pointer (git lfs pull fetches the file)" : "text");
}

}  // namespace

Result<Stripped> strip(ByteView model) {
  if (model.empty()) return fail(ErrorCode::kInvalidArgument, "not an ONNX model: it is empty");
  if (auto nested = check_nesting(model); !nested) {
    COMMENSAL_TRY(refuse_others(model));
    return tl::unexpected(std::move(nested).error());
  }
  Stripped stripped;
  bool seen = false;
  for (Reader reader(model); !reader.done();) {
    COMMENSAL_ASSIGN(const Field field, reader.next());
    if (field.number != 7 || field.wire != kLengthDelimited) {
      append(stripped.model, field.whole);
      continue;
    }
    if (seen) return fail(ErrorCode::kInvalidArgument, "the model has two graphs");
    seen = true;
    COMMENSAL_ASSIGN(const core::Bytes graph, strip_graph(field.payload, stripped.raw));
    append_message(stripped.model, 7, graph);
  }
  if (!seen) return fail(ErrorCode::kInvalidArgument, "not an ONNX model: it has no graph");
  return stripped;
}

}  // namespace commensal::graph::onnx
