// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/market/panel/move.hpp>
#include <optional>

namespace commensal::panel {

/// Whose turn it is. Every stage but the last has a deadline.
enum class Stage : std::uint8_t {
  kClient,   // accepts the claim or objects; silence accepts
  kDraw,     // the beacon chooses members; silence: no vote
  kCommit,   // members commit to votes; who is silent has none
  kReveal,   // and reveal them, once all have committed or time is up
  kAppeal,   // who has lost accepts or appeals; silence accepts
  kArbiter,  // decides; silence leaves the last ruling
  kClosed,
};
std::span<const std::string_view> enum_names(Stage);

/// How a case has ended.
enum class Ending : std::uint8_t {
  kAccepted,    // by who has lost, in words or by silence
  kDecided,     // by the arbiter
  kLastRuling,  // nobody is left to ask, or the arbiter was silent; without a ruling the claim
                // stands
  kSettled,     // both signed an outcome
};

struct Ballot {
  Address member;
  std::optional<Digest> commitment;
  std::optional<Ruling> ruling;  // once revealed
  bool operator==(const Ballot&) const = default;
};

/// One asked for a ruling: an auditor, a panel, or the arbiter.
struct Instance {
  std::size_t size = 1;  // 1, 3, 7, ...: n, then 2n + 1
  bool arbiter = false;
  Address asker;  // client or holder: whose stake pays it
  std::uint64_t draw_round = 0;
  std::vector<Ballot> ballots;   // none before the draw
  std::optional<Ruling> ruling;  // by more than half of the votes that were revealed
  bool operator==(const Instance&) const = default;
};

struct Payout {
  Address to;
  Amount amount;
  bool operator==(const Payout&) const = default;
};

/// What is to be done, once and for all. The payouts are of stakes and add up to them: a member has
/// its fee unless it was silent or its instance ruled otherwise, out of the stakes of who asked;
/// the rest goes to who is right, or, if both have settled, back to each.
struct Outcome {
  Ending ending = Ending::kAccepted;
  Amount to_holder;  // of the claim: its face value or 0, or as settled
  Amount to_client;  // out of the holder's own, as settled
  std::vector<Payout> payouts;
  bool operator==(const Outcome&) const = default;
};

/// A claim that waits for its outcome. An event that is refused changes nothing.
/// Thread-safety: const calls from any thread.
class Case {
 public:
  /// Errors: of Terms::validity; kInvalidArgument for a time out of range.
  static Result<Case> open(const Terms& terms, std::uint64_t at_ms, std::uint64_t round);

  /// Errors, the message naming what was expected: kAlreadyExists (a replay), kUnauthenticated,
  /// kPermissionDenied (not this actor's turn), kFailedPrecondition (a gap, a clock that went back,
  /// another stage, closed), kDeadlineExceeded (too late), kInvalidArgument (anything else).
  Result<void> apply(const Event& event);

  const Terms& terms() const { return terms_; }
  const Digest& id() const { return id_; }
  Stage stage() const { return stage_; }
  /// From then on only a timeout or a settlement is accepted.
  std::uint64_t deadline_ms() const { return deadline_ms_; }
  std::uint64_t events() const { return events_; }
  const std::vector<Instance>& instances() const { return instances_; }
  /// The last instance's that ruled.
  std::optional<Ruling> ruling() const;
  /// Who may accept now, or object or appeal; null where nobody may.
  const Address* turn() const;
  /// What an objection or appeal would have to stake now; nothing where there is nobody left to
  /// ask.
  std::optional<Amount> stake_asked() const;
  /// Locked in the case: the bond and all stakes. Once it is closed, what the payouts add up to.
  Amount staked() const;
  /// Once closed; never changes again.
  const std::optional<Outcome>& outcome() const { return outcome_; }
  bool operator==(const Case&) const = default;

 private:
  using Handler = Result<void> (Case::*)(const Move&, const Event&);
  struct Rule;

  Case(const Terms& terms, std::uint64_t at_ms, std::uint64_t round);

  Result<void> expect_next(const Event& event) const;
  Result<void> run(const Move& move, const Event& event);
  Result<void> run(const Draw& draw, const Event& event);
  Result<void> run(const protocol::JointSettlement& settlement, const Event& event);
  Result<void> run(const Timeout& timeout, const Event& event);

  Result<void> accept(const Move& move, const Event& event);
  Result<void> ask(const Move& move, const Event& event);
  Result<void> commit(const Move& move, const Event& event);
  Result<void> reveal(const Move& move, const Event& event);
  Result<void> decide(const Move& move, const Event& event);

  std::optional<Instance> next_instance() const;
  std::vector<Address> pool() const;
  Result<Ballot*> ballot_of(const Address& member);
  void enter(Stage stage, std::uint64_t at_ms);
  void enter_instance(Instance instance, const Amount& stake, const Event& event);
  void count_votes(const Event& event);
  void go_without_ruling(const Event& event);
  void close(Ending ending);
  void pay(const Amount& to_holder, const Amount& to_client, Ending ending);

  Terms terms_;
  Digest id_{};
  Stage stage_ = Stage::kClient;
  std::uint64_t deadline_ms_ = 0;
  std::uint64_t at_ms_ = 0;
  std::uint64_t round_ = 0;
  std::uint64_t events_ = 0;
  std::vector<Instance> instances_;
  Amount client_stakes_;
  Amount holder_stakes_;  // the bond among them
  std::optional<Outcome> outcome_;
};

}  // namespace commensal::panel
