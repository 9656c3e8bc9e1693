// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/compute/tensor/elements.hpp>
#include <commensal/serve/http/json_elements.hpp>
#include <commensal/serve/http/oip.hpp>
#include <commensal/serve/oip/privacy.hpp>
#include <iterator>
#include <nlohmann/json.hpp>

namespace commensal::http {

namespace {

/// One that is wanted, of outputs that have names.
template <class Output>
struct Chosen {
  const Output* output;
  bool binary;
  const oip::Place* place;  // where its elements are instead; null: in the answer
};

template <class Output>
core::Result<std::vector<Chosen<Output>>> choose(const std::vector<Output>& outputs,
                                                 const InferBody& request) {
  std::vector<Chosen<Output>> chosen;
  if (request.outputs.empty())
    for (const Output& output : outputs)
      chosen.push_back({&output, request.binary_outputs, nullptr});
  for (const RequestedOutput& wanted : request.outputs) {
    const auto found = std::ranges::find(outputs, wanted.name, &Output::name);
    if (found == outputs.end())
      return core::fail(core::ErrorCode::kInvalidArgument, "the model has no output '{}'",
                        wanted.name);
    const oip::Place* const place = wanted.place ? &*wanted.place : nullptr;
    const bool is_binary = place == nullptr && wanted.binary.value_or(request.binary_outputs);
    chosen.push_back({&*found, is_binary, place});
  }
  return chosen;
}

constexpr std::int64_t kQuotedMax = 6;     // bytes of text for one that is escaped
constexpr std::int64_t kFrameBytes = 256;  // at most, of what is the same in all of them

/// Of the text but for the elements.
std::int64_t frame_bytes_max(const InferAnswer& answer,
                             const std::vector<Chosen<tensor::NamedTensor>>& chosen) {
  std::int64_t bytes = kFrameBytes + kQuotedMax * std::ssize(answer.model + answer.id) +
                       std::ssize(answer.receipt + answer.provider + answer.privacy_class);
  for (const auto& [output, binary, place] : chosen) {
    bytes += kFrameBytes + kQuotedMax * std::ssize(output->name) +
             std::ssize(output->value.shape().text());
  }
  return bytes;
}

/// `json_of` says how long the array of an output's elements is, given how long it may be.
template <class JsonOf>
core::Result<AnswerBytes> bytes_of(const InferAnswer& answer, const InferBody& request,
                                   JsonOf json_of) {
  COMMENSAL_ASSIGN(const auto chosen, choose(answer.outputs, request));
  AnswerBytes bytes{.json = frame_bytes_max(answer, chosen)};
  for (const auto& [output, binary, place] : chosen) {
    if (place != nullptr) {
      bytes.json += kFrameBytes + kQuotedMax * std::ssize(place->region);
    } else if (binary) {
      bytes.binary += tensor::encoded_bytes(output->value);
    } else {
      bytes.json += json_of(output->value, limits::kHttpJsonBytesMax - bytes.json);
    }
  }
  return bytes;
}

void append_output(std::string& out, const Chosen<tensor::NamedTensor>& chosen) {
  const tensor::Tensor& value = chosen.output->value;
  fmt::format_to(std::back_inserter(out), R"({{"name":{},"datatype":"{}","shape":{},)",
                 json_quote(chosen.output->name), tensor::traits(value.dtype()).oip,
                 value.shape().text());
  if (chosen.place != nullptr) {
    fmt::format_to(std::back_inserter(out),
                   R"("parameters":{{"shared_memory_region":{},"shared_memory_offset":{},)"
                   R"("shared_memory_byte_size":{}}}}})",
                   json_quote(chosen.place->region), chosen.place->offset,
                   tensor::encoded_bytes(value));
    return;
  }
  if (chosen.binary) {
    fmt::format_to(std::back_inserter(out), R"("parameters":{{"binary_data_size":{}}}}})",
                   tensor::encoded_bytes(value));
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

core::Result<void> check_json(const AnswerBytes& bytes) {
  if (bytes.json <= limits::kHttpJsonBytesMax) return {};
  return core::fail(core::ErrorCode::kInvalidArgument,
                    "the answer takes more than the {} bytes of JSON that are written: ask for "
                    "binary outputs (\"parameters\":{{\"binary_data_output\":true}})",
                    limits::kHttpJsonBytesMax);
}

core::Result<AnswerBytes> answer_bytes_min(const std::vector<OutputPort>& outputs,
                                           const InferBody& request) {
  COMMENSAL_ASSIGN(const auto chosen, choose(outputs, request));
  AnswerBytes bytes;
  for (const auto& [output, binary, place] : chosen) {
    if (!output->type || place != nullptr) continue;
    if (binary) {
      bytes.binary += output->type->bytes();
    } else {
      bytes.json += json_elements_bytes_min(*output->type);
    }
  }
  return bytes;
}

core::Result<AnswerBytes> answer_bytes_max(const InferAnswer& answer, const InferBody& request) {
  return bytes_of(answer, request, [](const tensor::Tensor& value, std::int64_t) {
    return json_elements_bytes_max(value);
  });
}

core::Result<AnswerBytes> answer_bytes(const InferAnswer& answer, const InferBody& request) {
  return bytes_of(answer, request, json_elements_bytes);
}

core::Result<EncodedAnswer> write_infer_answer(const InferAnswer& answer, const InferBody& request,
                                               const AnswerBytes& bytes) {
  COMMENSAL_TRY(check_json(bytes));
  COMMENSAL_ASSIGN(const auto chosen, choose(answer.outputs, request));
  for (const auto& [output, binary, place] : chosen) {
    if (binary || place != nullptr) continue;
    const auto checked = check_json_form(output->value);
    if (!checked)
      return core::in_context(fmt::format("output '{}'", output->name), checked.error());
  }
  EncodedAnswer encoded;
  std::string& out = encoded.text;
  out.reserve(static_cast<std::size_t>(bytes.sum()));
  out += fmt::format(R"({{"model_name":{},"model_version":"{}",)", json_quote(answer.model),
                     answer.version);
  if (!answer.id.empty()) out += fmt::format(R"("id":{},)", json_quote(answer.id));
  out += fmt::format(R"("parameters":{{"commensal_receipt":"{}","commensal_provider":"{}")",
                     answer.receipt, answer.provider);
  if (!answer.privacy_class.empty())
    out += fmt::format(R"(,"{}":{})", oip::kPrivacyClass, json_quote(answer.privacy_class));
  out += "},\"outputs\":[";
  bool any_binary = false;
  for (const auto& output : chosen) {
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
  for (const auto& [output, binary, place] : chosen)
    if (binary) tensor::append_encoded(out, output->value);
  return encoded;
}

}  // namespace commensal::http
