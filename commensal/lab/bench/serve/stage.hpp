// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/bench/serve/load.hpp>
#include <commensal/lab/bench/serve/part.hpp>
#include <commensal/lab/bench/serve/serve_bench.hpp>
#include <commensal/lab/bench/serve/stack.hpp>
#include <memory>
#include <string>
#include <vector>

/// What the bench is made of; for this room's own sources only.
namespace commensal::lab::bench::serve {

/// A part of the bench. All begin before any measures: processes are made while this one has no
/// threads.
class Stage {
 public:
  virtual ~Stage() = default;
  virtual core::Result<void> begin() = 0;
  virtual core::Result<void> measure(Report& report) = 0;
};

std::unique_ptr<Stage> rates_stage(const ServeBenchOptions& options, const core::Clock& clock);
std::unique_ptr<Stage> added_stage(const ServeBenchOptions& options, const core::Clock& clock);
std::unique_ptr<Stage> large_stage(const ServeBenchOptions& options, const core::Clock& clock);
std::unique_ptr<Stage> memory_stage(const ServeBenchOptions& options, const core::Clock& clock);

/// Somebody who answers, and who asks.
struct Party {
  std::string name;
  std::vector<Part> parts;  // its processes; none: this one
  std::unique_ptr<Load> load;
};

/// What one slice was like.
struct Slice {
  Loaded loaded;
  double cpu_us = 0;  // of a request, in the party's processes
};
using Slices = std::vector<std::vector<Slice>>;  // of each party, in their order

/// Each in turn, in an order that changes; a first slice of each warms up and is not counted.
core::Result<Slices> in_turn(std::vector<Party>& parties, std::size_t concurrency,
                             const ServeBenchOptions& options);
/// Until a first request is answered: providers come when they are ready.
core::Result<void> wait_for(Load& load);

/// With those above it. Error: kDataLoss.
core::Result<void> make_folder(const core::Path& folder);

/// The real stack of a gateway and its provider, with state in a folder of its own below `folder`.
struct RealStack {
  std::vector<Part> parts;
  GatewayPlace place;
};
core::Result<RealStack> start_real(const ServeBenchOptions& options, const core::Path& folder);
/// Once this process may have threads. Its owner is the operator.
core::Result<void> push(const GatewayPlace& place, const std::string& model, core::ByteView bytes);

inline constexpr const char* kInferMethod = "/inference.GRPCInferenceService/ModelInfer";
Question question_at(const GatewayPlace& place, std::string message);

/// An input of a request, as Triton's clients send it: raw.
struct RawInput {
  std::string name, datatype;
  std::vector<std::int64_t> shape;
  std::string bytes;
};
/// inference.ModelInferRequest.
std::string grpc_request(const std::string& model, const std::vector<RawInput>& inputs);
/// POST /v2/models/MODEL/infer, binary both ways.
std::string http_request(const GatewayPlace& place, const std::string& model,
                         const std::vector<RawInput>& inputs);

/// Of a slice's figure, over all slices of a party.
template <class Of>
std::vector<double> each(const std::vector<Slice>& slices, Of of) {
  std::vector<double> values;
  values.reserve(slices.size());
  for (const Slice& slice : slices) values.push_back(of(slice));
  return values;
}

}  // namespace commensal::lab::bench::serve
