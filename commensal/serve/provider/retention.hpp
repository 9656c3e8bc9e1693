// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/base/protocol/receipt.hpp>
#include <commensal/trade/pay/ticket/book.hpp>
#include <commensal/verify/receipt/opening.hpp>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace commensal::provider {

/// What the provider must be able to show: for each commitment its opening, and the client's
/// signature once it is there.
///
/// What nobody else knows (job and salts) is on disk before the commitment is sent. Tensors are
/// many times larger, and the client has them too: they stay in memory until the ticket is drawn,
/// which most tickets lose; a winner's go to disk together with the draw. What does not fit in
/// memory is written at once; at the limit of the disk the provider stops accepting work
/// (room_for). What is kept together is one row on disk, and goes `kept_rounds` after its draw,
/// when nobody may ask for it any more; claims without a draw stay. After a crash the openings of
/// tickets that were not drawn have no tensors: the client's own stand for them (docs/protocol.md,
/// "Audit"). Thread-safety: one thread, the store's.
class Retention {
 public:
  struct Limits {
    std::int64_t disk_bytes_max = 0;
    std::int64_t memory_bytes_max = 0;
    std::uint64_t kept_rounds = ticket::Deadlines().kept_rounds;
  };
  struct Record {
    protocol::ReceiptBody body;
    receipt::Opening opening;
  };

  Retention(core::Store& store, const Limits& limits) : store_(store), limits_(limits) {}

  /// Adds up what is there; call once before the rest. Error: kDataLoss.
  core::Result<void> open();
  bool room_for(std::int64_t bytes) const { return disk_bytes_ + bytes <= limits_.disk_bytes_max; }
  /// Durable when it returns, but for tensors; all or nothing.
  core::Result<void> keep(std::vector<Record> records);
  /// Countersigned receipts that take part in no draw: the provider's claims. Those of tickets are
  /// in the book of tickets. Durable when it returns.
  core::Result<void> countersigned(std::span<const protocol::Receipt> receipts);
  /// All rounds of the beacon up to this one are drawn, and these tickets have won. Durable when it
  /// returns.
  core::Result<void> drawn(const core::Digest& beacon, std::uint64_t round,
                           std::span<const core::Digest> winners);
  /// receipt::Opening, encoded; without tensors where a crash has taken them.
  core::Result<std::optional<core::Bytes>> find(const core::Digest& receipt);

 private:
  using Number = std::uint64_t;
  /// Rows of a beacon are numbered by round, then in the order in which they were written.
  struct RowKey {
    core::Digest beacon{};  // zero where there is no draw
    std::uint64_t round = protocol::kNoDraw;
    Number number = 0;
    auto operator<=>(const RowKey&) const = default;
  };
  struct Row {
    std::vector<core::Digest> receipts;
    std::int64_t bytes = 0;
  };
  struct Item {
    core::Digest receipt{};
    core::Bytes opening;
  };
  /// The tensors of an opening.
  struct Held {
    core::Digest beacon{};
    protocol::ReceiptBody body;
    std::int64_t bytes = 0;
    tensor::NamedTensors inputs;
    tensor::NamedTensors outputs;
  };
  struct Place {
    RowKey row;
    Number held = 0;
  };

  static core::Bytes encode_row(const std::vector<Item>& items);
  static core::Result<std::vector<Item>> decode_row(core::ByteView bytes);
  core::Result<void> read_row(core::ByteView key, core::ByteView value);
  bool makes_room(std::int64_t bytes);
  std::map<Number, Held>::iterator let_go(std::map<Number, Held>::iterator held);
  core::Result<void> write(const std::map<RowKey, std::vector<Item>>& rows);
  core::Result<void> forget(const core::Digest& beacon, std::uint64_t round);
  core::Result<std::optional<receipt::Opening>> opening(const core::Digest& receipt);
  core::Result<void> write_whole(const Held& held);

  core::Store& store_;
  const Limits limits_;
  std::int64_t disk_bytes_ = 0;
  std::int64_t memory_bytes_ = 0;
  Number next_row_ = 1;
  Number next_held_ = 1;
  std::map<RowKey, Row> rows_;
  std::map<core::Digest, Place> places_;  // by receipt
  std::map<Number, Held> held_;
};

}  // namespace commensal::provider
