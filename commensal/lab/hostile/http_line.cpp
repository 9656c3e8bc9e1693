// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/hostile/line.hpp>

namespace commensal::lab::hostile {
namespace {

class HttpLine final : public Line {
 public:
  explicit HttpLine(client::ClientOptions options, client::Client client)
      : options_(std::move(options)), client_(std::move(client)) {}

  core::Result<void> connect() override {
    COMMENSAL_ASSIGN(client_, client::Client::create(options_));
    return client_.connect();
  }
  bool is_connected() override { return client_.is_connected(); }
  core::Result<tensor::NamedTensors> infer(const std::string& model,
                                           const tensor::NamedTensors& inputs) override {
    COMMENSAL_ASSIGN(client::Answer answer, client_.infer(model, 0, inputs));
    return std::move(answer.outputs);
  }

 private:
  const client::ClientOptions options_;
  client::Client client_;
};

}  // namespace

core::Result<std::unique_ptr<Line>> http_line(const client::ClientOptions& options) {
  COMMENSAL_ASSIGN(auto client, client::Client::create(options));
  return std::make_unique<HttpLine>(options, std::move(client));
}

}  // namespace commensal::lab::hostile
