// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <commensal/lab/bench/overhead/shared_engine.hpp>
#include <commensal/serve/rpc/stream.hpp>
#include <memory>

namespace commensal::lab::bench::overhead {

/// What a provider would be without receipts: it computes on the loop's other thread and delivers.
/// Where `opens_inputs`, it holds the inputs against the job's c_0 first, as providers do: that is
/// the hash of the request's own bytes. Thread-safety: the loop's thread.
class PlainServer final : public rpc::ProviderPort,
                          public std::enable_shared_from_this<PlainServer> {
 public:
  /// All outlive it.
  PlainServer(core::Loop& loop, SharedEngine& engine, rpc::GatewayClient& gateway,
              bool opens_inputs)
      : loop_(loop), engine_(engine), gateway_(gateway), opens_inputs_(opens_inputs) {}

  void on_message(rpc::ToProvider message) override;
  void on_close(core::Error) override {}

 private:
  core::Result<tensor::NamedTensors> answer(const rpc::Offer& offer);

  core::Loop& loop_;
  SharedEngine& engine_;
  rpc::GatewayClient& gateway_;
  const bool opens_inputs_;
};

}  // namespace commensal::lab::bench::overhead
