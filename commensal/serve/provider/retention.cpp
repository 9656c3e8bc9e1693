// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/protocol/ticket.hpp>
#include <commensal/serve/provider/retention.hpp>

namespace commensal::provider {
namespace {

constexpr std::string_view kOpenings = "openings";  // number | receipt -> opening
constexpr std::string_view kClaims = "claims";

core::Bytes key_of(std::uint64_t number, const core::Digest& receipt) {
  protocol::Writer key;
  key.u64(number);
  key.raw(receipt);
  return std::move(key).take();
}

std::int64_t bytes_of(const tensor::NamedTensors& tensors) {
  std::int64_t bytes = 0;
  for (const tensor::NamedTensor& item : tensors) bytes += item.value.type().bytes();
  return bytes;
}

}  // namespace

core::Result<void> Retention::open() {
  disk_bytes_ = 0;
  bool is_sound = true;
  COMMENSAL_TRY(store_.scan(kOpenings, {}, [&](core::ByteView key, core::ByteView value) {
    protocol::Reader reader(key, "the name of an opening");
    const Number number = reader.u64();
    core::Digest receipt{};
    protocol::read(reader, receipt);
    is_sound = reader.finish().has_value();
    if (!is_sound) return false;
    numbers_.insert_or_assign(receipt, number);
    next_ = number + 1;
    disk_bytes_ += static_cast<std::int64_t>(value.size());
    return true;
  }));
  if (is_sound) return {};
  return core::fail(core::ErrorCode::kDataLoss, "an opening is kept under a name of another form");
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

core::Result<void> Retention::keep(std::vector<Record> records) {
  core::Store::Batch batch;
  std::int64_t bytes = 0;
  Number number = next_;
  for (Record& record : records) {
    verify::Opening& opening = record.opening;
    Held held{record.body, bytes_of(opening.inputs) + bytes_of(opening.outputs), {}, {}};
    if (makes_room(held.bytes)) {
      held.inputs = std::exchange(opening.inputs, {});
      held.outputs = std::exchange(opening.outputs, {});
      memory_bytes_ += held.bytes;
      held_.insert_or_assign(number, std::move(held));
    }
    batch.push_back({std::string(kOpenings), key_of(number, protocol::receipt_id(record.body)),
                     encode(opening)});
    bytes += static_cast<std::int64_t>(batch.back().value->size());
    ++number;
  }
  if (auto written = store_.apply(batch); !written) {
    for (auto held = held_.lower_bound(next_); held != held_.end();) held = let_go(held);
    return written;
  }
  for (const Record& record : records) {
    numbers_.insert_or_assign(protocol::receipt_id(record.body), next_++);
  }
  disk_bytes_ += bytes;
  return {};
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

core::Result<void> Retention::drawn(std::uint64_t round, std::span<const core::Digest> winners) {
  for (auto held = held_.begin(); held != held_.end();) {
    const protocol::ReceiptBody& body = held->second.body;
    if (body.round == protocol::kNoDraw || body.round > round) {
      ++held;
      continue;
    }
    if (!winners.empty() && std::ranges::count(winners, protocol::ticket_id(body)) > 0) {
      COMMENSAL_TRY(write_whole(held->second));
    }
    held = let_go(held);
  }
  return {};
}

core::Result<std::optional<verify::Opening>> Retention::opening(const core::Digest& receipt) {
  const auto number = numbers_.find(receipt);
  if (number == numbers_.end()) return std::nullopt;
  COMMENSAL_ASSIGN(const auto kept, store_.get(kOpenings, key_of(number->second, receipt)));
  if (!kept) return std::nullopt;
  COMMENSAL_ASSIGN(auto opening, verify::decode_opening(*kept));
  if (const auto held = held_.find(number->second); held != held_.end()) {
    opening.inputs = held->second.inputs;
    opening.outputs = held->second.outputs;
  }
  return opening;
}

core::Result<void> Retention::write_whole(const Held& held) {
  const core::Digest receipt = protocol::receipt_id(held.body);
  COMMENSAL_ASSIGN(const auto whole, opening(receipt));
  if (!whole) return {};
  COMMENSAL_TRY(store_.apply(
      {{std::string(kOpenings), key_of(numbers_.at(receipt), receipt), encode(*whole)}}));
  disk_bytes_ += held.bytes;
  return {};
}

core::Result<std::optional<core::Bytes>> Retention::find(const core::Digest& receipt) {
  COMMENSAL_ASSIGN(const auto found, opening(receipt));
  if (!found) return std::nullopt;
  return encode(*found);
}

}  // namespace commensal::provider
