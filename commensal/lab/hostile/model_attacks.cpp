// SPDX-License-Identifier: Apache-2.0
// Models that are hard to read, to keep or to run.
#include <array>
#include <chrono>
#include <commensal/base/core/clock.hpp>
#include <commensal/lab/hostile/attacker.hpp>
#include <commensal/lab/hostile/crowd.hpp>
#include <commensal/lab/hostile/models.hpp>
#include <commensal/serve/client/client.hpp>
#include <limits>
#include <thread>

namespace commensal::lab::hostile {
namespace {

constexpr std::int64_t kWaitMs = 1'000;  // then it leaves
constexpr std::uint64_t kFewSteps = 16, kManySteps = 1'000'000;
const std::vector<float> kOne = {1};

class ModelAttacker : public Attacker {
 public:
  ModelAttacker(const Target& target, core::Rng& rng) : target_(target), rng_(rng) { connect(); }

 protected:
  void connect() {
    auto made =
        client::Client::create({.url = fmt::format("http://127.0.0.1:{}", target_.http_port),
                                .token = target_.token,
                                .wait_ms = kWaitMs});
    if (made) client_.emplace(*std::move(made));
  }
  core::Result<void> push(const std::string& name, core::ByteView bytes) {
    if (!client_) return core::fail(core::ErrorCode::kUnavailable, "no client");
    const auto pushed = client_->push({.model = "mallory/" + name,
                                       .bytes = bytes,
                                       .is_private = false,
                                       .allowed_providers = {},
                                       .progress = {}});
    count(pushed);
    COMMENSAL_TRY(pushed);
    return {};
  }
  /// So many with a thousand inputs each, which are told of wherever models are.
  core::Result<void> push_long(int count) {
    for (int i = 0; i < count; ++i) {
      COMMENSAL_TRY(push("long" + std::to_string(i), listed_model(1'000)));
    }
    return {};
  }
  /// Leaves before the answer where that takes its time.
  void ask(const std::string& name, const tensor::Tensor& x) {
    const auto answer = client_->infer("mallory/" + name, 0, {{"x", x}});
    count(answer);
    if (!answer) connect();
  }
  /// Of "relu": what goes in comes out again.
  core::Result<void> start_rollout(std::uint64_t steps) {
    const auto started =
        client_->start_rollout({.model = "mallory/relu",
                                .key = {},
                                .steps = steps,
                                .feeds = {{"y", "x"}},
                                .noise = {},
                                .inputs = {{"x", tensor::Tensor::of<float>({1}, kOne)}}});
    count(started);
    COMMENSAL_TRY(started);
    return {};
  }
  /// Answered, refused, or kept waiting until it left.
  template <class Answer>
  void count(const core::Result<Answer>& answer) {
    if (answer || answer.error().code != core::ErrorCode::kUnavailable) ++effects_;
  }
  const Target target_;
  core::Rng& rng_;
  std::optional<client::Client> client_;
};

/// The honest model, with errors in it.
class BrokenModels final : public ModelAttacker {
 public:
  using ModelAttacker::ModelAttacker;
  core::Result<void> prepare() override {
    COMMENSAL_ASSIGN(honest_, client_->model_content(target_.model));
    return {};
  }
  void act() override {
    core::Bytes bytes = honest_;
    for (int i = 0; i < 8; ++i)
      bytes[rng_.next_u64() % bytes.size()] ^= 1U << (rng_.next_u64() % 8);
    if (rng_.next_u64() % 4 == 0) bytes.resize(rng_.next_u64() % bytes.size());
    std::ignore = push("broken", bytes);
  }

 private:
  core::Bytes honest_;
};

class ManyModels final : public ModelAttacker {
 public:
  using ModelAttacker::ModelAttacker;
  core::Result<void> prepare() override {
    COMMENSAL_ASSIGN(honest_, client_->model_content(target_.model));
    return {};
  }
  void act() override { std::ignore = push("m" + std::to_string(++count_), honest_); }

 private:
  core::Bytes honest_;
  std::uint64_t count_ = 0;
};

std::vector<core::Bytes> refused_models() {
  auto all = unkeepable_models();
  for (core::Bytes& one : swelling_models()) all.push_back(std::move(one));
  return all;
}

class WideModels final : public ModelAttacker {
 public:
  using ModelAttacker::ModelAttacker;
  void act() override { std::ignore = push("wide", models_[next_++ % models_.size()]); }

 private:
  const std::vector<core::Bytes> models_ = refused_models();
  std::size_t next_ = 0;
};

class Endless final : public ModelAttacker {
 public:
  using ModelAttacker::ModelAttacker;
  core::Result<void> prepare() override { return push("endless", looping_model(1 << 23)); }
  void act() override { ask("endless", tensor::Tensor::of<float>({1}, kOne)); }
};

class Rollouts final : public ModelAttacker {
 public:
  using ModelAttacker::ModelAttacker;
  core::Result<void> prepare() override {
    COMMENSAL_TRY(push("relu", relu_model()));
    return start_rollout(kManySteps);
  }
  void act() override { std::ignore = start_rollout(kManySteps); }
};

class Hungry final : public ModelAttacker {
 public:
  using ModelAttacker::ModelAttacker;
  core::Result<void> prepare() override { return push("hungry", hungry_model()); }
  void act() override {
    const auto bits = static_cast<int>(20 + rng_.next_u64() % 20);
    const std::vector<std::int64_t> shape = {std::int64_t{1} << bits};
    ask("hungry", tensor::Tensor::of<std::int64_t>({1}, shape));
  }
};

/// Answers of 120 MB, which are four times that in JSON, and nobody reads them.
class UnreadAnswers final : public ModelAttacker {
 public:
  UnreadAnswers(const Target& target, core::Rng& rng)
      : ModelAttacker(target, rng),
        crowd_(target.http_port, effects_, {.net = 1, .addresses = 1, .receive_bytes = 4'096}) {}
  core::Result<void> prepare() override {
    return push("wordy", hungry_model(-std::numeric_limits<float>::min()));
  }
  void act() override {
    static const std::string kBody =
        R"({"inputs":[{"name":"x","datatype":"INT64","shape":[1],"data":[30000000]}]})";
    static constexpr std::size_t kAnswers = 13;
    if (crowd_.size() < kAnswers && crowd_.join()) {
      crowd_.say(crowd_.size() - 1,
                 infer_head("mallory/wordy", target_.token,
                            fmt::format("Content-Length: {}\r\n", kBody.size())) +
                     kBody);
    }
    crowd_.leave_unheard();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  void finish() override { crowd_.listen(); }

 private:
  Crowd crowd_;
};

/// Many models with many inputs, and strangers who ask for lists of them and do not read.
class LongLists final : public ModelAttacker {
 public:
  LongLists(const Target& target, core::Rng& rng)
      : ModelAttacker(target, rng),
        crowd_(target.http_port, effects_, {.net = 2, .addresses = 16, .receive_bytes = 4'096}) {}
  core::Result<void> prepare() override { return push_long(32); }
  void act() override {
    static constexpr std::string_view kList = "GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n";
    static constexpr std::string_view kIndex =
        "POST /v2/repository/index HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
    for (std::size_t i = 0; i < 8 && crowd_.size() < 400 && crowd_.join(); ++i) {
      crowd_.say(crowd_.size() - 1, i % 2 == 0 ? kList : kIndex);
    }
    crowd_.leave_unheard();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  void finish() override { crowd_.listen(); }

 private:
  Crowd crowd_;
};

/// What costs the gateway most for the least that is asked, once there is something to read.
class ExpensiveReads final : public ModelAttacker {
 public:
  ExpensiveReads(const Target& target, core::Rng& rng)
      : ModelAttacker(target, rng), crowd_(target.http_port, effects_) {}
  core::Result<void> prepare() override {
    COMMENSAL_TRY(push_long(32));
    COMMENSAL_TRY(push("relu", relu_model()));
    for (int i = 0; i < kRollouts; ++i) COMMENSAL_TRY(start_rollout(kFewSteps));
    return make_receipts();
  }
  void act() override {
    while (crowd_.size() < kConnections && crowd_.join()) {
    }
    for (std::size_t i = 0; i < kAtOnce && crowd_.size() > 0; ++i) {
      const std::size_t member = next_++ % crowd_.size();
      if (!crowd_.hear(member) || !crowd_.say(member, next())) crowd_.leave(member);
    }
  }
  void finish() override { crowd_.listen(); }

 private:
  static constexpr int kRollouts = 16, kReceipts = 1'000;
  static constexpr std::int64_t kReceiptsNs = 1'000'000'000;  // they take no longer
  static constexpr std::size_t kConnections = 16, kAtOnce = 8;

  /// As everybody asks; as many as come in a while.
  core::Result<void> make_receipts() {
    const core::SystemClock clock;
    const std::int64_t until_ns = clock.monotonic_ns() + kReceiptsNs;
    const std::vector<float> pixels(64, 1);
    const auto image = tensor::Tensor::of<float>({1, 1, 8, 8}, pixels);
    for (int made = 0; made < kReceipts && clock.monotonic_ns() < until_ns; ++made) {
      const auto answer = client_->infer(target_.model, 0, {{"image", image}});
      if (!answer && made == 0) return tl::unexpected(answer.error());
    }
    return {};
  }
  std::string next() {
    static constexpr std::array<std::string_view, 6> kTargets = {
        "/v1/models", "/v1/receipts?count=1000", "/v1/rollouts", "/v1/providers", "/v1/account",
        "/v1/tickets"};
    return fmt::format("GET {} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n",
                       kTargets[rng_.next_u64() % kTargets.size()], target_.token);
  }

  Crowd crowd_;
  std::size_t next_ = 0;
};

template <class Kind>
std::unique_ptr<Attacker> make(const Target& target, core::Rng& rng) {
  return std::make_unique<Kind>(target, rng);
}

// The one that uses its account's names up comes last.
constexpr AttackRow kRows[] = {
    {"endless-model", "a loop of 8 million products, asked for again and again", make<Endless>},
    {"hungry-model", "outputs of up to 4 TB", make<Hungry>},
    {"unread-answers", "13 answers of 120 MB, in JSON, that nobody reads", make<UnreadAnswers>},
    {"long-lists", "lists of 32 models with 1,000 inputs, for strangers who do not read",
     make<LongLists>},
    {"expensive-reads", "lists of 34 models, 16 rollouts and hundreds of receipts, again and again",
     make<ExpensiveReads>},
    {"rollout-flood", "rollouts of a million steps", make<Rollouts>},
    {"broken-models", "models with some bits wrong", make<BrokenModels>},
    {"wide-models", "70,000 inputs, long names, files of others, huge claims, gradients that swell",
     make<WideModels>},
    {"many-models", "one model under ever new names", make<ManyModels>},
};

}  // namespace

std::span<const AttackRow> model_attacks() { return kRows; }

}  // namespace commensal::lab::hostile
