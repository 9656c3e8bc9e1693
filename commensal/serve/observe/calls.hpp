// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/observe/request_tag.hpp>
#include <string_view>

namespace commensal::observe {

/// What a call is labelled with that none of the tables has.
inline constexpr std::string_view kNoRoute = "none";

/// A call over HTTP that was answered. The texts are of a table of routes: they stay, and are few.
struct HttpCall {
  const RequestTag& tag;
  std::string_view method;
  std::string_view route;
  int status = 0;
};

/// A call over gRPC that is over, likewise; a stream is one.
struct GrpcCall {
  const RequestTag& tag;
  std::string_view method;
  int code = 0;  // grpc::StatusCode
};

}  // namespace commensal::observe
