// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/base/store/joint_store.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>
#include <commensal/lab/economy/testing/world.hpp>
#include <commensal/trade/pay/beacon/chain.hpp>
#include <commensal/trade/pay/ticket/book.hpp>
#include <functional>
#include <memory>

namespace commensal::economy::testing {

/// Somebody with a key and a disk. What it knows besides is lost whenever it is killed, and read
/// from the disk again. Thread-safety: one thread.
class Party {
 public:
  using Change = std::function<Result<void>()>;

  /// `world` must outlive this object.
  Party(World& world, Manner manner);
  virtual ~Party() = default;

  const Address& address() const { return address_; }
  const crypto::SecretKey& key() const { return key_; }
  Manner manner() const { return manner_; }
  ticket::TicketBook& tickets() { return *tickets_; }
  /// What its kills leave.
  core::Store& disk() { return disk_; }

  /// Runs `change` and writes all that it changed in one batch. Killed at that write it starts
  /// again and runs `change` again, which must see by what is on disk what is left to do.
  /// Errors: those of `change`, which are bugs of the simulation or of what it simulates.
  Result<void> act(const Change& change);
  /// For a change that cannot see it: at most once for each `number`, which must grow.
  Result<void> once(std::uint64_t number, const Change& change);

 protected:
  /// Reads everything from store().
  virtual Result<void> load() = 0;
  /// Before each write: what was staged elsewhere.
  virtual Result<void> flush() { return {}; }

  core::Store& store() { return life_->joint; }
  Result<void> keep(const beacon::ReverseChain& chain, std::string_view space, const Digest& key);
  Result<beacon::ReverseChain> kept(std::string_view space, const Digest& key,
                                    const beacon::ReverseChain& fresh);

  World& world_;

 private:
  /// From one start to the next kill.
  struct Life {
    Life(core::Store& disk, std::uint64_t fault_at, store::testing::Fault kind)
        : fault(disk, fault_at, kind), joint(fault) {}
    store::testing::FaultStore fault;
    store::JointStore joint;
  };
  Result<void> start();

  const Manner manner_;
  const crypto::SecretKey key_;
  const Address address_;
  store::MemoryStore disk_;
  std::unique_ptr<Life> life_;
  std::optional<ticket::TicketBook> tickets_;
};

}  // namespace commensal::economy::testing
