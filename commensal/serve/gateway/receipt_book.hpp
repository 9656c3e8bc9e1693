// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_kept.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/serve/gateway/numbered_rows.hpp>
#include <commensal/serve/gateway/opening_folder.hpp>
#include <commensal/serve/gateway/receipt_record.hpp>
#include <commensal/serve/gateway/receipts_of_models.hpp>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace commensal::gateway {

struct BookLimits {
  std::size_t records_max = limits::kReceiptsMax;
  std::uint64_t opening_bytes_max = limits::kOpeningsBytesMax;  // of all openings together
  std::uint64_t opening_max = limits::kStoreValueBytesMax;      // of one
  std::uint64_t opening_row_max = limits::kOpeningRowBytesMax;  // of one that is no file
  std::uint64_t opening_shown_max = limits::kOpeningShownBytesMax;  // to auditors elsewhere
  std::int64_t age_ms_max = limits::kReceiptAgeMs;
};

/// Receipts of all delivered steps, durable and bounded. With each write go those beyond the age,
/// and beyond the other limits the oldest of the account that has most, those of rollouts first
/// while they are over half: nobody pushes out what others may have to show. None goes of which an
/// audit is awaited or a ticket undecided; of these each account, and each provider, may have a
/// share. Thread-safety: one thread, the store's.
class ReceiptBook {
 public:
  explicit ReceiptBook(core::Store& store, const BookLimits& limits = {},
                       OpeningFolder folder = OpeningFolder())
      : store_(store), limits_(limits), folder_(std::move(folder)) {}

  /// For large openings.
  const OpeningFolder& folder() const { return folder_; }
  /// Who removes large files, which takes long: else they are removed at once.
  void remove_by(std::function<void(std::function<void()>)> aside) { aside_ = std::move(aside); }

  /// Whether a ticket is undecided, so that its receipt may be asked for; set before open(). What
  /// it says yes to counts until on_settled().
  void keep_while(std::function<bool(const core::Digest& ticket)> is_undecided) {
    is_undecided_ = std::move(is_undecided);
  }
  void on_settled(const core::Digest& ticket) {
    const auto found = undecided_.find(ticket);
    if (found != undecided_.end()) change(found->second, &Kept::awaits_draw, false);
  }
  /// Whether an account may get another receipt: not if audits are awaited of more than a sixteenth
  /// of all receipts that may be kept, or a quarter of their openings' bytes; nor, where that is so
  /// of half of all, if it has no fewer of them than others on average. Error: kResourceExhausted.
  core::Result<void> admit(const std::string& account) const;
  /// Why a provider gets no work, or "": the same of those that await draws, which it may withhold.
  std::string reservation(const crypto::Address& provider) const;
  /// Whether a receipt is kept of an answer of this model's file that may be audited or disputed
  /// yet: until it is as old as any, or what is to be decided about it is decided.
  bool needs_model(const core::Digest& content, std::int64_t now_ms) const {
    return models_.is_needed(content, now_ms - limits_.age_ms_max);
  }
  const BookLimits& limits() const { return limits_; }
  /// Reads all records; call once before the rest.
  core::Result<void> open();
  /// Of receipts that are not kept, by remove_by().
  void remove_files(std::vector<core::Digest> receipts) const;
  /// Removes files that no receipt has; after open(), by the gateway alone: one that is being
  /// written has none yet.
  core::Result<void> sweep();
  /// Gives the records their numbers and writes all in one batch. What is_in_file is there already.
  core::Result<void> append(std::vector<ReceiptRecord>& records);
  /// Writes what may change: audit, verdict, replaced_by, report. Error: kNotFound.
  core::Result<void> update(const ReceiptRecord& record);
  /// The receipts of a rollout that is over, in portions.
  core::Result<void> drop_steps(const core::Digest& rollout);
  bool contains(const core::Digest& id) const;
  /// By receipt id, without its opening. Error: kNotFound.
  core::Result<ReceiptRecord> find(const core::Digest& id);
  /// Whether auditors elsewhere may be shown what opens it, which is read on the loop; a step of a
  /// rollout may.
  bool may_be_shown(const ReceiptRecord& record) const {
    return record.opening_bytes <= limits_.opening_shown_max;
  }
  /// What opens it, wherever it lies: a file of any size takes long. Errors: kNotFound (it is no
  /// longer kept), kDataLoss.
  core::Result<receipt::Opening> opening(const ReceiptRecord& record);
  /// The same as it is kept, encoded, where it is kept with the receipt. Errors: as above.
  core::Result<core::Bytes> opening_bytes(const ReceiptRecord& record);
  /// Newest first, at most `count`, which is not 0; of one account, or of all where it is empty.
  /// Without openings, and without the steps of rollouts, which are looked up by their rollout.
  core::Result<std::vector<ReceiptRecord>> list(const std::string& account, std::size_t count);
  /// The same by their numbers, for who reads a few at a time.
  core::Result<std::vector<std::uint64_t>> numbers(const std::string& account, std::size_t count);
  /// Error: kNotFound (it has been forgotten meanwhile).
  core::Result<ReceiptRecord> read(std::uint64_t number);
  /// All records for which `wanted` holds, oldest first. Without openings.
  core::Result<std::vector<ReceiptRecord>> select(
      const std::function<bool(const ReceiptRecord&)>& wanted);

 private:
  /// What cannot go: for an audit or for a draw.
  struct Held {
    std::size_t count = 0;
    std::uint64_t bytes = 0;  // of openings
  };
  struct Nothing {};
  /// What an account has here.
  struct Owned {
    NumberedRows<Nothing> numbers;
    std::uint64_t opening_bytes = 0;
    Held held;  // for audits
  };
  using OwnedBy = std::map<std::string, Owned>;  // account, what it has: not nothing
  /// What trimming needs to know of a record without reading it. There are as many as receipts:
  /// what few have is kept apart.
  struct Kept {
    std::uint64_t opening_bytes = 0;
    std::int64_t delivered_ms = 0;
    OwnedBy::value_type* owner = nullptr;
    bool awaits_audit = false;
    bool awaits_draw = false;
    bool is_kept = false;
    std::uint32_t model = 0;  // of models_: where there was room for it
    bool is_held() const { return awaits_audit || awaits_draw; }
  };
  /// Of a record whose ticket is undecided.
  struct Draw {
    core::Digest ticket{};
    crypto::Address provider{};
  };
  /// Of a record that is added.
  struct Added {
    Kept kept;
    std::string account;
    Draw draw = {};
    core::Digest job{};  // of a step of a rollout
    core::Digest content{};
  };
  class Trim;
  /// In the order of their keys: newest first.
  core::Result<void> each(const std::function<void(ReceiptRecord&)>& visit);
  Added added_of(const ReceiptRecord& record) const;
  void discount(std::uint64_t number);
  bool may_hold_more(const Held& its, const Held& all, std::size_t sharers) const;
  /// Changes what a record waits for.
  void change(std::uint64_t number, bool Kept::*awaits, bool now);
  void count(std::uint64_t number, const Added& added);

  /// The numbers that have to go to make room for what is added.
  std::set<std::uint64_t> surplus(const std::map<std::uint64_t, Added>& added) const;
  /// A batch of removals, and what it removes of the folder.
  struct Removal {
    core::Store::Batch batch;
    std::vector<core::Digest> files = {};
  };
  core::Result<void> add_removal(std::uint64_t number, Removal& removal);

  core::Store& store_;
  BookLimits limits_;
  OpeningFolder folder_;
  std::function<void(std::function<void()>)> aside_;
  std::uint64_t last_number_ = 0;
  NumberedRows<Kept> kept_;
  std::uint64_t opening_bytes_ = 0;
  OwnedBy owned_;
  std::map<std::uint64_t, core::Digest> rollout_steps_;       // of whose rollouts, by number
  std::map<core::Digest, std::set<std::uint64_t>> steps_of_;  // the same by rollout
  std::map<std::uint64_t, Draw> awaited_draws_;               // by number
  std::map<core::Digest, std::uint64_t> undecided_;           // the same numbers by ticket
  ReceiptsOfModels models_;
  std::map<crypto::Address, Held> draws_of_;  // by provider, none is empty
  Held audits_, draws_;                       // of all
  std::function<bool(const core::Digest&)> is_undecided_;
};

}  // namespace commensal::gateway
