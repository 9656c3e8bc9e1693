// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/compute/tensor/elements.hpp>
#include <commensal/serve/http/json_cursor.hpp>
#include <commensal/serve/http/json_elements.hpp>
#include <commensal/serve/http/oip.hpp>
#include <commensal/serve/oip/privacy.hpp>
#include <set>

namespace commensal::http {

namespace {

using core::ErrorCode;
using tensor::Tensor;
using tensor::TensorType;

/// One member of "inputs" before its elements are read: members come in any order.
struct InputText {
  std::string name;
  std::string datatype;
  std::optional<tensor::Shape> shape;
  std::string_view data;
  std::optional<std::int64_t> binary_bytes;
  std::optional<oip::Place> place;
};

/// Unknown ones are ignored, as the protocol asks, but for what is meant to keep inputs private.
core::Result<void> pass_over(JsonCursor& cursor, std::string_view name) {
  COMMENSAL_TRY(oip::check_unread(name));
  COMMENSAL_TRY(cursor.value());
  return {};
}

template <class Take>
core::Result<void> read_parameters(JsonCursor& cursor, Take take) {
  return cursor.object([&](std::string_view key) -> core::Result<void> {
    COMMENSAL_ASSIGN(const bool taken, take(key));
    return taken ? core::Result<void>() : pass_over(cursor, key);
  });
}

/// Whether the parameter says where elements lie in shared memory.
core::Result<bool> read_place(JsonCursor& cursor, std::string_view name,
                              std::optional<oip::Place>& place) {
  if (!name.starts_with("shared_memory_")) return false;
  if (!place) place.emplace();
  if (name == "shared_memory_region") {
    COMMENSAL_ASSIGN(place->region, cursor.string());
  } else if (name == "shared_memory_offset") {
    COMMENSAL_ASSIGN(place->offset, cursor.integer());
  } else if (name == "shared_memory_byte_size") {
    COMMENSAL_ASSIGN(place->bytes, cursor.integer());
  } else {
    return false;
  }
  return true;
}

core::Result<tensor::Shape> read_shape(JsonCursor& cursor) {
  std::vector<std::int64_t> dims;
  COMMENSAL_TRY(cursor.array([&]() -> core::Result<void> {
    COMMENSAL_ASSIGN(const std::int64_t dim, cursor.integer());
    if (dims.size() >= limits::kRankMax)
      return cursor.fail(fmt::format("at most {} dimensions", limits::kRankMax));
    dims.push_back(dim);
    return {};
  }));
  return tensor::Shape::of(dims);
}

core::Result<void> read_members(JsonCursor& cursor, InputText& input) {
  return cursor.object([&](std::string_view key) -> core::Result<void> {
    if (key == "name") {
      COMMENSAL_ASSIGN(input.name, cursor.string());
    } else if (key == "datatype") {
      COMMENSAL_ASSIGN(input.datatype, cursor.string());
    } else if (key == "shape") {
      COMMENSAL_ASSIGN(input.shape, read_shape(cursor));
    } else if (key == "data") {
      COMMENSAL_ASSIGN(input.data, cursor.unchecked_value());
    } else if (key == "parameters") {
      return read_parameters(cursor, [&](std::string_view name) -> core::Result<bool> {
        COMMENSAL_ASSIGN(const bool is_place, read_place(cursor, name, input.place));
        if (is_place) return true;
        if (name != "binary_data_size") return false;
        COMMENSAL_ASSIGN(input.binary_bytes, cursor.integer());
        return true;
      });
    } else {
      return pass_over(cursor, key);
    }
    return {};
  });
}

core::Result<InputText> read_input(JsonCursor& cursor) {
  InputText input;
  core::Result<void> members = read_members(cursor, input);
  if (!members && !input.name.empty())
    return core::in_context(fmt::format("input '{}'", input.name), std::move(members).error());
  COMMENSAL_TRY(members);
  if (input.name.empty())
    return core::fail(ErrorCode::kInvalidArgument, "an input needs a \"name\"");
  return input;
}

core::Result<RequestedOutput> read_output(JsonCursor& cursor) {
  RequestedOutput output;
  COMMENSAL_TRY(cursor.object([&](std::string_view key) -> core::Result<void> {
    if (key == "name") {
      COMMENSAL_ASSIGN(output.name, cursor.string());
    } else if (key == "parameters") {
      return read_parameters(cursor, [&](std::string_view name) -> core::Result<bool> {
        COMMENSAL_ASSIGN(const bool is_place, read_place(cursor, name, output.place));
        if (is_place) return true;
        if (name == "binary_data") {
          COMMENSAL_ASSIGN(output.binary, cursor.boolean());
        } else if (name == "classification") {
          COMMENSAL_ASSIGN(output.classes, cursor.integer());
        }
        return name == "binary_data" || name == "classification";
      });
    } else {
      return pass_over(cursor, key);
    }
    return {};
  }));
  if (output.name.empty())
    return core::fail(ErrorCode::kInvalidArgument, "an output needs a \"name\"");
  return output;
}

/// Appends what `read` makes of each item; `what` names them in errors.
template <class T, class Read>
core::Result<void> read_list(JsonCursor& cursor, std::vector<T>& out, std::string_view what,
                             Read read) {
  std::set<std::string, std::less<>> names;
  return cursor.array([&]() -> core::Result<void> {
    COMMENSAL_ASSIGN(T item, read(cursor));
    if (!names.insert(item.name).second)
      return core::fail(ErrorCode::kInvalidArgument, "{} '{}' is there twice", what, item.name);
    if (out.size() >= limits::kInferTensorsMax)
      return core::fail(ErrorCode::kInvalidArgument, "a request has at most {} {}s",
                        limits::kInferTensorsMax, what);
    out.push_back(std::move(item));
    return {};
  });
}

/// A text, or a whole number of 64 bits with a sign or without; 0 and "" say that it is of none.
core::Result<std::string> read_sequence_id(JsonCursor& cursor) {
  std::string id;
  if (cursor.at_string()) {
    COMMENSAL_ASSIGN(id, cursor.string());
  } else {
    COMMENSAL_ASSIGN(const std::string_view text, cursor.value());
    std::int64_t whole = 0;
    std::uint64_t natural = 0;
    const auto is_all = [&](const auto& read) {
      return read.ec == std::errc() && read.ptr == text.data() + text.size();
    };
    const char* const end = text.data() + text.size();
    if (is_all(std::from_chars(text.data(), end, natural))) {
      id = std::to_string(natural);
    } else if (is_all(std::from_chars(text.data(), end, whole))) {
      id = std::to_string(whole);
    } else {
      return cursor.fail("expected a text or a whole number of 64 bits as sequence_id");
    }
  }
  return id == "0" ? "" : id;
}

/// Whether the parameter says of which sequence the request is.
core::Result<bool> read_sequence(JsonCursor& cursor, std::string_view name,
                                 oip::Sequence& sequence) {
  if (name == "sequence_start") {
    COMMENSAL_ASSIGN(sequence.is_start, cursor.boolean());
  } else if (name == "sequence_end") {
    COMMENSAL_ASSIGN(sequence.is_end, cursor.boolean());
  } else if (name == "sequence_id") {
    COMMENSAL_ASSIGN(sequence.id, read_sequence_id(cursor));
  } else {
    return false;
  }
  return true;
}

/// A whole number from 0 on.
core::Result<std::int64_t> read_count(JsonCursor& cursor, std::string_view name,
                                      std::string_view what) {
  COMMENSAL_ASSIGN(const std::int64_t count, cursor.integer());
  if (count >= 0) return count;
  return core::fail(ErrorCode::kInvalidArgument, "the parameter '{}' is {}: expected {}, 0 or more",
                    name, count, what);
}

core::Result<std::vector<InputText>> read_head(std::string_view json, InferBody& body) {
  std::vector<InputText> inputs;
  JsonCursor cursor(json);
  COMMENSAL_TRY(cursor.object([&](std::string_view key) -> core::Result<void> {
    if (key == "id") {
      COMMENSAL_ASSIGN(body.id, cursor.string());
    } else if (key == "inputs") {
      return read_list(cursor, inputs, "input", read_input);
    } else if (key == "outputs") {
      return read_list(cursor, body.outputs, "output", read_output);
    } else if (key == "parameters") {
      return read_parameters(cursor, [&](std::string_view name) -> core::Result<bool> {
        COMMENSAL_ASSIGN(const bool is_of_sequence, read_sequence(cursor, name, body.sequence));
        if (is_of_sequence) return true;
        if (name == "timeout") {
          COMMENSAL_ASSIGN(body.timeout_us, read_count(cursor, name, "microseconds"));
          return true;
        }
        if (name == "priority") {
          COMMENSAL_ASSIGN(const std::int64_t level, read_count(cursor, name, "a level"));
          body.priority = static_cast<std::uint64_t>(level);
          return true;
        }
        if (name == oip::kPrivacyClass) {
          COMMENSAL_ASSIGN(const std::string text, cursor.string());
          COMMENSAL_ASSIGN(body.privacy_class, oip::read_privacy_class(text));
          return true;
        }
        if (name == "commensal_draw_commitment") {
          COMMENSAL_ASSIGN(const std::string text, cursor.string());
          COMMENSAL_ASSIGN(body.draw_commitment, core::digest_from_hex(text));
          return true;
        }
        if (name != "binary_data_output") return false;
        COMMENSAL_ASSIGN(body.binary_outputs, cursor.boolean());
        return true;
      });
    } else {
      return pass_over(cursor, key);
    }
    return {};
  }));
  COMMENSAL_TRY(cursor.end());
  return inputs;
}

core::Result<TensorType> type_of(const InputText& input) {
  const auto dtype = tensor::dtype_from_oip(input.datatype);
  if (!dtype)
    return core::fail(ErrorCode::kInvalidArgument, "the datatype '{}' is not supported",
                      input.datatype);
  if (!input.shape) return core::fail(ErrorCode::kInvalidArgument, "\"shape\" is missing");
  return TensorType{*dtype, *input.shape};
}

/// The tensor of `input`, out of its JSON or out of the front of `binary`, which it shortens.
core::Result<Tensor> read_tensor(const InputText& input, core::ByteView& binary) {
  COMMENSAL_ASSIGN(const TensorType type, type_of(input));
  if (input.data.empty() == !input.binary_bytes.has_value())
    return core::fail(ErrorCode::kInvalidArgument,
                      "one of \"data\" and the parameter \"binary_data_size\" is needed");
  if (!input.binary_bytes) return read_json_elements(input.data, type);
  if (*input.binary_bytes < 0 || std::cmp_less(binary.size(), *input.binary_bytes))
    return core::fail(ErrorCode::kInvalidArgument,
                      "{} bytes of binary data are left in the body, binary_data_size says {}",
                      binary.size(), *input.binary_bytes);
  const auto size = static_cast<std::size_t>(*input.binary_bytes);
  COMMENSAL_ASSIGN(Tensor tensor, tensor::decoded_copy(type, binary.first(size)));
  binary = binary.subspan(size);
  return tensor;
}

core::Result<std::size_t> read_json_bytes(const std::string& text, std::size_t body_bytes) {
  std::size_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value == 0 || value > body_bytes)
    return core::fail(ErrorCode::kInvalidArgument,
                      "Inference-Header-Content-Length is '{}': expected 1 to {}, the size of the "
                      "body",
                      text.substr(0, 32), body_bytes);
  return value;
}

}  // namespace

core::Result<SplitBody> split_body(core::ByteView body,
                                   const std::optional<std::string>& json_bytes) {
  std::size_t json_size = body.size();
  if (json_bytes) {
    COMMENSAL_ASSIGN(json_size, read_json_bytes(*json_bytes, body.size()));
  }
  if (std::cmp_greater(json_size, limits::kHttpJsonBytesMax)) {
    return core::fail(ErrorCode::kInvalidArgument,
                      "{} bytes of JSON, at most {} are read: send tensors as binary data",
                      json_size, limits::kHttpJsonBytesMax);
  }
  return SplitBody{core::as_text(body.first(json_size)), body.subspan(json_size)};
}

core::Result<InferBody> read_infer_body(core::ByteView body,
                                        const std::optional<std::string>& json_bytes) {
  InferBody request;
  if (json_bytes == "0") {
    request.raw = std::make_shared<const core::Bytes>(body.begin(), body.end());
    request.binary_outputs = true;
    return request;
  }
  COMMENSAL_ASSIGN(const SplitBody parts, split_body(body, json_bytes));
  COMMENSAL_ASSIGN(const std::vector<InputText> inputs, read_head(parts.json, request));
  core::ByteView binary = parts.binary;
  for (const InputText& input : inputs) {
    if (input.place) {
      auto type = type_of(input);
      if (!type)
        return core::in_context(fmt::format("input '{}'", input.name), std::move(type).error());
      request.placed.push_back({input.name, *type, *input.place});
      continue;
    }
    auto tensor = read_tensor(input, binary);
    if (!tensor)
      return core::in_context(fmt::format("input '{}'", input.name), std::move(tensor).error());
    request.inputs.push_back({input.name, *std::move(tensor)});
  }
  if (!binary.empty())
    return core::fail(ErrorCode::kInvalidArgument,
                      "{} bytes follow the last binary input of the body", binary.size());
  return request;
}

}  // namespace commensal::http
