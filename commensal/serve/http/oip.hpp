// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <commensal/compute/tensor/named.hpp>
#include <commensal/serve/oip/infer.hpp>
#include <optional>
#include <string>
#include <vector>

/// Bodies of the Open Inference Protocol, REST form, with the binary tensor extension: pure
/// functions between bytes and tensors. Source: KServe, "Open Inference Protocol (V2)", and
/// Triton's "Binary Tensor Data Extension".
namespace commensal::http {

using oip::InferBody;
using oip::RequestedOutput;

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
/// parts in the order of their inputs; 0: all of it is the only input. Absent: the body is JSON.
/// Elements are copied out of `body`.
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
  std::string privacy_class = {};  // "": of none
};

struct EncodedAnswer {
  std::string text;                       // JSON, then the binary parts
  std::optional<std::size_t> json_bytes;  // present where there are binary parts
};

/// An output as far as it is known before it is computed.
struct OutputPort {
  std::string name;
  std::optional<tensor::TensorType> type;  // absent: a dimension is free
};

/// Of an answer as it is written. At most limits::kHttpJsonBytesMax of it may be JSON.
struct AnswerBytes {
  std::int64_t json = 0;
  std::int64_t binary = 0;
  std::int64_t sum() const { return json + binary; }
};
/// Error: kInvalidArgument (more JSON than may be, and the way out).
core::Result<void> check_json(const AnswerBytes& bytes);

// Of the outputs that `request` names, or all. Error: kInvalidArgument (a name that the model does
// not have).

/// So many at least, whatever is computed.
core::Result<AnswerBytes> answer_bytes_min(const std::vector<OutputPort>& outputs,
                                           const InferBody& request);
/// So many at most, by the outputs' types.
core::Result<AnswerBytes> answer_bytes_max(const InferAnswer& answer, const InferBody& request);
/// At most a few hundred bytes more than are written, unless that is more JSON than may be. Takes
/// as long as writing it.
core::Result<AnswerBytes> answer_bytes(const InferAnswer& answer, const InferBody& request);

/// `bytes`: of answer_bytes_max() or answer_bytes(). Room for so many is taken at once, and no
/// more.
core::Result<EncodedAnswer> write_infer_answer(const InferAnswer& answer, const InferBody& request,
                                               const AnswerBytes& bytes);

/// `text` in quotes, escaped; bytes that are not UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);

}  // namespace commensal::http
