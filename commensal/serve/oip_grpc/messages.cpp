// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/tensor/elements.hpp>
#include <commensal/serve/oip/privacy.hpp>
#include <commensal/serve/oip_grpc/messages.hpp>
#include <set>
#include <utility>

namespace commensal::oip_grpc {

namespace {

using core::ErrorCode;
using core::Result;
using inference::InferParameter;
using Parameters = google::protobuf::Map<std::string, InferParameter>;
using Wanted = inference::ModelInferRequest::InferRequestedOutputTensor;

constexpr std::string_view kDrawCommitment = "commensal_draw_commitment";
constexpr std::string_view kRegion = "shared_memory_region";

const InferParameter* find(const Parameters& parameters, std::string_view name) {
  const auto found = parameters.find(std::string(name));
  return found == parameters.end() ? nullptr : &found->second;
}

/// 0 where it is missing. Error: kInvalidArgument.
Result<std::int64_t> number(const Parameters& parameters, std::string_view name) {
  const InferParameter* const found = find(parameters, name);
  if (found == nullptr) return 0;
  if (found->parameter_choice_case() != InferParameter::kInt64Param || found->int64_param() < 0)
    return core::fail(ErrorCode::kInvalidArgument,
                      "the parameter '{}' is a number from 0 on, in int64_param", name);
  return found->int64_param();
}

/// Triton's clients send it without a sign. Error: kInvalidArgument.
Result<std::uint64_t> priority(const Parameters& parameters) {
  const InferParameter* const found = find(parameters, "priority");
  if (found != nullptr && found->parameter_choice_case() == InferParameter::kUint64Param)
    return found->uint64_param();
  COMMENSAL_ASSIGN(const std::int64_t level, number(parameters, "priority"));
  return static_cast<std::uint64_t>(level);
}

/// A number or a text; 0 and "" say that it is of none.
std::string sequence_id(const InferParameter& said) {
  const bool is_text = said.parameter_choice_case() == InferParameter::kStringParam;
  const bool is_unsigned = said.parameter_choice_case() == InferParameter::kUint64Param;
  std::string id = is_text       ? said.string_param()
                   : is_unsigned ? std::to_string(said.uint64_param())
                                 : std::to_string(said.int64_param());
  return id == "0" ? "" : id;
}

Result<void> read_parameters(const Parameters& parameters, oip::InferBody& body) {
  if (const InferParameter* const id = find(parameters, "sequence_id"))
    body.sequence.id = sequence_id(*id);
  const InferParameter* const start = find(parameters, "sequence_start");
  const InferParameter* const end = find(parameters, "sequence_end");
  body.sequence.is_start = start != nullptr && start->bool_param();
  body.sequence.is_end = end != nullptr && end->bool_param();
  COMMENSAL_ASSIGN(body.timeout_us, number(parameters, "timeout"));
  COMMENSAL_ASSIGN(body.priority, priority(parameters));
  if (const InferParameter* const said = find(parameters, oip::kPrivacyClass)) {
    COMMENSAL_ASSIGN(body.privacy_class, oip::read_privacy_class(said->string_param()));
  }
  if (const InferParameter* const sent = find(parameters, kDrawCommitment)) {
    COMMENSAL_ASSIGN(body.draw_commitment, core::digest_from_hex(sent->string_param()));
  }
  return {};
}

/// Error: kInvalidArgument: one but `own` is meant to name the privacy class.
Result<void> check_unread(const Parameters& parameters, std::string_view own = "") {
  for (const auto& [name, value] : parameters) {
    if (name != own) COMMENSAL_TRY(oip::check_unread(name));
  }
  return {};
}

/// Where elements lie in shared memory; none: they do not. Error: kInvalidArgument.
Result<std::optional<oip::Place>> read_place(const Parameters& parameters) {
  const InferParameter* const region = find(parameters, kRegion);
  if (region == nullptr) return std::nullopt;
  oip::Place place{.region = region->string_param()};
  COMMENSAL_ASSIGN(place.offset, number(parameters, "shared_memory_offset"));
  COMMENSAL_ASSIGN(place.bytes, number(parameters, "shared_memory_byte_size"));
  return place;
}

Result<oip::RequestedOutput> read_output(const Wanted& wanted) {
  oip::RequestedOutput output{.name = wanted.name()};
  if (output.name.empty()) return core::fail(ErrorCode::kInvalidArgument, "an output needs a name");
  COMMENSAL_TRY(check_unread(wanted.parameters()));
  COMMENSAL_ASSIGN(output.classes, number(wanted.parameters(), "classification"));
  COMMENSAL_ASSIGN(output.place, read_place(wanted.parameters()));
  return output;
}

/// `raw`: null where the contents are in the input.
Result<tensor::Tensor> read_input(const Input& input, const std::string* raw, const Owner& owner) {
  COMMENSAL_ASSIGN(const tensor::TensorType type, type_of(input));
  if (raw != nullptr) return tensor::decoded(type, core::as_bytes(*raw), owner);
  return read_contents(type, input.contents(), owner);
}

template <class Items>
Result<void> check_names(const Items& items, std::string_view what) {
  if (std::cmp_greater(items.size(), limits::kInferTensorsMax))
    return core::fail(ErrorCode::kInvalidArgument, "a request has at most {} {}s",
                      limits::kInferTensorsMax, what);
  std::set<std::string_view> names;
  for (const auto& item : items) {
    if (item.name().empty())
      return core::fail(ErrorCode::kInvalidArgument, "an {} needs a name", what);
    if (!names.insert(item.name()).second)
      return core::fail(ErrorCode::kInvalidArgument, "{} '{}' is there twice", what, item.name());
  }
  return {};
}

bool is_placed(const Input& input) { return find(input.parameters(), kRegion) != nullptr; }

/// Elements are all raw or all in the inputs, but for those in shared memory.
Result<void> check_contents(const inference::ModelInferRequest& request) {
  if (request.raw_input_contents_size() == 0) return {};
  for (const Input& input : request.inputs()) {
    if (has_contents(input.contents()))
      return core::fail(ErrorCode::kInvalidArgument,
                        "contents field must not be specified when using raw_input_contents for "
                        "'{}' for model '{}'",
                        input.name(), request.model_name());
  }
  const auto sent =
      std::ranges::count_if(request.inputs(), [](const Input& input) { return !is_placed(input); });
  if (request.raw_input_contents_size() != sent)
    return core::fail(ErrorCode::kInvalidArgument,
                      "expected raw_input_contents of each of the {} inputs, there are {}", sent,
                      request.raw_input_contents_size());
  return {};
}

}  // namespace

Result<std::uint32_t> read_version(const std::string& text) {
  std::uint32_t version = 0;
  if (text.empty()) return version;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, version);
  if (error != std::errc() || stop != end || version == 0)
    return core::fail(ErrorCode::kInvalidArgument,
                      "failed to get model version from specified version string '{}' (details: "
                      "expected a number from 1 on)",
                      text.substr(0, 64));
  return version;
}

Result<oip::InferBody> read_request(
    const std::shared_ptr<const inference::ModelInferRequest>& request) {
  oip::InferBody body;
  body.id = request->id();
  body.binary_outputs = true;
  COMMENSAL_TRY(check_unread(request->parameters(), oip::kPrivacyClass));
  for (const Input& input : request->inputs()) COMMENSAL_TRY(check_unread(input.parameters()));
  COMMENSAL_TRY(read_parameters(request->parameters(), body));
  COMMENSAL_TRY(check_names(request->inputs(), "input"));
  COMMENSAL_TRY(check_names(request->outputs(), "output"));
  COMMENSAL_TRY(check_contents(*request));
  const bool is_raw = request->raw_input_contents_size() > 0;
  int next = 0;
  for (const Input& input : request->inputs()) {
    if (is_placed(input)) {
      COMMENSAL_ASSIGN(const tensor::TensorType type, type_of(input));
      COMMENSAL_ASSIGN(const auto place, read_place(input.parameters()));
      body.placed.push_back({input.name(), type, *place});
      continue;
    }
    auto tensor =
        read_input(input, is_raw ? &request->raw_input_contents(next++) : nullptr, request);
    if (!tensor)
      return core::in_context(fmt::format("input '{}'", input.name()), std::move(tensor).error());
    body.inputs.push_back({input.name(), *std::move(tensor)});
  }
  for (const Wanted& wanted : request->outputs()) {
    COMMENSAL_ASSIGN(oip::RequestedOutput output, read_output(wanted));
    body.outputs.push_back(std::move(output));
  }
  return body;
}

Result<void> choose(tensor::NamedTensors& outputs,
                    const std::vector<oip::RequestedOutput>& wanted) {
  if (wanted.empty()) return {};
  tensor::NamedTensors chosen;
  for (const oip::RequestedOutput& one : wanted) {
    const auto found = std::ranges::find(outputs, one.name, &tensor::NamedTensor::name);
    if (found == outputs.end())
      return core::fail(ErrorCode::kInvalidArgument, "the model has no output '{}'", one.name);
    chosen.push_back(*found);
  }
  outputs = std::move(chosen);
  return {};
}

namespace {

const oip::Place* place_of(const std::vector<oip::RequestedOutput>& wanted,
                           const std::string& name) {
  const auto found = std::ranges::find(wanted, name, &oip::RequestedOutput::name);
  return found == wanted.end() || !found->place ? nullptr : &*found->place;
}

}  // namespace

inference::ModelInferResponse write_response(Answer answer) {
  inference::ModelInferResponse response;
  response.set_model_name(std::move(answer.model));
  response.set_model_version(std::to_string(answer.version));
  response.set_id(std::move(answer.id));
  auto& parameters = *response.mutable_parameters();
  parameters["commensal_receipt"].set_string_param(answer.receipt);
  parameters["commensal_provider"].set_string_param(answer.provider);
  if (!answer.privacy_class.empty())
    parameters[std::string(oip::kPrivacyClass)].set_string_param(answer.privacy_class);
  for (tensor::NamedTensor& output : answer.outputs) {
    auto& written = *response.add_outputs();
    written.set_name(output.name);
    written.set_datatype(std::string(tensor::traits(output.value.dtype()).oip));
    for (const std::int64_t dim : output.value.shape().dims()) written.add_shape(dim);
    if (const oip::Place* const place = place_of(answer.wanted, output.name)) {
      auto& said = *written.mutable_parameters();
      said[std::string(kRegion)].set_string_param(place->region);
      said["shared_memory_offset"].set_int64_param(place->offset);
      said["shared_memory_byte_size"].set_int64_param(tensor::encoded_bytes(output.value));
      response.add_raw_output_contents();  // clients count them
      continue;
    }
    std::string& raw = *response.add_raw_output_contents();
    raw.reserve(static_cast<std::size_t>(tensor::encoded_bytes(output.value)));
    tensor::append_encoded(raw, output.value);
    output.value = {};
  }
  return response;
}

}  // namespace commensal::oip_grpc
