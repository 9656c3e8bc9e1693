// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/record.hpp>
#include <commensal/verify/arbiter/referee.hpp>
#include <optional>
#include <string>

namespace commensal::cases {

/// Where a dispute stands, or ended: for people, and to be kept. What nobody knows yet is absent.
/// Some of it is of the answer's data (`claimed`, `computed`, `verdict`).
struct Place {
  static constexpr std::string_view kRecord = "dispute's place";

  struct Said {
    core::Digest outputs{};  // the root of the outputs, as its first claim has it; zero: not yet
    core::Digest hash{};     // of the present node of the tree that both go down; zero: in none
    std::optional<std::uint64_t> claimed;  // bits of the operation's value
    bool is_wrong = false;                 // as it ended

    template <class Archive, class Self>
    static void fields(Archive& archive, Self& self) {
      archive.field("outputs", self.outputs);
      archive.field("hash", self.hash);
      archive.field("claimed", self.claimed);
      archive.field("is_wrong", self.is_wrong);
    }
  };
  std::string phase;  // arbiter::name_of
  std::uint32_t round = 0;
  std::optional<std::uint64_t> node;  // in the graph's order
  std::string op;                     // of the node; empty: not yet
  std::optional<std::uint64_t> output, element, operation, operations;
  std::optional<std::uint64_t> computed;  // bits of the operation's value
  std::string verdict;                    // one line, where it is over
  Said accused, accuser;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("phase", self.phase);
    archive.field("round", self.round);
    archive.field("node", self.node);
    archive.field("op", self.op);
    archive.field("output", self.output);
    archive.field("element", self.element);
    archive.field("operation", self.operation);
    archive.field("operations", self.operations);
    archive.field("computed", self.computed);
    archive.field("verdict", self.verdict);
    archive.field("accused", self.accused);
    archive.field("accuser", self.accuser);
  }
};

/// Pure.
Place place_of(const arbiter::Referee& referee);

}  // namespace commensal::cases
