// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/arbiter/node.hpp>
#include <commensal/verify/arbiter/step_builder.hpp>

/// Which operations make an output element: what an arbiter knows of operators. Written from
/// docs/numerics.md without a line of the kernels, which tests hold it to.
namespace commensal::arbiter {

/// The version of docs/numerics.md that the programs follow.
inline constexpr std::uint32_t kNumericsOfPrograms = 1;
/// Changes whenever a program does: other operations, or the same in another order, give the same
/// bits, and another root over an element's operations. Both sides sign it, so that no arbiter
/// holds an honest one to programs that it did not have. tests/vectors/programs.txt pins them.
inline constexpr std::uint32_t kProgramsVersion = 1;

/// How one output element of one run of a node comes about. Immutable.
class Program {
 public:
  /// Errors: kUnsupported for what cannot be disputed yet (operator, element type, a form of it),
  /// naming it; kInvalidArgument for a call that no importer lets through.
  static core::Result<Program> of(NodeCall call, std::size_t output, std::uint64_t element);

  /// At least 1.
  std::uint64_t steps() const { return steps_; }
  /// Precondition: step < steps().
  Step at(std::uint64_t step) const;
  /// The values of all steps; the last is the element's bits.
  std::vector<std::uint64_t> evaluate(Fetch fetch) const;
  const NodeCall& call() const { return call_; }

 private:
  friend struct OperatorRow;
  void emit(StepBuilder& steps) const;

  NodeCall call_;
  std::size_t output_ = 0;
  std::int64_t element_ = 0;
  std::uint64_t steps_ = 0;
  const struct OperatorRow* row_ = nullptr;
};

/// The type that an output must have; nothing where that depends on data which nobody has shown.
/// Errors: as Program::of.
core::Result<std::optional<Shaped>> output_type(const NodeCall& call, std::size_t output);

/// A row of the table of operators that can be disputed, and how far.
struct OperatorRow {
  std::string_view name;
  std::uint32_t since = 1, until = 0;  // opsets; 0: still in force
  std::string_view types;              // for people: which element types
  core::Result<std::optional<Shaped>> (*type)(const NodeCall&, std::size_t output) = nullptr;
  /// Precondition: `type` accepted the call and the element lies in the output.
  void (*emit)(const NodeCall&, std::size_t output, std::int64_t element, StepBuilder&) = nullptr;
};
/// All rows, by name.
std::span<const OperatorRow> disputable_operators();

}  // namespace commensal::arbiter
