// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/audit_policy.hpp>
#include <commensal/serve/gateway/dispatcher.hpp>
#include <commensal/serve/gateway/observer.hpp>
#include <commensal/serve/gateway/till.hpp>
#include <functional>

namespace commensal::gateway {

struct InferRequest {
  Account account;
  std::string model;  // "owner/model"
  std::uint32_t version = 0;
  tensor::NamedTensors inputs;
  std::vector<std::string> outputs;  // that are wanted; the model must have them
};
struct InferResponse {
  ModelVersion model;
  tensor::NamedTensors outputs;
  core::Digest receipt;
  crypto::Address provider;
};
using InferDone = std::function<void(core::Result<InferResponse>)>;

/// Orders from their consumers to the dispatcher, and answers into the book with what they cost,
/// then to the consumers. All answers that are ready together share one durable write.
/// Thread-safety: the loop's thread.
class Answers {
 public:
  /// All of them outlive this object.
  struct Dependencies {
    const core::Clock& clock;
    core::Rng& rng;
    ModelHub& hub;
    ReceiptBook& book;
    Lottery& lottery;
    Till& till;
    Dispatcher& dispatcher;
    const AuditPolicy& audit_policy;
    Observer& observer;
    EventQueue& events;
  };
  explicit Answers(const Dependencies& deps) : deps_(deps) {}

  /// `done` is called once, after the receipt is durable. Errors: Gateway::infer's.
  void submit(InferRequest request, InferDone done);
  /// The answer of a caught provider once more, of another one; ends with event::Replaced where
  /// this returns true. It was paid for when it was answered first.
  bool submit_again(const ReceiptRecord& old);
  void on_answered(event::Answered& event);
  /// Writes what is ready; call when no event is left.
  void flush();
  std::size_t pending() const { return ready_.size(); }

 private:
  /// Who waits for an order.
  struct Waiting {
    std::string account;
    ModelVersion model;
    InferDone done;                        // of a consumer; else
    std::optional<core::Digest> replaces;  // this receipt
  };
  struct Ready {
    Waiting waiting;
    tensor::NamedTensors outputs;
  };

  core::Result<Order> order_for(InferRequest& request);
  core::Result<void> admit(const std::string& account);
  void end(Waiting& waiting, core::Result<InferResponse> response);
  ReceiptRecord record_of(const Waiting& waiting, Answer& answer);
  void settle(ReceiptRecord& record, Ready& ready);
  void replace(const core::Digest& old, const ReceiptRecord& now);

  Dependencies deps_;
  std::map<OrderId, Waiting> waiting_;
  // Of the same answers:
  std::vector<ReceiptRecord> records_;
  std::vector<Ready> ready_;
};

}  // namespace commensal::gateway
