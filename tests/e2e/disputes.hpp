// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/base/core/store.hpp>
#include <commensal/trade/pay/ledger/transaction.hpp>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <tests/e2e/paid_system.hpp>

namespace commensal::e2e {

/// A model, and what it is asked.
struct Network {
  std::string name;  // of "operator/NAME"
  std::string file;
  std::function<tensor::NamedTensors(std::uint64_t i)> inputs;
};
Network digits();
/// The file of a network of models/torchvision, in $COMMENSAL_TORCHVISION or where it is by
/// default.
std::string torchvision_file(const std::string& name);

/// What a gateway's journal has of accusations, followed while the gateway writes it.
class Journal {
 public:
  explicit Journal(const std::string& folder);
  void read();
  /// What it has so far does not count.
  void begin_anew();

  struct Side {
    std::size_t moves = 0, bytes = 0;
  };
  Side accused, accuser;  // what was argued
  std::size_t accusations = 0, contested = 0, conceded = 0, reports = 0;
  bool is_over = false;  // a bond has gone somewhere: a case is decided
  std::size_t moves() const { return accused.moves + accuser.moves; }

 private:
  void add(const ledger::Entry& entry);

  std::unique_ptr<core::Store> store_;
  std::uint64_t next_ = 0;
};

/// A gateway with money that audits everything, and who is accused there.
class Disputes : public PaidSystem {
 protected:
  static constexpr const char* kStake = "1000000";
  enum class Victim : std::uint8_t { kGateway, kAccused };

  /// A gateway, with a model and money. `name`: its folder.
  void open_court(const Network& network, const std::string& name = "gateway");
  void restart_gateway();
  /// `commensal-lab cheat`, with its stake where there is one.
  std::unique_ptr<Process> start_cheat(const std::string& name, const char* stake = kStake,
                                       const std::vector<std::string>& more = {});
  /// Gives the provider that was started last its stake.
  void fund_stake();
  client::Answer answer(client::Client& client, const Network& network, std::uint64_t i);
  void wait_for_match(client::Client& client, const core::Digest& receipt);
  /// The case goes on to its end; each time that `every` more moves are made, from `first` on, the
  /// next of `victims` is killed and started again. Returns how many moves there were at each kill.
  std::vector<std::size_t> play(std::span<const Victim> victims, std::size_t first,
                                std::size_t every, const std::function<void()>& restart_accused);
  /// `address_` has lost by a dispute, all of it, and the ledger says so.
  void expect_convicted();
  /// `commensal ledger verify`; the gateway is killed.
  void verify_ledger();

  /// In the gateway's ledger, again while the sender has sent too much.
  void send(client::Client& client, const crypto::SecretKey& key, const ledger::Body& body);
  /// Somebody with a key of its own accuses who gave this answer, and argues as a cheat does, until
  /// it is over.
  void frame(client::Client& client, const crypto::SecretKey& key, const Network& network,
             const core::Digest& receipt);

  std::optional<Journal> journal_;
  std::vector<std::string> audits_ = {
      "--price", "52000", "--win-probability", "0.5", "--audit-probability", "1"};
};

}  // namespace commensal::e2e
