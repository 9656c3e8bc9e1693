// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/verify/arbiter/claims.hpp>
#include <commensal/verify/arbiter/evidence.hpp>

namespace commensal::arbiter {

/// What the two sides differ in, where all before it is the same.
enum class Matter : std::uint8_t {
  kType,       // the type or the number of a node's outputs
  kCarried,    // a checkpoint that is not what the nodes before it made
  kOperation,  // the value of one operation
};
std::span<const std::string_view> enum_names(Matter);

/// A side's word, down to the place where both part.
struct Word {
  TraceClaim claim;
  LeafProof checkpoint;  // behind the segment
  SegmentClaim segment;
  LeafProof trace;    // the node's outputs. This: not kCarried
  LeafProof element;  // the leaf with the element. This and what follows: kOperation only
  ElementClaim element_claim;
  LeafProof steps;  // the leaf with the operation's value
  bool operator==(const Word&) const = default;
};

/// The end of a dispute, in one file that stands by itself: who checks it needs neither the model
/// nor anybody's word. It has the two signed claims, the proofs that both say the same before the
/// place where they part, and the operands there under the roots that the job and both claims fix.
struct VerdictFile {
  static constexpr protocol::NounKind kKind = protocol::NounKind::kVerdictFile;

  protocol::Receipt receipt;
  Digest input_salt{};  // of c_0, where the job has one step without noise; else zero
  Matter matter = Matter::kOperation;
  std::array<Word, kSides> words;    // by Side
  NodeFacts facts;                   // kCarried: the sizes only
  std::vector<TensorProof> carried;  // kCarried: one, of the value that differs; else none
  std::vector<LeafProof> operands;   // of those that are no constants, in order

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("receipt", self.receipt);
    archive.field("input_salt", self.input_salt);
    archive.field("matter", self.matter);
    archive.field("provider", self.words[0]);
    archive.field("challenger", self.words[1]);
    archive.field("facts", self.facts);
    archive.field("carried", self.carried);
    archive.field("operands", self.operands);
  }
};
void write(protocol::Writer& writer, const Word& word);
void read(protocol::Reader& reader, Word& word);

/// What an arbiter found: who was wrong, and where.
struct Finding {
  std::array<bool, kSides> wrong{};
  Matter matter = Matter::kOperation;
  std::uint64_t node = 0;   // kCarried: the first one behind the checkpoint
  std::uint32_t value = 0;  // kCarried: its number
  std::string op;           // of the node: "Conv"
  std::uint32_t output = 0;
  std::string type;  // of the output, as it must be
  // kOperation:
  std::uint64_t element = 0, step = 0, steps = 0;
  scalar::Op operation = scalar::Op::kCopy;
  std::vector<std::uint64_t> operands;  // bits
  std::uint64_t result = 0;             // of the operation
  std::array<std::uint64_t, kSides> claimed{};
};
/// "the provider was wrong: node 12 (Conv), output 0, element 4711, step 300 of 577: fma32(...) is
/// 3f800000, claimed 3f800001"
std::string text_of(const Finding& finding);

/// Checks every signature and proof, evaluates the operation in integers. Pure; microseconds.
/// Errors: kUnauthenticated, kDataLoss and kInvalidArgument, naming the part that does not hold;
/// kUnsupported where the operator has no program.
core::Result<Finding> judge(const VerdictFile& file);

/// Whether the job binds what the step was computed from: it is one step, without noise. Elsewhere
/// both claims must name one input root, which is for the chain to check.
bool has_fixed_input(const protocol::Job& job);
/// The node that the words part in. Precondition: the file's matter is not kCarried.
std::uint64_t node_of(const VerdictFile& file);
/// What proofs about the segment in question are held against, of nodes before `node_limit`.
Ground ground_of(const VerdictFile& file, const GraphSizes& sizes, std::uint64_t node_limit);
/// Where two checkpoints part: the place of the first entry that differs. Nothing where they do not
/// hold the same values, which only the graph can decide.
std::optional<std::size_t> first_difference(const CheckpointLeaf& a, const CheckpointLeaf& b);
/// Where two lists of outputs part: the first output that differs, or the shorter's length.
std::size_t first_difference(const TraceLeaf& a, const TraceLeaf& b);
/// The first element of the leaf at `leaf_index` that differs; nothing where none does.
std::optional<std::uint64_t> first_difference(ByteView a, ByteView b, std::uint64_t element_bytes,
                                              std::uint64_t leaf_index);
/// A value in a leaf of steps. Precondition: it lies there.
std::uint64_t step_value(ByteView leaf, std::uint64_t step);
inline constexpr std::uint64_t kStepBytes = 8;
/// Leaves of the values of `steps` operations.
std::uint64_t step_leaves(std::uint64_t steps);
/// The length that leaf `index` of `bytes` bytes has.
std::uint64_t leaf_bytes(std::uint64_t bytes, std::uint64_t index);

}  // namespace commensal::arbiter
