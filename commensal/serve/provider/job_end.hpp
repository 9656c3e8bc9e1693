// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace commensal::provider {

/// How a step of a job ended at a provider, for its log.
struct JobEnd {
  std::int64_t wall_ms = 0;
  core::Digest job{};
  core::Digest model{};  // zeros: it was not offered
  std::uint64_t step = 0;
  std::string request_id = {};  // as its gateway calls it; "": it does not say
  std::string trace_id = {};
  std::string_view outcome = {};  // "delivered", "refused", "withdrawn", "lost" (with the stream)
  std::string why = {};           // it was refused
  std::int64_t took_ns = 0;       // since it was asked for
  std::int64_t computed_ns = 0;   // of the run of the model
  std::size_t tasks = 0;          // which that run was for
  std::uint64_t rows = 0;         // of all of them
};

}  // namespace commensal::provider
