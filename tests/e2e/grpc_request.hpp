// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/client_context.h>
#include <inference/grpc_service.pb.h>

#include <commensal/base/core/bytes.hpp>
#include <commensal/compute/tensor/named.hpp>
#include <cstdint>
#include <string>

namespace commensal::e2e {

/// A picture of the digit network, as Triton's clients ask by gRPC.
inline inference::ModelInferRequest digit_request(const std::string& model,
                                                  const tensor::NamedTensors& picture) {
  inference::ModelInferRequest request;
  request.set_model_name(model);
  auto& input = *request.add_inputs();
  input.set_name("image");
  input.set_datatype("FP32");
  for (const int dim : {1, 1, 8, 8}) input.add_shape(dim);
  request.add_raw_input_contents(std::string(core::as_text(picture[0].value.bytes())));
  return request;
}

/// Whose call it is, and how long it waits.
inline void prepare(grpc::ClientContext& context, const std::string& token, std::int64_t wait_ms) {
  context.AddMetadata("authorization", "Bearer " + token);
  context.set_deadline(
      gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_millis(wait_ms, GPR_TIMESPAN)));
}

}  // namespace commensal::e2e
