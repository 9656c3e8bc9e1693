// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <commensal/base/core/check.hpp>
#include <commensal/verify/scalar/table.hpp>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

namespace commensal::arbiter {

/// Where an operation takes a number from.
struct Operand {
  /// kPlaced: the element of an input whose index is the value of an earlier step. kOwn: an element
  /// of the node's own outputs, before the one in question, so that both sides agree on it.
  enum class Kind : std::uint8_t { kConstant, kInput, kStep, kPlaced, kOwn };
  Kind kind = Kind::kConstant;
  int input = 0;            // kInput, kPlaced: which of the node's; kOwn: which output
  std::uint64_t value = 0;  // the bits; or the element's index; or the step's number
  bool operator==(const Operand&) const = default;
  bool is_of_input() const { return kind == Kind::kInput || kind == Kind::kPlaced; }
  bool is_of_step() const { return kind == Kind::kStep || kind == Kind::kPlaced; }
};
inline Operand constant(std::uint64_t bits) { return {Operand::Kind::kConstant, 0, bits}; }
inline Operand element_of(int input, std::int64_t index) {
  return {Operand::Kind::kInput, input, static_cast<std::uint64_t>(index)};
}
inline Operand own_element(int output, std::int64_t index) {
  return {Operand::Kind::kOwn, output, static_cast<std::uint64_t>(index)};
}
/// Precondition: the step's value is always the index of an element.
inline Operand element_at(int input, const Operand& step) {
  return {Operand::Kind::kPlaced, input, step.value};
}

/// One operation of a program.
struct Step {
  scalar::Op op = scalar::Op::kCopy;
  std::array<Operand, scalar::kOperandsMax> operands{};
};

/// The bits of an input's element, or of output ~input's.
using Fetch = std::function<std::uint64_t(int input, std::uint64_t index)>;

/// Results of turns that are alike but for where they lie: those of turn 0, and how far they move.
struct Turns {
  std::uint64_t base = 0, size = 0;  // turn 0's first operation; how many a turn has
  std::vector<Operand> first;

  Operand at(std::int64_t turn, std::size_t which = 0) const {
    Operand moved = first[which];
    const bool moves = moved.is_of_step() && moved.value >= base;
    if (moves) moved.value += static_cast<std::uint64_t>(turn) * size;
    return moved;
  }
};

/// What an operator's program writes its operations on, one after another: how one output element
/// comes from the inputs, operation by operation. A program depends on types, attributes and small
/// lists, never on other data (an operand may lie where a step says: element_at), so the same code
/// counts its steps, names one of them and computes all of them. Thread-safety: one thread.
class StepBuilder {
 public:
  static StepBuilder counting() { return StepBuilder(); }
  static StepBuilder picking(std::uint64_t step) {
    StepBuilder steps;
    steps.wanted_ = step;
    return steps;
  }
  /// Keeps the value of every step.
  static StepBuilder evaluating(Fetch fetch) {
    StepBuilder steps;
    steps.fetch_ = std::move(fetch);
    return steps;
  }

  /// One operation; before it, for each operand that is an element of an input that is converted,
  /// that conversion.
  Operand put(scalar::Op op, std::initializer_list<Operand> operands);

  /// From here on elements of input i go through loads[i], and finish() puts `store`.
  void convert(std::vector<std::optional<scalar::Op>> loads, std::optional<scalar::Op> store) {
    loads_ = std::move(loads);
    store_ = store;
  }
  /// The last operation's result is the element.
  void finish() {
    if (store_) put(*store_, {Operand{Operand::Kind::kStep, 0, next_ - 1}});
  }

  /// body(i), i in [0, count), puts the same number of operations for each i and returns one's
  /// result, or those of some: what `fold` is where turns do not need each other.
  template <class Body>
  Turns each(std::int64_t count, Body&& body) {
    Turns made{next_, 0, {}};
    if (count <= 0) return made;
    made.first = body(std::int64_t{0});
    made.size = next_ - made.base;
    const auto turns = static_cast<std::uint64_t>(count);
    if (fetch_) {
      for (std::int64_t i = 1; i < count; ++i) body(i);
      return made;
    }
    if (wanted_ && *wanted_ >= next_ && (*wanted_ - made.base) / made.size < turns) {
      const std::uint64_t turn = (*wanted_ - made.base) / made.size;
      next_ = made.base + turn * made.size;
      body(static_cast<std::int64_t>(turn));
    }
    next_ = made.base + turns * made.size;
    return made;
  }

  /// body(i, state) for i in [0, count): a loop whose every turn puts the same number of operations
  /// and leaves each state where the turn before left it, only later. Turns that nobody asks for
  /// are skipped, so that one step of millions is found at once.
  template <class Body>
  void fold(std::int64_t count, std::span<Operand> state, Body&& body) {
    if (fetch_ || count <= 1) {
      for (std::int64_t i = 0; i < count; ++i) body(i, state);
      return;
    }
    const std::uint64_t base = next_;
    body(std::int64_t{0}, state);
    const std::uint64_t size = next_ - base;
    std::vector<Operand> first(state.begin(), state.end());
    const auto move_to = [&](std::int64_t turn) {  // the state that a turn leaves
      for (std::size_t p = 0; p < first.size(); ++p) {
        const bool moves = first[p].is_of_step() && first[p].value >= base;
        state[p] = first[p];
        if (moves) state[p].value += static_cast<std::uint64_t>(turn) * size;
      }
    };
    const std::uint64_t all = size * static_cast<std::uint64_t>(count);
    if (wanted_ && *wanted_ >= base + size && *wanted_ - base < all) {
      const auto turn = static_cast<std::int64_t>((*wanted_ - base) / size);
      move_to(turn - 1);
      next_ = base + static_cast<std::uint64_t>(turn) * size;
      body(turn, state);
      core::check(next_ == base + static_cast<std::uint64_t>(turn + 1) * size,
                  "all turns of a fold put as many operations");
    }
    move_to(count - 1);
    next_ = base + all;
  }

  std::uint64_t steps() const { return next_; }
  /// The step that was asked for, if there is one of that number.
  const std::optional<Step>& picked() const { return picked_; }
  const std::vector<std::uint64_t>& values() const { return values_; }

 private:
  std::uint64_t value_of(const Operand& operand) const;
  Operand loaded(const Operand& operand);
  Operand put_plain(scalar::Op op, std::span<const Operand> operands);

  std::vector<std::optional<scalar::Op>> loads_;
  std::optional<scalar::Op> store_;
  std::uint64_t next_ = 0;
  std::optional<std::uint64_t> wanted_;
  std::optional<Step> picked_;
  Fetch fetch_;
  std::vector<std::uint64_t> values_;
};

inline std::uint64_t StepBuilder::value_of(const Operand& operand) const {
  if (operand.kind == Operand::Kind::kConstant) return operand.value;
  if (operand.kind == Operand::Kind::kInput) return fetch_(operand.input, operand.value);
  if (operand.kind == Operand::Kind::kOwn) return fetch_(~operand.input, operand.value);
  const std::uint64_t value = values_[operand.value];
  return operand.kind == Operand::Kind::kPlaced ? fetch_(operand.input, value) : value;
}

inline Operand StepBuilder::loaded(const Operand& operand) {
  const auto input = static_cast<std::size_t>(operand.input);
  if (!operand.is_of_input() || input >= loads_.size() || !loads_[input]) return operand;
  return put_plain(*loads_[input], {&operand, 1});
}

inline Operand StepBuilder::put(scalar::Op op, std::initializer_list<Operand> operands) {
  std::array<Operand, scalar::kOperandsMax> all{};
  std::ranges::transform(operands, all.begin(), [this](const Operand& x) { return loaded(x); });
  return put_plain(op, {all.data(), operands.size()});
}

inline Operand StepBuilder::put_plain(scalar::Op op, std::span<const Operand> operands) {
  if (fetch_) {
    std::array<std::uint64_t, scalar::kOperandsMax> values{};
    std::ranges::transform(operands, values.begin(),
                           [this](const Operand& operand) { return value_of(operand); });
    values_.push_back(scalar::evaluate(op, {values.data(), operands.size()}));
  } else if (wanted_ == next_) {
    picked_ = Step{op, {}};
    std::ranges::copy(operands, picked_->operands.begin());
  }
  return {Operand::Kind::kStep, 0, next_++};
}

}  // namespace commensal::arbiter
