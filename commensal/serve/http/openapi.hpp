// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/http/api.hpp>
#include <string>

namespace commensal::http {

/// All routes, as an OpenAPI 3.1 document in JSON. Made once. Thread-safety: any thread.
const std::string& openapi_document();

std::span<const Route> openapi_routes();

}  // namespace commensal::http
