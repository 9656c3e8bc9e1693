// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/protocol/ticket.hpp>
#include <commensal/serve/gateway/numbered_key.hpp>
#include <commensal/serve/gateway/receipt_book.hpp>
#include <commensal/verify/rollout/record.hpp>

namespace commensal::gateway {

namespace {

using core::ErrorCode;

constexpr std::string_view kRecordSpace = "receipts";              // number -> record
constexpr std::string_view kOpeningSpace = "openings";             // number -> opening
constexpr std::string_view kIdSpace = "receipt_ids";               // id -> number
constexpr std::string_view kAccountSpace = "receipts_of_account";  // account, 0, number -> nothing

/// Without a number: what all keys of the account begin with.
core::Bytes account_key(const std::string& account, const core::Bytes& number = {}) {
  core::Bytes key(account.begin(), account.end());
  key.push_back(0);
  key.insert(key.end(), number.begin(), number.end());
  return key;
}

core::Bytes id_key(const core::Digest& id) { return {id.begin(), id.end()}; }

core::Result<void> add_record(const ReceiptRecord& record, core::Store::Batch& batch) {
  const core::Bytes number = newest_first_key(record.number);
  COMMENSAL_ASSIGN(core::Bytes row, protocol::encode_stored(record));
  batch.push_back({std::string(kRecordSpace), number, std::move(row)});
  if (!record.opening.empty()) {
    batch.push_back({std::string(kOpeningSpace), number, record.opening});
  }
  batch.push_back({std::string(kIdSpace), id_key(record.id()), number});
  if (record.receipt.job.traits().is_kept) return {};
  batch.push_back({std::string(kAccountSpace), account_key(record.account, number), core::Bytes()});
  return {};
}

}  // namespace

void ReceiptBook::count(std::uint64_t number, const Added& added) {
  OwnedBy::value_type& owner = *owned_.try_emplace(added.account).first;
  Kept& kept = kept_.add(number, added.kept);
  kept.owner = &owner;
  kept.model = models_.add(added.content, kept.delivered_ms);
  kept.awaits_audit = kept.awaits_draw = false;
  opening_bytes_ += kept.opening_bytes;
  owner.second.numbers.add(number, {});
  owner.second.opening_bytes += kept.opening_bytes;
  if (added.kept.awaits_draw) {
    awaited_draws_[number] = added.draw;
    undecided_[added.draw.ticket] = number;
  }
  change(number, &Kept::awaits_audit, added.kept.awaits_audit);
  change(number, &Kept::awaits_draw, added.kept.awaits_draw);
  if (!kept.is_kept) return;
  rollout_steps_[number] = added.job;
  steps_of_[added.job].insert(number);
}

void ReceiptBook::discount(std::uint64_t number) {
  const Kept& kept = *kept_.find(number);
  change(number, &Kept::awaits_audit, false);
  change(number, &Kept::awaits_draw, false);
  opening_bytes_ -= kept.opening_bytes;
  Owned& owned = kept.owner->second;
  owned.numbers.erase(number);
  owned.opening_bytes -= kept.opening_bytes;
  if (owned.numbers.empty()) owned_.erase(std::string(kept.owner->first));
  if (const auto step = rollout_steps_.extract(number)) {
    const auto steps = steps_of_.find(step.mapped());
    steps->second.erase(number);
    if (steps->second.empty()) steps_of_.erase(steps);
  }
  models_.take(kept.model);
  kept_.erase(number);
}

void ReceiptBook::change(std::uint64_t number, bool Kept::*awaits, bool now) {
  Kept& kept = *kept_.find(number);
  if (std::exchange(kept.*awaits, now) == now) return;
  models_.hold(kept.model, now);
  const bool by_draw = awaits == &Kept::awaits_draw;
  const Draw draw = by_draw ? awaited_draws_.at(number) : Draw();
  Held& its = by_draw ? draws_of_[draw.provider] : kept.owner->second.held;
  for (Held* held : {by_draw ? &draws_ : &audits_, &its}) {
    // Unsigned sums wrap: adding the greatest number takes one away.
    held->count += now ? 1 : ~std::size_t{0};
    held->bytes += now ? kept.opening_bytes : ~kept.opening_bytes + 1;
  }
  if (!by_draw || now) return;
  if (its.count == 0) draws_of_.erase(draw.provider);
  undecided_.erase(draw.ticket);
  awaited_draws_.erase(number);
}

bool ReceiptBook::may_hold_more(const Held& its, const Held& all, std::size_t sharers) const {
  const std::size_t records = std::max(limits_.records_max, std::size_t{1'024});
  // Of one measure: what one holds, what all do, and what may be.
  const auto may_more = [&](auto one, auto sum, auto share, auto half) {
    return one < share && (sum < half || one * sharers < sum);
  };
  return may_more(its.count, all.count, records / 16, records / 2) &&
         may_more(its.bytes, all.bytes, limits_.opening_bytes_max / 4,
                  limits_.opening_bytes_max / 2);
}

core::Result<void> ReceiptBook::admit(const std::string& account) const {
  const auto found = owned_.find(account);
  const Held held = found == owned_.end() ? Held() : found->second.held;
  if (may_hold_more(held, audits_, owned_.size())) return {};
  return core::fail(ErrorCode::kResourceExhausted,
                    "'{}' has {} receipts of {} bytes that await audits: try again later", account,
                    held.count, held.bytes);
}

std::string ReceiptBook::reservation(const crypto::Address& provider) const {
  const auto found = draws_of_.find(provider);
  const Held held = found == draws_of_.end() ? Held() : found->second;
  if (may_hold_more(held, draws_, draws_of_.size())) return "";
  return fmt::format("has {} receipts of {} bytes that await its draws", held.count, held.bytes);
}

ReceiptBook::Added ReceiptBook::added_of(const ReceiptRecord& record) const {
  const bool has_ticket = record.receipt.round != protocol::kNoDraw;
  Added added{.kept = {}, .account = record.account, .content = record.model_content};
  Kept& kept = added.kept;
  kept.opening_bytes = record.opening_bytes;
  kept.delivered_ms = record.delivered_ms;
  kept.awaits_audit = record.awaits_audit();
  kept.is_kept = record.receipt.job.traits().is_kept;
  if (!has_ticket && !kept.is_kept) return added;
  const protocol::ReceiptBody body = record.receipt.body();
  if (kept.is_kept) added.job = body.job_id;
  if (has_ticket) added.draw = {protocol::ticket_id(body), record.receipt.job.provider};
  kept.awaits_draw = has_ticket && is_undecided_ && is_undecided_(added.draw.ticket);
  return added;
}

core::Result<void> ReceiptBook::each(const std::function<void(ReceiptRecord&)>& visit) {
  core::Result<void> status;
  COMMENSAL_TRY(store_.scan(kRecordSpace, {}, [&](core::ByteView, core::ByteView value) {
    auto record = protocol::decode_stored<ReceiptRecord>(value);
    status = record.map(visit);
    return status.has_value();
  }));
  return status;
}

core::Result<void> ReceiptBook::open() {
  return each([&](const ReceiptRecord& record) {
    count(record.number, added_of(record));
    last_number_ = std::max(last_number_, record.number);
  });
}

core::Result<void> ReceiptBook::sweep() {
  return folder_.sweep([this](const core::Digest& receipt) {
    const auto key = store_.get(kIdSpace, receipt);
    return !key || *key;
  });
}

core::Result<void> ReceiptBook::add_removal(std::uint64_t number, Removal& removal) {
  COMMENSAL_ASSIGN(const ReceiptRecord record, read(number));
  core::Store::Batch& batch = removal.batch;
  const core::Bytes key = newest_first_key(number);
  batch.push_back({std::string(kRecordSpace), key, std::nullopt});
  batch.push_back({std::string(kOpeningSpace), key, std::nullopt});
  batch.push_back({std::string(kIdSpace), id_key(record.id()), std::nullopt});
  batch.push_back({std::string(kAccountSpace), account_key(record.account, key), std::nullopt});
  if (record.is_in_file) removal.files.push_back(record.id());
  return {};
}

void ReceiptBook::remove_files(std::vector<core::Digest> files) const {
  if (files.empty()) return;
  const auto remove = [folder = folder_, files = std::move(files)] {
    for (const core::Digest& receipt : files) folder.remove(receipt);
  };
  aside_ ? aside_(remove) : remove();
}

core::Result<void> ReceiptBook::append(std::vector<ReceiptRecord>& records) {
  Removal removal;
  std::map<std::uint64_t, Added> added;
  std::uint64_t number = last_number_;
  for (ReceiptRecord& record : records) {
    record.number = ++number;
    COMMENSAL_TRY(add_record(record, removal.batch));
    added[number] = added_of(record);
  }
  const std::set<std::uint64_t> removed = surplus(added);
  for (const std::uint64_t old : removed) COMMENSAL_TRY(add_removal(old, removal));
  // Numbers are not used again where apply() failed: it may have written all the same.
  last_number_ = number;
  COMMENSAL_TRY(store_.apply(removal.batch));
  remove_files(std::move(removal.files));
  for (const std::uint64_t old : removed) discount(old);
  for (const auto& [key, one] : added) count(key, one);
  return {};
}

core::Result<void> ReceiptBook::drop_steps(const core::Digest& rollout) {
  constexpr std::size_t kPortion = 1024;
  for (auto steps = steps_of_.find(rollout); steps != steps_of_.end();
       steps = steps_of_.find(rollout)) {
    Removal removal;
    std::vector<std::uint64_t> numbers;
    for (const std::uint64_t number : steps->second) {
      if (numbers.size() == kPortion) break;
      COMMENSAL_TRY(add_removal(number, removal));
      numbers.push_back(number);
    }
    COMMENSAL_TRY(store_.apply(removal.batch));
    remove_files(std::move(removal.files));
    for (const std::uint64_t number : numbers) discount(number);
  }
  return {};
}

core::Result<void> ReceiptBook::update(const ReceiptRecord& record) {
  if (!kept_.contains(record.number))
    return core::fail(ErrorCode::kNotFound, "receipt {} is no longer kept",
                      core::to_hex(record.id()));
  COMMENSAL_ASSIGN(core::Bytes row, protocol::encode_stored(record));
  COMMENSAL_TRY(
      store_.apply({{std::string(kRecordSpace), newest_first_key(record.number), std::move(row)}}));
  change(record.number, &Kept::awaits_audit, record.awaits_audit());
  return {};
}

core::Result<ReceiptRecord> ReceiptBook::read(std::uint64_t number) {
  COMMENSAL_ASSIGN(const std::optional<core::Bytes> value,
                   store_.get(kRecordSpace, newest_first_key(number)));
  const ErrorCode missing = kept_.contains(number) ? ErrorCode::kDataLoss : ErrorCode::kNotFound;
  if (!value) return core::fail(missing, "receipt number {} is missing", number);
  return protocol::decode_stored<ReceiptRecord>(*value);
}

bool ReceiptBook::contains(const core::Digest& id) const {
  const auto key = store_.get(kIdSpace, id);
  return key && *key;
}

core::Result<ReceiptRecord> ReceiptBook::find(const core::Digest& id) {
  COMMENSAL_ASSIGN(const std::optional<core::Bytes> key, store_.get(kIdSpace, id));
  if (!key) return core::fail(ErrorCode::kNotFound, "unknown receipt {}", core::to_hex(id));
  return read(number_of_key(*key));
}

core::Result<receipt::Opening> ReceiptBook::opening(const ReceiptRecord& record) {
  if (record.opening_bytes == 0) {
    return rollout::opening_of(store_, protocol::job_id(record.receipt.job), record.receipt.step);
  }
  COMMENSAL_ASSIGN(const core::Bytes bytes, opening_bytes(record));
  return protocol::decode_stored<receipt::Opening>(bytes);
}

core::Result<core::Bytes> ReceiptBook::opening_bytes(const ReceiptRecord& record) {
  if (record.is_in_file) return folder_.read(record.id());
  COMMENSAL_ASSIGN(auto bytes, store_.get(kOpeningSpace, newest_first_key(record.number)));
  if (bytes) return *std::move(bytes);
  return core::fail(ErrorCode::kDataLoss, "the opening of receipt {} is missing",
                    core::to_hex(record.id()));
}

core::Result<std::vector<std::uint64_t>> ReceiptBook::numbers(const std::string& account,
                                                              std::size_t count) {
  std::vector<std::uint64_t> numbers;
  const core::Bytes prefix = account.empty() ? core::Bytes() : account_key(account);
  COMMENSAL_TRY(store_.scan(account.empty() ? kRecordSpace : kAccountSpace, prefix,
                            [&](core::ByteView key, core::ByteView) {
                              const auto number = number_of_key(key.subspan(prefix.size()));
                              if (!rollout_steps_.contains(number)) numbers.push_back(number);
                              return numbers.size() < count;
                            }));
  return numbers;
}

/// Those of all in one pass: at a start they are many, and where the store is elsewhere each that
/// is looked up on its own is a way there and back.
core::Result<std::vector<ReceiptRecord>> ReceiptBook::list(const std::string& account,
                                                           std::size_t count) {
  std::vector<ReceiptRecord> records;
  if (account.empty()) {
    core::Result<void> status;
    COMMENSAL_TRY(store_.scan(kRecordSpace, {}, [&](core::ByteView key, core::ByteView value) {
      if (rollout_steps_.contains(number_of_key(key))) return true;
      auto record = protocol::decode_stored<ReceiptRecord>(value);
      status = record.map([&](ReceiptRecord& one) { records.push_back(std::move(one)); });
      return status.has_value() && records.size() < count;
    }));
    COMMENSAL_TRY(status);
    return records;
  }
  COMMENSAL_ASSIGN(const auto listed, numbers(account, count));
  for (const std::uint64_t number : listed) {
    COMMENSAL_ASSIGN(records.emplace_back(), read(number));
  }
  return records;
}

core::Result<std::vector<ReceiptRecord>> ReceiptBook::select(
    const std::function<bool(const ReceiptRecord&)>& wanted) {
  std::vector<ReceiptRecord> records;
  COMMENSAL_TRY(each([&](ReceiptRecord& record) {
    if (wanted(record)) records.push_back(std::move(record));
  }));
  std::ranges::reverse(records);
  return records;
}

}  // namespace commensal::gateway
