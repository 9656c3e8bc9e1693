// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/compute/tensor/tensor.hpp>
#include <string>
#include <vector>

namespace commensal::train {

/// What a training goes on from.
struct Checkpoint {
  core::Digest training{};     // of model, data, settings: whose it is
  std::int64_t step = 0;       // done
  std::int64_t confirmed = 0;  // so many of them were made here, or are known to be right
  struct Entry {
    std::string name;
    tensor::Tensor value;
  };
  std::vector<Entry> state;   // Step::state
  std::vector<float> losses;  // of the steps done
  /// What was found on samples that are not trained on, after so many steps.
  struct HeldOut {
    std::int64_t step = 0;
    double loss = 0;
    double accuracy = -1;  // of LossKind::kCrossEntropy: right ones, 0 to 1; else -1
  };
  std::vector<HeldOut> held_out;  // steps rise
};

/// A file of its own kind: a line with its version and that of the numeric specification, then
/// the values little-endian, then the SHA-256 of all that.
core::Bytes encode(const Checkpoint& checkpoint);

/// Errors, one line: kDataLoss (cut off, changed), kFailedPrecondition (another version of the
/// numeric specification), kInvalidArgument (no checkpoint).
core::Result<Checkpoint> decode(core::ByteView bytes);

}  // namespace commensal::train
