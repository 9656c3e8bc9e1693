// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <inference/grpc_service.pb.h>

#include <commensal/base/core/result.hpp>
#include <commensal/compute/tensor/tensor.hpp>
#include <commensal/serve/oip/infer.hpp>
#include <cstdint>
#include <memory>
#include <string>

/// Messages of the gRPC face as tensors and back: pure functions; for this room's own sources only.
/// Source: KServe, "Open Inference Protocol (V2)", and Triton's grpc_service.proto.
namespace commensal::oip_grpc {

/// "": 0, the newest. Error: kInvalidArgument, in the words that Triton's clients look for.
core::Result<std::uint32_t> read_version(const std::string& text);

/// Elements that come raw are not copied but keep `request` alive. Errors: kInvalidArgument, one
/// line.
core::Result<oip::InferBody> read_request(
    const std::shared_ptr<const inference::ModelInferRequest>& request);

using Input = inference::ModelInferRequest::InferInputTensor;
using Owner = std::shared_ptr<const void>;

/// Error: kInvalidArgument.
core::Result<tensor::TensorType> type_of(const Input& input);
/// Error: kInvalidArgument (another number of elements, in another field, too large for the type).
core::Result<tensor::Tensor> read_contents(const tensor::TensorType& type,
                                           const inference::InferTensorContents& contents,
                                           const Owner& owner);
bool has_contents(const inference::InferTensorContents& contents);

/// Of the outputs that are wanted, all without names; those are let go as they are copied. What
/// lies in shared memory is named only.
struct Answer {
  std::string model;
  std::uint32_t version = 0;
  std::string id;
  std::string receipt = {};   // hexadecimal
  std::string provider = {};  // "0x..."
  tensor::NamedTensors outputs;
  std::vector<oip::RequestedOutput> wanted = {};
  std::string privacy_class = {};  // "": of none
};
/// Error: kInvalidArgument (no such output).
core::Result<void> choose(tensor::NamedTensors& outputs,
                          const std::vector<oip::RequestedOutput>& wanted);
inference::ModelInferResponse write_response(Answer answer);

}  // namespace commensal::oip_grpc
