// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/serve/gateway/ban_list.hpp>
#include <commensal/serve/gateway/health.hpp>
#include <commensal/serve/gateway/hub.hpp>
#include <commensal/serve/gateway/measured.hpp>
#include <commensal/serve/gateway/privacy.hpp>
#include <commensal/serve/gateway/scheduler.hpp>
#include <commensal/serve/rpc/stream.hpp>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>

namespace commensal::gateway {

/// The providers: who is connected under which key, what each has cached and queued, and who is
/// banned (durable).
/// Thread-safety: one thread, may_fetch excepted.
class Roster {
 public:
  using StreamId = rpc::GatewayPort::StreamId;

  struct Peer {
    crypto::Address address;
    std::string name;
    std::shared_ptr<rpc::ProviderStream> stream;  // null: not connected
    StreamId stream_id = 0;
    bool knows_batching = false;                  // as rpc::knows_batching() says
    bool knows_requests = false;                  // likewise
    bool knows_release = false;                   // likewise
    std::string banned;                           // why, or ""
    std::string paused;                           // why, or ""
    std::optional<rpc::HostSeen> host{};          // beside it, as it says; none: it says nothing
    std::uint64_t pauses = 0;                     // so far: no silence is counted through one
    std::optional<std::uint64_t> blamed_pause{};  // the last one for which work of it was moved
    Pausing pausing;
    std::set<core::Digest> cached;
    std::optional<std::uint64_t> room_bytes{};  // for more, as it says; none: it fetches none ahead
    std::optional<PrivacyClasses> privacy{};    // none: it may show its statements yet
    bool has_shown = false;                     // on this stream: each costs signatures' checks
    std::uint32_t in_flight = 0;                // tasks of this gateway
    std::int64_t busy_since_ms = 0;  // where there are any: it began with them, or answered one
    std::int64_t at_work_ms = 0;     // when it said last that it is at work (monotonic)
    std::uint64_t served = 0;        // answers
    std::uint64_t last_turn = 0;     // the number of the job that it got last
    Health health;
    Speeds speeds;
    Link link;
    struct Refusals {
      std::uint64_t count = 0;
      std::string why;           // the last one
      std::uint64_t served = 0;  // ... before it
    };
    Refusals refusals;            // in a row, unless it has served more since; everybody reads them
    std::set<core::Digest> warm;  // models that it has answered on this stream

    /// It has not done a job of a model that everybody may see; `why`, where it said that it will
    /// not, the request is not what is wrong, and its inputs are for everybody.
    void on_refusal(const std::string& why);
  };

  Roster(core::Store& store, core::Rng& rng, const crypto::SecretKey& key, const core::Clock& clock)
      : bans_(store, clock), rng_(rng), key_(key), clock_(clock) {}
  /// Whom to hear though it is banned: it has to answer for what it did.
  void hear_if(std::function<bool(const crypto::Address&)> must_answer) {
    must_answer_ = std::move(must_answer);
  }
  /// Hears of each banned provider that has proved its key on this stream, and reads rpc::Release,
  /// before it is refused.
  void on_turned_away(std::function<void(const crypto::Address&, StreamId)> turned_away) {
    turned_away_ = std::move(turned_away);
  }
  /// Reads the bans; call once before the rest. Error: kDataLoss.
  core::Result<void> open();
  /// At a start, after open(): who has given so many of the answers that receipts still tell of. It
  /// is no newcomer.
  void remember(const crypto::Address& provider, std::uint64_t answers);

  /// At a start, after open(): these were connected to this gateway's predecessor, and are about to
  /// dial in again: candidates() says that they may come, until end_expecting().
  void expect(const std::vector<crypto::Address>& providers);
  void end_expecting();

  /// A stream has opened: challenges it. Until its hello it is a stranger's. Beyond
  /// limits::kStrangersPerAddressMax the oldest stranger from there makes room, beyond
  /// kStrangersMax the oldest from where most are: who says hello at once gets in, however many are
  /// silent.
  StreamId admit(std::shared_ptr<rpc::ProviderStream> stream, const rpc::Channel& channel = {},
                 const std::string& from = "", std::optional<rpc::HashChainPosition> chain = {});
  /// limits::kHelloWaitMs are over: closes the stream if nobody has said hello.
  void end_wait(StreamId id);
  /// It says something else than its hello. False: it is a stranger's, and nobody listens. A
  /// provider that has dialled anew may still report on its work; beyond limits::kStrangerWordsMax
  /// words the stream is closed.
  bool is_heard(StreamId id);
  /// Its answer. A second stream of the same key takes the place of the first, which is closed and
  /// whose id is returned in `replaced`. Where all places are taken, the first of those that have
  /// never served makes room: keys cost nothing.
  /// Errors: kUnauthenticated (signature: of this gateway, channel and challenge),
  /// kPermissionDenied (banned), kFailedPrecondition, kResourceExhausted (limits::kProvidersMax).
  core::Result<Peer*> welcome(StreamId id, const rpc::Hello& hello,
                              std::optional<StreamId>& replaced);
  /// Dismisses a stream whose hello was not accepted.
  void refuse(StreamId id, const core::Error& reason);
  /// limits::kStatementsWaitMs are over since it was welcomed: who has shown no statements has
  /// none, until it shows some. False: it has, or is gone.
  bool end_statements_wait(StreamId id);
  void leave(StreamId id);
  void on_load(StreamId id, const rpc::Load& load, std::int64_t now_ms);

  Peer* at(StreamId id);
  Peer* by_address(const crypto::Address& address);
  /// Its stream; null where it is not connected or not known.
  rpc::ProviderStream* connected(const crypto::Address& address) const;
  /// Says it to the provider, if it is there.
  void tell(const crypto::Address& provider, rpc::ToProvider message) const {
    if (rpc::ProviderStream* const stream = connected(provider)) stream->send(std::move(message));
  }
  /// Says it on this stream, if it is there.
  void say(StreamId id, rpc::ToProvider message) const;
  const std::map<crypto::Address, Peer>& peers() const { return peers_; }

  /// One candidate per known provider, in the order of peers(), for a request for `model`, which
  /// `demand` requests have asked for before, that the providers in `tried` shall not have again;
  /// who is avoided is so at `now_ms` (monotonic). Who may not be shown data of `privacy_class`, of
  /// the request, is excluded; "": it is of none.
  std::vector<Candidate> candidates(const ModelVersion& model, const std::string& privacy_class,
                                    std::uint64_t demand, const std::set<crypto::Address>& tried,
                                    std::int64_t now_ms) const;
  /// No work for this key (BanList). Its tasks end with its stream, which is dismissed, unless it
  /// is to be heard. Error: the store's; the ban holds all the same, until the next start.
  core::Result<void> ban(const crypto::Address& address, const std::string& why);
  /// Who is banned and need not be heard any longer.
  void dismiss(const crypto::Address& address);
  /// Those too whose ban is over, as far as they are remembered.
  bool was_banned(const crypto::Address& address) const { return bans_.find(address) != nullptr; }
  /// The provider on this stream has work for the model, so it may download it.
  void grant(StreamId id, const core::Digest& model);
  /// It may not any longer, until it is granted again.
  void revoke(StreamId id, const core::Digest& model);
  /// Hears of each grant, before anything can be downloaded by it; false: nothing can.
  void on_grant(std::function<bool(const crypto::Address&, const core::Digest& model)> granted) {
    granted_ = std::move(granted);
  }
  /// Errors: kUnauthenticated (no such session, or not by the certificate of its stream), kNotFound
  /// (not granted). Any thread.
  core::Result<void> may_fetch(const std::string& token, const core::Digest& model,
                               const core::Digest& provider_certificate) const;

 private:
  struct Session {
    std::shared_ptr<rpc::ProviderStream> stream;
    core::Digest nonce;
    rpc::Channel channel;
    std::string from;
    std::optional<crypto::Address> address;  // once it has proved it
    std::string token;
    std::size_t stray_words = 0;  // before its hello
    bool is_leaving = false;      // it was closed by us, and has not ended yet
  };

  struct Grant {
    core::Digest certificate{};
    std::set<core::Digest> models;
  };

  bool must_answer(const crypto::Address& address) const {
    return must_answer_ && must_answer_(address);
  }
  std::size_t strangers() const;
  /// Those who have proved their keys, and stay.
  std::size_t providers() const;
  void retire(StreamId id);
  /// Who has come first of those that have not served yet leaves; false where there is none.
  bool make_room_among_new();
  void make_room(const std::string& from);
  void forget_stranger(StreamId id, const std::string& from);
  void forget_one();
  bool is_expected(const Peer& peer) const {
    return peer.stream == nullptr && expected_.contains(peer.address);
  }

  BanList bans_;
  std::function<bool(const crypto::Address&)> must_answer_;
  std::function<bool(const crypto::Address&, const core::Digest&)> granted_;
  std::function<void(const crypto::Address&, StreamId)> turned_away_;
  core::Rng& rng_;
  const crypto::SecretKey& key_;
  const core::Clock& clock_;
  StreamId last_stream_ = 0;
  std::map<StreamId, Session> sessions_;
  std::map<std::string, std::set<StreamId>> strangers_;  // by address
  std::map<crypto::Address, Peer> peers_;
  std::set<crypto::Address> expected_;  // of peers_: those that have not come back yet

  mutable std::mutex mutex_;
  std::map<std::string, Grant> grants_;  // by session token; guarded by mutex_
};

}  // namespace commensal::gateway
