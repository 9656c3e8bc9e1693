// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/protocol/ticket.hpp>
#include <commensal/serve/provider/retention.hpp>

namespace commensal::provider {
namespace {

constexpr std::string_view kOpenings = "openings";
constexpr std::string_view kClaims = "claims";

core::Bytes name_of(const core::Digest& beacon, std::uint64_t round, std::uint64_t number) {
  protocol::Writer key;
  key.raw(beacon);
  key.u64(round);
  key.u64(number);
  return std::move(key).take();
}

core::Digest beacon_of(const receipt::Opening& opening) {
  return opening.job.beacons.empty() ? core::Digest{} : opening.job.beacons[0];
}

std::int64_t bytes_of(const tensor::NamedTensors& tensors) {
  std::int64_t bytes = 0;
  for (const tensor::NamedTensor& item : tensors) bytes += item.value.type().bytes();
  return bytes;
}

}  // namespace

/// Count; for each its receipt and its opening.
core::Bytes Retention::encode_row(const std::vector<Item>& items) {
  protocol::Writer writer;
  writer.count(items.size());
  for (const Item& item : items) {
    writer.raw(item.receipt);
    writer.bytes(item.opening);
  }
  return std::move(writer).take();
}

core::Result<std::vector<Retention::Item>> Retention::decode_row(core::ByteView bytes) {
  protocol::Reader reader(bytes, "a row of openings");
  std::vector<Item> items(reader.count());
  for (Item& item : items) {
    protocol::read(reader, item.receipt);
    const core::ByteView opening = reader.bytes(limits::kStoreValueBytesMax);
    item.opening.assign(opening.begin(), opening.end());
  }
  COMMENSAL_TRY(reader.finish());
  return items;
}

core::Result<void> Retention::read_row(core::ByteView key, core::ByteView value) {
  protocol::Reader reader(key, "the name of a row of openings");
  RowKey name;
  protocol::read(reader, name.beacon);
  name.round = reader.u64();
  name.number = reader.u64();
  COMMENSAL_TRY(reader.finish());
  COMMENSAL_ASSIGN(const auto items, decode_row(value));
  Row& row = rows_[name];
  row.bytes = static_cast<std::int64_t>(value.size());
  disk_bytes_ += row.bytes;
  next_row_ = std::max(next_row_, name.number + 1);
  for (const Item& item : items) {
    row.receipts.push_back(item.receipt);
    places_.insert_or_assign(item.receipt, Place{name, 0});  // a later one has a winner's tensors
  }
  return {};
}

core::Result<void> Retention::open() {
  disk_bytes_ = 0;
  core::Result<void> sound;
  COMMENSAL_TRY(store_.scan(kOpenings, {}, [&](core::ByteView key, core::ByteView value) {
    sound = read_row(key, value);
    return sound.has_value();
  }));
  if (sound) return {};
  return core::fail(core::ErrorCode::kDataLoss, "{}", sound.error().message);
}

/// Whether so much fits in memory, where need be without what waits for no draw.
bool Retention::makes_room(std::int64_t bytes) {
  for (auto held = held_.begin();
       memory_bytes_ + bytes > limits_.memory_bytes_max && held != held_.end();) {
    held = held->second.body.round == protocol::kNoDraw ? let_go(held) : std::next(held);
  }
  return memory_bytes_ + bytes <= limits_.memory_bytes_max;
}

std::map<Retention::Number, Retention::Held>::iterator Retention::let_go(
    std::map<Number, Held>::iterator held) {
  memory_bytes_ -= held->second.bytes;
  return held_.erase(held);
}

core::Result<void> Retention::write(const std::map<RowKey, std::vector<Item>>& rows) {
  core::Store::Batch batch;
  for (const auto& [name, items] : rows) {
    batch.push_back(
        {std::string(kOpenings), name_of(name.beacon, name.round, name.number), encode_row(items)});
  }
  COMMENSAL_TRY(store_.apply(batch));
  std::size_t i = 0;
  for (const auto& [name, items] : rows) {
    Row& row = rows_[name];
    row.bytes = static_cast<std::int64_t>(batch[i++].value->size());
    disk_bytes_ += row.bytes;
    for (const Item& item : items) {
      row.receipts.push_back(item.receipt);
      places_[item.receipt].row = name;
    }
  }
  return {};
}

core::Result<void> Retention::keep(std::vector<Record> records) {
  std::map<RowKey, std::vector<Item>> rows;
  const Number together = next_row_++;
  const Number first = next_held_;
  for (Record& record : records) {
    receipt::Opening& opening = record.opening;
    const core::Digest beacon = beacon_of(opening);
    const core::Digest receipt = protocol::receipt_id(record.body);
    Held held{beacon, record.body, bytes_of(opening.inputs) + bytes_of(opening.outputs), {}, {}};
    RowKey name{beacon, record.body.round, together};
    if (makes_room(held.bytes)) {
      held.inputs = std::exchange(opening.inputs, {});
      held.outputs = std::exchange(opening.outputs, {});
      memory_bytes_ += held.bytes;
      places_[receipt].held = next_held_;
      held_.insert_or_assign(next_held_++, std::move(held));
    } else {
      name.number = next_row_++;  // large enough for a row of its own
    }
    rows[name].push_back({receipt, encode(opening)});
  }
  auto written = write(rows);
  if (written) return written;
  for (auto held = held_.lower_bound(first); held != held_.end();) held = let_go(held);
  for (const Record& record : records) places_.erase(protocol::receipt_id(record.body));
  return written;
}

core::Result<void> Retention::countersigned(std::span<const protocol::Receipt> receipts) {
  core::Store::Batch batch;
  for (const protocol::Receipt& receipt : receipts) {
    if (receipt.round != protocol::kNoDraw) continue;
    const core::Digest id = protocol::receipt_id(receipt.body());
    batch.push_back({std::string(kClaims), {id.begin(), id.end()}, protocol::encode(receipt)});
  }
  return batch.empty() ? core::Result<void>{} : store_.apply(batch);
}

core::Result<void> Retention::drawn(const core::Digest& beacon, std::uint64_t round,
                                    std::span<const core::Digest> winners) {
  for (auto held = held_.begin(); held != held_.end();) {
    const protocol::ReceiptBody& body = held->second.body;
    if (body.round == protocol::kNoDraw || held->second.beacon != beacon || body.round > round) {
      ++held;
      continue;
    }
    if (!winners.empty() && std::ranges::count(winners, protocol::ticket_id(body)) > 0) {
      COMMENSAL_TRY(write_whole(held->second));
    }
    held = let_go(held);
  }
  return forget(beacon, round);
}

/// Rows of the beacon for which nobody may ask any more.
core::Result<void> Retention::forget(const core::Digest& beacon, std::uint64_t round) {
  if (round <= limits_.kept_rounds) return {};
  const auto from = rows_.lower_bound(RowKey{beacon, 1, 0});
  const auto to = rows_.lower_bound(RowKey{beacon, round - limits_.kept_rounds, 0});
  if (from == to) return {};
  core::Store::Batch batch;
  for (auto row = from; row != to; ++row) {
    batch.push_back({std::string(kOpenings),
                     name_of(row->first.beacon, row->first.round, row->first.number),
                     std::nullopt});
  }
  COMMENSAL_TRY(store_.apply(batch));
  for (auto row = from; row != to; ++row) {
    disk_bytes_ -= row->second.bytes;
    for (const core::Digest& receipt : row->second.receipts) places_.erase(receipt);
  }
  rows_.erase(from, to);
  return {};
}

core::Result<std::optional<receipt::Opening>> Retention::opening(const core::Digest& receipt) {
  const auto place = places_.find(receipt);
  if (place == places_.end()) return std::nullopt;
  const RowKey& row = place->second.row;
  COMMENSAL_ASSIGN(const auto bytes,
                   store_.get(kOpenings, name_of(row.beacon, row.round, row.number)));
  if (!bytes) return std::nullopt;
  COMMENSAL_ASSIGN(const auto items, decode_row(*bytes));
  const auto kept = std::ranges::find(items, receipt, &Item::receipt);
  if (kept == items.end()) return std::nullopt;
  COMMENSAL_ASSIGN(auto opening, receipt::decode_opening(kept->opening));
  if (const auto held = held_.find(place->second.held); held != held_.end()) {
    opening.inputs = held->second.inputs;
    opening.outputs = held->second.outputs;
  }
  return opening;
}

core::Result<void> Retention::write_whole(const Held& held) {
  const core::Digest receipt = protocol::receipt_id(held.body);
  COMMENSAL_ASSIGN(const auto whole, opening(receipt));
  if (!whole) return {};
  const RowKey name{held.beacon, held.body.round, next_row_++};
  return write({{name, {{receipt, encode(*whole)}}}});
}

core::Result<std::optional<core::Bytes>> Retention::find(const core::Digest& receipt) {
  COMMENSAL_ASSIGN(const auto found, opening(receipt));
  if (!found) return std::nullopt;
  return encode(*found);
}

}  // namespace commensal::provider
