// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/observe/request_tag.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace commensal::observe {

/// One inference that has ended.
struct Ended {
  bool is_success = false;
  std::int64_t wall_ms = 0;
  std::uint64_t rows = 1;        // of its batch
  std::int64_t queued_ns = 0;    // until it was the account's turn on the gateway's loop
  std::int64_t inferred_ns = 0;  // behind that: a provider's queue, its work, the receipt
  RequestTag tag = {};
  std::string account = {};
  std::string model = {};        // "owner/model"; "": there is none that the account may see
  std::uint32_t version = 0;     // 0 likewise
  std::string_view code = "ok";  // or core::name_of its error
  std::uint64_t bytes_in = 0;    // of its inputs' elements
  std::uint64_t bytes_out = 0;   // of its outputs'
  std::string receipt = {};      // "": none
  std::string provider = {};
};

}  // namespace commensal::observe
