// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <commensal/compute/tensor/named.hpp>
#include <optional>
#include <string>
#include <vector>

/// Bodies of the Open Inference Protocol, REST form, with the binary tensor extension: pure
/// functions between bytes and tensors. Source: KServe, "Open Inference Protocol (V2)", and
/// Triton's "Binary Tensor Data Extension".
namespace commensal::http {

struct RequestedOutput {
  std::string name;
  std::optional<bool> binary;  // absent: as the request says for all
};

struct InferBody {
  std::string id;
  tensor::NamedTensors inputs;
  std::vector<RequestedOutput> outputs;  // empty: all
  bool binary_outputs = false;
};

/// A body in its two parts: the first holds JSON.
struct SplitBody {
  std::string_view json;
  core::ByteView binary;
};
/// `json_bytes` is the Inference-Header-Content-Length; absent: all of the body is JSON.
/// Error: kInvalidArgument, also where the JSON is larger than limits::kHttpJsonBytesMax.
core::Result<SplitBody> split_body(core::ByteView body,
                                   const std::optional<std::string>& json_bytes);

/// `json_bytes` is the Inference-Header-Content-Length: so many bytes of JSON, then the binary
/// parts in the order of their inputs. Absent: the body is JSON. Elements are copied out of `body`.
/// Error: kInvalidArgument, one line.
core::Result<InferBody> read_infer_body(core::ByteView body,
                                        const std::optional<std::string>& json_bytes);

struct InferAnswer {
  std::string model;
  std::uint32_t version = 0;
  std::string id;        // of the request, or ""
  std::string receipt;   // hexadecimal
  std::string provider;  // "0x..."
  tensor::NamedTensors outputs;
};

struct EncodedAnswer {
  std::string text;                       // JSON, then the binary parts
  std::optional<std::size_t> json_bytes;  // present where there are binary parts
};

/// write_infer_answer() writes so many bytes at most. Errors: as there.
core::Result<std::int64_t> answer_bytes_max(const InferAnswer& answer, const InferBody& request);

/// Writes the outputs that `request` names, or all. Error: kInvalidArgument (a name that the model
/// does not have, or JSON that may be longer than limits::kHttpJsonBytesMax).
core::Result<EncodedAnswer> write_infer_answer(const InferAnswer& answer, const InferBody& request);

/// `text` in quotes, escaped; bytes that are not UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);

}  // namespace commensal::http
