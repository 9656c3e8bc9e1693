// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/protocol/record.hpp>
#include <commensal/verify/arbiter/moves.hpp>
#include <commensal/verify/arbiter/verdict.hpp>

namespace commensal::arbiter {

/// Where a dispute stands.
enum class Phase : std::uint8_t {
  kClaims,         // both: their trace claims
  kCheckpoints,    // both: down the traces to the first checkpoint that differs
  kSegmentClaims,  // both: claims of the nodes before it
  kCarried,        // the challenger, where all these are alike: where the value comes from
  kNodes,          // both: down these to the first node that differs
  kFacts,          // the challenger: what that node is, and what goes into it
  kElements,       // both: down the output's bytes to the first element that differs
  kElementClaims,  // both: claims of all operations of that element
  kSteps,          // both: down these to the first operation that differs
  kOperands,       // the challenger: that operation's operands
  kOver,
};
std::string_view name_of(Phase phase);

/// How a dispute ended.
enum class Ending : std::uint8_t {
  kProved,     // there is a verdict file
  kLate,       // who owed a move when the time was up is wrong
  kUndecided,  // it ends in something that has no program yet: a panel must run the step again
};
std::string_view name_of(Ending ending);
struct Outcome {
  Ending ending = Ending::kProved;
  std::array<bool, kSides> wrong{};
  std::optional<Finding> finding;  // kProved
  std::string reason;              // one line
};

/// What a dispute is about.
struct Setup {
  protocol::Receipt receipt;
  Digest input_root{};  // what the step was computed from; the rollout vouches for it, if not c_0
  Digest input_salt{};  // where the job's c_0 fixes it (has_fixed_input), else zero
  Digest output_salt{};
  crypto::Address challenger;
  std::optional<crypto::Address> accused;  // who answers for the outputs; none: the provider
  std::int64_t move_ms_max = 60'000;       // for each move

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("receipt", self.receipt);
    archive.field("input_root", self.input_root);
    archive.field("input_salt", self.input_salt);
    archive.field("output_salt", self.output_salt);
    archive.field("challenger", self.challenger);
    archive.field("accused", self.accused);
    archive.field("move_ms_max", self.move_ms_max);
  }
  bool operator==(const Setup&) const = default;
};

/// Who is on the provider's side.
inline const crypto::Address& accused_in(const Setup& setup) {
  return setup.accused ? *setup.accused : setup.receipt.job.provider;
}
/// dispute_id() of the receipt, and another where somebody else is accused.
Digest id_of(const Setup& setup);

/// A move that was accepted.
struct Said {
  Side side = Side::kProvider;
  Bytes move;  // encoded and signed

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("side", self.side);
    archive.field("move", self.move);
  }
  bool operator==(const Said&) const = default;
};

/// The rules of a dispute: which move is next, and whether a move that arrives is true to what its
/// side has said before. Knows neither model nor data; both sides may run one and see the same. A
/// refused move leaves everything as it was.
/// Thread-safety: one thread.
class Referee {
 public:
  /// Error: what is wrong with the receipt or with what opens it.
  static core::Result<Referee> open(Setup setup, const core::Clock& clock);

  /// Errors, by name: kFailedPrecondition (over, out of order, twice), kDataLoss (a proof that does
  /// not hold), kInvalidArgument (malformed), kResourceExhausted (too many bytes),
  /// kDeadlineExceeded.
  core::Result<void> move(Side side, ByteView bytes);
  /// To be called when time has passed: who owes a move for too long has lost.
  void check_time();

  Phase phase() const { return phase_; }
  std::uint32_t round() const { return round_; }
  bool owes(Side side) const;
  /// The kind of the move that is due. Precondition: it is not over.
  MoveKind due() const;
  std::int64_t deadline_ns() const { return deadline_ns_; }
  const Digest& id() const { return id_; }
  const Setup& setup() const { return setup_; }
  /// In kCheckpoints, kNodes, kElements, kSteps.
  const Descent& descent() const { return descent_; }
  /// What both have said so far.
  const VerdictFile& file() const { return file_; }
  /// From kElements on: the output that differs.
  std::size_t output() const { return output_; }
  /// From kElementClaims on.
  std::uint64_t element() const { return element_; }
  const Program& program() const { return *program_; }
  /// In kOperands.
  std::uint64_t step() const { return step_; }
  std::uint64_t bytes_moved(Side side) const { return bytes_[at(side)]; }
  const std::optional<Outcome>& outcome() const { return outcome_; }

 private:
  Referee(Setup setup, const core::Clock& clock);

  core::Result<void> check_order(Side side, const Move& move) const;
  core::Result<void> take_claim(Side side, ByteView body);
  core::Result<void> take_children(Side side, ByteView body);
  core::Result<void> take_leaf(Side side, ByteView body);
  core::Result<void> take_segment_claim(Side side, ByteView body);
  core::Result<void> take_carried(Side side, ByteView body);
  core::Result<void> take_facts(Side side, ByteView body);
  core::Result<void> take_element_claim(Side side, ByteView body);
  core::Result<void> take_operands(Side side, ByteView body);

  void advance();
  void after_leaves();
  void after_segment_claims();
  void after_facts();
  void enter(Phase phase);
  void enter_elements(const TensorFacts& a, const TensorFacts& b);
  void end(Outcome outcome);
  void end_by_file(Matter matter);
  void undecided(const core::Error& why);

  Setup setup_;
  const core::Clock* clock_;
  Digest id_{};
  Phase phase_ = Phase::kClaims;
  std::uint32_t round_ = 0;
  std::int64_t deadline_ns_ = 0;
  std::array<bool, kSides> moved_{};
  std::array<std::uint64_t, kSides> bytes_{};
  std::array<GraphSizes, kSides> sizes_{};
  std::array<Children, kSides> children_{};
  std::array<Bytes, kSides> leaves_{};
  Descent descent_;
  VerdictFile file_;
  std::optional<KnownCall> known_;
  std::optional<Program> program_;
  std::size_t output_ = 0;
  std::uint64_t element_ = 0, step_ = 0;
  std::optional<Outcome> outcome_;
};

}  // namespace commensal::arbiter
