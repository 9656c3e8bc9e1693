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

}  // namespace commensal::arbiter
