// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/gateway/testing/dispatcher_fixture.hpp>
#include <deque>

namespace commensal::gateway::testing {

/// Providers that compute one job after the other, each for so long, and first fetch a model that
/// they do not have; what they have no room for any more goes, oldest first. They fetch ahead what
/// they are told to, beside that, into the room that is left.
class CrowdOf : public DispatcherOf {
 protected:
  static constexpr std::int64_t kComputeMs = 20, kFetchMs = 2'000;
  static constexpr std::int64_t kBytes = kFetchMs * 4'096;  // of every model

  class Member final : public rpc::ProviderStream {
   public:
    Member(CrowdOf& crowd, std::size_t room)
        : key(crypto::SecretKey::generate(crowd.rng_)), crowd_(crowd), room_(room) {}
    void send(rpc::ToProvider message) override {
      std::visit([this](auto& word) { hear(word); }, message);
    }
    void close() override { is_closed = true; }
    void say_load() {
      rpc::Load load{free_ms_ > crowd_.now_ms() ? 1u : 0u, {models.begin(), models.end()}};
      if (crowd_.knows_prefetch_) load.room_bytes = (room_ - models.size()) * kBytes;
      crowd_.roster_.on_load(stream, load, crowd_.now_ms());
    }

    crypto::SecretKey key;
    Roster::StreamId stream = 0;
    core::Digest nonce{};
    std::deque<core::Digest> models;  // the newest last
    int fetches = 0, prefetches = 0;
    bool is_closed = false;
    bool is_deaf = false;  // to what it should fetch ahead

   private:
    void hear(auto&) {}
    void hear(rpc::Challenge& word) { nonce = word.nonce; }
    void hear(rpc::Offer& offer) {
      const std::int64_t now_ms = crowd_.now_ms();
      free_ms_ = std::max(free_ms_, now_ms);
      if (std::ranges::find(models, offer.model) == models.end() &&
          fetching_.insert(offer.model).second) {
        ++fetches;
        free_ms_ += kFetchMs;
        crowd_.loop_.after(free_ms_ - now_ms, [this, model = offer.model] { has(model); });
      }
      free_ms_ += kComputeMs;
      crowd_.loop_.after(free_ms_ - now_ms, [this, offer] { crowd_.commit_to(*this, offer); });
      offers_[protocol::job_id(offer.job)] = offer.inputs;
    }
    void hear(rpc::Countersign& word) {
      for (const auto& item : word.items) {
        crowd_.loop_.post([this, job = item.job] {
          crowd_.steps_.on_deliver(stream, {job, 1, kSalt, offers_.extract(job).mapped()});
        });
      }
    }
    void hear(rpc::Prefetch& word) {
      EXPECT_LE(word.bytes, (room_ - models.size()) * kBytes) << "it was told of no such room";
      ++prefetches;
      if (is_deaf) return;
      fetching_.insert(word.model);
      crowd_.loop_.after(kFetchMs, [this, model = word.model] {
        if (models.size() < room_) has(model);
      });
    }
    void has(const core::Digest& model) {
      fetching_.erase(model);
      if (std::ranges::find(models, model) != models.end()) return;
      models.push_back(model);
      if (models.size() > room_) models.pop_front();
      say_load();
    }

    CrowdOf& crowd_;
    const std::size_t room_;
    std::int64_t free_ms_ = 0;
    std::set<core::Digest> fetching_;
    std::map<core::Digest, tensor::NamedTensors> offers_;
  };

  void SetUp() override {
    DispatcherOf::SetUp();
    roster_.leave(stream_);  // none of these
  }
  std::int64_t now_ms() const { return clock_.monotonic_ns() / 1'000'000; }
  /// One that has answered before, with room for so many models.
  Member& add(std::size_t room, bool has_answered = true) {
    auto member = std::make_shared<Member>(*this, room);
    member->stream = roster_.admit(member);
    say_hello(member->stream, member->key, member->nonce, rpc::kVersion);
    if (has_answered) roster_.at(member->stream)->health.on_answer(1);
    member->say_load();
    return *members_.emplace_back(std::move(member));
  }
  void commit_to(Member& member, const rpc::Offer& offer) {
    const core::Digest id = protocol::job_id(offer.job);
    const core::Digest c = protocol::commit_step(id, 1, receipt::state_root(offer.inputs), kSalt);
    const protocol::ReceiptBody body{id, 1, c, protocol::kNoDraw};
    const auto signatures = protocol::sign_batch(member.key, protocol::Role::kProvider, {&body, 1});
    rpc::Commit word;
    word.items.push_back({id, 1, c, body.round, signatures[0]});
    steps_.on_commit(member.stream, word);
  }
  /// Requests for so long, evenly spread but for their turn within the time of each; the times they
  /// took come into took_ms_.
  void ask_for(std::int64_t ms, double per_s) {
    double due = 0;
    for (std::int64_t at = 0; at < ms; ++at) {
      due += per_s / 1'000;
      for (; due >= 1; --due) {
        ask();
        asked_ms_[static_cast<OrderId>(asked_)] = now_ms();
      }
      pass_ms();
    }
  }
  void pass_ms() {
    for (const auto& member : members_) {
      if (Roster::Peer* const peer = roster_.at(member->stream)) peer->at_work_ms = now_ms();
    }
    loop_.advance_ms(1);
    for (; counted_ < made_.size(); ++counted_)
      took_ms_.push_back(now_ms() - asked_ms_.at(made_[counted_]->order));
  }
  void end_all() {
    for (int i = 0; i < 60'000 && took_ms_.size() < static_cast<std::size_t>(asked_); ++i)
      pass_ms();
    EXPECT_EQ(took_ms_.size(), static_cast<std::size_t>(asked_));
  }
  std::int64_t percentile(double share) {
    std::ranges::sort(took_ms_);
    return took_ms_.at(static_cast<std::size_t>(share * static_cast<double>(took_ms_.size() - 1)));
  }
  int fetches() const {
    int all = 0;
    for (const auto& member : members_) all += member->fetches;
    return all;
  }
  int prefetches() const {
    int all = 0;
    for (const auto& member : members_) all += member->prefetches;
    return all;
  }

  bool knows_prefetch_ = true;  // who comes from now on
  std::vector<std::shared_ptr<Member>> members_, gone_;
  std::map<OrderId, std::int64_t> asked_ms_;
  std::vector<std::int64_t> took_ms_;
  std::size_t counted_ = 0;
};

}  // namespace commensal::gateway::testing
