// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/trade/pay/ticket/shelf.hpp>
#include <optional>

namespace commensal::ticket {
namespace {

using core::Digest;
using core::ErrorCode;
using core::fail;
using core::Result;

constexpr std::string_view kRows = "tickets";
constexpr std::size_t kRowItemsMax = 256;  // a reader of one item decodes its row

core::Bytes key_of(const Digest& beacon, std::uint64_t round, std::uint64_t row) {
  protocol::Writer key;
  key.raw(beacon);
  key.u64(round);
  key.u64(row);
  return std::move(key).take();
}

/// Count; for each ticket its record and its receipt, empty where there is none.
core::Bytes encode_row(std::span<const Shelf::Item> items) {
  protocol::Writer writer;
  writer.count(items.size());
  for (const Shelf::Item& item : items) {
    writer.bytes(encode(*item.now));
    writer.bytes(item.receipt != nullptr ? protocol::encode(*item.receipt) : core::Bytes{});
  }
  return std::move(writer).take();
}

struct RowItem {
  Record record;
  core::ByteView receipt;
};

Result<std::vector<RowItem>> decode_row(core::ByteView bytes) {
  protocol::Reader reader(bytes, "a row of tickets");
  std::vector<RowItem> items(reader.count(kRowItemsMax));
  for (RowItem& item : items) {
    const core::ByteView record = reader.bytes();
    item.receipt = reader.bytes();
    COMMENSAL_TRY(reader.status());
    COMMENSAL_ASSIGN(item.record, decode_record(record));
  }
  COMMENSAL_TRY(reader.finish());
  return items;
}

}  // namespace

Result<void> Shelf::read_row(core::ByteView key, core::ByteView value,
                             std::map<Digest, Record>& newest) {
  protocol::Reader reader(key, "the name of a row of tickets");
  Round round;
  protocol::read(reader, round.first);
  round.second = reader.u64();
  const Row row = reader.u64();
  COMMENSAL_TRY(reader.finish());
  COMMENSAL_ASSIGN(const auto items, decode_row(value));
  next_ = std::max(next_, row + 1);
  for (const RowItem& item : items) {
    if (Round{item.record.beacon, item.record.body.round} != round) {
      return fail(ErrorCode::kDataLoss, "a ticket's record stands under another round's name");
    }
    const Digest ticket = item.record.id();
    Place& place = places_[ticket];
    place.record = row;
    if (!item.receipt.empty()) place.receipt = row;
    if (!keeps_receipt(item.record.state)) place.receipt = 0;
    newest.insert_or_assign(ticket, item.record);
  }
  rounds_[round].try_emplace(row, 0);
  return {};
}

Result<void> Shelf::open(const std::function<void(const Digest&, const Record&)>& visit) {
  places_.clear();
  rounds_.clear();
  std::map<Digest, Record> newest;
  Result<void> sound;
  // Rows of one round come in the order in which they were written.
  COMMENSAL_TRY(store_.scan(kRows, {}, [&](core::ByteView key, core::ByteView value) {
    sound = read_row(key, value, newest);
    return sound.has_value();
  }));
  if (!sound) return fail(ErrorCode::kDataLoss, "{}", sound.error().message);
  for (const auto& [ticket, record] : newest) {
    Uses& uses = rounds_[{record.beacon, record.body.round}];
    const Place& place = places_.at(ticket);
    ++uses[place.record];
    if (place.receipt != 0) ++uses[place.receipt];
    visit(ticket, record);
  }
  return {};
}

Shelf::Plan Shelf::begin() const { return {.batch = {}, .uses = {}, .places = {}, .next = next_}; }

Shelf::Uses& Shelf::uses(Plan& plan, const Round& round) const {
  const auto [at, is_new] = plan.uses.try_emplace(round);
  if (is_new) {
    if (const auto now = rounds_.find(round); now != rounds_.end()) at->second = now->second;
  }
  return at->second;
}

Result<void> Shelf::add_row(Plan& plan, const Round& round, std::span<const Item> items) const {
  core::Bytes bytes = encode_row(items);
  if (const auto again = decode_row(bytes); !again) {
    return core::in_context("it could not be read back", again.error());
  }
  const Row row = plan.next++;
  Uses& now = uses(plan, round);
  std::size_t& own = now[row];
  for (const Item& item : items) {
    Place place;
    if (const auto before = places_.find(item.ticket); before != places_.end()) {
      place = before->second;
      --now[place.record];
    }
    place.record = row;
    ++own;
    const bool outdated = item.receipt != nullptr || !keeps_receipt(item.now->state);
    if (place.receipt != 0 && outdated) --now[std::exchange(place.receipt, 0)];
    if (item.receipt != nullptr) {
      place.receipt = row;
      ++own;
    }
    plan.places.emplace_back(item.ticket, place);
  }
  plan.batch.push_back(
      {std::string(kRows), key_of(round.first, round.second, row), std::move(bytes)});
  return {};
}

Result<void> Shelf::add(Plan& plan, const std::map<Round, std::vector<Item>>& rounds) const {
  for (const auto& [round, items] : rounds) {
    for (std::size_t at = 0; at < items.size(); at += kRowItemsMax) {
      const std::size_t count = std::min(kRowItemsMax, items.size() - at);
      COMMENSAL_TRY(add_row(plan, round, std::span(items).subspan(at, count)));
    }
  }
  return {};
}

void Shelf::drop_outdated(Plan& plan) const {
  for (auto& [round, uses] : plan.uses) {
    for (auto at = uses.begin(); at != uses.end();) {
      if (at->second > 0) {
        ++at;
        continue;
      }
      plan.batch.push_back(
          {std::string(kRows), key_of(round.first, round.second, at->first), std::nullopt});
      at = uses.erase(at);
    }
  }
}

Result<void> Shelf::apply(Plan plan) {
  drop_outdated(plan);
  COMMENSAL_TRY(store_.apply(plan.batch));
  for (auto& [round, uses] : plan.uses) {
    if (uses.empty()) {
      rounds_.erase(round);
    } else {
      rounds_.insert_or_assign(round, std::move(uses));
    }
  }
  for (const auto& [ticket, place] : plan.places) places_.insert_or_assign(ticket, place);
  next_ = plan.next;
  return {};
}

Result<void> Shelf::write(const std::vector<Item>& items, core::Store::Batch more) {
  std::map<Round, std::vector<Item>> rounds;
  for (const Item& item : items) {
    rounds[{item.now->beacon, item.now->body.round}].push_back(item);
  }
  Plan plan = begin();
  plan.batch = std::move(more);
  COMMENSAL_TRY(add(plan, rounds));
  return apply(std::move(plan));
}

Result<void> Shelf::rewrite(const std::vector<Rest>& rounds) {
  Plan plan = begin();
  std::map<Round, std::vector<Item>> left;
  std::vector<protocol::Receipt> receipts;
  std::size_t count = 0;
  for (const Rest& rest : rounds) count += rest.left.size();
  receipts.reserve(count);  // items point to them
  for (const Rest& rest : rounds) {
    const Round round{rest.beacon, rest.round};
    for (auto& [row, uses] : uses(plan, round)) uses = 0;
    for (Item item : rest.left) {
      if (places_.at(item.ticket).receipt != 0) {
        COMMENSAL_ASSIGN(auto receipt, this->receipt(item.ticket, *item.now));
        item.receipt = &receipts.emplace_back(std::move(receipt));
      }
      left[round].push_back(item);
    }
  }
  // Nothing old counts any more, so that no place is taken back in add_row.
  std::map<Digest, Place> before;
  for (const auto& [round, items] : left) {
    for (const Item& item : items) before.insert(places_.extract(item.ticket));
  }
  auto written = add(plan, left);
  if (written) written = apply(std::move(plan));
  if (!written) {
    places_.merge(before);
    return written;
  }
  for (const Rest& rest : rounds) {
    for (const Digest& ticket : rest.dropped) places_.erase(ticket);
  }
  return {};
}

Result<protocol::Receipt> Shelf::receipt(const Digest& ticket, const Record& record) const {
  const auto place = places_.find(ticket);
  if (place == places_.end() || place->second.receipt == 0) {
    return fail(ErrorCode::kNotFound, "its receipt is not kept");
  }
  COMMENSAL_ASSIGN(const auto bytes, store_.get(kRows, key_of(record.beacon, record.body.round,
                                                              place->second.receipt)));
  if (!bytes) return fail(ErrorCode::kNotFound, "its receipt is missing");
  COMMENSAL_ASSIGN(const auto items, decode_row(*bytes));
  for (const RowItem& item : items) {
    if (item.receipt.empty() || item.record.id() != ticket) continue;
    return protocol::decode<protocol::Receipt>(item.receipt);
  }
  return fail(ErrorCode::kDataLoss, "its receipt is not where it was written");
}

}  // namespace commensal::ticket
