// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>
#include <inference/model_config.pb.h>

#include <algorithm>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/oip/batching_wire.hpp>
#include <commensal/serve/oip/config_rules.hpp>
#include <commensal/serve/oip/model_config.hpp>
#include <commensal/serve/oip/privacy.hpp>
#include <nlohmann/json.hpp>

namespace commensal::oip {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using gateway::ModelPort;
using gateway::ModelVersion;
using Wire = inference::ModelConfig;
using Json = nlohmann::ordered_json;
namespace pb = google::protobuf;

/// "TYPE_FP32" of "FP32"; strings have a name of their own.
std::string type_name(tensor::DType dtype) {
  if (dtype == tensor::DType::kString) return "TYPE_STRING";
  return fmt::format("TYPE_{}", tensor::traits(dtype).oip);
}

/// Keeps the first error, which is where the text stops being a configuration.
class FirstError final : public pb::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text.empty()) text = fmt::format("line {}, column {}: {}", line + 1, column + 1, message);
  }
  std::string text;
};

Result<Wire> from_text(std::string_view text) {
  Wire wire;
  FirstError error;
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (parser.ParseFromString(std::string(text), &wire)) return wire;
  return fail(ErrorCode::kInvalidArgument, "the configuration is no model_config: {}", error.text);
}

Result<Wire> from_json(std::string_view text) {
  try {
    (void)Json::parse(text);  // says line and column
  } catch (const Json::parse_error& error) {
    return fail(ErrorCode::kInvalidArgument, "the configuration is no JSON: {}", error.what());
  }
  Wire wire;
  const auto read = pb::util::JsonStringToMessage(std::string(text), &wire);
  if (read.ok()) return wire;
  std::string why(read.message());
  why = why.substr(0, why.find('\n'));
  return fail(ErrorCode::kInvalidArgument, "the configuration is no model_config: {}", why);
}

/// Protobuf writes numbers of 64 bits as texts; Triton's REST has numbers.
void unquote_numbers(Json& json) {
  constexpr std::string_view kNumbers[] = {"dims", "shape", "max_queue_delay_microseconds",
                                           "default_timeout_microseconds",
                                           "max_sequence_idle_microseconds"};
  const auto number_of = [](Json& one) {
    if (!one.is_string()) return;
    const std::string text = one.get<std::string>();
    text.starts_with('-') ? one = std::stoll(text) : one = std::stoull(text);
  };
  if (json.is_array()) {
    for (Json& item : json) unquote_numbers(item);
  } else if (json.is_object()) {
    for (auto& [key, value] : json.items()) {
      const bool is_number = std::ranges::find(kNumbers, key) != std::end(kNumbers);
      if (!is_number) {
        unquote_numbers(value);
      } else if (value.is_array()) {
        for (Json& item : value) number_of(item);
      } else {
        number_of(value);
      }
    }
  }
}

std::string json_of(const Wire& wire, bool is_whole) {
  pb::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = is_whole;
  std::string text;
  core::check(pb::util::MessageToJsonString(wire, &text, options).ok(), "a message has a text");
  Json json = Json::parse(text);
  unquote_numbers(json);
  return json.dump();
}

using Dims = std::vector<std::int64_t>;

Dims dims_of(const pb::RepeatedField<pb::int64>& dims) { return {dims.begin(), dims.end()}; }

/// The port of the model that a client sends or gets by this name; null: there is none.
const ModelPort* port_named(const std::vector<ModelPort>& ports, const std::string& name) {
  const auto found = std::ranges::find(ports, name, &ModelPort::name);
  return found == ports.end() ? nullptr : &*found;
}

/// The model's own dimensions, less those of its batch.
Result<Dims> own_dims(const ModelPort& port, bool is_batched) {
  if (!port.declared.ranked) return Dims{-1};
  Dims dims = port.declared.dims;
  if (!is_batched) return dims;
  if (dims.empty() || dims[0] >= 0) {
    return fail(
        ErrorCode::kInvalidArgument,
        "max_batch_size is above 0, but the model's first dimension of '{}' is not free: {}",
        port.name, port.declared.text());
  }
  dims.erase(dims.begin());
  return dims;
}

bool are_within(const Dims& said, const Dims& own) {
  return std::ranges::equal(said, own,
                            [](std::int64_t a, std::int64_t b) { return b < 0 || a == b; });
}

/// Fills in what is not said of one port and checks what is. `Message`: ModelInput or ModelOutput.
template <class Message>
Result<PortConfig> settle(Message& said, const ModelPort& port, bool is_batched) {
  COMMENSAL_ASSIGN(const Dims own, own_dims(port, is_batched));
  inference::DataType type;
  const std::string wanted = type_name(port.declared.dtype);
  if (!inference::DataType_Parse(wanted, &type)) {
    return fail(ErrorCode::kInvalidArgument, "'{}' has a type that no configuration names",
                port.name);
  }
  if (said.data_type() == inference::TYPE_INVALID) said.set_data_type(type);
  if (said.data_type() != type) {
    return fail(ErrorCode::kInvalidArgument, "data_type of '{}' is {}, the model has {}", port.name,
                inference::DataType_Name(said.data_type()), wanted);
  }
  if (said.dims().empty()) said.mutable_dims()->Add(own.begin(), own.end());
  PortConfig made{.name = port.name, .dims = dims_of(said.dims()), .reshape = {}, .labels = {}};
  if (said.has_reshape()) made.reshape = dims_of(said.reshape().shape());
  const Dims& as_model = made.reshape ? *made.reshape : made.dims;
  if (port.declared.ranked && !are_within(as_model, own)) {
    return fail(ErrorCode::kInvalidArgument, "{} of '{}' are [{}], the model has [{}]{}",
                made.reshape ? "reshape" : "dims", port.name, fmt::join(as_model, ","),
                fmt::join(own, ","), is_batched ? " behind its batch" : "");
  }
  return made;
}

Control::Kind kind_of(inference::ModelSequenceBatching::Control::Kind kind) {
  using Wire = inference::ModelSequenceBatching::Control;
  if (kind == Wire::CONTROL_SEQUENCE_END) return Control::Kind::kEnd;
  if (kind == Wire::CONTROL_SEQUENCE_READY) return Control::Kind::kReady;
  if (kind == Wire::CONTROL_SEQUENCE_CORRID) return Control::Kind::kCorrelationId;
  return Control::Kind::kStart;  // check_config() knows no other
}

Result<std::vector<Control>> controls_of(const Wire& wire, const ModelVersion& model) {
  std::vector<Control> controls;
  for (const auto& input : wire.sequence_batching().control_input()) {
    const ModelPort* const port = port_named(model.inputs, input.name());
    if (port == nullptr) {
      return fail(ErrorCode::kInvalidArgument, "control_input '{}': the model has no such input",
                  input.name());
    }
    if (input.control_size() != 1) {
      return fail(ErrorCode::kInvalidArgument, "control_input '{}' has {} controls, expected one",
                  input.name(), input.control_size());
    }
    const auto& control = input.control(0);
    Control made{.input = input.name(), .dtype = port->declared.dtype};
    if (control.data_type() != inference::TYPE_INVALID &&
        inference::DataType_Name(control.data_type()) != type_name(made.dtype)) {
      return fail(ErrorCode::kInvalidArgument, "control_input '{}' is {}, the model has {}",
                  input.name(), inference::DataType_Name(control.data_type()),
                  type_name(made.dtype));
    }
    made.kind = kind_of(control.kind());
    const auto set = [&](const auto& pair) {
      if (pair.size() == 2) made.off = double(pair.Get(0)), made.on = double(pair.Get(1));
    };
    set(control.int32_false_true());
    set(control.fp32_false_true());
    set(control.bool_false_true());
    controls.push_back(std::move(made));
  }
  return controls;
}

std::vector<std::string> lines_of(core::ByteView text) {
  std::vector<std::string> lines;
  std::string_view left = core::as_text(text);
  while (!left.empty()) {
    const std::size_t end = left.find('\n');
    std::string_view line = left.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
  }
  return lines;
}

/// What is said of the ports of one side, in the model's order, and what is not.
template <class Messages>
Result<std::vector<PortConfig>> settle_all(Messages* said, const std::vector<ModelPort>& ports,
                                           const std::vector<Control>& controls, bool is_batched,
                                           std::string_view side) {
  for (const auto& one : *said) {
    if (port_named(ports, one.name()) != nullptr) continue;
    return fail(ErrorCode::kInvalidArgument, "{} '{}': the model has no such {}", side, one.name(),
                side);
  }
  const Messages before = *said;
  said->Clear();
  std::vector<PortConfig> made;
  for (const ModelPort& port : ports) {
    if (std::ranges::find(controls, port.name, &Control::input) != controls.end()) continue;
    auto* const one = said->Add();
    const auto found =
        std::ranges::find_if(before, [&](const auto& other) { return other.name() == port.name; });
    if (found != before.end()) *one = *found;
    one->set_name(port.name);
    COMMENSAL_ASSIGN(PortConfig settled, settle(*one, port, is_batched));
    made.push_back(std::move(settled));
  }
  return made;
}

/// What the configuration says of the privacy class: nothing, one, or "", that there is none.
Result<std::optional<std::string>> class_said_in(const Wire& wire) {
  const auto found = wire.parameters().find(std::string(kPrivacyClass));
  if (found == wire.parameters().end()) return std::nullopt;
  const std::string& said = found->second.string_value();
  if (!said.empty()) COMMENSAL_TRY(read_privacy_class(said));
  return said;
}

}  // namespace

Result<std::string> read_config(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string_view::npos && text[first] == '{';
  COMMENSAL_ASSIGN(const Wire wire, is_json ? from_json(text) : from_text(text));
  COMMENSAL_TRY(check_config(wire));
  if (wire.max_batch_size() < 0) {
    return fail(ErrorCode::kInvalidArgument, "max_batch_size is {}, expected 0 or more",
                wire.max_batch_size());
  }
  return json_of(wire, false);
}

Result<ModelConfig> config_of(const ModelVersion& model, const gateway::ServingConfig& said) {
  Wire wire;
  for (const core::Bytes* const text : {&said.config, &said.override}) {
    if (text->empty()) continue;
    COMMENSAL_ASSIGN(Wire one, from_json(core::as_text(*text)));
    if (!one.input().empty()) wire.clear_input();
    if (!one.output().empty()) wire.clear_output();
    wire.MergeFrom(one);
  }
  COMMENSAL_TRY(check_config(wire));
  ModelConfig made;
  made.batch_max = wire.max_batch_size();
  wire.set_name(model.name);
  if (wire.platform().empty()) wire.set_platform("commensal_onnx");
  if (wire.backend().empty()) wire.set_backend("commensal");
  COMMENSAL_ASSIGN(made.batching, batching_config(wire));
  COMMENSAL_ASSIGN(made.privacy_class, class_said_in(wire));
  const std::string privacy_class = made.privacy_class.value_or(said.privacy_class);
  auto& parameters = *wire.mutable_parameters();
  parameters.erase(std::string(kPrivacyClass));
  if (!privacy_class.empty())
    parameters[std::string(kPrivacyClass)].set_string_value(privacy_class);
  COMMENSAL_ASSIGN(made.controls, controls_of(wire, model));
  const bool is_batched = made.batch_max > 0;
  COMMENSAL_ASSIGN(made.inputs, settle_all(wire.mutable_input(), model.inputs, made.controls,
                                           is_batched, "input"));
  COMMENSAL_ASSIGN(made.outputs,
                   settle_all(wire.mutable_output(), model.outputs, {}, is_batched, "output"));
  for (const auto& output : wire.output()) {
    if (output.label_filename().empty()) continue;
    const auto file =
        std::ranges::find(said.files, output.label_filename(), &gateway::ServingConfig::File::name);
    if (file == said.files.end()) {
      return fail(ErrorCode::kInvalidArgument, "label_filename of '{}' is '{}', which was not sent",
                  output.name(), output.label_filename());
    }
    std::ranges::find(made.outputs, output.name(), &PortConfig::name)->labels =
        lines_of(file->text);
  }
  made.json = json_of(wire, true);
  return made;
}

Result<Configs::Ptr> Configs::of(gateway::ModelHub& hub, const ModelVersion& model) {
  COMMENSAL_ASSIGN(auto said, hub.repository().config(model.name, model.version));
  const auto key = std::pair(model.name, model.version);
  const auto known = made_.find(key);
  if (known != made_.end() && known->second.from == said) return known->second.config;
  COMMENSAL_ASSIGN(ModelConfig config, config_of(model, *said));
  if (made_.size() >= limits::kConfigsInMemoryMax) made_.clear();
  auto made = std::make_shared<const ModelConfig>(std::move(config));
  made_.insert_or_assign(key, Made{std::move(said), made});
  return made;
}

}  // namespace commensal::oip
