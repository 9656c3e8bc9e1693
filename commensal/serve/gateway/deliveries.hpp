// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/audit_policy.hpp>
#include <commensal/serve/gateway/till.hpp>

namespace commensal::gateway {

/// Steps that were delivered become receipts: each is drawn for its audit or not, paid for and
/// written with all that opens it; what is ready together shares one write, and waits a moment for
/// what is on its way. What is large is filed off the loop before. Each ends with event::StepKept.
/// Thread-safety: the loop's thread.
class Deliveries {
 public:
  /// All of them outlive this object.
  struct Dependencies {
    core::Loop& loop;
    const core::Clock& clock;
    core::Rng& rng;
    store::JointStore& store;
    ReceiptBook& book;
    Till& till;
    const AuditPolicy& audit_policy;
    EventQueue& events;
  };
  explicit Deliveries(const Dependencies& deps) : deps_(deps) {}

  void on_made(event::StepMade& made);
  void on_filed(event::OpeningFiled& filed);
  /// Writes what is ready; call when no event is left. `awaited`: so many more are on their way.
  void flush(std::size_t awaited);
  std::size_t pending() const { return ready_.size() + filing_ + writing_; }

 private:
  /// Without what opens it.
  ReceiptRecord record_of(const event::StepMade& made) const;
  /// Waits for flush(), or fails by itself: not what is written beside it.
  void add(event::StepMade& made, core::Result<ReceiptRecord> record);
  void file(event::StepMade& made, receipt::Opening opening);
  void write();
  struct Batch {
    // Of the same steps:
    std::vector<ReceiptRecord> records;
    std::vector<event::StepMade> ready;
    Till::Outcomes outcomes;
  };
  void on_written(Batch& batch, const core::Result<void>& written);

  Dependencies deps_;
  std::size_t filing_ = 0, writing_ = 0;  // off the loop
  bool gathers_ = false;                  // writes soon
  // Of the same steps:
  std::vector<ReceiptRecord> records_;
  std::vector<event::StepMade> ready_;
};

}  // namespace commensal::gateway
