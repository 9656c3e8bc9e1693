// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/address.hpp>
#include <commensal/base/protocol/verdict.hpp>
#include <commensal/compute/tensor/named.hpp>
#include <commensal/serve/client/card.hpp>
#include <commensal/serve/client/transport.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// The consumer's side of a gateway's public HTTP API.
namespace commensal::client {

struct ClientOptions {
  std::string url;                 // as Url::parse
  std::string token;               // of an account, or "": public things only
  std::string token_source = {};   // where it is from, for who is told that it is not valid
  std::int64_t wait_ms = 120'000;  // for the next byte
  tls::Trust trust = {};           // of https
  std::string from = {};           // address of this machine to come from; "": any
};

struct Port {
  std::string name;
  tensor::DType dtype = tensor::DType::kUndefined;
  std::vector<std::int64_t> dims;  // -1 is free
};

struct ModelInfo {
  std::string name;  // "owner/model"
  std::uint32_t version = 0;
  bool is_private = false;
  core::Digest content{};  // SHA-256 of the file: "sha256"
  std::int64_t bytes = 0;
  std::int64_t created_ms = 0;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::string json;  // as the gateway sent it
};

struct PushRequest {
  std::string model;  // "owner/model"
  core::ByteView bytes;
  bool is_private = false;
  std::vector<crypto::Address> allowed_providers;
  std::string privacy_class = {};  // of the inputs, from this version on; "": as before
  Progress progress;
};

struct Answer {
  std::string model;
  std::uint32_t version = 0;
  tensor::NamedTensors outputs;
  core::Digest receipt{};
  crypto::Address provider;
  std::string privacy_class = {};  // that it was placed by, as the gateway says; "": by none
};

struct AccountInfo {
  std::string name;
  std::string role;              // "consumer" or "operator"
  std::string token;             // of a new account only
  std::string test_credit = {};  // likewise: units of test money that it was given, or ""
  std::string price = {};        // likewise: what a request costs here, or ""
};

/// What the gateway says of a receipt; `receipt` itself can be checked without believing it.
struct ReceiptInfo {
  core::Digest id{};
  std::string account;
  std::string model;
  std::uint32_t version = 0;
  core::Digest model_content{};
  crypto::Address provider;
  std::int64_t delivered_ms = 0;
  std::string audit;    // "not drawn", "drawn", "matched", "mismatched", "replaced", "failed"
  std::string outcome;  // of the verdict, or ""
  std::string reason;
  std::optional<core::Digest> replaced_by;
  std::optional<protocol::Receipt> receipt;  // of receipt(); receipts() leaves it out
  std::string json;                          // as the gateway sent it
};

/// A rollout that is asked for.
struct RolloutOrder {
  std::string model;  // "owner/model"
  std::uint32_t version = 0;
  std::string key;  // the same again asks for the same rollout; "": always a new one
  std::uint64_t steps = 0;
  std::vector<std::pair<std::string, std::string>> feeds;  // output, input
  std::optional<int> noise;                                // exponent; none: without
  std::string states = "finite";                           // or "any", "movable"
  double audit_probability = 0;
  tensor::NamedTensors inputs;
  std::string privacy_class = {};  // as infer()'s
};

/// RolloutInfo::reason_code, where states are to be finite: the next one would not be, as the
/// gateway saw, or as its provider claims by refusing the step itself, which proves nothing.
inline constexpr const char* kNotFinite = "not-finite";

struct RolloutInfo {
  core::Digest id{};
  std::string key;  // of its order
  crypto::Address provider;
  std::string state;   // "running", "finished", "failed", "caught", "cancelled"
  std::string reason;  // for people
  /// Of "failed": kNotFinite; "": none, or unknown (to an older gateway, or one that was started
  /// since).
  std::string reason_code = {};
  std::uint64_t steps_done = 0;  // delivered
  std::uint64_t steps = 0;
  std::uint64_t trusted_steps = 0;    // that another can go on after; an older gateway says none
  std::uint64_t confirmed_steps = 0;  // that audits have confirmed, from the first on without a gap
  core::Digest final_state{};         // root of the last one's outputs
  double audit_probability = 0;  // of each step: as asked for, or what its provider's stake needs
  std::uint64_t audits_open = 0, audits_matched = 0;
  std::vector<std::uint64_t> mismatches;  // steps, the first of many
  bool is_over() const { return state != "running" && audits_open == 0; }
};

/// A path, or part of a query: all but slashes and RFC 3986's unreserved characters escaped.
std::string escaped_path(std::string_view text);

/// Blocks. An error of the gateway comes with its code and its one line; beyond those named:
/// kUnavailable, kDeadlineExceeded, kDataLoss (an answer that makes no sense).
/// Thread-safety: one thread at a time.
class Client {
 public:
  /// Connects when first asked. Errors: kInvalidArgument, kUnsupported (URL, token).
  static core::Result<Client> create(const ClientOptions& options);

  /// As Transport's.
  core::Result<void> connect() { return transport_.connect(); }
  bool is_connected() { return transport_.is_connected(); }

  core::Result<void> live();
  core::Result<void> ready();

  /// What has more than limits::kUploadPieceBytesMax goes in pieces, as an upload: where that ends
  /// before its end, the same push goes on from there, for a day.
  core::Result<ModelInfo> push(const PushRequest& request);
  core::Result<std::vector<ModelInfo>> models();
  /// The same as the gateway's JSON, of all its pages.
  core::Result<core::Bytes> model_list();
  /// `version` 0 is the newest, here and below.
  core::Result<ModelInfo> model(const std::string& name, std::uint32_t version = 0);
  /// All its versions.
  core::Result<void> remove_model(const std::string& name);
  /// These providers, and no others, may run a private model.
  core::Result<ModelInfo> allow(const std::string& name,
                                const std::vector<crypto::Address>& providers);
  /// How a version is served. `config`: JSON, or protobuf's text format; `files`: texts by their
  /// names, as the configuration has them. Returns all of it, as JSON.
  core::Result<std::string> configure(const std::string& name, std::uint32_t version,
                                      const std::string& config,
                                      const std::map<std::string, std::string>& files);
  /// The Markdown file that says what the model is; from now on, of all its versions.
  core::Result<Card> set_card(const std::string& name, std::string_view source);
  /// None: it has no card, or the gateway is one that knows none.
  core::Result<std::optional<Card>> card(const std::string& name);
  /// Models that may be seen, a page of them.
  core::Result<FoundModels> explore(const Wish& wish);
  /// For operators: a name of one part for the model.
  core::Result<void> set_alias(const std::string& alias, const std::string& name);
  /// The file; its SHA-256 is checked against what the gateway says of the model.
  core::Result<core::Bytes> model_content(const std::string& name, std::uint32_t version = 0,
                                          const Progress& received = {});

  /// `draw_commitment`: the consumer's part of a draw of auditors (protocol::Job); zero: none.
  /// `privacy_class`: of the inputs, which only providers that are vouched for may see; "": none.
  core::Result<Answer> infer(const std::string& model, std::uint32_t version,
                             const tensor::NamedTensors& inputs,
                             const core::Digest& draw_commitment = {},
                             const std::string& privacy_class = "");

  core::Result<AccountInfo> create_account(const std::string& name, const std::string& role);
  core::Result<std::vector<AccountInfo>> accounts();
  core::Result<AccountInfo> who_am_i();
  /// A new token in place of all old ones; of another account for operators only, "" is one's own.
  core::Result<AccountInfo> renew_token(const std::string& name);
  core::Result<void> remove_account(const std::string& name);

  /// Newest first.
  core::Result<std::vector<ReceiptInfo>> receipts(std::size_t count);
  core::Result<ReceiptInfo> receipt(const core::Digest& id);
  /// receipt::Opening, encoded.
  core::Result<core::Bytes> opening(const core::Digest& id);

  /// Durable when it returns.
  core::Result<RolloutInfo> start_rollout(const RolloutOrder& order);
  /// Returns as soon as more than `after` steps are delivered, something else of it changes, or
  /// `wait_ms` (at most 30 s) have passed.
  core::Result<RolloutInfo> rollout(const core::Digest& id, std::uint64_t after = 0,
                                    std::int64_t wait_ms = 0);
  /// The account's own whose keys begin so, the newest 100.
  core::Result<std::vector<RolloutInfo>> rollouts(const std::string& key_prefix);
  /// No more of its steps are asked for; one that is over stays as it is. Durable when it returns.
  core::Result<void> cancel_rollout(const core::Digest& id);
  /// rollout::JobRecord and rollout::StepRecord, encoded.
  core::Result<core::Bytes> rollout_record(const core::Digest& id);
  core::Result<core::Bytes> rollout_step(const core::Digest& id, std::uint64_t step);
  /// For auditors: receipt::Assignment, encoded; empty where no audit waits.
  core::Result<core::Bytes> take_audit(const crypto::Address& auditor);
  /// For who is accused, or has accused `subject`: cases::Brief, encoded; empty where it is its
  /// turn nowhere.
  core::Result<core::Bytes> next_case(const crypto::Address& party,
                                      const std::optional<core::Digest>& subject = {});
  core::Result<void> answer_audit(const protocol::AuditReport& report);

  /// The JSON text of any GET, for those who pass it on.
  core::Result<std::string> get_json(const std::string& target);
  /// The JSON text that a POST is answered with.
  core::Result<std::string> post(const std::string& target, const std::string& content_type,
                                 core::ByteView body);
  /// Likewise of any method with a body; of DELETE. `target` is an escaped path, and what it asks.
  core::Result<std::string> send(std::string_view method, const std::string& target,
                                 const std::string& content_type, core::ByteView body);
  core::Result<void> remove(const std::string& target);

 private:
  Client(Transport transport, std::string token)
      : transport_(std::move(transport)), token_(std::move(token)) {}
  core::Result<HttpResponse> call(HttpRequest request);
  core::Result<HttpResponse> call_about_upload(std::string_view method, const std::string& target,
                                               HttpRequest request);
  core::Result<ModelInfo> push_whole(const PushRequest& push);
  core::Result<ModelInfo> push_in_pieces(const PushRequest& push);
  core::Result<core::Bytes> get(const std::string& target, const Progress& received = {});

  Transport transport_;
  std::string token_;
  std::string token_source_;
};

}  // namespace commensal::client
