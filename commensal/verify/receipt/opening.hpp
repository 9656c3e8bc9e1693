// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/job.hpp>
#include <commensal/base/protocol/receipt.hpp>
#include <commensal/compute/tensor/named.hpp>

namespace commensal::receipt {

/// All that the commitments of a job of one step hide, as its gateway keeps it: `inputs` open c_0,
/// `outputs` open c_1.
struct Opening {
  protocol::Job job;
  core::Digest model;  // SHA-256 of the model file: where the auditor finds it
  core::Digest commitment;
  core::Digest input_salt;
  core::Digest output_salt;
  tensor::NamedTensors inputs;
  tensor::NamedTensors outputs;
};

core::Bytes encode(const Opening& opening);
/// Error: kInvalidArgument, naming the field.
core::Result<Opening> decode_opening(core::ByteView bytes);

/// Whether the opening opens exactly what was signed: the receipt's job id, c_0 and c_1.
/// Error: kDataLoss, naming what does not open.
core::Result<void> check_opening(const Opening& opening, const protocol::ReceiptBody& body);

}  // namespace commensal::receipt
