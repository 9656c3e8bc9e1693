// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <commensal/serve/gateway/dispatcher.hpp>
#include <commensal/serve/gateway/observer.hpp>
#include <commensal/serve/gateway/privacy.hpp>
#include <commensal/serve/gateway/till.hpp>
#include <functional>
#include <memory>
#include <stop_token>

namespace commensal::gateway {

struct InferRequest {
  Account account;
  std::string model;  // "owner/model"
  std::uint32_t version = 0;
  tensor::NamedTensors inputs;
  std::vector<std::string> outputs;  // that are wanted; the model must have them
  std::stop_token left = {};         // asked to stop: nobody waits for the answer
  core::Digest draw_commitment{};    // its consumer's, as in protocol::Job
  std::int64_t timeout_ms = 0;  // after so long nobody waits for the answer; 0: as long as it takes
  Scheduling scheduling = {};
  std::string privacy_class = {};  // that it names; "": none
  /// Asked once, before anything is done that costs: whether the model's answer can be given.
  std::function<core::Result<void>(const ModelVersion&)> check = {};
  JourneyPtr journey = nullptr;  // of who looks on
};
struct InferResponse {
  ModelVersion model;
  tensor::NamedTensors outputs;
  core::Digest receipt;
  crypto::Address provider;
  std::string privacy_class = {};  // that it was placed by: the request's, or the model's
};
using InferDone = std::function<void(core::Result<InferResponse>)>;

/// Orders from their consumers to the dispatcher, and answers, once they are durable, to the
/// consumers. Thread-safety: the loop's thread.
class Answers {
 public:
  /// All of them outlive this object.
  struct Dependencies {
    core::Loop& loop;
    ModelHub& hub;
    ReceiptBook& book;
    Lottery& lottery;
    Till& till;
    Dispatcher& dispatcher;
    Observer& observer;
    EventQueue& events;
    const PrivacyAuditors& privacy;
  };
  explicit Answers(const Dependencies& deps) : deps_(deps) {}

  /// `done` is called once, after the receipt is durable. Errors: Gateway::infer's.
  void submit(InferRequest request, InferDone done);
  /// The answer of a caught provider once more, of another one; ends with event::Replaced where
  /// this returns true. It was paid for when it was answered first.
  bool submit_again(const ReceiptRecord& old);
  void on_unanswered(event::Unanswered& event);
  void on_kept(event::StepKept& event);

 private:
  /// Who waits for an order.
  struct Waiting {
    std::string account;
    ModelVersion model;
    InferDone done;                        // of a consumer who has not been answered; else
    std::optional<core::Digest> replaces;  // this receipt
    std::unique_ptr<std::stop_callback<std::function<void()>>> left = {};
  };

  core::Result<Order> order_for(InferRequest& request);
  core::Result<void> admit(const std::string& account);
  void expire(OrderId id, std::int64_t timeout_ms);
  void end(Waiting& waiting, core::Result<InferResponse> response);
  void resubmit(const ReceiptRecord& old, tensor::NamedTensors inputs);
  void read_and_submit(const ReceiptRecord& old);
  void replace(const core::Digest& old, const ReceiptRecord& now);

  Dependencies deps_;
  std::map<OrderId, Waiting> waiting_;
};

}  // namespace commensal::gateway
