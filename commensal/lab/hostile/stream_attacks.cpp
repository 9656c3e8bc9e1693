// SPDX-License-Identifier: Apache-2.0
// Providers that dial in to harm the gateway, its consumers or other providers.
#include <chrono>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/thread_loop.hpp>
#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/lab/hostile/attacker.hpp>
#include <commensal/serve/rpc/grpc_client.hpp>
#include <deque>
#include <thread>

namespace commensal::lab::hostile {
namespace {

tensor::Tensor scores_of(std::size_t floats) {
  return tensor::Tensor::of<float>({1, static_cast<std::int64_t>(floats)},
                                   std::vector<float>(floats, 0.5F));
}

/// 100 MB. Made once: what attackers may use of a processor is for what reaches others.
const tensor::Tensor& large_scores() {
  static const tensor::Tensor scores = scores_of((std::size_t{100} << 20) / sizeof(float));
  return scores;
}

/// One stream to the gateway. Thread-safety: the loop's thread.
class Villain : public rpc::ProviderPort, public std::enable_shared_from_this<Villain> {
 public:
  Villain(core::Loop& loop, const Target& target, core::Rng& rng,
          std::atomic<std::uint64_t>& effects)
      : rng_(rng),
        key_(crypto::SecretKey::generate(rng)),
        gateway_(rpc::make_grpc_client(loop, fmt::format("127.0.0.1:{}", target.provider_port))),
        effects_(effects) {}

  void dial() {
    is_closed_ = false;
    gateway_->attach(shared_from_this());
  }
  bool is_closed() const { return is_closed_; }
  /// Now and then, while it is connected.
  virtual void act() {}

  void on_message(rpc::ToProvider message) override {
    if (is_effect(message)) ++effects_;
    if (const auto* challenge = std::get_if<rpc::Challenge>(&message)) on_challenge(*challenge);
    if (std::holds_alternative<rpc::Welcome>(message)) is_welcome_ = true;
    if (auto* offer = std::get_if<rpc::Offer>(&message)) on_offer(std::move(*offer));
    if (auto* signed_by = std::get_if<rpc::Countersign>(&message)) on_countersign(*signed_by);
  }
  void on_close(core::Error) override {
    if (std::exchange(has_begun_, false)) ++effects_;
    is_closed_ = true;
    is_welcome_ = false;
  }

 protected:
  /// Of what it does: everybody is challenged, and welcomed who says hello.
  virtual bool is_effect(const rpc::ToProvider& message) const {
    return !std::holds_alternative<rpc::Challenge>(message) &&
           !std::holds_alternative<rpc::Welcome>(message);
  }
  virtual void on_challenge(const rpc::Challenge& challenge) { say_hello(challenge); }
  virtual void on_offer(rpc::Offer) {}
  virtual void on_countersign(const rpc::Countersign&) {}

  /// What it is here for has been done on this stream: its being closed is an effect from now on.
  void begin() { has_begun_ = true; }
  template <class Message>
  void attack(Message message) {
    begin();
    gateway_->send(std::move(message));
  }
  void say_hello(const rpc::Challenge& challenge, std::string paused = "") {
    rpc::Hello hello;
    hello.paused = std::move(paused);
    hello.name = "villain";
    hello.version = "0";
    hello.address = key_.address();
    hello.signature = crypto::sign(key_, rpc::hello_digest(challenge.nonce, hello.address,
                                                           challenge.gateway, gateway_->channel()));
    hello.threads = 64;
    gateway_->send(std::move(hello));
  }
  /// As an honest provider would, but to nothing in particular.
  rpc::Commit commit_to(const rpc::Offer& offer) {
    const core::Digest id = protocol::job_id(offer.job);
    rpc::Commit commit;
    commit.items.push_back(
        {.job = id, .step = 1, .commitment = rng_.next_digest(), .signature = {}});
    const protocol::ReceiptBody body{id, 1, commit.items[0].commitment, commit.items[0].round};
    commit.items[0].signature = sign(body);
    return commit;
  }
  protocol::BatchSignature sign(const protocol::ReceiptBody& body) {
    return protocol::sign_batch(key_, protocol::Role::kProvider, {&body, 1}).front();
  }
  rpc::Deliver deliver(const core::Digest& job, tensor::Tensor scores) {
    return {.job = job,
            .step = 1,
            .output_salt = rng_.next_digest(),
            .outputs = {{"scores", std::move(scores)}}};
  }

  core::Rng& rng_;
  const crypto::SecretKey key_;
  const std::unique_ptr<rpc::GatewayClient> gateway_;
  bool is_welcome_ = false;

 private:
  std::atomic<std::uint64_t>& effects_;
  bool has_begun_ = false;
  bool is_closed_ = true;
};

class SilentVillain final : public Villain {
  using Villain::Villain;
  void on_challenge(const rpc::Challenge&) override { begin(); }
};

/// A new key each time, and gone again.
class HelloFlood final : public Villain {
  using Villain::Villain;
  bool is_effect(const rpc::ToProvider& message) const override {
    return std::holds_alternative<rpc::Welcome>(message);
  }
  void on_challenge(const rpc::Challenge& challenge) override {
    begin();
    say_hello(challenge);
  }
};

class WrongHello final : public Villain {
  using Villain::Villain;
  void on_challenge(const rpc::Challenge& challenge) override {
    rpc::Challenge other = challenge;
    if (rng_.next_u64() % 2 == 0)
      other.nonce = rng_.next_digest();
    else
      other.gateway = key_.address();
    begin();
    say_hello(other);
  }
};

/// Talks of all kinds of things before it has said who it is, and at length.
class EarlyTalk final : public Villain {
  using Villain::Villain;
  void on_challenge(const rpc::Challenge&) override {
    attack(rpc::Load{.queued = 0, .cached_models = {}});
    attack(deliver(rng_.next_digest(), large_scores()));
  }
};

class RefusesAll final : public Villain {
  using Villain::Villain;
  void on_offer(rpc::Offer offer) override {
    attack(rpc::Refuse{protocol::job_id(offer.job),
                       {core::ErrorCode::kInvalidArgument, "the input is wrong"}});
  }
};

class NeverAnswers final : public Villain {
  using Villain::Villain;
  void on_offer(rpc::Offer) override { begin(); }
};

class CommitsTwice final : public Villain {
  using Villain::Villain;
  void on_offer(rpc::Offer offer) override {
    rpc::Commit commit = commit_to(offer);
    commit.items.resize(3, commit.items.front());
    attack(commit);
    attack(commit);
    attack(deliver(commit.items[0].job, scores_of(10)));
    attack(deliver(commit.items[0].job, scores_of(10)));
  }
};

/// Every message that there is, in any order, about jobs that are and that are not.
class AnyOrder final : public Villain {
 public:
  using Villain::Villain;
  void act() override {
    if (!is_welcome_) return;
    for (int i = 0; i < 32; ++i) say_anything(rng_.next_digest());
  }

 private:
  void on_offer(rpc::Offer offer) override {
    const core::Digest id = protocol::job_id(offer.job);
    for (int i = 0; i < 4; ++i) say_anything(id);
    attack(deliver(id, scores_of(10)));
    attack(commit_to(offer));
  }
  void say_anything(const core::Digest& job) {
    switch (rng_.next_u64() % 8) {
      case 0:
        return attack(rpc::Transact{core::Bytes(64, 1)});
      case 1:
        return attack(deliver(job, scores_of(10)));
      case 2:
        return attack(rpc::Load{.queued = ~0U, .cached_models = {job, job}});
      case 3:
        return attack(rpc::Reveal{rng_.next_u64(), job});
      case 4:
        return attack(rpc::Resume{});
      case 5:
        return attack(rpc::Claims{});
      case 6:
        return attack(rpc::Refuse{job, {core::ErrorCode::kInternal, "no"}});
      default:
        return attack(rpc::Commit{
            {{.job = job, .step = rng_.next_u64(), .commitment = job, .signature = {}}}});
    }
  }
};

/// Answers that open nothing, and large ones.
class WrongAnswers final : public Villain {
  using Villain::Villain;
  void on_offer(rpc::Offer offer) override {
    const rpc::Commit commit = commit_to(offer);
    attack(commit);
    attack(deliver(commit.items[0].job, scores_of(10)));
  }
};

class LargeAnswers final : public Villain {
  using Villain::Villain;
  bool is_effect(const rpc::ToProvider& message) const override {
    return std::holds_alternative<rpc::Countersign>(message);
  }
  void on_offer(rpc::Offer offer) override { attack(commit_to(offer)); }
  void on_countersign(const rpc::Countersign& message) override {
    for (const auto& item : message.items) {
      attack(deliver(item.job, large_scores()));
    }
  }
};

class PauseFlood final : public Villain {
 public:
  using Villain::Villain;
  void act() override {
    if (!is_welcome_) return;
    for (int i = 0; i < 200; ++i) {
      attack(rpc::Pause{"the host needs its machine"});
      attack(rpc::Resume{});
    }
  }
};

/// Pauses and goes on with a list of models as long as a message takes. It comes pausing: that it
/// is given a job shows that its Resume was heard, and it is cut off only for pausing too often.
class ResumeFlood final : public Villain {
 public:
  using Villain::Villain;
  void act() override {
    if (!is_welcome_ || ++acts_ % 8 != 0) return;
    attack(rpc::Load{.queued = 1, .cached_models = models_});
    attack(rpc::Pause{kWhy});
    attack(rpc::Resume{});
  }

 private:
  static constexpr const char* kWhy = "the host needs its machine";

  bool is_effect(const rpc::ToProvider& message) const override {
    return std::holds_alternative<rpc::Offer>(message);
  }
  void on_challenge(const rpc::Challenge& challenge) override { say_hello(challenge, kWhy); }
  const std::vector<core::Digest> models_ =
      std::vector<core::Digest>(limits::kHelloModelsMax, rng_.next_digest());
  int acts_ = 0;
};

class TransactFlood final : public Villain {
 public:
  using Villain::Villain;
  void act() override {
    if (!is_welcome_) return;
    for (int i = 0; i < 50; ++i) {
      core::Bytes noise(64 + rng_.next_u64() % 4096);
      rng_.fill(noise);
      attack(rpc::Transact{std::move(noise)});
    }
  }
};

/// So many of a kind at a time; who was closed comes again as somebody else where `renews`.
template <class Kind, std::size_t kCount, bool kRenews>
class Gang final : public Attacker {
 public:
  Gang(const Target& target, core::Rng& rng) : target_(target), rng_(rng.next_u64()) {
    loop_.start();
  }
  ~Gang() override {
    loop_.stop();
    loop_.join();
    villains_.clear();
  }
  void act() override {
    loop_.post([this] { act_on_loop(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }

 private:
  void act_on_loop() {
    if (villains_.size() < kCount) {
      villains_.push_back(std::make_shared<Kind>(loop_, target_, rng_, effects_));
      villains_.back()->dial();
    } else if (kRenews) {
      villains_.pop_front();
    }
    for (const auto& villain : villains_) {
      villain->act();
      if (villain->is_closed() && ++dials_ % 8 == 0) villain->dial();
    }
  }

  const Target target_;
  core::CounterRng rng_;  // the loop's
  core::ThreadLoop loop_;
  std::deque<std::shared_ptr<Kind>> villains_;
  std::uint64_t dials_ = 0;
};

template <class Kind, std::size_t kCount = 4, bool kRenews = false>
std::unique_ptr<Attacker> gang(const Target& target, core::Rng& rng) {
  return std::make_unique<Gang<Kind, kCount, kRenews>>(target, rng);
}

constexpr AttackRow kRows[] = {
    {"silent-streams", "200 streams that never say hello", gang<SilentVillain, 200>},
    {"hello-flood", "new keys that say hello and go", gang<HelloFlood, 8, true>},
    {"wrong-hello", "signatures for another gateway or challenge", gang<WrongHello, 8, true>},
    {"early-talk", "100 MB before hello", gang<EarlyTalk, 2, true>},
    {"refuses-all", "4 providers that call every request wrong", gang<RefusesAll>},
    {"never-answers", "4 providers that take every job and are silent", gang<NeverAnswers>},
    {"commits-twice", "commits that list a job three times, twice", gang<CommitsTwice>},
    {"any-order", "every message in any order, about any job", gang<AnyOrder>},
    {"wrong-answers", "outputs that open no commitment, under ever new keys",
     gang<WrongAnswers, 4, true>},
    {"large-answers", "outputs of 100 MB", gang<LargeAnswers, 2, true>},
    {"pause-flood", "pauses and goes on, thousands of times a second", gang<PauseFlood>},
    {"resume-flood", "100 providers that pause, go on and list models", gang<ResumeFlood, 100>},
    {"transact-flood", "noise for the ledger", gang<TransactFlood>},
};

}  // namespace

std::span<const AttackRow> stream_attacks() { return kRows; }

}  // namespace commensal::lab::hostile
