// SPDX-License-Identifier: Apache-2.0
// Golden vectors, made by tests/vectors/protocol/generate.py, an implementation of its own.
#include <gtest/gtest.h>

#include <commensal/base/crypto/merkle.hpp>
#include <commensal/base/protocol/beacon.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/base/protocol/ticket.hpp>
#include <commensal/base/protocol/verdict.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

namespace commensal::protocol {
namespace {

using core::to_hex;
using nlohmann::json;

json load(const std::string& name) {
  std::ifstream file(COMMENSAL_SOURCE_DIR "/tests/vectors/protocol/" + name + ".json");
  return json::parse(file);
}

Bytes hex(const json& text) { return *core::from_hex(text.get<std::string>()); }
Digest digest(const json& text) { return *core::digest_from_hex(text.get<std::string>()); }
crypto::Address address(const json& text) {
  return *crypto::address_from_text("0x" + text.get<std::string>());
}
std::uint64_t number(const json& text) { return std::stoull(text.get<std::string>()); }
crypto::SecretKey secret_key(const json& text) { return *crypto::SecretKey::from_bytes(hex(text)); }

Job job_of(const json& fields) {
  Job job;
  job.kind = static_cast<JobKind>(fields["kind"].get<int>());
  job.graph_root = digest(fields["graph_root"]);
  job.weight_root = digest(fields["weight_root"]);
  job.numerics_version = fields["numerics_version"];
  job.input_commitment = digest(fields["input_commitment"]);
  job.steps = number(fields["steps"]);
  job.client = address(fields["client"]);
  job.provider = address(fields["provider"]);
  job.face_value = *amount_from_text(fields["face_value"].get<std::string>());
  job.win_threshold = digest(fields["win_threshold"]);
  for (const json& beacon : fields["beacons"]) job.beacons.push_back(digest(beacon));
  job.noise = static_cast<NoisePolicy>(fields["noise"]);
  job.noise_exponent = fields["noise_exponent"];
  job.noise_anchor = digest(fields["noise_anchor"]);
  job.states = static_cast<StateRule>(fields["states"]);
  for (const json& feed : fields["feeds"]) job.feeds.push_back({feed[0], feed[1]});
  job.auditors = static_cast<AuditorClass>(fields["auditors"]);
  for (const json& auditor : fields["auditor_list"]) job.auditor_list.push_back(address(auditor));
  job.valid_until_ms = number(fields["valid_until_ms"]);
  job.draw_commitment = digest(fields["draw_commitment"]);
  return job;
}

TEST(Vectors, Jobs) {
  const json vectors = load("job");
  ASSERT_EQ(vectors.size(), 2u);
  for (const json& vector : vectors) {
    const Job job = job_of(vector["fields"]);
    EXPECT_EQ(to_hex(encode(job)), vector["encoding"]);
    EXPECT_EQ(to_hex(job_id(job)), vector["id"]);
    EXPECT_EQ(decode<Job>(hex(vector["encoding"])), job);
  }
}

TEST(Vectors, Commitments) {
  const json vector = load("commitment");
  const Digest root = digest(vector["root"]), salt = digest(vector["salt"]);
  EXPECT_EQ(to_hex(commit_input(root, salt)), vector["input"]);
  ASSERT_EQ(vector["steps"].size(), 3u);
  for (const json& step : vector["steps"]) {
    EXPECT_EQ(to_hex(commit_step(digest(vector["job_id"]), number(step["step"]), root, salt)),
              step["commitment"]);
  }
}

TEST(Vectors, ReceiptsInBatches) {
  const json vectors = load("receipt");
  ASSERT_EQ(vectors.size(), 2u);
  for (const json& vector : vectors) {
    const std::uint64_t chain_id = vector["chain_id"];
    const Job job = *decode<Job>(hex(vector["job"]));
    std::vector<ReceiptBody> bodies;
    for (const json& commitment : vector["commitments"]) {
      bodies.push_back({job_id(job), vector["step"], digest(commitment), vector["round"]});
      EXPECT_EQ(to_hex(encode(bodies.back())), vector["bodies"][bodies.size() - 1]);
      EXPECT_EQ(to_hex(receipt_id(bodies.back())), vector["ids"][bodies.size() - 1]);
    }
    const auto provider =
        sign_batch(secret_key(vector["provider_key"]), Role::kProvider, bodies, chain_id);
    const auto client =
        sign_batch(secret_key(vector["client_key"]), Role::kClient, bodies, chain_id);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const Receipt receipt{job,         bodies[i].step, bodies[i].commitment, bodies[i].round,
                            provider[i], client[i]};
      EXPECT_EQ(to_hex(encode(receipt)), vector["receipts"][i]);
      EXPECT_TRUE(verify_receipt(*decode<Receipt>(hex(vector["receipts"][i])), chain_id));
    }
  }
}

TEST(Vectors, Verdicts) {
  const json vectors = load("verdict");
  ASSERT_EQ(vectors.size(), 3u);
  for (const json& vector : vectors) {
    Verdict verdict;
    verdict.receipt_id = digest(vector["receipt_id"]);
    verdict.outcome = static_cast<Outcome>(vector["outcome"]);
    verdict.expected_commitment = digest(vector["expected_commitment"]);
    verdict.recomputed_commitment = digest(vector["recomputed_commitment"]);
    verdict.reason = vector["reason"];
    verdict = sign_verdict(secret_key(vector["auditor_key"]), verdict);
    EXPECT_EQ(to_hex(encode(verdict)), vector["encoding"]);
    EXPECT_TRUE(verify_verdict(*decode<Verdict>(hex(vector["encoding"]))));
  }
}

TEST(Vectors, AuditReports) {
  const json vectors = load("report");
  ASSERT_EQ(vectors.size(), 1u);
  AuditReport report;
  report.receipt_id = digest(vectors[0]["receipt_id"]);
  report.output_root = digest(vectors[0]["output_root"]);
  report = sign_report(secret_key(vectors[0]["auditor_key"]), report);
  EXPECT_EQ(to_hex(encode(report)), vectors[0]["encoding"]);
  EXPECT_TRUE(verify_report(*decode<AuditReport>(hex(vectors[0]["encoding"]))));
  report.output_root[0] ^= 1;
  EXPECT_EQ(verify_report(report).error().code, core::ErrorCode::kUnauthenticated);
}

TEST(Vectors, Beacons) {
  const json vector = load("beacon");
  const auto gateway = *decode<HashChainHead>(hex(vector["gateway_head"]));
  const auto provider = *decode<HashChainHead>(hex(vector["provider_head"]));
  EXPECT_EQ(to_hex(encode(sign_hash_chain_head(secret_key(vector["gateway_key"]), gateway))),
            vector["gateway_head"]);
  EXPECT_TRUE(verify_hash_chain_head(gateway));
  EXPECT_TRUE(verify_hash_chain_head(provider));
  EXPECT_EQ(to_hex(beacon_id(gateway, provider)), vector["id"]);
  for (const json& round : vector["rounds"]) {
    EXPECT_EQ(
        to_hex(beacon_value(round["round"], digest(round["gateway"]), digest(round["provider"]))),
        round["value"]);
  }
}

TEST(Vectors, Tickets) {
  const json vector = load("ticket");
  const auto claim = *decode<Claim>(hex(vector["claim"]["encoding"]));
  EXPECT_EQ(to_hex(encode(claim)), vector["claim"]["encoding"]);
  EXPECT_TRUE(verify_receipt(claim.receipt));
  EXPECT_EQ(to_hex(ticket_id(claim.receipt.body())), vector["claim"]["ticket"]);
  const auto provider = secret_key(vector["provider_key"]);
  const auto client = secret_key(vector["client_key"]);
  const auto endorsement = *decode<Endorsement>(hex(vector["endorsement"]));
  EXPECT_EQ(to_hex(encode(sign_endorsement(provider, endorsement))), vector["endorsement"]);
  const auto settlement = *decode<JointSettlement>(hex(vector["settlement"]));
  EXPECT_TRUE(verify_settlement(settlement));
  EXPECT_EQ(sign_settlement(client, settlement), settlement.by_client);
  EXPECT_EQ(to_hex(encode(settlement)), vector["settlement"]);
}

}  // namespace
}  // namespace commensal::protocol
