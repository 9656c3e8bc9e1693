// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/serve/client/client.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include <tests/e2e/process.hpp>

namespace commensal::e2e {

using Json = nlohmann::json;

inline const std::string kModel = std::string(COMMENSAL_SOURCE_DIR) + "/models/digits/digits.onnx";

inline tensor::NamedTensors picture(std::uint64_t i) {
  std::vector<float> pixels;
  for (std::uint64_t k = 0; k < 64; ++k) {
    pixels.push_back(8.0f + 8.0f * core::counter_symmetric_f32(5, i, k));
  }
  return {{"image", tensor::Tensor::of<float>({1, 1, 8, 8}, pixels)}};
}

inline void pause_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// A gateway on fixed ports, so that it can come back at the same place.
class System : public ::testing::Test {
 protected:
  /// What gateways are started with besides: without money, until a test names terms, and then with
  /// money of which nobody is given any; or nothing.
  enum class Money : std::uint8_t { kAsNamed, kByDefault };
  void start_gateway(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"gateway",
                                          "--data-dir",
                                          folder_.at(data_),
                                          "--http",
                                          http_host_ + ":" + http_port_,
                                          "--providers",
                                          "127.0.0.1:" + provider_port_,
                                          "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    if (std::ranges::count(more, "--grpc") == 0) {
      arguments.insert(arguments.end(), {"--grpc", "off"});  // other tests run beside this one
    }
    add_money(arguments);
    gateway_ = std::make_unique<Process>(arguments, folder_.at("gateway.log"));
    const Json said = Json::parse(gateway_->read_line());
    const std::string url = said.at("http");
    http_port_ = url.substr(url.rfind(':') + 1);
    grpc_ = said.at("grpc");
    metrics_ = said.at("metrics");
    provider_port_ = std::to_string(said.at("provider_port").get<int>());
    token_file_ = said.at("operator_token_file");
    gateway_key_ = said.at("gateway_key");
    pin_ = said.at("pin");
  }
  void add_money(std::vector<std::string>& arguments) {
    if (money_ == Money::kByDefault) return;
    const auto has = [&](const char* name) { return std::ranges::count(arguments, name) > 0; };
    has_terms_ = has_terms_ || has("--face-value");
    if (!has_terms_) return void(arguments.emplace_back("--no-money"));
    arguments.emplace_back("--no-test-money");
    for (const char* name : {"--escrow", "--penalty-escrow"}) {
      if (!has(name)) arguments.insert(arguments.end(), {name, "0"});
    }
  }
  std::unique_ptr<Process> start_provider(const std::string& name,
                                          const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {
        "provider",   "--gateway",      "127.0.0.1:" + provider_port_,
        "--data-dir", folder_.at(name), "--name",
        name,         "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    if (scheme_ == "https://") arguments.push_back("--tls");
    auto provider = std::make_unique<Process>(arguments, folder_.at(name + ".log"));
    const std::string said = provider->read_line();
    EXPECT_NE(said, "");
    if (!said.empty()) address_ = Json::parse(said).at("address");
    return provider;
  }
  using Words = std::vector<std::string>;
  /// A command that asks this gateway; `token_file` "": with no token.
  Words at_gateway(Words words, const std::string& token_file) const {
    words.insert(words.end(), {"--gateway", url()});
    if (!token_file.empty()) words.insert(words.end(), {"--token-file", token_file});
    return words;
  }
  /// What it prints. It must succeed.
  std::string ask(const Words& words, const std::string& token_file) {
    int status = -1;
    std::string said = run(at_gateway(words, token_file), status);
    EXPECT_EQ(status, 0) << words[0] << " " << words[1];
    return said;
  }
  Json ask_json(Words words, const std::string& token_file) {
    words.push_back("--json");
    return Json::parse(ask(words, token_file), nullptr, false);
  }
  std::string url() const { return scheme_ + "127.0.0.1:" + http_port_; }
  client::Client connect(std::int64_t wait_ms = 120'000) {
    const core::Bytes token = *core::read_file(token_file_);
    client::ClientOptions options{.url = url(), .token = std::string(core::as_text(token))};
    options.token.pop_back();
    options.wait_ms = wait_ms;
    if (!pin_.empty()) options.trust.pins = {*core::digest_from_hex(pin_)};
    return *client::Client::create(options);
  }
  void push(client::Client& client) {
    const core::Bytes model = *core::read_file(kModel);
    client::PushRequest request;
    request.model = "operator/digits";
    request.bytes = model;
    const auto pushed = client.push(request);
    ASSERT_TRUE(pushed.has_value()) << pushed.error().message;
  }
  /// Sends until it is answered, as a patient consumer does.
  client::Answer insist(client::Client& client, std::uint64_t i) {
    for (int tries = 0; tries < 200; ++tries) {
      auto answer = client.infer("operator/digits", 0, picture(i));
      if (answer) return *answer;
      last_error_ = answer.error().message;
      pause_ms(50);
    }
    ADD_FAILURE() << last_error_;
    return {};
  }

  Folder folder_;
  std::string http_port_ = "0", provider_port_ = "0", token_file_, last_error_;
  std::string data_ = "gateway", scheme_ = "http://", http_host_ = "127.0.0.1";
  std::string gateway_key_, pin_;
  std::string grpc_;     // "host:port"
  std::string metrics_;  // their URL
  Money money_ = Money::kAsNamed;
  bool has_terms_ = false;
  std::string address_;  // of the provider that was started last
  std::unique_ptr<Process> gateway_;
};

}  // namespace commensal::e2e
