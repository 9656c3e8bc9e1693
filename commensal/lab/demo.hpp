// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/base/core/result.hpp>
#include <commensal/lab/demo_money.hpp>
#include <commensal/verify/rollout/engine_factory.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace commensal::lab {

struct DemoOptions {
  core::Path folder;        // fresh state of gateway and providers
  core::Path model_folder;  // digits.onnx, held_out_images.npy, held_out_labels.npy
  /// What the gateway and the honest providers compute with.
  std::function<std::unique_ptr<rollout::EngineFactory>()> engines;
  int requests = 300;
  double audit_probability = 0.1;  // that a ticket wins; every winner is audited
  int clients = 4;                 // connections that send at once
};

struct DemoProvider {
  std::string name;
  std::string address;
  bool honest = true;
  std::uint64_t served = 0;
  std::uint64_t audited = 0;
  std::uint64_t audits_failed = 0;
  std::string banned;  // why, or ""
};

/// What the live view shows and the report ends with. Counts are of the picture requests;
/// re-executions are counted apart.
struct DemoReport {
  std::string gateway_url;
  std::string token_file;
  int requests = 0;  // answered
  int requests_total = 0;
  int correct = 0;  // of the final answers, after replacements
  double accuracy = 0;
  double seconds = 0;  // from the first request to the last answer
  double requests_per_second = 0;
  std::uint64_t receipts = 0;
  std::uint64_t audits = 0;
  std::uint64_t audits_failed_honest = 0;
  std::uint64_t replaced = 0;
  bool cheat_caught = false;
  std::uint64_t cheat_at_receipt = 0;  // number of the receipt that was audited
  std::string cheat_receipt;           // its id
  std::string sample_receipt;          // an honest one, to try `commensal audit` on
  std::vector<DemoProvider> providers;
  DemoMoney money;
};

/// Runs the whole system on loopback: a gateway, two honest providers and one that computes in
/// bfloat16 and claims it did not, each with its own folder, thread and sockets. Pushes the digit
/// network, sends pictures over HTTP, audits, waits until every doubtful answer is replaced.
/// `watch` is called now and then, from the calling thread. `hold`, if set, is called before
/// everything is shut down, so that the receipts can still be asked for.
/// Errors: whatever a part refuses.
core::Result<DemoReport> run_demo(const DemoOptions& options,
                                  const std::function<void(const DemoReport&)>& watch,
                                  const std::function<void(const DemoReport&)>& hold = {});

}  // namespace commensal::lab
