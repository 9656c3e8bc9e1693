// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/client/client.hpp>
#include <memory>
#include <string>

namespace commensal::lab::hostile {

/// How an honest consumer asks a gateway: a connection that is kept. Blocks. Thread-safety: one
/// thread at a time.
class Line {
 public:
  virtual ~Line() = default;
  /// By a new connection. Error: kUnavailable.
  virtual core::Result<void> connect() = 0;
  virtual bool is_connected() = 0;
  /// Connects first where it is not connected. Errors: the gateway's, kDataLoss.
  virtual core::Result<tensor::NamedTensors> infer(const std::string& model,
                                                   const tensor::NamedTensors& inputs) = 0;
};

/// `options.from` is where it comes from.
core::Result<std::unique_ptr<Line>> http_line(const client::ClientOptions& options);
/// By gRPC's own library, without TLS, on a port of this machine; of models with inputs and outputs
/// of float32. `from`: an address of this machine.
std::unique_ptr<Line> grpc_line(std::uint16_t port, const std::string& token,
                                const std::string& from);

}  // namespace commensal::lab::hostile
