// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/trade/pay/ticket/record.hpp>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace commensal::ticket {

/// A book on disk. Tickets move by the batch, so that what one batch says of a round's tickets is
/// one row: a record is the newest row's that has it. A row goes once all it said is outdated, and
/// never otherwise before its whole round is written anew or dropped: what is outdated cannot come
/// back. Receipts stay in the row in which they came, as long as they may be asked for.
/// Thread-safety: one thread, the store's.
class Shelf {
 public:
  struct Item {
    core::Digest ticket{};
    const Record* now = nullptr;
    const protocol::Receipt* receipt = nullptr;  // where it is new
  };

  /// `store` must outlive this object.
  explicit Shelf(core::Store& store) : store_(store) {}

  /// Reads what is there; call once before the rest. Error: kDataLoss.
  core::Result<void> open(const std::function<void(const core::Digest&, const Record&)>& visit);
  /// One atomic batch together with `more`. Errors: the store's; then nothing has changed.
  core::Result<void> write(const std::vector<Item>& items, core::Store::Batch more);
  /// Of one round, what is left of it; the others of its tickets are dropped. All in one batch.
  struct Rest {
    core::Digest beacon{};
    std::uint64_t round = 0;
    std::vector<Item> left;
    std::vector<core::Digest> dropped;
  };
  core::Result<void> rewrite(const std::vector<Rest>& rounds);
  /// Errors: kNotFound, kDataLoss, the store's.
  core::Result<protocol::Receipt> receipt(const core::Digest& ticket, const Record& record) const;

  static bool keeps_receipt(State state) { return state != State::kLost && state != State::kVoid; }

 private:
  using Row = std::uint64_t;  // numbered from 1 as they are written
  using Round = std::pair<core::Digest, std::uint64_t>;
  using Uses = std::map<Row, std::size_t>;  // newest records and receipts that are in it
  struct Place {
    Row record = 0;
    Row receipt = 0;  // 0: none
  };
  /// What a batch is going to change here.
  struct Plan {
    core::Store::Batch batch;
    std::map<Round, Uses> uses;
    std::vector<std::pair<core::Digest, Place>> places;
    Row next = 0;
  };

  Plan begin() const;
  Uses& uses(Plan& plan, const Round& round) const;
  core::Result<void> add_row(Plan& plan, const Round& round, std::span<const Item> items) const;
  core::Result<void> add(Plan& plan, const std::map<Round, std::vector<Item>>& rounds) const;
  void drop_outdated(Plan& plan) const;
  core::Result<void> apply(Plan plan);
  core::Result<void> read_row(core::ByteView key, core::ByteView value,
                              std::map<core::Digest, Record>& newest);

  core::Store& store_;
  std::map<core::Digest, Place> places_;
  std::map<Round, Uses> rounds_;
  Row next_ = 1;
};

}  // namespace commensal::ticket
