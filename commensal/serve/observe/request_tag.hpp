// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace commensal::observe {

/// What a request is called in answers, logs and traces. Hexadecimal digits, but for a client's id.
struct RequestTag {
  std::string id = {};         // the client's, or 32 random digits
  std::string trace_id = {};   // 32 digits, the client's or random
  std::string parent_id = {};  // 16, the client's span; "": none
  std::string span_id = {};    // 16, ours
  bool is_sampled = true;      // false: its trace is not recorded
  std::int64_t since_ns = 0;   // when it came, of a monotonic clock
};

/// Of a client's header fields, "" where it sent none. An id that is no [A-Za-z0-9._-]{1,128} is
/// passed over, and so is a traceparent that is none of version 00 (W3C Trace Context, section
/// 3.2). Any thread that `rng` allows.
RequestTag tag_of(std::string_view request_id, std::string_view traceparent, core::Rng& rng);

}  // namespace commensal::observe
