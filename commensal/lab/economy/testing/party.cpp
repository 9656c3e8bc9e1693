// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/economy/testing/party.hpp>
#include <commensal/lab/economy/testing/rules.hpp>
#include <commensal/trade/pay/ledger/journal.hpp>
#include <limits>

namespace commensal::economy::testing {
namespace {

constexpr std::uint64_t kWritesMax = 60;  // of a life that is cut off
constexpr int kStartsMax = 100;           // in a row
constexpr std::string_view kDone = "done";
constexpr ticket::Deadlines kDeadlines{.opening_rounds_max = kOpeningRounds, .kept_rounds = 6};

core::Bytes bytes_of(const Digest& digest) { return {digest.begin(), digest.end()}; }

}  // namespace

Party::Party(World& world, Manner manner)
    : world_(world),
      manner_(manner),
      key_(crypto::SecretKey::generate(world.rng)),
      address_(key_.address()) {}

Result<void> Party::start() {
  tickets_.reset();
  const bool dies = manner_ == Manner::kCrashing;
  const std::uint64_t fault_at =
      dies ? world_.below(kWritesMax) : std::numeric_limits<std::uint64_t>::max();
  const auto kind = static_cast<store::testing::Fault>(dies ? world_.below(4) : 0);
  life_ = std::make_unique<Life>(disk_, fault_at, kind);
  tickets_.emplace(life_->joint, world_.clock, ticket::BookConfig{.deadlines = kDeadlines});
  COMMENSAL_TRY(tickets_->open());
  return load();
}

Result<void> Party::act(const Change& change) {
  if (!life_) COMMENSAL_TRY(start());
  for (int starts = 0; starts < kStartsMax; ++starts) {
    life_->joint.hold();
    auto done = change();
    if (done) done = flush();
    // Nothing below is written but here: whatever goes wrong before is somebody's mistake.
    if (life_->joint.release()) return done;
    ++world_.counts.crashes;
    COMMENSAL_TRY(start());
  }
  return core::fail(core::ErrorCode::kInternal, "killed {} times in a row", kStartsMax);
}

Result<void> Party::once(std::uint64_t number, const Change& change) {
  const core::Bytes now = ledger::key_of(number);
  return act([&]() -> Result<void> {
    COMMENSAL_ASSIGN(const auto done, store().get(kDone, {}));
    if (done && *done >= now) return {};
    COMMENSAL_TRY(change());
    return store().apply({{std::string(kDone), {}, now}});
  });
}

Result<void> Party::keep(const beacon::ReverseChain& chain, std::string_view space,
                         const Digest& key) {
  return store().apply({{std::string(space), bytes_of(key), chain.encode()}});
}

Result<beacon::ReverseChain> Party::kept(std::string_view space, const Digest& key,
                                         const beacon::ReverseChain& fresh) {
  COMMENSAL_ASSIGN(const auto bytes, store().get(space, bytes_of(key)));
  if (!bytes) return fresh;
  return beacon::ReverseChain::decode(*bytes);
}

}  // namespace commensal::economy::testing
