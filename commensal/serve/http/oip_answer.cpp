// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/http/json_elements.hpp>
#include <commensal/serve/http/oip.hpp>
#include <iterator>
#include <nlohmann/json.hpp>

namespace commensal::http {

namespace {

struct Chosen {
  const tensor::NamedTensor* tensor;
  bool binary;
};

core::Result<std::vector<Chosen>> choose(const tensor::NamedTensors& outputs,
                                         const InferBody& request) {
  std::vector<Chosen> chosen;
  if (request.outputs.empty())
    for (const tensor::NamedTensor& output : outputs)
      chosen.push_back({&output, request.binary_outputs});
  for (const RequestedOutput& wanted : request.outputs) {
    const auto found = std::ranges::find(outputs, wanted.name, &tensor::NamedTensor::name);
    if (found == outputs.end())
      return core::fail(core::ErrorCode::kInvalidArgument, "the model has no output '{}'",
                        wanted.name);
    chosen.push_back({&*found, wanted.binary.value_or(request.binary_outputs)});
  }
  return chosen;
}

constexpr std::int64_t kQuotedMax = 6;     // bytes of text for one that is escaped
constexpr std::int64_t kFrameBytes = 256;  // at most, of what is the same in all of them

/// Of the text that names an output and shows its elements, if it does.
std::int64_t json_bytes_max(const Chosen& chosen) {
  const tensor::Tensor& value = chosen.tensor->value;
  return kFrameBytes + kQuotedMax * std::ssize(chosen.tensor->name) +
         std::ssize(value.shape().text()) +
         (chosen.binary ? 0 : json_elements_bytes_max(value.type()));
}

core::Result<std::int64_t> bytes_max(const InferAnswer& answer, const std::vector<Chosen>& chosen) {
  std::int64_t json = kFrameBytes + kQuotedMax * std::ssize(answer.model + answer.id) +
                      std::ssize(answer.receipt + answer.provider);
  std::int64_t binary = 0;
  for (const Chosen& output : chosen) {
    json += json_bytes_max(output);
    if (output.binary) binary += std::ssize(output.tensor->value.bytes());
  }
  if (json > limits::kHttpJsonBytesMax) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "the answer takes up to {} bytes of JSON, at most {} are written: ask for "
                      "binary outputs (\"parameters\":{{\"binary_data_output\":true}})",
                      json, limits::kHttpJsonBytesMax);
  }
  return json + binary;
}

void append_output(std::string& out, const Chosen& chosen) {
  const tensor::Tensor& value = chosen.tensor->value;
  fmt::format_to(std::back_inserter(out), R"({{"name":{},"datatype":"{}","shape":{},)",
                 json_quote(chosen.tensor->name), tensor::traits(value.dtype()).oip,
                 value.shape().text());
  if (chosen.binary) {
    fmt::format_to(std::back_inserter(out), R"("parameters":{{"binary_data_size":{}}}}})",
                   value.bytes().size());
    return;
  }
  out += "\"data\":";
  append_json_elements(out, value);
  out += '}';
}

}  // namespace

std::string json_quote(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

core::Result<std::int64_t> answer_bytes_max(const InferAnswer& answer, const InferBody& request) {
  COMMENSAL_ASSIGN(const std::vector<Chosen> chosen, choose(answer.outputs, request));
  return bytes_max(answer, chosen);
}

core::Result<EncodedAnswer> write_infer_answer(const InferAnswer& answer,
                                               const InferBody& request) {
  COMMENSAL_ASSIGN(const std::vector<Chosen> chosen, choose(answer.outputs, request));
  COMMENSAL_ASSIGN(const std::int64_t most, bytes_max(answer, chosen));
  EncodedAnswer encoded;
  std::string& out = encoded.text;
  out.reserve(static_cast<std::size_t>(most));
  out += fmt::format(R"({{"model_name":{},"model_version":"{}",)", json_quote(answer.model),
                     answer.version);
  if (!answer.id.empty()) out += fmt::format(R"("id":{},)", json_quote(answer.id));
  out += fmt::format(
      R"("parameters":{{"commensal_receipt":"{}","commensal_provider":"{}"}},"outputs":[)",
      answer.receipt, answer.provider);
  bool any_binary = false;
  for (const Chosen& output : chosen) {
    if (&output != &chosen.front()) out += ',';
    append_output(out, output);
    any_binary = any_binary || output.binary;
  }
  out += "]}";
  if (!any_binary) {
    if (out.size() < out.capacity() / 2) out.shrink_to_fit();  // it may wait for long
    return encoded;
  }
  encoded.json_bytes = out.size();
  for (const Chosen& output : chosen)
    if (output.binary) out += core::as_text(output.tensor->value.bytes());
  return encoded;
}

}  // namespace commensal::http
