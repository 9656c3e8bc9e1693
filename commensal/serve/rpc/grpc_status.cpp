// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/serve/rpc/peer.hpp>
#include <commensal/serve/rpc/grpc_status.hpp>

namespace commensal::rpc {
namespace {

using core::ErrorCode;
using grpc::StatusCode;

struct CodeRow {
  ErrorCode ours;
  StatusCode theirs;
};
constexpr CodeRow kCodes[] = {
    {ErrorCode::kInvalidArgument, StatusCode::INVALID_ARGUMENT},
    {ErrorCode::kNotFound, StatusCode::NOT_FOUND},
    {ErrorCode::kAlreadyExists, StatusCode::ALREADY_EXISTS},
    {ErrorCode::kPermissionDenied, StatusCode::PERMISSION_DENIED},
    {ErrorCode::kUnauthenticated, StatusCode::UNAUTHENTICATED},
    {ErrorCode::kFailedPrecondition, StatusCode::FAILED_PRECONDITION},
    {ErrorCode::kResourceExhausted, StatusCode::RESOURCE_EXHAUSTED},
    {ErrorCode::kUnsupported, StatusCode::UNIMPLEMENTED},
    {ErrorCode::kUnavailable, StatusCode::UNAVAILABLE},
    {ErrorCode::kDeadlineExceeded, StatusCode::DEADLINE_EXCEEDED},
    {ErrorCode::kDataLoss, StatusCode::DATA_LOSS},
    {ErrorCode::kCancelled, StatusCode::ABORTED},
    {ErrorCode::kOverBudget, StatusCode::OUT_OF_RANGE},
    {ErrorCode::kInternal, StatusCode::INTERNAL},
    {ErrorCode::kUnavailable, StatusCode::CANCELLED},
};

/// What gRPC says when it cannot connect, and the same for people.
struct Wording {
  std::string_view theirs;
  std::string_view ours;
};
constexpr std::string_view kIsHttp =
    "it speaks HTTP: expected the port for providers, not that for consumers";
constexpr Wording kWordings[] = {
    {"http1.x server", kIsHttp},
    {"missing selected ALPN", kIsHttp},  // over TLS
    {"Connection refused", "nobody listens there"},
    {"DNS resolution failed", "the name of the host is not known"},
    {"wrong version number", "that port does not speak TLS: --plain, or it is another one"},
    {"failed to connect to all addresses", "it cannot be reached"},
    {"Cancelling all calls", "it has ended"},
    {"Socket closed", "it has ended"},
    {"End of TCP stream", "it has ended"},
    {"GOAWAY", "it has ended"},
    {"Connection reset", "the connection broke"},
    {"Broken pipe", "the connection broke"},
    {"Stream removed", "the connection broke"},
    {"RST_STREAM", "the connection broke"},
    {"keepalive", "it has not answered for a while"},
    {"Deadline Exceeded", "no answer in time"},
};

std::string plain_words(const grpc::Status& status) {
  const std::string& said = status.error_message();
  const auto says = [&said](std::string_view part) { return said.find(part) != said.npos; };
  if (says("failed to connect") && says("Socket closed")) {
    return "it hung up before a word was said: does that port speak TLS (--tls)?";
  }
  for (const Wording& row : kWordings) {
    if (says(row.theirs)) return std::string(row.ours);
  }
  if (status.error_code() == StatusCode::CANCELLED) return "it has ended";  // never said by us
  return protocol::one_line(said);
}

}  // namespace

int status_code(ErrorCode code) {
  return std::find_if(std::begin(kCodes), std::end(kCodes),
                      [code](const CodeRow& one) { return one.ours == code; })
      ->theirs;
}

grpc::Status to_status(const core::Error& error) {
  return {static_cast<StatusCode>(status_code(error.code)), protocol::one_line(error.message)};
}

core::Error from_status(const grpc::Status& status) {
  const auto* row =
      std::find_if(std::begin(kCodes), std::end(kCodes),
                   [&status](const CodeRow& one) { return one.theirs == status.error_code(); });
  return {row == std::end(kCodes) ? ErrorCode::kInternal : row->ours, plain_words(status)};
}

}  // namespace commensal::rpc
