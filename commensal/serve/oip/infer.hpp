// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/oip/admission.hpp>
#include <commensal/serve/oip/services.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

/// What the Open Inference Protocol (KServe, "Open Inference Protocol (V2)") and Triton's
/// extensions of it ask for, whatever they are encoded in.
namespace commensal::oip {

struct RequestedOutput {
  std::string name;
  std::optional<bool> binary = {};  // absent: as the request says for all
  std::int64_t classes = 0;  // so many of its largest elements, as texts (classify()); 0: itself
  std::optional<Place> place = {};  // where it is written, instead of into the answer
};

/// An input whose elements the client has put into shared memory.
struct PlacedInput {
  std::string name;
  tensor::TensorType type;
  Place from;
};

struct InferBody {
  std::string id;
  tensor::NamedTensors inputs;
  std::vector<PlacedInput> placed;
  std::shared_ptr<const core::Bytes> raw;  // the elements of the only input, or null
  std::vector<RequestedOutput> outputs;    // empty: all
  bool binary_outputs = false;
  core::Digest draw_commitment{};  // as in protocol::Job; zero: none was sent
  Sequence sequence;
  std::int64_t timeout_us = 0;  // after so long nobody waits for the answer; 0: as long as it takes
  std::uint64_t priority = 0;   // 1 is the first; 0: the model's usual one
  std::string privacy_class = {};  // of the inputs (privacy.hpp)
};

struct InferRequest {
  std::string model;  // "owner/model", or an alias
  std::uint32_t version = 0;
  InferBody body;
  std::stop_token left = {};  // asked to stop: nobody waits for the answer
  /// As gateway::InferRequest's.
  std::function<core::Result<void>(const gateway::ModelVersion&)> check = {};
};

/// Off the loop, which it posts to in the asker's line, whose memory counts what is read from
/// shared memory too. `done` is called once, on any thread where that fails, else on the loop.
/// Errors: Gateway::infer's, SystemMemory::read's.
void infer(const Services& services, std::shared_ptr<Asker> asker, InferRequest request,
           gateway::InferDone done);

/// Of an inference that is refused before infer(): who looks on hears of it too. Any thread.
void note_refused(const Services& services, const Asker& asker, const core::Error& why);

/// Writes the outputs that belong into shared memory. Off the loop. Errors: SystemMemory::write's.
core::Result<void> write_places(const Services& services, const Asker& asker,
                                const std::vector<RequestedOutput>& requested,
                                const tensor::NamedTensors& outputs);

}  // namespace commensal::oip
