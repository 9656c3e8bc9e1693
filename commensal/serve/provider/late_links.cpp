// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits_chains.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/serve/provider/late_links.hpp>

namespace commensal::provider {

using core::ErrorCode;
using core::Result;

namespace {

constexpr std::string_view kSpace = "late_links";  // gateway -> count

core::Bytes key_of(const crypto::Address& gateway) {
  return {gateway.bytes.begin(), gateway.bytes.end()};
}

}  // namespace

Result<LateLinks::Count> LateLinks::of(const crypto::Address& gateway) const {
  COMMENSAL_ASSIGN(const auto value, store_.get(kSpace, key_of(gateway)));
  if (!value) return Count{};
  protocol::Reader reader(*value, "late links");
  Count count{reader.u64(), reader.u64()};
  if (auto read = reader.finish(); !read) {
    return core::fail(ErrorCode::kDataLoss, "{}", read.error().message);
  }
  return count;
}

Result<void> LateLinks::put(const crypto::Address& gateway, const Count& count) {
  protocol::Writer writer;
  writer.u64(count.late);
  writer.u64(count.in_time);
  return store_.apply({{std::string(kSpace), key_of(gateway), std::move(writer).take()}});
}

Result<void> LateLinks::add(const crypto::Address& gateway, std::uint64_t most) {
  COMMENSAL_ASSIGN(Count count, of(gateway));
  if (count.late >= most) {
    return core::fail(ErrorCode::kFailedPrecondition,
                      "signed too late for its ticket, as {} links before it, at most {} are "
                      "computed for nothing: {} links with tickets make up for one",
                      count.late, most, limits::kLinksPerLate);
  }
  ++count.late;
  return put(gateway, count);
}

Result<void> LateLinks::in_time(const crypto::Address& gateway) {
  COMMENSAL_ASSIGN(Count count, of(gateway));
  if (count.late == 0) return {};
  if (++count.in_time == limits::kLinksPerLate) count = {count.late - 1, 0};
  return put(gateway, count);
}

}  // namespace commensal::provider
