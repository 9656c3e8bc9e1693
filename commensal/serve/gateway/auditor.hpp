// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <commensal/serve/gateway/hub.hpp>
#include <commensal/serve/gateway/receipt_book.hpp>
#include <commensal/serve/gateway/roster.hpp>
#include <commensal/verify/receipt/opening.hpp>
#include <functional>
#include <map>
#include <memory>

namespace commensal::gateway {

/// Full replays by the gateway itself: asks the provider to open a receipt, re-executes what it
/// opened, off the loop, and judges. A provider that is away is asked when it comes back: only one
/// that is connected and keeps silent is judged for its silence.
/// Thread-safety: the loop's thread.
class Auditor {
 public:
  /// Called once per audit that came to an end; an error is the auditor's own and accuses nobody.
  using Done = std::function<void(const core::Digest& receipt, core::Result<protocol::Verdict>)>;

  /// The gateway's own opening of a receipt: providers need not keep the tensors of all.
  using Own = std::function<core::Result<receipt::Opening>(const core::Digest& receipt)>;

  Auditor(core::Loop& loop, const crypto::SecretKey& key, const Roster& roster, const ModelHub& hub,
          std::int64_t opening_ms_max, Own own, Done done);
  ~Auditor();

  void request(const ReceiptRecord& record);
  void on_connected(const crypto::Address& provider);
  void on_open_reply(const crypto::Address& provider, const rpc::OpenReply& reply);
  /// Audits under way whose provider can be asked, or has answered.
  std::size_t pending() const;

 private:
  struct Replayer;
  struct Case {
    protocol::ReceiptBody body;
    crypto::Address provider;
    core::Digest model;
    core::Digest output_salt;
    std::uint64_t asked = 0;  // on how many links; a deadline counts for its own only
    bool opened = false;
  };
  using Cases = std::map<core::Digest, Case>;

  void ask(Cases::value_type& item);
  void conclude(core::Digest receipt, core::Result<protocol::Verdict> verdict);

  core::Loop& loop_;
  const crypto::SecretKey& key_;
  const Roster& roster_;
  const ModelHub& hub_;
  const std::int64_t opening_ms_max_;
  const Own own_;
  const Done done_;
  Cases cases_;  // by receipt id
  std::shared_ptr<Replayer> replayer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace commensal::gateway
