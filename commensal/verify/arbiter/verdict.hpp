// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/arbiter/verdict_file.hpp>

namespace commensal::arbiter {

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

/// That it follows the programs that this arbiter has. Error: kUnsupported.
core::Result<void> check_programs(const TraceClaim& claim);

/// Checks every signature and proof, evaluates the operation in integers. Pure; microseconds.
/// Errors: kUnauthenticated, kDataLoss and kInvalidArgument, naming the part that does not hold;
/// kUnsupported where the operator has no program, or the claims follow other programs.
core::Result<Finding> judge(const VerdictFile& file);
/// The same of one whose provider's side is somebody else, who signed the same outputs.
core::Result<Finding> judge(const VerdictFile& file, const crypto::Address& accused);

}  // namespace commensal::arbiter
