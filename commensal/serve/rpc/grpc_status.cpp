// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/serve/rpc/grpc_status.hpp>

namespace commensal::rpc {
namespace {

namespace wire = ::commensal::v1;
using core::ErrorCode;

struct CodeRow {
  ErrorCode code;
  wire::ErrorCode on_wire;
};
constexpr CodeRow kCodes[] = {
    {ErrorCode::kInvalidArgument, wire::ERROR_CODE_INVALID_ARGUMENT},
    {ErrorCode::kNotFound, wire::ERROR_CODE_NOT_FOUND},
    {ErrorCode::kAlreadyExists, wire::ERROR_CODE_ALREADY_EXISTS},
    {ErrorCode::kPermissionDenied, wire::ERROR_CODE_PERMISSION_DENIED},
    {ErrorCode::kUnauthenticated, wire::ERROR_CODE_UNAUTHENTICATED},
    {ErrorCode::kFailedPrecondition, wire::ERROR_CODE_FAILED_PRECONDITION},
    {ErrorCode::kResourceExhausted, wire::ERROR_CODE_RESOURCE_EXHAUSTED},
    {ErrorCode::kUnsupported, wire::ERROR_CODE_UNSUPPORTED},
    {ErrorCode::kUnavailable, wire::ERROR_CODE_UNAVAILABLE},
    {ErrorCode::kDeadlineExceeded, wire::ERROR_CODE_DEADLINE_EXCEEDED},
    {ErrorCode::kDataLoss, wire::ERROR_CODE_DATA_LOSS},
    {ErrorCode::kInternal, wire::ERROR_CODE_INTERNAL},
};

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

wire::ErrorCode code_to_wire(ErrorCode code) {
  return std::find_if(std::begin(kCodes), std::end(kCodes),
                      [code](const CodeRow& row) { return row.code == code; })
      ->on_wire;
}

std::optional<ErrorCode> code_from_wire(int code) {
  for (const CodeRow& row : kCodes) {
    if (static_cast<int>(row.on_wire) == code) return row.code;
  }
  return std::nullopt;
}

std::string one_line(std::string_view text) {
  std::size_t size = std::min(text.size(), limits::kRpcErrorTextBytesMax);
  while (size < text.size() && size > 0 && (text[size] & 0xc0) == 0x80) --size;
  std::string line(text.substr(0, size));
  std::replace_if(line.begin(), line.end(), is_control, ' ');
  if (!protocol::is_utf8(line)) {
    std::replace_if(
        line.begin(), line.end(), [](char c) { return (c & 0x80) != 0; }, '?');
  }
  return line;
}

grpc::Status to_status(const core::Error& error) {
  return {static_cast<grpc::StatusCode>(code_to_wire(error.code)), one_line(error.message)};
}

core::Error from_status(const grpc::Status& status) {
  ErrorCode code = code_from_wire(status.error_code()).value_or(ErrorCode::kInternal);
  if (status.error_code() == grpc::StatusCode::CANCELLED) code = ErrorCode::kUnavailable;
  return {code, one_line(status.error_message())};
}

}  // namespace commensal::rpc
