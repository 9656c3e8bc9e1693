// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/lab/sim/testing/rollout_fixture.hpp>
#include <cstring>
#include <filesystem>
#include <iterator>

/// For tests of private inputs in a market: an auditor who vouches for providers, and pictures that
/// are known wherever they turn up.
namespace commensal::sim::testing {

inline constexpr float kPrivate = 1'000;  // the first pixel of a private picture is above it
inline constexpr float kMarker[] = {123.456789f, -98.7654321f};  // its next two

inline tensor::NamedTensors private_picture(std::uint64_t i) {
  const auto open = picture(i);
  const auto all = open[0].value.data<float>();
  std::vector<float> pixels(all.begin(), all.end());
  pixels[0] += 2 * kPrivate;
  std::ranges::copy(kMarker, pixels.begin() + 1);
  return {{"image", tensor::Tensor::of<float>({1, 1, 8, 8}, pixels)}};
}

/// The archive that looks for the marker in all that something consists of.
class MarkerSieve {
 public:
  bool has_found() const { return has_found_; }
  template <class T>
  void field(std::string_view, const T& value) {
    look(value);
  }
  template <class T>
  void tail(std::string_view, const std::optional<T>& value) {
    if (value) look(*value);
  }
  template <class T>
  void look(const T& value) {
    if constexpr (requires(MarkerSieve & sieve) { T::fields(sieve, value); }) {
      T::fields(*this, value);
    }
  }
  template <class T>
  void look(const std::optional<T>& value) {
    if (value) look(*value);
  }
  template <class T>
  void look(const std::vector<T>& items) {
    for (const T& item : items) look(item);
  }
  void look(const core::Bytes& bytes) { look_in(bytes); }
  void look(const tensor::NamedTensors& tensors) {
    for (const tensor::NamedTensor& one : tensors) look_in(one.value.bytes());
  }

 private:
  void look_in(core::ByteView bytes) {
    std::uint8_t marker[sizeof kMarker];
    std::memcpy(marker, kMarker, sizeof marker);
    const auto found =
        std::search(bytes.begin(), bytes.end(), std::begin(marker), std::end(marker));
    if (found != bytes.end()) has_found_ = true;
  }

  bool has_found_ = false;
};

template <class T>
bool has_marker(const T& value) {
  MarkerSieve sieve;
  sieve.look(value);
  return sieve.has_found();
}
inline bool has_marker(const rpc::ToProvider& message) {
  return std::visit([](const auto& word) { return has_marker(word); }, message);
}

/// Of models, that a provider has in the test's own market.
inline std::size_t files(const std::string& provider) {
  const core::Path folder =
      scratch(::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::error_code missing;
  const std::filesystem::directory_iterator at(folder / provider / "models", missing), end;
  return missing ? 0 : static_cast<std::size_t>(std::distance(at, end));
}

/// What providers hear from now on of letting go of models and of being sent away, in order.
inline std::shared_ptr<std::vector<std::string>> hear_of_ends(Market& market) {
  auto heard = std::make_shared<std::vector<std::string>>();
  market.overhear([heard](std::size_t provider, const rpc::ToProvider& word) {
    if (const auto* const release = std::get_if<rpc::Release>(&word))
      heard->push_back(fmt::format("{} lets go of {}", provider, release->models.size()));
    if (std::holds_alternative<rpc::Dismiss>(word))
      heard->push_back(fmt::format("{} is dismissed", provider));
  });
  return heard;
}

class PrivateMarket : public MoneyRollouts {
 protected:
  void SetUp() override { privacy_auditors_["medical"] = {auditor_.address()}; }

  protocol::PrivacyStatement statement_of(const Market& market, std::size_t index,
                                          std::int64_t until_ms) const {
    protocol::PrivacyStatement statement;
    statement.provider = market.address_of(index);
    statement.privacy_class = "medical";
    statement.valid_until_ms = static_cast<std::uint64_t>(until_ms);
    return protocol::sign_statement(auditor_, statement);
  }
  /// From its next start on, which is now, the auditor vouches for it, until then.
  void vouch(Market& market, std::size_t index, std::int64_t until_ms) {
    market.kill_provider(index);
    market.show(index, {statement_of(market, index, until_ms)});
    market.start_provider(index);
    market.rest_ms(100);
  }
  /// `is_private`: private_picture(), of this class; else picture().
  core::Result<gateway::InferResponse> ask(Market& market, std::uint64_t i, bool is_private,
                                           const std::string& privacy_class = "medical") {
    std::optional<core::Result<gateway::InferResponse>> answer;
    market.gateway().infer({.account = kConsumer,
                            .model = "consumer/digits",
                            .version = 0,
                            .inputs = is_private ? private_picture(i) : picture(i),
                            .outputs = {},
                            .privacy_class = is_private ? privacy_class : ""},
                           [&](core::Result<gateway::InferResponse> response) {
                             answer.emplace(std::move(response));
                           });
    for (int waited = 0; !answer && waited < 12'000; ++waited) market.rest_ms(10);
    if (answer) return *std::move(answer);
    return core::fail(core::ErrorCode::kDeadlineExceeded, "no answer");
  }
  static std::vector<gateway::ReceiptRecord> private_receipts(Market& market) {
    gateway::ReceiptBook& book = market.gateway().receipts();
    auto records =
        *book.select([](const gateway::ReceiptRecord& one) { return bool(one.privacy_class); });
    for (gateway::ReceiptRecord& record : records) record = *book.find(record.id());
    return records;
  }
  static constexpr std::int64_t kLater = std::int64_t{1} << 40;

  core::CounterRng auditors_rng_{77};
  const crypto::SecretKey auditor_ = crypto::SecretKey::generate(auditors_rng_);
};

}  // namespace commensal::sim::testing
