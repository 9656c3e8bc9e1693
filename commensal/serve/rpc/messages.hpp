// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/result.hpp>
#include <commensal/base/protocol/beacon.hpp>
#include <commensal/base/protocol/job.hpp>
#include <commensal/base/protocol/record.hpp>
#include <commensal/serve/rpc/balance.hpp>
#include <commensal/serve/rpc/case_messages.hpp>
#include <commensal/serve/rpc/host_messages.hpp>
#include <commensal/serve/rpc/offer_parts.hpp>
#include <commensal/serve/rpc/privacy_messages.hpp>
#include <commensal/serve/rpc/release_messages.hpp>
#include <commensal/verify/receipt/messages.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// What a provider and a gateway say to each other on one stream. The order: Challenge, Hello,
/// Welcome; then jobs, any number at once, each named by its id (protocol::job_id):
///
///   Offer                          a job, and which step of it to compute
///   Begin                          a later step of it
///   Commit, Countersign, Deliver   of a step; or Refuse at any point
///
/// On a new stream a job is gone unless its kind is kept (protocol::JobTraits): that goes on with
/// Offer or with its last Countersign, which repeat nothing that is durable. Where answers earn
/// tickets: Reveal (the gateway's, then the provider's), Claims, Outcomes. Statements after
/// Welcome; Load, Pause, Resume, Withdraw, Prefetch, Release, Released and HostNow at any time
/// after Hello.
///
/// On the wire they are nouns (frame.hpp): the order of `fields` is the encoding.
namespace commensal::rpc {

/// The TLS connection below a stream, the same seen from both ends: SHA-256 of the public keys of
/// both certificates (tls::key_hash); zeros without TLS.
struct Channel {
  core::Digest gateway{};
  core::Digest provider{};
  bool operator==(const Channel&) const = default;
};

// Gateway to provider.

/// A hash chain and the last value that its owner has revealed (the anchor: none yet).
struct HashChainPosition {
  static constexpr std::string_view kRecord = "hash chain position";

  protocol::HashChainHead head;
  std::uint64_t round = 0;
  core::Digest value{};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("head", self.head);
    archive.field("round", self.round);
    archive.field("value", self.value);
  }
};

/// First word of the gateway, which proves its key; the provider proves its own by signing `nonce`.
struct Challenge {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kChallenge;

  core::Digest nonce{};
  crypto::Address gateway;
  crypto::Signature signature;                  // over challenge_digest(nonce, gateway, channel)
  std::optional<HashChainPosition> hash_chain;  // absent: answers earn no tickets here

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("nonce", self.nonce);
    archive.field("gateway", self.gateway);
    archive.field("signature", self.signature);
    archive.field("hash_chain", self.hash_chain);
  }
};
struct Welcome {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kWelcome;

  std::string session_token;                // for fetch_model
  std::optional<std::string> version = {};  // the gateway's; for who knows_prefetch()

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("session_token", self.session_token);
    archive.tail("version", self.version);
  }
};
/// A value of the sender's hash chain. The gateway's closes the round and all before, the
/// provider's draws them.
struct Reveal {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kReveal;

  std::uint64_t round = 0;
  core::Digest value{};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("round", self.round);
    archive.field("value", self.value);
  }
};
/// What became of tickets, in the words of ticket::Event.
struct Outcomes {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kOutcomes;

  struct Item {
    core::Digest ticket{};
    std::string event;
    protocol::Amount amount;  // paid to the provider; of "open": asked for its claim

    template <class Archive, class Self>
    static void fields(Archive& archive, Self& self) {
      archive.field("ticket", self.ticket);
      archive.field("event", self.event);
      archive.field("amount", self.amount);
    }
    core::Result<void> validity() const;
  };
  std::vector<Item> items;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("items", self.items);
  }
};
/// The provider gets no more work on this stream.
struct Dismiss {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kDismiss;

  core::Error reason;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("reason", self.reason);
  }
};
struct Offer {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kOffer;

  protocol::Job job;
  core::Digest model;  // SHA-256 of the model file
  core::Digest input_salt;
  tensor::NamedTensors inputs;
  std::uint64_t step = 1;  // as Begin's
  core::Digest value{};
  std::uint64_t ops_max = limits::kStepOpsMax;  // the compute budget of each step
  std::optional<Batching> batching = {};  // for who knows_batching(); absent: nothing is written
  /// For who knows_requests(), behind a batching; whoever gets one may send Commit::runs.
  std::optional<RequestName> request = {};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("job", self.job);
    archive.field("model", self.model);
    archive.field("input_salt", self.input_salt);
    archive.field("inputs", self.inputs);
    archive.field("step", self.step);
    archive.field("value", self.value);
    archive.field("ops_max", self.ops_max);
    archive.tail("batching", self.batching);
    archive.tail("request", self.request);
  }
};
/// Compute this step of a job that was offered on this stream.
using receipt::Begin;
/// The client's signatures over commitments.
struct Countersign {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kCountersign;

  using Item = receipt::Countersign;
  std::vector<Item> items;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("items", self.items);
  }
};
/// The gateway expects these no longer: they need not be begun, and are not answered.
struct Withdraw {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kWithdraw;

  std::vector<core::Digest> jobs;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("jobs", self.jobs);
  }
};

/// The model may be asked for soon: whoever has room for it, and nothing better to do, fetches it
/// ahead, and says Load when it is there. Only to who knows_prefetch(), and has said how much room
/// there is.
struct Prefetch {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kPrefetch;

  core::Digest model{};  // SHA-256 of the model file
  std::uint64_t bytes = 0;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("model", self.model);
    archive.field("bytes", self.bytes);
  }
};

// Provider to gateway.

struct Hello {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kHello;

  std::string name;
  std::string version;
  crypto::Address address;
  crypto::Signature signature;              // over hello_digest(nonce, address, gateway, channel)
  std::vector<core::Digest> cached_models;  // limits::kHelloModelsMax, those used last
  std::uint32_t threads = 0;
  std::optional<HashChainPosition> hash_chain;  // for this gateway
  std::string paused;                           // as if Pause were said at once; empty: it is not

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("name", self.name);
    archive.field("version", self.version);
    archive.field("address", self.address);
    archive.field("signature", self.signature);
    archive.field("cached_models", self.cached_models);
    archive.field("threads", self.threads);
    archive.field("hash_chain", self.hash_chain);
    archive.field("paused", self.paused);
  }
  core::Result<void> validity() const;
};
/// Tickets that have won.
struct Claims {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kClaims;

  struct Item {
    protocol::Receipt receipt;
    core::Digest output_root{};  // these two open the commitment
    core::Digest output_salt{};

    template <class Archive, class Self>
    static void fields(Archive& archive, Self& self) {
      archive.field("receipt", self.receipt);
      archive.field("output_root", self.output_root);
      archive.field("output_salt", self.output_salt);
    }
  };
  std::vector<Item> items;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("items", self.items);
  }
  core::Result<void> validity() const;
  /// The same in messages that may be sent to who has asked for none (limits::kRpcFrameBytesMax),
  /// of limits::kClaimsMax at most.
  static std::vector<Claims> in_messages(std::vector<Item> items);
};
/// A transaction of the gateway's ledger, signed by the provider (ledger::Transaction, encoded).
struct Transact {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kTransact;

  core::Bytes transaction;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("transaction", self.transaction);
  }
};
/// Sent after every change of the queue or the cache, and every limits::kAtWorkWordMs while the
/// queue is not empty: who fetches a model or computes for long is not silent.
struct Load {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kLoad;

  std::uint32_t queued = 0;
  std::vector<core::Digest> cached_models;       // as Hello's
  std::optional<std::uint64_t> room_bytes = {};  // for more, all of these kept; for a gateway that
                                                 // knows_prefetch()

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("queued", self.queued);
    archive.field("cached_models", self.cached_models);
    archive.tail("room_bytes", self.room_bytes);
  }
  core::Result<void> validity() const;
};
/// The provider's commitments, each signed.
struct Commit {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kCommit;

  using Item = receipt::Commit;
  /// A run of a model, told of with one of the items that it was for.
  struct Run {
    std::uint32_t item = 0;   // which, from 0
    std::uint32_t tasks = 0;  // that it was for
    std::uint64_t rows = 0;   // of all of them together, as their inputs' first dimensions say
    std::uint64_t took_ns = 0;

    bool operator==(const Run&) const = default;
    template <class Archive, class Self>
    static void fields(Archive& archive, Self& self) {
      archive.field("item", self.item);
      archive.field("tasks", self.tasks);
      archive.field("rows", self.rows);
      archive.field("took_ns", self.took_ns);
    }
  };
  std::vector<Item> items;  // limits::kCommitsMax
  /// Those that were not told of before, items rising; absent: it is not said.
  std::optional<std::vector<Run>> runs = {};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("items", self.items);
    archive.tail("runs", self.runs);
  }
  core::Result<void> validity() const;
};
using receipt::Deliver;
struct Refuse {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kRefuse;

  core::Digest job{};
  core::Error reason;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("job", self.job);
    archive.field("reason", self.reason);
  }
};
/// The provider's host needs the machine: the jobs at hand stand still and no other is begun until
/// Resume. The stream stays, and countersignatures and reveals are answered as ever. A second Pause
/// only tells another reason.
struct Pause {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kPause;

  std::string reason;  // one line

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("reason", self.reason);
  }
};
struct Resume {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kResume;

  template <class Archive, class Self>
  static void fields(Archive&, Self&) {}
};

using ToProvider = std::variant<Challenge, Welcome, Dismiss, Offer, Begin, Countersign, Withdraw,
                                Balance, Reveal, Outcomes, Accused, CaseMoves, Prefetch, Release>;
using ToGateway = std::variant<Hello, Load, Commit, Deliver, Refuse, Reveal, Claims, Transact,
                               Pause, Resume, Statements, Released, HostNow>;

/// Of what this program understands of all this: Hello::version, Welcome::version.
inline constexpr std::string_view kVersion = "0.1.5";
/// Whether a provider of this version takes an Offer with Batching: those before 0.1.1 refuse it.
bool knows_batching(std::string_view version);
/// Likewise one with a request's name: those before 0.1.2 do.
bool knows_requests(std::string_view version);
/// Whether who is of this version takes Prefetch, and the tails of Welcome and Load: from 0.1.2 on.
bool knows_prefetch(std::string_view version);

/// What a gateway signs to show that it holds the key of `gateway` and ends this channel itself.
core::Digest challenge_digest(const core::Digest& nonce, const crypto::Address& gateway,
                              const Channel& channel);
/// What a provider signs to show that it holds the key of `address`: to this gateway on this
/// channel and to nobody else, whoever passes it on.
core::Digest hello_digest(const core::Digest& nonce, const crypto::Address& address,
                          const crypto::Address& gateway, const Channel& channel);

}  // namespace commensal::rpc
