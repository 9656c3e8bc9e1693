// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/hub.hpp>
#include <commensal/serve/oip/batching_config.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// How a version of a model is served: the subset of Triton's model_config.proto that changes what
/// a client sends or gets. What is not said follows from the model.
namespace commensal::oip {

struct PortConfig {
  std::string name;
  std::vector<std::int64_t> dims;                    // less the batch, where batches are counted
  std::optional<std::vector<std::int64_t>> reshape;  // ... as the model has them
  std::vector<std::string> labels;                   // of an output's elements
};

/// An input that the gateway makes, of what a request says of its sequence.
struct Control {
  enum class Kind : std::uint8_t { kStart, kEnd, kReady, kCorrelationId };
  std::string input;
  Kind kind = Kind::kStart;
  tensor::DType dtype = tensor::DType::kInt32;
  double off = 0, on = 1;
};

struct ModelConfig {
  std::int64_t batch_max = 0;  // 0: batches are not counted
  std::vector<PortConfig> inputs, outputs;
  std::vector<Control> controls;
  BatchingConfig batching;
  std::optional<std::string> privacy_class;  // where it says one; "": that it is of none
  std::string json;                          // all of it, as REST has it
};

/// What is kept of a configuration that somebody has written: JSON. `text` is JSON or protobuf's
/// text format. Error: kInvalidArgument, with line and column, or the field's name.
core::Result<std::string> read_config(std::string_view text);

/// Of a version, by what was said of it. Error: kInvalidArgument (it does not fit the model).
core::Result<ModelConfig> config_of(const gateway::ModelVersion& model,
                                    const gateway::ServingConfig& said);

/// Configurations as they were last made. Thread-safety: one thread, the loop's.
class Configs {
 public:
  using Ptr = std::shared_ptr<const ModelConfig>;
  /// Errors: config_of's, the store's.
  core::Result<Ptr> of(gateway::ModelHub& hub, const gateway::ModelVersion& model);

 private:
  struct Made {
    std::shared_ptr<const gateway::ServingConfig> from;
    Ptr config;
  };
  std::map<std::pair<std::string, std::uint32_t>, Made> made_;
};

/// A sequence of requests, as one of them says.
struct Sequence {
  std::string id;  // a number or any text; "": of none
  bool is_start = false;
  bool is_end = false;
};

/// The model's inputs, of what a client sends. Error: kInvalidArgument.
core::Result<void> fit_inputs(const ModelConfig& config, const std::string& model,
                              const Sequence& sequence, tensor::NamedTensors& inputs);
/// The input of a client that sends its elements and nothing else: so many bytes of them; of a
/// string, the only one, its own. One dimension that is free, or the batch, follows from them.
/// Error: kInvalidArgument. Source: Triton, "Binary Tensor Data Extension", raw requests.
core::Result<tensor::NamedTensor> only_input(const ModelConfig& config,
                                             const gateway::ModelVersion& model,
                                             std::shared_ptr<const core::Bytes> raw);
/// What a client gets, of the model's outputs.
void fit_outputs(const ModelConfig& config, tensor::NamedTensors& outputs);

}  // namespace commensal::oip
