// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/serve/gateway/hub.hpp>
#include <commensal/serve/rpc/stream.hpp>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace commensal::gateway {

/// That a provider was given a model's file, and has not said since that it is gone.
struct Holder {
  static constexpr std::string_view kRecord = "holder of a model";

  std::string model;  // "owner/model" that it was given as; "": it was deleted before
  std::uint32_t version = 0;
  bool is_private = false;
  std::int64_t since_ms = 0;
  std::int64_t used_ms = 0;    // when it was given work of it last, or a little before
  std::int64_t asked_ms = 0;   // to let go of it; 0: it is not
  std::uint64_t until_ms = 0;  // so long it keeps the file yet, as it says; 0: it has not said

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("model", self.model);
    archive.field("version", self.version);
    archive.field("is_private", self.is_private);
    archive.field("since_ms", self.since_ms);
    archive.field("used_ms", self.used_ms);
    archive.field("asked_ms", self.asked_ms);
    archive.field("until_ms", self.until_ms);
  }
};

/// Which providers have which models, as far as this gateway has given them, connected or not.
/// Durable when a call returns, but for when a model was used last. Beyond limits::kHoldersMax
/// those are forgotten that were never used, then those of the owner of models with most of the
/// others: public ones first, then those that were used longest ago. Errors: the store's.
/// Thread-safety: one thread, the store's.
class Holders {
 public:
  struct Key {
    crypto::Address provider;
    core::Digest content{};
    auto operator<=>(const Key&) const = default;
  };
  struct Row {
    Holder holder;
    std::int64_t written_ms = 0;              // the used_ms that is on disk
    rpc::GatewayPort::StreamId asked_on = 0;  // the stream that it was asked on last
    std::uint32_t unanswered = 0;             // there
  };

  /// All of them outlive this object.
  Holders(core::Store& store, const core::Clock& clock, ModelHub& hub)
      : store_(store), clock_(clock), hub_(hub) {}

  /// Call once before the rest. Error: kDataLoss.
  core::Result<void> open();
  /// It is about to be given the file, or work of it: before that can be fetched. Whatever it was
  /// asked to before.
  core::Result<void> note(const Key& key);
  /// It says that it has the file, which somebody gave it before anybody noted that. Where it is
  /// noted nothing changes; else, as anybody may say so, it counts as never used, but for a private
  /// model that this provider may have.
  core::Result<void> claim(const Key& key);
  /// It is asked to let go of it, on this stream.
  core::Result<void> ask(const Key& key, rpc::GatewayPort::StreamId stream);
  /// Its answer. True: it has let go of it.
  core::Result<bool> on_released(const Key& key, std::uint64_t until_ms);

  const Row* find(const Key& key) const;
  const std::map<Key, Row>& rows() const { return rows_; }
  /// Which providers have this file; null: none.
  const std::set<crypto::Address>* who_has(const core::Digest& content) const;
  /// Shows an account's models' rows behind `after`, in their order, until `see` returns false; "":
  /// all rows.
  using See = std::function<bool(const Key&, const Holder&)>;
  void visit(const std::string& owner, const Key& after, const See& see) const;

 private:
  core::Result<void> add(const Key& key, bool is_used);
  core::Result<void> put(const Key& key, Row row);
  void keep(const Key& key, Row row);
  void forget(const Key& key);
  std::vector<Key> choose_surplus() const;
  core::Result<void> make_room();

  core::Store& store_;
  const core::Clock& clock_;
  ModelHub& hub_;
  std::map<Key, Row> rows_;
  // Of rows_, by content and by the owner of the model.
  std::map<core::Digest, std::set<crypto::Address>> by_content_;
  std::map<std::string, std::set<Key>> by_owner_;
};

}  // namespace commensal::gateway
