// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/base/protocol/verdict.hpp>

namespace commensal::protocol {
namespace {

using core::CounterRng;

template <class Result>
std::string refusal(const Result& result) {
  return result ? "accepted" : result.error().message;
}

crypto::Address random_address(CounterRng& rng) {
  crypto::Address address;
  rng.fill(address.bytes);
  return address;
}

std::vector<Digest> random_digests(CounterRng& rng, std::size_t count) {
  std::vector<Digest> digests(count);
  for (Digest& digest : digests) digest = rng.next_digest();
  return digests;
}

Job random_job(CounterRng& rng) {
  Job job;
  job.graph_root = rng.next_digest();
  job.weight_root = rng.next_digest();
  job.numerics_version = rng.next_u32();
  job.input_commitment = rng.next_digest();
  job.steps = 1 + rng.next_u64() % 1000;
  job.client = random_address(rng);
  job.provider = random_address(rng);
  job.face_value = Amount::from_words(rng.next_u64(), rng.next_u64());
  job.win_threshold = rng.next_digest();
  job.beacons = random_digests(rng, rng.next_u32() % 4);
  job.noise = static_cast<NoisePolicy>(rng.next_u32() % 2);
  if (job.noise == NoisePolicy::kCalibrated) {
    job.noise_anchor = rng.next_digest();
    job.noise_exponent = static_cast<std::uint8_t>(rng.next_u32() % 101);
    job.states = static_cast<StateRule>(rng.next_u32() % 3);
  }
  for (std::uint32_t i = 0; i < rng.next_u32() % 4; ++i) {
    job.feeds.push_back({rng.next_u32(), 10 * i + rng.next_u32() % 10});
  }
  job.auditors = static_cast<AuditorClass>(rng.next_u32() % 4);
  if (job.auditors == AuditorClass::kOwnerList) {
    job.auditor_list = {random_address(rng), random_address(rng)};
  }
  job.valid_until_ms = rng.next_u64();
  job.draw_commitment = rng.next_digest();
  return job;
}

BatchSignature random_batch_signature(CounterRng& rng) {
  BatchSignature signature;
  rng.fill(signature.signature.bytes);
  signature.index = rng.next_u64();
  signature.count = rng.next_u64();
  signature.path = random_digests(rng, rng.next_u32() % 9);
  return signature;
}

Verdict random_verdict(CounterRng& rng) {
  Verdict verdict;
  verdict.receipt_id = rng.next_digest();
  verdict.outcome = static_cast<Outcome>(rng.next_u32() % 3);
  verdict.auditor = random_address(rng);
  verdict.expected_commitment = rng.next_digest();
  if (verdict.outcome == Outcome::kMatch) {
    verdict.recomputed_commitment = verdict.expected_commitment;
  } else if (verdict.outcome == Outcome::kMismatch) {
    verdict.recomputed_commitment = rng.next_digest();
  }
  verdict.reason.assign(rng.next_u32() % 40, 'r');
  rng.fill(verdict.signature.bytes);
  return verdict;
}

/// Two parties, a job of three steps and the receipts of one batch of five.
class ReceiptTest : public ::testing::Test {
 protected:
  ReceiptTest() {
    std::vector<ReceiptBody> bodies;
    for (int i = 0; i < 5; ++i) {
      Job job = random_job(rng_);
      job.steps = 3;
      job.provider = provider_.address();
      job.client = client_.address();
      receipts_.push_back({job, 2, rng_.next_digest(), 7, {}, {}});
      bodies.push_back(receipts_.back().body());
    }
    const auto provider = sign_batch(provider_, Role::kProvider, bodies);
    const auto client = sign_batch(client_, Role::kClient, bodies);
    for (std::size_t i = 0; i < receipts_.size(); ++i) {
      receipts_[i].provider = provider[i];
      receipts_[i].client = client[i];
    }
  }

  CounterRng rng_{5};
  crypto::SecretKey provider_ = crypto::SecretKey::generate(rng_);
  crypto::SecretKey client_ = crypto::SecretKey::generate(rng_);
  std::vector<Receipt> receipts_;
};

template <class N>
void expect_round_trip(const N& noun) {
  const Bytes bytes = encode(noun);
  const auto decoded = decode<N>(bytes);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, noun);
  EXPECT_EQ(encode(*decoded), bytes);
}

TEST(Nouns, RandomOnesGoThereAndBack) {
  CounterRng rng(9);
  for (int i = 0; i < 200; ++i) {
    expect_round_trip(random_job(rng));
    expect_round_trip(
        ReceiptBody{rng.next_digest(), rng.next_u64(), rng.next_digest(), rng.next_u64()});
    expect_round_trip(random_batch_signature(rng));
    expect_round_trip(Receipt{random_job(rng), rng.next_u64(), rng.next_digest(), rng.next_u64(),
                              random_batch_signature(rng), random_batch_signature(rng)});
    expect_round_trip(random_verdict(rng));
  }
}

TEST(Nouns, RandomBytesHaveNoSecondEncoding) {
  CounterRng rng(10);
  for (int i = 0; i < 5000; ++i) {
    Bytes bytes = encode(random_verdict(rng));
    bytes[rng.next_u32() % bytes.size()] = static_cast<std::uint8_t>(rng.next_u32());
    const auto decoded = decode<Verdict>(bytes);
    if (!decoded) continue;
    EXPECT_EQ(encode(*decoded), bytes);
  }
}

TEST(Nouns, JobsThatContradictThemselvesAreRefused) {
  Job job;
  job.steps = 0;
  EXPECT_EQ(refusal(decode<Job>(encode(job))), "job: steps is 0, expected 1 or more");
  job = {};
  job.noise_anchor[0] = 1;
  EXPECT_EQ(refusal(decode<Job>(encode(job))), "job: noise_anchor is set, but noise is none");
  job = {};
  job.noise_exponent = 1;
  EXPECT_EQ(refusal(decode<Job>(encode(job))),
            "job: noise_exponent is 1, expected 0 to 100, and 0 where noise is none");
  job.noise = NoisePolicy::kCalibrated;
  job.noise_exponent = 101;
  EXPECT_EQ(refusal(decode<Job>(encode(job))),
            "job: noise_exponent is 101, expected 0 to 100, and 0 where noise is none");
  job = {};
  job.states = StateRule::kMovable;
  EXPECT_EQ(refusal(decode<Job>(encode(job))), "job: states is movable, but noise is none");
  job = {};
  job.feeds = {{0, 2}, {1, 2}};
  EXPECT_EQ(refusal(decode<Job>(encode(job))), "job: feeds are not by ascending input");
  job = {};
  job.auditor_list.resize(1);
  EXPECT_EQ(refusal(decode<Job>(encode(job))),
            "job: auditor_list is set, but auditors is public, not owner-list");
}

TEST_F(ReceiptTest, EveryOneOfABatchVerifies) {
  for (const Receipt& receipt : receipts_) EXPECT_EQ(refusal(verify_receipt(receipt)), "accepted");
  EXPECT_TRUE(sign_batch(provider_, Role::kProvider, {}).empty());
}

TEST_F(ReceiptTest, ForgedOnesAreRefusedByName) {
  const Receipt& good = receipts_[1];
  const std::string provider = crypto::to_text(provider_.address());
  Receipt bad = good;
  bad.commitment[0] ^= 1;
  EXPECT_TRUE(refusal(verify_receipt(bad)).starts_with("receipt: provider signature: recovers to"));
  EXPECT_TRUE(refusal(verify_receipt(bad)).ends_with("expected " + provider));
  bad = good;
  ++bad.round;
  EXPECT_TRUE(refusal(verify_receipt(bad)).starts_with("receipt: provider signature: recovers to"));
  bad = good;
  bad.job.face_value = Amount(0);
  EXPECT_TRUE(refusal(verify_receipt(bad)).starts_with("receipt: provider signature: recovers to"));
  bad = good;
  bad.step = 4;
  EXPECT_EQ(refusal(verify_receipt(bad)), "receipt: step 4, expected 1 to 3");
  bad = good;
  bad.client = receipts_[0].client;
  EXPECT_TRUE(refusal(verify_receipt(bad)).starts_with("receipt: client signature: recovers to"));
  bad = good;
  bad.provider.path.pop_back();
  EXPECT_EQ(refusal(verify_receipt(bad)),
            "receipt: provider signature: Merkle proof: path of 2 hashes, expected 3 for leaf 1 "
            "of 5");
  bad = good;
  bad.client.index = 5;
  EXPECT_EQ(refusal(verify_receipt(bad)),
            "receipt: client signature: Merkle proof: index 5 of 5 leaves");
  bad = good;
  bad.provider.signature.bytes[64] = 1;
  EXPECT_EQ(refusal(verify_receipt(bad)),
            "receipt: provider signature: signature: v is 1, expected 27 or 28");
  EXPECT_EQ(
      refusal(verify_receipt(good, 1)),
      "receipt: provider signature: wrong chain: it was signed for chain 0, expected chain 1");
}

TEST_F(ReceiptTest, OnePartysWordNeverPassesForTheOthers) {
  const ReceiptBody body = receipts_[0].body();
  const auto as_client = sign_batch(provider_, Role::kClient, {&body, 1});
  EXPECT_EQ(
      refusal(verify_batch_signature(as_client[0], body, Role::kProvider, provider_.address())),
      "provider signature: wrong role: it was signed as client");
}

TEST_F(ReceiptTest, EveryTruncationIsRefused) {
  const Bytes bytes = encode(receipts_[3]);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto decoded = decode<Receipt>(ByteView(bytes).first(size));
    ASSERT_FALSE(decoded) << size;
    EXPECT_NE(decoded.error().message.find("truncated"), std::string::npos) << size;
  }
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_EQ(refusal(decode<Receipt>(longer)), "receipt: 1 bytes left over");
}

TEST_F(ReceiptTest, EveryFlippedByteIsRefusedOrDoesNotVerify) {
  const Bytes bytes = encode(receipts_[4]);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int mask : {0x01, 0x80, 0xff}) {
      Bytes flipped = bytes;
      flipped[i] ^= static_cast<std::uint8_t>(mask);
      const auto decoded = decode<Receipt>(flipped);
      EXPECT_FALSE(decoded && verify_receipt(*decoded)) << i << " ^ " << mask;
    }
  }
}

TEST(Verdict, IsTheAuditorsWordAndNobodyElses) {
  CounterRng rng(6);
  const crypto::SecretKey key = crypto::SecretKey::generate(rng);
  for (int i = 0; i < 10; ++i) {
    const Verdict verdict = sign_verdict(key, random_verdict(rng));
    EXPECT_EQ(verdict.auditor, key.address());
    EXPECT_EQ(refusal(verify_verdict(verdict)), "accepted");
    EXPECT_FALSE(verify_verdict(verdict, 1));
    const Bytes bytes = encode(verdict);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      Bytes flipped = bytes;
      flipped[at] ^= 1;
      const auto decoded = decode<Verdict>(flipped);
      EXPECT_FALSE(decoded && verify_verdict(*decoded)) << at;
    }
  }
}

TEST(Verdict, MustNotContradictItself) {
  Verdict verdict;
  verdict.recomputed_commitment[0] = 1;
  EXPECT_NE(refusal(verify_verdict(verdict)).find("verdict: outcome is match, but"),
            std::string::npos);
  verdict.outcome = Outcome::kUnavailable;
  EXPECT_FALSE(verdict.validity());
  verdict.outcome = Outcome::kMismatch;
  EXPECT_TRUE(verdict.validity());
  verdict.recomputed_commitment = {};
  EXPECT_FALSE(verdict.validity());
}

}  // namespace
}  // namespace commensal::protocol
