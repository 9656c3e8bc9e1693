// SPDX-License-Identifier: Apache-2.0
// Fuzz target (tests/fuzz), here because it sees the wire. A request of the gRPC face as its client
// sent it, compressed or not: what is read of it is whole and can be written again.
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/memory_budget.hpp>
#include <commensal/compute/tensor/elements.hpp>
#include <commensal/serve/oip_grpc/compression.hpp>
#include <commensal/serve/oip_grpc/encoding.hpp>
#include <commensal/serve/oip_grpc/messages.hpp>

namespace {

using namespace commensal;
using inference::ModelInferRequest;

constexpr std::int64_t kBytesMax = 1 << 20;

/// As an answer: the inputs come back.
void check_written(const oip::InferBody& body) {
  const auto response =
      oip_grpc::write_response({.model = "m", .version = 1, .id = body.id, .outputs = body.inputs});
  for (int i = 0; i < response.outputs_size(); ++i) {
    const tensor::Tensor& sent = body.inputs.at(static_cast<std::size_t>(i)).value;
    const auto read =
        tensor::decoded_copy(sent.type(), core::as_bytes(response.raw_output_contents(i)));
    core::check(read && tensor::encoded_bytes(*read) == tensor::encoded_bytes(sent),
                "what is written can be read");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool is_silent = (google::protobuf::SetLogHandler(nullptr), true);
  if (size == 0 || !is_silent) return 0;
  http2::Message message;
  message.pieces.emplace_back(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] % 2 == 1) {
    core::MemoryBudget::Lease nobodys;
    auto whole = oip_grpc::inflated(message, oip_grpc::Compression::kGzip, kBytesMax, nobodys);
    if (!whole) return 0;
    message = *std::move(whole);
  }
  core::MemoryBudget::Lease nobodys;
  const auto bytes = oip_grpc::parsed_bytes(message, *ModelInferRequest::descriptor());
  const auto request = oip_grpc::decode<ModelInferRequest>(message, nobodys);
  if (!request) return 0;
  core::check(std::cmp_greater_equal(*bytes, (*request)->SpaceUsedLong()),
              "what it takes is known before it is parsed");
  (void)oip_grpc::read_version((*request)->model_version());
  if (const auto body = oip_grpc::read_request(*request)) check_written(*body);
  return 0;
}
