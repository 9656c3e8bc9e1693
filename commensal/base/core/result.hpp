// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace commensal::core {

/// Why something was refused. The set follows the canonical gRPC status codes, so that one table
/// (serve) maps it to HTTP and gRPC.
enum class ErrorCode {
  kInvalidArgument,
  kNotFound,
  kAlreadyExists,
  kPermissionDenied,
  kUnauthenticated,
  kFailedPrecondition,
  kResourceExhausted,
  kUnsupported,
  kUnavailable,
  kDeadlineExceeded,
  kDataLoss,
  kCancelled,   // by who asked for it
  kOverBudget,  // it takes more computing than was granted
  kInternal,
};

std::string_view name_of(ErrorCode code);

/// What a user or a caller must handle. `message` is one line that says what was expected.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

/// The face of every room: no exception crosses it.
template <class T = void>
using Result = tl::expected<T, Error>;

template <class... Args>
tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

/// Puts the place in front of a message: "node 'conv1' (Conv): " + message.
inline tl::unexpected<Error> in_context(std::string_view place, Error error) {
  return tl::unexpected<Error>(Error{error.code, fmt::format("{}: {}", place, error.message)});
}

}  // namespace commensal::core

#define COMMENSAL_CONCAT_INNER(a, b) a##b
#define COMMENSAL_CONCAT(a, b) COMMENSAL_CONCAT_INNER(a, b)

/// Returns from the enclosing function with the error of `expression`, if it has one.
#define COMMENSAL_TRY(expression)                                            \
  do {                                                                       \
    auto try_result_ = (expression);                                         \
    if (!try_result_) return tl::unexpected(std::move(try_result_).error()); \
  } while (false)

/// Declares `declaration` from the value of `expression`, or returns with its error.
#define COMMENSAL_ASSIGN(declaration, expression)                                  \
  auto COMMENSAL_CONCAT(assign_, __LINE__) = (expression);                         \
  if (!COMMENSAL_CONCAT(assign_, __LINE__))                                        \
    return tl::unexpected(std::move(COMMENSAL_CONCAT(assign_, __LINE__)).error()); \
  declaration = *std::move(COMMENSAL_CONCAT(assign_, __LINE__))
