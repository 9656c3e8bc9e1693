// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/commensal/money_requests.hpp>
#include <apps/commensal/remote_training.hpp>
#include <apps/common/progress.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/compute/train/segment.hpp>
#include <commensal/verify/rollout/record.hpp>
#include <cstdio>
#include <cstdlib>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using core::Result;

constexpr std::int64_t kNewsMs = 2'000;       // for news, at a time
constexpr std::int64_t kAwayMsMax = 120'000;  // a gateway, or a provider, is given up
constexpr int kVainMax = 3;                   // rollouts in a row that fail and bring nothing

class Remote {
 public:
  Remote(train::Trainer& trainer, client::Client& client, const RemoteTraining& how, bool prints,
         const std::stop_token& stop)
      : trainer_(trainer),
        client_(client),
        how_(how),
        prints_(prints),
        stop_(stop),
        bar_("training") {}

  Result<void> run() {
    std::int64_t each = how_.each;
    if (each == 0) {
      COMMENSAL_ASSIGN(each, train::segment_length(trainer_));
    }
    COMMENSAL_ASSIGN(segment_, train::make_segment(trainer_, each));
    content_ = crypto::sha256(segment_.model);
    COMMENSAL_TRY(push());
    find_price();
    for (int vain = 0, attempt = 0; trainer_.done() < steps(); ++attempt) {
      COMMENSAL_ASSIGN(const bool has_moved, make_some(attempt));
      if (stop_.stop_requested()) break;
      vain = has_moved ? 0 : vain + 1;
      if (vain >= kVainMax) {
        return core::fail(ErrorCode::kFailedPrecondition, "step {} was not made: {}",
                          trainer_.done() + 1, reason_);
      }
    }
    return {};
  }

 private:
  std::int64_t steps() const { return trainer_.plan().steps; }

  Result<void> push() {
    const std::string stem = trainer_.plan().model.stem().string() + "-training";
    COMMENSAL_ASSIGN(const std::string name,
                     full_model_name(client_, how_.model.empty() ? stem : how_.model));
    const auto known = client_.model(name);
    if (known && known->content == content_) {
      model_ = *known;
      return {};
    }
    client::PushRequest request;
    request.model = name;
    request.bytes = segment_.model;
    request.is_private = !how_.is_public;
    for (const std::string& text : how_.allowed) {
      COMMENSAL_ASSIGN(request.allowed_providers.emplace_back(), crypto::address_from_text(text));
    }
    Progress progress("push");
    request.progress = [&progress](std::size_t done, std::size_t total) {
      progress.show(done, total);
    };
    COMMENSAL_ASSIGN(model_, client_.push(request));
    return {};
  }

  /// Where there is money.
  void find_price() {
    const auto text = client_.get_json("/v1/ledger");
    const auto ledger = text ? parse_answer(*text) : Result<Json>(Json());
    if (!ledger || !ledger->contains("terms")) return;
    price_ = std::strtod(text_in(ledger->at("terms"), "price").c_str(), nullptr);
  }

  client::RolloutOrder order(int attempt) const {
    client::RolloutOrder made;
    made.model = model_.name;
    made.version = model_.version;
    // The same whenever this command runs again.
    made.key =
        fmt::format("{}-{}-{}", core::to_hex(content_).substr(0, 32), trainer_.done(), attempt);
    made.steps = static_cast<std::uint64_t>((steps() - trainer_.done()) / segment_.each);
    for (const std::string& name : segment_.state)
      made.feeds.emplace_back(train::next_of(name), name);
    made.states = "finite";
    made.audit_probability = how_.audit_probability;
    made.inputs = train::segment_inputs(trainer_);
    return made;
  }

  /// One rollout, to its end. Returns whether the training is further then, or somebody was caught.
  Result<bool> make_some(int attempt) {
    const train::Checkpoint before = trainer_.checkpoint();
    const client::RolloutOrder order = this->order(attempt);
    COMMENSAL_ASSIGN(client::RolloutInfo info,
                     ask_again(
                         kAwayMsMax, [&] { return client_.start_rollout(order); }, stop_));
    began_ns_ = clock_.monotonic_ns();
    first_ = trainer_.done();
    std::uint64_t taken = 0;
    for (;;) {
      while (taken < info.steps_done) COMMENSAL_TRY(take(info, ++taken));
      if (info.is_over()) break;
      if (stop_.stop_requested()) return true;
      COMMENSAL_ASSIGN(
          info, ask_again(
                    kAwayMsMax, [&] { return client_.rollout(info.id, taken, kNewsMs); }, stop_));
    }
    bar_.clear();
    reason_ = info.reason;
    if (info.state == "finished" && info.mismatches.empty()) return true;
    // What is not trusted goes; what it cost is gone.
    if (info.trusted_steps == 0) {
      COMMENSAL_TRY(trainer_.take(before));
    } else {
      COMMENSAL_TRY(fetch(info, info.trusted_steps));
    }
    tell("back to step {:>3}  {}: {}", trainer_.done(), crypto::to_text(info.provider),
         info.reason.empty() ? info.state : info.reason);
    return info.trusted_steps > 0 || info.state == "caught";
  }

  Result<void> fetch(const client::RolloutInfo& info, std::uint64_t step) {
    COMMENSAL_ASSIGN(const core::Bytes bytes,
                     ask_again(
                         kAwayMsMax, [&] { return client_.rollout_step(info.id, step); }, stop_));
    COMMENSAL_ASSIGN(const auto record, protocol::decode<rollout::StepRecord>(bytes));
    return train::take_segment(trainer_, record.outputs);
  }

  Result<void> take(const client::RolloutInfo& info, std::uint64_t step) {
    COMMENSAL_TRY(fetch(info, step));
    ++paid_;
    bar_.show(static_cast<std::size_t>(trainer_.done()), static_cast<std::size_t>(steps()));
    const double passed_s = static_cast<double>(clock_.monotonic_ns() - began_ns_) * 1e-9;
    const double rate = static_cast<double>(trainer_.done() - first_) / std::max(1e-3, passed_s);
    const std::int64_t left_s =
        static_cast<std::int64_t>(static_cast<double>(steps() - trainer_.done()) / rate);
    tell("step {:>8}  loss {:<10.4g} {:.1f} steps/s  {}:{:02} left{}  by {}", trainer_.done(),
         trainer_.losses().back(), rate, left_s / 60, left_s % 60,
         price_ > 0 ? fmt::format("  cost {:.0f}", price_ * static_cast<double>(paid_)) : "",
         crypto::to_text(info.provider));
    return {};
  }

  template <class... Words>
  void tell(fmt::format_string<Words...> line, Words&&... words) {
    if (!prints_) return;
    bar_.clear();
    fmt::print("{}\n", fmt::format(line, std::forward<Words>(words)...));
    std::fflush(stdout);
  }

  train::Trainer& trainer_;
  client::Client& client_;
  const RemoteTraining& how_;
  const bool prints_;
  const std::stop_token stop_;
  Progress bar_;
  const core::SystemClock clock_;
  train::Segment segment_;
  core::Digest content_{};
  client::ModelInfo model_;
  double price_ = 0;        // of a segment
  std::uint64_t paid_ = 0;  // segments
  std::int64_t began_ns_ = 0, first_ = 0;
  std::string reason_;
};

}  // namespace

void RemoteTraining::declare(CLI::App& app) {
  app.add_option("--model", model,
                 "At a gateway: [OWNER/]MODEL under which the training, with its data, is pushed "
                 "(default: the model's own name and -training)");
  app.add_option("--segment", each,
                 "At a gateway: steps between two states that are committed to; must divide the "
                 "training's (default: so many that hashing costs at most a thousandth)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24));
  app.add_option("--audit-probability", audit_probability,
                 "At a gateway: of each segment, that it is computed again")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--allow", allowed,
                 "At a gateway: address of a provider that may have model and data")
      ->allow_extra_args(false);
  app.add_flag("--public", is_public, "At a gateway: anybody may have model and data");
}

Result<void> train_at_gateway(train::Trainer& trainer, const RemoteTraining& remote, bool prints,
                              const std::stop_token& stop) {
  if (remote.is_public != remote.allowed.empty()) {
    return core::fail(ErrorCode::kInvalidArgument,
                      "model and data go to who trains: expected --allow ADDRESS of each provider "
                      "that may have them, or --public for anybody");
  }
  COMMENSAL_ASSIGN(client::Client client, connect(remote.connection));
  return Remote(trainer, client, remote, prints, stop).run();
}

}  // namespace commensal::apps
