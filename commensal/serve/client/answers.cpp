// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/tensor/elements.hpp>
#include <commensal/serve/client/answers.hpp>
#include <nlohmann/json.hpp>

namespace commensal::client {

namespace {

using core::ErrorCode;
using Json = nlohmann::json;

tl::unexpected<core::Error> nonsense(std::string_view what) {
  return core::fail(ErrorCode::kDataLoss, "the gateway's answer makes no sense: {}", what);
}

/// Reads members of one JSON object; the first that is missing or of another kind sticks.
class Members {
 public:
  explicit Members(const Json& json) : json_(json) {}

  std::string text(const char* name) {
    const Json* value = find(name, Json::value_t::string);
    return value == nullptr ? "" : value->get<std::string>();
  }
  template <class T>
  T number(const char* name) {
    const Json* value = find(name, Json::value_t::number_unsigned);
    if (value == nullptr) return T();
    const auto number = value->get<std::uint64_t>();
    if (std::cmp_greater(number, std::numeric_limits<T>::max())) refuse(name);
    return static_cast<T>(number);
  }
  double probability(const char* name) {
    const auto value = json_.is_object() ? json_.find(name) : json_.end();
    if (json_.is_object() && value != json_.end() && value->is_number()) {
      return value->get<double>();
    }
    refuse(name);
    return 0;
  }
  bool boolean(const char* name) {
    const Json* value = find(name, Json::value_t::boolean);
    return value != nullptr && value->get<bool>();
  }
  const Json& list(const char* name) {
    static const Json kNone = Json::array();
    const Json* value = find(name, Json::value_t::array);
    return value == nullptr ? kNone : *value;
  }
  const Json& object(const char* name) {
    static const Json kNone = Json::object();
    const Json* value = find(name, Json::value_t::object);
    return value == nullptr ? kNone : *value;
  }
  core::Digest digest(const char* name) {
    const auto digest = core::digest_from_hex(text(name));
    if (!digest) refuse(name);
    return digest.value_or(core::Digest{});
  }
  crypto::Address address(const char* name) {
    const auto address = crypto::address_from_text(text(name));
    if (!address) refuse(name);
    return address.value_or(crypto::Address{});
  }
  void refuse(const char* name) {
    if (refused_.empty()) refused_ = name;
  }
  core::Result<void> status() const {
    if (refused_.empty()) return {};
    return nonsense(fmt::format("\"{}\" is missing or broken", refused_));
  }

 private:
  const Json* find(const char* name, Json::value_t type) {
    const auto value = json_.is_object() ? json_.find(name) : json_.end();
    if (json_.is_object() && value != json_.end() && value->type() == type) return &*value;
    refuse(name);
    return nullptr;
  }

  const Json& json_;
  std::string refused_;
};

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

core::Result<Json> parse(core::ByteView body) {
  Json json = Json::parse(body.begin(), body.end(), nullptr, false);
  if (json.is_discarded()) return nonsense("no JSON");
  return json;
}

core::Result<tensor::DType> read_dtype(const std::string& name) {
  auto dtype = tensor::dtype_from_oip(name);
  if (!dtype) return nonsense(dtype.error().message);
  return dtype;
}

core::Result<std::vector<std::int64_t>> read_dims(const Json& list) {
  std::vector<std::int64_t> dims;
  if (list.size() > limits::kRankMax) return nonsense("a shape of too many dimensions");
  for (const Json& dim : list) {
    if (!dim.is_number_integer()) return nonsense("a shape of something else than integers");
    dims.push_back(dim.get<std::int64_t>());
  }
  return dims;
}

core::Result<std::vector<Port>> read_ports(const Json& list) {
  std::vector<Port> ports;
  for (const Json& item : list) {
    Members members(item);
    Port port{.name = members.text("name"), .dtype = tensor::DType::kUndefined, .dims = {}};
    COMMENSAL_ASSIGN(port.dtype, read_dtype(members.text("datatype")));
    COMMENSAL_ASSIGN(port.dims, read_dims(members.list("shape")));
    COMMENSAL_TRY(members.status());
    ports.push_back(std::move(port));
  }
  return ports;
}

core::Result<ModelInfo> model_of(const Json& json) {
  Members members(json);
  ModelInfo model{.name = members.text("name"),
                  .version = members.number<std::uint32_t>("version"),
                  .is_private = members.boolean("private"),
                  .content = members.digest("sha256"),
                  .bytes = members.number<std::int64_t>("bytes"),
                  .created_ms = members.number<std::int64_t>("created_ms"),
                  .inputs = {},
                  .outputs = {},
                  .json = text_of(json)};
  COMMENSAL_ASSIGN(model.inputs, read_ports(members.list("inputs")));
  COMMENSAL_ASSIGN(model.outputs, read_ports(members.list("outputs")));
  COMMENSAL_TRY(members.status());
  return model;
}

core::Result<AccountInfo> account_of(const Json& json) {
  Members members(json);
  AccountInfo account{.name = members.text("name"), .role = members.text("role"), .token = ""};
  if (json.contains("token")) account.token = members.text("token");
  if (json.contains("test_credit")) account.test_credit = members.text("test_credit");
  if (json.contains("price")) account.price = members.text("price");
  COMMENSAL_TRY(members.status());
  return account;
}

core::Result<void> read_signed_receipt(const Json& json, ReceiptInfo& info) {
  Members members(json);
  const auto bytes = core::from_hex(members.text("receipt"));
  if (!bytes) return nonsense("\"receipt\" is no hexadecimal text");
  auto receipt = protocol::decode<protocol::Receipt>(*bytes);
  if (!receipt) return nonsense(receipt.error().message);
  if (protocol::receipt_id(receipt->body()) != info.id)
    return nonsense("the receipt has another id than was said");
  if (receipt->job.provider != info.provider)
    return nonsense("the receipt is signed by another provider than was said");
  info.receipt = *std::move(receipt);
  return {};
}

core::Result<ReceiptInfo> receipt_of(const Json& json) {
  Members members(json);
  ReceiptInfo info;
  info.id = members.digest("id");
  info.account = members.text("account");
  info.model = members.text("model");
  info.version = members.number<std::uint32_t>("version");
  info.model_content = members.digest("model_sha256");
  info.delivered_ms = members.number<std::int64_t>("delivered_ms");
  info.audit = members.text("audit");
  Members job(members.object("job"));
  info.provider = job.address("provider");
  COMMENSAL_TRY(members.status());
  COMMENSAL_TRY(job.status());
  if (json.contains("replaced_by") && !json["replaced_by"].is_null())
    info.replaced_by = members.digest("replaced_by");
  if (json.contains("verdict") && !json["verdict"].is_null()) {
    Members verdict(members.object("verdict"));
    info.outcome = verdict.text("outcome");
    info.reason = verdict.text("reason");
    COMMENSAL_TRY(verdict.status());
  }
  COMMENSAL_TRY(members.status());
  if (json.contains("receipt")) COMMENSAL_TRY(read_signed_receipt(json, info));
  info.json = text_of(json);
  return info;
}

core::Result<RolloutInfo> rollout_of(const Json& json) {
  Members members(json);
  RolloutInfo info;
  info.id = members.digest("rollout");
  info.key = members.text("key");
  info.provider = members.address("provider");
  info.state = members.text("state");
  info.reason = members.text("reason");
  if (json.contains("reason_code")) info.reason_code = members.text("reason_code");
  info.steps_done = members.number<std::uint64_t>("steps_done");
  info.steps = members.number<std::uint64_t>("steps");
  if (json.contains("trusted_steps"))
    info.trusted_steps = members.number<std::uint64_t>("trusted_steps");
  if (json.contains("confirmed_steps"))
    info.confirmed_steps = members.number<std::uint64_t>("confirmed_steps");
  info.final_state = members.digest("final_state");
  info.audit_probability = members.probability("audit_probability");
  Members audits(members.object("audits"));
  info.audits_open = audits.number<std::uint64_t>("open");
  info.audits_matched = audits.number<std::uint64_t>("matched");
  for (const Json& step : members.list("mismatches")) {
    if (!step.is_number_unsigned()) return nonsense("\"mismatches\" is broken");
    info.mismatches.push_back(step.get<std::uint64_t>());
  }
  COMMENSAL_TRY(audits.status());
  COMMENSAL_TRY(members.status());
  return info;
}

template <class T>
core::Result<std::vector<T>> list_of(core::ByteView body, const char* name,
                                     core::Result<T> (*read)(const Json&)) {
  COMMENSAL_ASSIGN(const Json json, parse(body));
  Members members(json);
  std::vector<T> items;
  for (const Json& item : members.list(name)) {
    COMMENSAL_ASSIGN(T value, read(item));
    items.push_back(std::move(value));
  }
  COMMENSAL_TRY(members.status());
  return items;
}

template <class T>
core::Result<T> one_of(core::ByteView body, core::Result<T> (*read)(const Json&)) {
  COMMENSAL_ASSIGN(const Json json, parse(body));
  return read(json);
}

/// The tensor of one output, taken from the front of `binary`.
core::Result<tensor::NamedTensor> read_output(const Json& json, core::ByteView& binary) {
  Members members(json);
  tensor::NamedTensor output{.name = members.text("name"), .value = {}};
  tensor::TensorType type;
  COMMENSAL_ASSIGN(type.dtype, read_dtype(members.text("datatype")));
  COMMENSAL_ASSIGN(const std::vector<std::int64_t> dims, read_dims(members.list("shape")));
  auto shape = tensor::Shape::of(dims);
  if (!shape) return nonsense(shape.error().message);
  type.shape = *shape;
  Members parameters(members.object("parameters"));
  const auto size = parameters.number<std::int64_t>("binary_data_size");
  COMMENSAL_TRY(members.status());
  COMMENSAL_TRY(parameters.status());
  if (size < 0 || std::cmp_greater(size, binary.size()))
    return nonsense(
        fmt::format("output '{}' has {} bytes, but {} came", output.name, size, binary.size()));
  auto value = tensor::decoded_copy(type, binary.first(static_cast<std::size_t>(size)));
  if (!value) return nonsense(fmt::format("output '{}': {}", output.name, value.error().message));
  output.value = *std::move(value);
  binary = binary.subspan(static_cast<std::size_t>(size));
  return output;
}

}  // namespace

core::Result<ModelInfo> read_model(core::ByteView body) { return one_of(body, model_of); }
core::Result<std::vector<ModelInfo>> read_models(core::ByteView body) {
  return list_of(body, "models", model_of);
}
core::Bytes join_models(std::span<const core::Bytes> pages) {
  Json all = {{"models", Json::array()}};
  for (const core::Bytes& page : pages) {
    Json list = Json::parse(page);
    for (Json& one : list["models"]) all["models"].push_back(std::move(one));
  }
  const std::string text = text_of(all);
  const auto bytes = core::as_bytes(text);
  return {bytes.begin(), bytes.end()};
}
core::Result<AccountInfo> read_account(core::ByteView body) { return one_of(body, account_of); }
core::Result<std::vector<AccountInfo>> read_accounts(core::ByteView body) {
  return list_of(body, "accounts", account_of);
}
core::Result<ReceiptInfo> read_receipt(core::ByteView body, const core::Digest& asked) {
  COMMENSAL_ASSIGN(ReceiptInfo info, one_of(body, receipt_of));
  if (info.id != asked)
    return nonsense(fmt::format("the receipt {} came, expected {}", core::to_hex(info.id),
                                core::to_hex(asked)));
  return info;
}
core::Result<std::vector<ReceiptInfo>> read_receipts(core::ByteView body) {
  return list_of(body, "receipts", receipt_of);
}
core::Result<RolloutInfo> read_rollout(core::ByteView body) { return one_of(body, rollout_of); }
core::Result<std::vector<RolloutInfo>> read_rollouts(core::ByteView body) {
  return list_of(body, "rollouts", rollout_of);
}

std::string infer_head(const tensor::NamedTensors& inputs, const core::Digest& draw_commitment,
                       const std::string& privacy_class) {
  Json list = Json::array();
  for (const tensor::NamedTensor& input : inputs)
    list.push_back({{"name", input.name},
                    {"datatype", tensor::traits(input.value.dtype()).oip},
                    {"shape", input.value.shape().dims()},
                    {"parameters", {{"binary_data_size", tensor::encoded_bytes(input.value)}}}});
  Json head;
  head["inputs"] = std::move(list);
  head["parameters"]["binary_data_output"] = true;
  if (draw_commitment != core::Digest{}) {
    head["parameters"]["commensal_draw_commitment"] = core::to_hex(draw_commitment);
  }
  if (!privacy_class.empty()) head["parameters"]["privacy_class"] = privacy_class;
  return text_of(head);
}

std::string rollout_head(const RolloutOrder& order) {
  Json head = Json::parse(infer_head(order.inputs, {}));
  head.erase("parameters");
  head["model"] = order.model;
  head["version"] = order.version;
  head["key"] = order.key;
  head["steps"] = order.steps;
  for (const auto& [output, input] : order.feeds) head["feeds"].push_back({output, input});
  head["noise"] = order.noise ? Json(*order.noise) : Json();
  head["states"] = order.states;
  head["audit_probability"] = order.audit_probability;
  if (!order.privacy_class.empty()) head["privacy_class"] = order.privacy_class;
  return text_of(head);
}

core::Result<Answer> read_answer(const HttpResponse& response, const std::string& privacy_class) {
  std::size_t json_bytes = response.body.size();
  if (response.json_bytes) {
    const std::string& text = *response.json_bytes;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), json_bytes);
    if (error != std::errc() || json_bytes > response.body.size())
      return nonsense("Inference-Header-Content-Length is broken");
  }
  const core::ByteView body(response.body);
  COMMENSAL_ASSIGN(const Json json, parse(body.first(json_bytes)));
  core::ByteView binary = body.subspan(json_bytes);
  Members members(json);
  Answer answer;
  answer.model = members.text("model_name");
  const std::string version = members.text("model_version");
  std::from_chars(version.data(), version.data() + version.size(), answer.version);
  const Json& said = members.object("parameters");
  Members parameters(said);
  answer.receipt = parameters.digest("commensal_receipt");
  answer.provider = parameters.address("commensal_provider");
  if (said.contains("privacy_class")) answer.privacy_class = parameters.text("privacy_class");
  for (const Json& item : members.list("outputs")) {
    COMMENSAL_ASSIGN(tensor::NamedTensor output, read_output(item, binary));
    answer.outputs.push_back(std::move(output));
  }
  COMMENSAL_TRY(members.status());
  COMMENSAL_TRY(parameters.status());
  if (!binary.empty()) return nonsense("bytes follow the last output");
  if (!privacy_class.empty() && answer.privacy_class != privacy_class) {
    return core::fail(ErrorCode::kDataLoss,
                      "the gateway knows nothing of the privacy class '{}': any provider may have "
                      "seen the inputs; the answer's receipt is {}",
                      privacy_class, core::to_hex(answer.receipt));
  }
  return answer;
}

std::string new_account(const std::string& name, const std::string& role) {
  Json json;
  json["name"] = name;
  json["role"] = role;
  return text_of(json);
}

}  // namespace commensal::client
