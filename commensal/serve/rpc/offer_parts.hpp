// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <cstdint>
#include <string>
#include <vector>

/// What an offer may say besides its job (messages.hpp).
namespace commensal::rpc {

/// With how many others of its model a job shall be computed at once, where that changes no bit,
/// and how long it may wait for them.
struct Batching {
  std::uint32_t wait_us = 0;
  std::uint32_t rows_max = 0;            // of all of them together
  std::vector<std::uint32_t> preferred;  // numbers of rows that wait for no more; rising

  /// With as many as there are, and without waiting: as if nothing were said.
  static Batching any() { return {.rows_max = 0xffffffff, .preferred = {}}; }
  bool operator==(const Batching&) const = default;
  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("wait_us", self.wait_us);
    archive.field("rows_max", self.rows_max);
    archive.field("preferred", self.preferred);
  }
  core::Result<void> validity() const;
};
/// What its consumer's request is called at the gateway: for logs, and nothing else.
struct RequestName {
  std::string id;
  std::string trace_id;  // of W3C's traceparent

  bool operator==(const RequestName&) const = default;
  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("id", self.id);
    archive.field("trace_id", self.trace_id);
  }
  core::Result<void> validity() const;
};

}  // namespace commensal::rpc
