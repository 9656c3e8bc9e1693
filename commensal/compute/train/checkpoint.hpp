// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/compute/tensor/tensor.hpp>
#include <string>
#include <vector>

namespace commensal::train {

/// What a training goes on from.
struct Checkpoint {
  core::Digest training{};  // of model, data, settings: whose it is
  std::int64_t step = 0;    // done
  struct Entry {
    std::string name;
    tensor::Tensor value;
  };
  std::vector<Entry> state;   // Step::state
  std::vector<float> losses;  // of the steps done
};

/// A file of its own kind: a line with its version and that of the numeric specification, then
/// the values little-endian, then the SHA-256 of all that.
core::Bytes encode(const Checkpoint& checkpoint);

/// Errors, one line: kDataLoss (cut off, changed), kFailedPrecondition (another version of the
/// numeric specification), kInvalidArgument (no checkpoint).
core::Result<Checkpoint> decode(core::ByteView bytes);

}  // namespace commensal::train
