// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/base/protocol/beacon.hpp>
#include <commensal/base/protocol/job.hpp>
#include <commensal/base/protocol/receipt.hpp>
#include <commensal/compute/tensor/named.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// What a provider and a gateway say to each other on one stream. The order: Challenge, Hello,
/// Welcome; then jobs, any number at once, each named by its id (protocol::job_id):
///
///   Offer                    a job of one step: compute it
///   Offer, Ready, Begin      a job whose outputs are fed back: Begin asks for each step
///   Commit, Countersign, Deliver      of a step; or Refuse at any point
///
/// On a new stream a job of one step is gone; one of several begins with Offer again, which repeats
/// nothing that is durable. Where answers earn tickets: Reveal (the gateway's, then the
/// provider's), Claims, Outcomes. Load, Pause, Resume and Withdraw at any time after Hello.
namespace commensal::rpc {

// Gateway to provider.

/// A hash chain and the last value that its owner has revealed (the anchor: none yet).
struct ChainPosition {
  protocol::ChainHead head;
  std::uint64_t round = 0;
  core::Digest value{};
};

/// First word of the gateway: the provider proves its key by signing `nonce`.
struct Challenge {
  core::Digest nonce;
  std::optional<ChainPosition> chain;  // absent: answers earn no tickets here
};
struct Welcome {
  std::string session_token;  // for fetch_model
};
/// What the gateway's ledger says of the provider's money; after every change of it.
struct Balance {
  crypto::Address ledger;   // its operator
  std::uint64_t nonce = 0;  // of the provider's next transaction
  protocol::Amount available;
  protocol::Amount stake;
  protocol::Amount stake_wanted;      // with less there is no work
  std::uint64_t reveal_delay_ms = 0;  // the ledger's: to answer a demand for a reveal
};
/// A value of the sender's hash chain. The gateway's closes the round and all before, the
/// provider's draws them.
struct Reveal {
  std::uint64_t round = 0;
  core::Digest value{};
};
/// What became of tickets, in the words of ticket::Event.
struct Outcomes {
  struct Item {
    core::Digest ticket{};
    std::string event;
    protocol::Amount amount;  // paid to the provider
  };
  std::vector<Item> items;
};
/// The provider gets no more work on this link.
struct Dismiss {
  core::Error reason;
};
struct Offer {
  protocol::Job job;
  core::Digest model;  // SHA-256 of the model file
  core::Digest input_salt;
  tensor::NamedTensors inputs;
};
/// Compute this step of a job that is Ready.
struct Begin {
  core::Digest job{};
  std::uint64_t step = 0;
  core::Digest value{};  // of the noise chain; zero without noise
};
/// The client's signatures over commitments.
struct Countersign {
  struct Item {
    core::Digest job{};
    std::uint64_t step = 0;
    protocol::BatchSignature signature;
  };
  std::vector<Item> items;
};
/// The gateway expects these no longer: they need not be begun, and are not answered.
struct Withdraw {
  std::vector<core::Digest> jobs;
};

// Provider to gateway.

struct Hello {
  std::string name;
  std::string version;
  crypto::Address address;
  crypto::Signature signature;  // over hello_digest(nonce, address)
  std::vector<core::Digest> cached_models;
  std::uint32_t threads = 0;
  std::optional<ChainPosition> chain;  // for this gateway
  std::string paused;                  // as if Pause were said at once; empty: it is not
};
/// Tickets that have won.
struct Claims {
  struct Item {
    protocol::Receipt receipt;
    core::Digest output_root{};  // these two open the commitment
    core::Digest output_salt{};
  };
  std::vector<Item> items;
};
/// A transaction of the gateway's ledger, signed by the provider (ledger::Transaction, encoded).
struct Transact {
  core::Bytes transaction;
};
/// Sent after every change of the queue or the cache.
struct Load {
  std::uint32_t queued = 0;
  std::vector<core::Digest> cached_models;
};
/// A job of several steps is at hand: a step may be begun or countersigned.
struct Ready {
  core::Digest job{};
};
struct Commit {
  struct Item {
    core::Digest job{};
    std::uint64_t step = 0;
    core::Digest commitment{};
    std::uint64_t round = protocol::kNoDraw;  // of the beacon that draws its ticket
    protocol::BatchSignature signature;
  };
  std::vector<Item> items;
};
struct Deliver {
  core::Digest job{};
  std::uint64_t step = 0;
  core::Digest output_salt{};
  tensor::NamedTensors outputs;
};
struct Refuse {
  core::Digest job{};
  core::Error reason;
};
/// The provider's host needs the machine: the jobs at hand stand still and no other is begun until
/// Resume. The link stays, and countersignatures and reveals are answered as ever. A second Pause
/// only tells another reason.
struct Pause {
  std::string reason;  // one line
};
struct Resume {};

using ToProvider = std::variant<Challenge, Welcome, Dismiss, Offer, Begin, Countersign, Withdraw,
                                Balance, Reveal, Outcomes>;
using ToGateway = std::variant<Hello, Load, Ready, Commit, Deliver, Refuse, Reveal, Claims,
                               Transact, Pause, Resume>;

/// What a provider signs to show that it holds the key of `address`.
core::Digest hello_digest(const core::Digest& nonce, const crypto::Address& address);

}  // namespace commensal::rpc
