// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/demo.hpp>
#include <commensal/serve/client/client.hpp>
#include <commensal/serve/daemon/gateway_daemon.hpp>
#include <commensal/serve/daemon/provider_daemon.hpp>
#include <map>
#include <memory>
#include <mutex>

namespace commensal::lab {

/// Keeps the report of a running demo up to date from what the gateway says.
/// Thread-safety: any thread.
class DemoRecorder final : public gateway::Observer {
 public:
  void add_provider(const crypto::Address& address, const std::string& name, bool honest);
  void answered(bool is_correct);
  DemoReport report() const;
  void edit(const std::function<void(DemoReport&)>& change);

  void on_provider_banned(const crypto::Address& address, const std::string& why) override;
  void on_receipt(const gateway::ReceiptRecord& record) override;
  void on_verdict(const gateway::ReceiptRecord& record) override;
  void on_judged(const gateway::ReceiptRecord& record,
                 const gateway::Judgement& judgement) override;
  void on_case(const ledger::CaseKey& key, const ledger::CaseRow& row,
               const ledger::Entry& entry) override;
  void on_replaced(const gateway::ReceiptRecord& old, const gateway::ReceiptRecord& now) override;

 private:
  DemoProvider* find(const crypto::Address& address);  // mutex_ is held

  mutable std::mutex mutex_;
  DemoReport report_;                              // guarded by mutex_
  std::map<crypto::Address, std::size_t> places_;  // in report_.providers; guarded by mutex_
};

class DemoAuditor;

/// The gateway, the three providers and an auditor on loopback, ready for requests: model pushed,
/// all connected. They end with the object, the auditor first, then the providers.
struct DemoWorld {
  DemoWorld();
  DemoWorld(DemoWorld&&) noexcept;
  ~DemoWorld();

  std::unique_ptr<daemon::GatewayDaemon> gateway;
  std::vector<std::unique_ptr<daemon::ProviderDaemon>> providers;
  client::ClientOptions consumer;  // of the account "demo", which owns the model
  sim::Terms terms;
  DemoPurses purses;
  std::unique_ptr<DemoAuditor> auditor;

  static core::Result<DemoWorld> start(const DemoOptions& options, DemoRecorder& recorder);
};

/// Until so many are connected. Error: kUnavailable.
core::Result<void> wait_for_providers(daemon::GatewayDaemon& gateway, std::size_t expected);
/// A new account of this gateway.
core::Result<client::ClientOptions> make_account(const daemon::GatewayDaemon& gateway,
                                                 const std::string& name, const std::string& role);
core::Result<void> push_model(const client::ClientOptions& consumer, const std::string& name,
                              core::ByteView model);

inline constexpr const char* kDemoModel = "demo/digits";

}  // namespace commensal::lab
