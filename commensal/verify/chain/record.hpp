// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/verify/chain/link.hpp>

namespace commensal::chain {

// What either party keeps of a chain, and in which rows of its store.

/// Everything that both parties know before link 1.
struct ChainRecord {
  protocol::Job job;
  core::Digest input_salt{};
  tensor::NamedTensors inputs;
};

/// How far a link has got: one party's own view (verify/receipt/step.hpp has the whole order).
enum class LinkPhase : std::uint8_t { kCommitted, kCountersigned, kDelivered };
std::span<const std::string_view> enum_names(LinkPhase);

struct LinkRecord {
  std::uint64_t step = 0;
  LinkPhase phase = LinkPhase::kCommitted;
  core::Digest value{};  // of the noise chain
  Signed body;           // the client's signature from kCountersigned on
  core::Digest output_salt{};
  tensor::NamedTensors outputs;  // of the provider always, of the client once they are delivered
};

core::Bytes encode(const ChainRecord& record);
core::Bytes encode(const LinkRecord& record);
/// Error: kInvalidArgument, naming the field.
core::Result<ChainRecord> decode_chain_record(core::ByteView bytes);
core::Result<LinkRecord> decode_link_record(core::ByteView bytes);

/// The chains that a store holds, the oldest first. Errors: the store's, kDataLoss.
core::Result<std::vector<core::Digest>> chains_by_age(core::Store& store);

/// "chain.job": J -> ChainRecord; "chain.link": J | i -> LinkRecord; "chain.last": J -> i;
/// "chain.age": ~n -> J and "chain.number": J -> n, chains as they were made.
/// Thread-safety: the store's.
class ChainRows {
 public:
  /// `store` must outlive this object.
  ChainRows(core::Store& store, const core::Digest& job_id) : store_(store), job_id_(job_id) {}

  core::Result<void> put(const ChainRecord& record);
  /// Durable when it returns.
  core::Result<void> put(const LinkRecord& record);
  /// Whether the chain is in the store.
  core::Result<bool> is_there();
  /// Errors: kNotFound, kDataLoss.
  core::Result<ChainRecord> chain();
  core::Result<LinkRecord> link(std::uint64_t step);
  /// 0 before the first.
  core::Result<std::uint64_t> last();
  /// All of it: links in portions, then the rest in one batch with `more`.
  core::Result<void> erase(core::Store::Batch more);

 private:
  core::Store& store_;
  core::Digest job_id_;
};

}  // namespace commensal::chain
