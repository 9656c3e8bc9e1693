// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>

#include <tests/e2e/system.hpp>

namespace commensal::e2e {

/// A gateway that audits nothing, and a consumer that checks its receipts by the program.
class SpotSystem : public System {
 protected:
  void SetUp() override {
    start_gateway({"--audit-probability", "0", "--no-audit-by-risk"});
    client_.emplace(connect());
  }
  void serve(const core::Bytes& model) {
    client::PushRequest request;
    request.model = kName;
    request.bytes = model;
    const auto pushed = client_->push(request);
    ASSERT_TRUE(pushed) << pushed.error().message;
  }
  static tensor::Tensor noise(std::initializer_list<std::int64_t> dims) {
    const tensor::Shape shape(dims);
    std::vector<float> values;
    for (std::uint64_t k = 0; k < static_cast<std::uint64_t>(shape.elements()); ++k) {
      values.push_back(core::counter_symmetric_f32(5, 1, k));
    }
    return tensor::Tensor::of<float>(shape, values);
  }
  std::string receipt(const tensor::NamedTensors& inputs) {
    for (int tries = 0; tries < 200; ++tries) {
      const auto given = client_->infer(kName, 0, inputs);
      if (given) return core::to_hex(given->receipt);
      last_error_ = given.error().message;
      pause_ms(50);
    }
    ADD_FAILURE() << last_error_;
    return "";
  }
  std::string audit(const std::string& receipt, std::vector<std::string> more) {
    more.insert(more.begin(), {"audit", receipt, "--gateway", url(), "--token-file", token_file_});
    return run(more, status_);
  }

  std::optional<client::Client> client_;
  int status_ = -1;

 private:
  static constexpr const char* kName = "operator/network";
};

}  // namespace commensal::e2e
