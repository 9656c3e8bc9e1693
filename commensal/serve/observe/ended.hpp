// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/observe/request_tag.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace commensal::observe {

/// How often a model was run, as a provider says: each run is told of with one of the inferences
/// that it was for.
struct Runs {
  std::uint64_t count = 0;
  std::uint64_t rows = 0;  // of each
  std::int64_t took_ns = 0;
};

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
  // Of the clock that `tag` came by; 0: it did not come so far.
  std::int64_t begun_ns = 0;      // its tensors were read
  std::int64_t offered_ns = 0;    // to its provider, the last one
  std::int64_t committed_ns = 0;  // that has signed what it will answer
  std::uint32_t offers = 0;
  std::optional<Runs> runs = {};  // none: its provider does not say

  /// Of the model, for it: a run that was for others too counts with one of them.
  std::uint64_t executions() const { return runs ? runs->count : 1; }
};

}  // namespace commensal::observe
