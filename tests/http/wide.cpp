// SPDX-License-Identifier: Apache-2.0
#include <tests/http/wide.hpp>

#include <commensal/base/core/check.hpp>

namespace commensal::tests {

core::Bytes wide_model(WideValue value, std::int64_t declared) {
  std::string dimension = "12014e";  // "N"
  if (declared > 0) {
    dimension = "08";
    for (int i = 0; i < 4; ++i)
      dimension += fmt::format("{:02x}", (declared >> 7 * i & 0x7f) | (i < 3 ? 0x80 : 0));
  }
  const std::size_t bytes = dimension.size() / 2;
  return *core::from_hex(
      fmt::format("08083a{:02x}0a2f0a0178120179220f436f6e7374616e744f6653686170652a160a0576616c7565"
                  "2a0a080110014a04{}a001041201675a0f0a0178120a0a08080712040a020801"
                  "62{:02x}0a017912{:02x}0a{:02x}080112{:02x}0a{:02x}{}42040a001011",
                  0x54 + bytes, value == WideValue::kOne ? "0000803f" : "00008080", 13 + bytes,
                  8 + bytes, 6 + bytes, 2 + bytes, bytes, dimension));
}

void push_wide(const World& world, WideValue value, std::int64_t declared) {
  const auto pushed =
      world.client(world.alice)
          .push({.model = "alice/wide", .bytes = wide_model(value, declared), .progress = {}});
  core::check(pushed.has_value(), pushed ? "" : pushed.error().message);
}

std::string header(const std::string& token) {
  return "Host: x\r\nAuthorization: Bearer " + token + "\r\n";
}

std::string ask_wide(const std::string& token, std::int64_t elements, bool is_binary) {
  const std::string body =
      fmt::format(R"({{"inputs":[{{"name":"x","datatype":"INT64","shape":[1],"data":[{}]}}],)"
                  R"("parameters":{{"binary_data_output":{}}}}})",
                  elements, is_binary);
  return "POST /v2/models/alice/wide/infer HTTP/1.1\r\n" + header(token) +
         fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
}

}  // namespace commensal::tests
