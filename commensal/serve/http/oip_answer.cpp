// SPDX-License-Identifier: Apache-2.0
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

core::Result<EncodedAnswer> write_infer_answer(const InferAnswer& answer,
                                               const InferBody& request) {
  COMMENSAL_ASSIGN(const std::vector<Chosen> chosen, choose(answer.outputs, request));
  EncodedAnswer encoded;
  std::string& out = encoded.text;
  out = fmt::format(R"({{"model_name":{},"model_version":"{}",)", json_quote(answer.model),
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
  if (!any_binary) return encoded;
  encoded.json_bytes = out.size();
  for (const Chosen& output : chosen)
    if (output.binary) out += core::as_text(output.tensor->value.bytes());
  return encoded;
}

}  // namespace commensal::http
