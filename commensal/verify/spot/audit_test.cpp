// SPDX-License-Identifier: Apache-2.0
// Sublinear audits: the honest are never accused, others are caught as often as the formula says,
// and no message does harm.
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/random_graph.hpp>
#include <commensal/verify/spot/audit_fixture.hpp>
#include <commensal/verify/spot/policy.hpp>
#include <cstdlib>
#include <fstream>

namespace commensal::spot {
namespace {

using namespace testing;
using kernels::Draw;

constexpr Terms kManyTerms{.elements = 6, .last = 1, .leaves = 8, .products = 2,
                           .all_elementwise = false, .holds_weights = true};

TEST(SublinearAudit, NeverAccusesTheHonest) {
  core::CounterRng rng(11);
  Scratch scratch;
  std::size_t questions = 0;
  for (int seed = 0; seed < kernels::case_count(150); ++seed) {
    graph::RandomGraph made(static_cast<std::uint64_t>(seed), false);
    Terms terms = kManyTerms;
    terms.all_elementwise = seed % 3 == 0;
    terms.holds_weights = seed % 2 == 0;
    AuditCase one(made.finish(), made.inputs(), terms);
    one.commit(made.expected());
    auto session = graph::Session::create(one.model->graph, {});
    ASSERT_TRUE(session);
    Prover prover = one.prover(dispute::rerun_on(*session, one.inputs));
    for (int times = 0; times < 3; ++times) {
      const auto played = play(one, prover, rng.next_digest(), scratch);
      ASSERT_TRUE(played) << "seed " << seed << ": " << played.error().message;
      ASSERT_EQ(played->phase, Audit::Phase::kDone);
      ASSERT_FALSE(played->finding)
          << "seed " << seed << ": "
          << one.model->graph->nodes[played->finding->node].name << " element "
          << played->finding->element;
      questions += played->questions;
    }
  }
  EXPECT_GE(questions, 1000U);
}

/// Two products of one size, an elementwise operator behind each.
std::shared_ptr<const graph::Graph> two_products(std::int64_t side, std::int64_t count = 8) {
  graph::GraphMaker maker;
  Draw draw(3, 3);
  const auto weight = [&] {
    return maker.constant(kernels::random_of(draw, tensor::DType::kFloat32, {side, side},
                                             kernels::Blend::kPlain));
  };
  auto x = maker.input({count, side});
  x = maker.node("Relu", {maker.node("MatMul", {x, weight()})});
  x = maker.node("Tanh", {maker.node("MatMul", {x, weight()})});
  maker.output(x);
  return maker.finish();
}
std::vector<Tensor> rows(std::int64_t side, std::int64_t count = 8) {
  Draw draw(4, 4);
  return {kernels::random_of(draw, tensor::DType::kFloat32, {count, side}, kernels::Blend::kPlain)};
}

struct Fraud {
  std::size_t node;
  std::int64_t one_in;  // of the elements is wrong
};

TEST(SublinearAudit, CatchesAtTheRateOfTheFormula) {
  constexpr std::int64_t kSide = 512;
  constexpr int kTrials = 250;
  core::CounterRng rng(12);
  Scratch scratch;
  for (const Fraud& fraud : {Fraud{0, 1}, Fraud{0, 4}, Fraud{2, 2}, Fraud{1, 256}, Fraud{3, 256}}) {
    Terms terms{.elements = 1, .last = 0, .leaves = 1};
    AuditCase one(two_products(kSide), rows(kSide), terms);
    auto session = graph::Session::create(one.model->graph, {});
    const auto cheat = meddled(
        *one.model->graph,
        [&](std::size_t node, std::size_t, const Tensor& output) {
          if (node != fraud.node) return;
          for (std::int64_t i = 0; i < output.elements(); i += fraud.one_in) {
            writable(output)[static_cast<std::size_t>(4 * i)] ^= 1;
          }
        },
        dispute::rerun_on(*session, one.inputs));
    // Of what follows from the lie it is honest: only this operator is wrong.
    graph::Tracer nobody;
    one.commit(*cheat(nobody, nullptr));
    Prover prover = one.prover(cheat);
    std::vector<double> wrong(one.model->graph->nodes.size());
    const bool by_leaf = !one.survey->nodes[fraud.node].is_product;
    wrong[fraud.node] = by_leaf ? 1 : 1.0 / static_cast<double>(fraud.one_in);
    const double chance = catch_chance(*one.model->graph, *one.survey, terms, wrong);
    ASSERT_GT(chance, 0.05);
    int caught = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const auto played = play(one, prover, rng.next_digest(), scratch);
      ASSERT_TRUE(played) << played.error().message;
      if (!played->finding) continue;
      ++caught;
      EXPECT_EQ(played->finding->node, fraud.node);
      EXPECT_EQ(played->finding->fault, Fault::kElement);
      EXPECT_EQ(played->finding->claimed ^ played->finding->computed, 1U);
    }
    EXPECT_NEAR(caught, kTrials * chance, 4.5 * std::sqrt(kTrials * chance * (1 - chance)))
        << "node " << fraud.node << ", one in " << fraud.one_in;
  }
}

TEST(SublinearAudit, AVectorFindsOneWrongElementOfALargeProduct) {
  constexpr std::int64_t kSide = 1536, kRows = 64;
  Terms terms{.elements = 0, .last = 0, .leaves = 0, .products = 4};
  AuditCase one(two_products(kSide, kRows), rows(kSide, kRows), terms);
  ASSERT_TRUE(one.survey->nodes[0].is_large);
  auto session = graph::Session::create(one.model->graph, {});
  const auto honest = dispute::rerun_on(*session, one.inputs);
  graph::Tracer nobody;
  core::CounterRng rng(13);
  Scratch scratch;
  const auto found_after = [&](const Change& change) {
    const auto rerun = meddled(*one.model->graph, change, honest);
    one.commit(*rerun(nobody, nullptr));
    Prover prover = one.prover(rerun);
    const auto played = play(one, prover, rng.next_digest(), scratch);
    EXPECT_TRUE(played) << played.error().message;
    return played && played->finding ? std::optional(played->finding->fault) : std::nullopt;
  };
  EXPECT_EQ(found_after([](std::size_t, std::size_t, const Tensor&) {}), std::nullopt);
  const auto loud = [](std::size_t node, std::size_t, const Tensor& output) {
    if (node != 0 && node != 2) return;
    float* values = reinterpret_cast<float*>(writable(output).data());
    values[4321] += 16;
  };
  EXPECT_EQ(found_after(loud), Fault::kWhole);
  // Why vectors alone do not do: the last bits of everything are within what rounding explains.
  const auto quiet = [](std::size_t node, std::size_t, const Tensor& output) {
    if (node != 0 && node != 2) return;
    for (std::size_t i = 0; i < output.bytes().size(); i += 4) writable(output)[i] &= 0xfc;
  };
  EXPECT_EQ(found_after(quiet), std::nullopt);
  one.papers.terms.elements = 2;
  EXPECT_EQ(found_after(quiet), Fault::kElement);
}

TEST(SublinearAudit, OtherOutputsThanCommittedAreFoundAtOnce) {
  AuditCase one(two_products(64), rows(64), {});
  auto session = graph::Session::create(one.model->graph, {});
  Prover prover = one.prover(dispute::rerun_on(*session, one.inputs));
  Scratch scratch;
  const auto played = play(one, prover, {}, scratch);
  ASSERT_TRUE(played) << played.error().message;
  ASSERT_TRUE(played->finding);
  EXPECT_EQ(played->finding->fault, Fault::kOutput);
}

/// Every message at every wrong time, bent and cut.
class AuditRefusals : public ::testing::Test {
 protected:
  AuditRefusals()
      : one_(two_products(96), rows(96), kManyTerms),
        session_(*graph::Session::create(one_.model->graph, {})),
        honest_(dispute::rerun_on(session_, one_.inputs)) {
    graph::Tracer nobody;
    one_.commit(*honest_(nobody, nullptr));
    beacon_.fill(7);
  }
  Audit open() { return *Audit::open(one_.papers, clock_, scratch_); }
  template <class T>
  static std::string why(const core::Result<T>& result) {
    return result ? "" : result.error().message;
  }

  AuditCase one_;
  graph::Session session_;
  dispute::Rerun honest_;
  core::ManualClock clock_;
  Scratch scratch_;
  Digest beacon_{};
};

TEST_F(AuditRefusals, OutOfOrderTwiceLateOrOfAnother) {
  Audit audit = open();
  Prover prover = one_.prover(honest_);
  EXPECT_EQ(why(prover.openings(9, beacon_)), "openings: round 9 is not the one agreed on");
  EXPECT_EQ(why(prover.roots(audit.request(), 9)),
            "audit request: round 9 is over, 9 is the latest");
  const auto roots = prover.roots(audit.request(), 8);
  ASSERT_TRUE(roots) << roots.error().message;
  EXPECT_EQ(*prover.roots(audit.request(), 20), *roots) << "the same again";
  Audit other = open();
  EXPECT_EQ(why(audit.beacon(9, beacon_)), "audit: beacon when it is asked, expected rooted");
  EXPECT_EQ(why(audit.openings(*roots)), "audit: openings when it is asked, expected drawn");
  EXPECT_EQ(why(audit.roots(*roots, 9)), "operator roots: round 9 that draws is over already");
  ASSERT_TRUE(audit.roots(*roots, 8));
  EXPECT_EQ(why(audit.roots(*roots, 8)), "audit: operator roots when it is rooted, expected asked");
  EXPECT_EQ(why(audit.beacon(8, beacon_)), "audit: round 8 of the beacon, expected 9");
  ASSERT_TRUE(audit.beacon(9, beacon_));
  EXPECT_NE(why(audit.beacon(9, beacon_)), "");
  Digest another = beacon_;
  another[0] ^= 1;
  const auto strange = prover.openings(9, another), right = prover.openings(9, beacon_);
  ASSERT_TRUE(strange && right);
  EXPECT_NE(why(audit.openings(*strange)), "") << "of another draw";
  EXPECT_EQ(audit.phase(), Audit::Phase::kDrawn);
  ASSERT_TRUE(audit.openings(*right)) << why(audit.openings(*right));
  EXPECT_EQ(audit.phase(), Audit::Phase::kDone);
  EXPECT_FALSE(audit.finding());
  EXPECT_NE(why(audit.openings(*right)), "");

  AuditCase elsewhere(two_products(96), rows(96), kManyTerms);
  elsewhere.papers.body.step = 2;
  Prover stranger = elsewhere.prover(honest_);
  EXPECT_EQ(why(stranger.roots(other.request(), 8)), "audit request: for another receipt");
  const crypto::SecretKey thief = key_of(8);
  Prover forger({one_.model, one_.survey, one_.papers.body, &thief, one_.inputs, honest_},
                one_.threads);
  EXPECT_NE(why(other.roots(*forger.roots(other.request(), 8), 8)), "");
  EXPECT_EQ(other.phase(), Audit::Phase::kAsked);
}

TEST_F(AuditRefusals, BentOrCutMessages) {
  Prover prover = one_.prover(honest_);
  const auto roots = *prover.roots(open().request(), 8);
  const auto openings = *prover.openings(9, beacon_);
  // Seeds of tests/fuzz/audit.cpp, made anew on request.
  if (const char* folder = std::getenv("COMMENSAL_WRITE_SEEDS")) {
    const Bytes requests = open().request();
    const std::pair<const char*, const Bytes*> seeds[] = {
        {"request", &requests}, {"roots", &roots}, {"openings", &openings}};
    for (std::size_t i = 0; i < std::size(seeds); ++i) {
      std::ofstream file(core::Path(folder) / seeds[i].first, std::ios::binary);
      file.put(static_cast<char>(i));
      file.write(reinterpret_cast<const char*>(seeds[i].second->data()),
                 static_cast<std::streamsize>(seeds[i].second->size()));
    }
  }
  core::CounterRng rng(14);
  const auto try_bent = [&](const Bytes& message, const auto& send) {
    for (int i = 0; i < 150; ++i) {
      Bytes bent = message;
      const std::size_t at = rng.next_u64() % bent.size();
      if (i % 3 == 0) {
        bent.resize(at);
      } else if (i % 3 == 1) {
        bent[at] ^= static_cast<std::uint8_t>(1 << rng.next_u64() % 8);
      } else {
        bent.insert(bent.begin() + static_cast<std::ptrdiff_t>(at), 0);
      }
      ASSERT_FALSE(send(bent)) << "change " << i << " at " << at << " of " << bent.size();
    }
  };
  Audit audit = open();
  try_bent(roots, [&](const Bytes& bent) { return audit.roots(bent, 8).has_value(); });
  EXPECT_EQ(audit.phase(), Audit::Phase::kAsked);
  EXPECT_EQ(why(audit.roots(openings, 8)),
            "operator roots: tag 3 of version 1, expected tag 2 of version 1");
  ASSERT_TRUE(audit.roots(roots, 8));
  ASSERT_TRUE(audit.beacon(9, beacon_));
  try_bent(openings, [&](const Bytes& bent) { return audit.openings(bent).has_value(); });
  EXPECT_EQ(audit.phase(), Audit::Phase::kDrawn);
  ASSERT_TRUE(audit.openings(openings));
  EXPECT_FALSE(audit.finding());
}

TEST_F(AuditRefusals, SilenceAndModelsOfOthers) {
  Audit audit = open();
  clock_.advance_ms(60'000);
  audit.check_time();
  EXPECT_EQ(audit.phase(), Audit::Phase::kAsked);
  clock_.advance_ms(1);
  audit.check_time();
  EXPECT_EQ(audit.phase(), Audit::Phase::kSilent);
  AuditSetup setup = one_.papers;
  setup.job.weight_root[3] ^= 1;
  EXPECT_EQ(why(Audit::open(setup, clock_, scratch_)), "audit: the model is not the job's");
  setup = one_.papers;
  setup.terms.leaves = 257;
  EXPECT_EQ(why(Audit::open(setup, clock_, scratch_)),
            "audit: 257 draws of a kind, at most 256 are accepted");
}

/// A real network, honest and with one weight of one convolution wrong.
TEST(SublinearAudit, OfSqueezeNet) {
  const char* folder = std::getenv("COMMENSAL_MODELS");
  const auto graph = folder == nullptr
                         ? core::Result<std::shared_ptr<const graph::Graph>>(nullptr)
                         : graph::onnx::import_file(core::Path(folder) / "squeezenet.onnx");
  if (!graph || *graph == nullptr) GTEST_SKIP() << "COMMENSAL_MODELS has no squeezenet.onnx";
  Draw draw(2, 2);
  AuditCase one(*graph, {kernels::random_of(draw, tensor::DType::kFloat32, {1, 3, 224, 224},
                                            kernels::Blend::kPlain)},
                kManyTerms);
  auto session = graph::Session::create(one.model->graph, {});
  const auto honest = dispute::rerun_on(*session, one.inputs);
  graph::Tracer nobody;
  one.commit(*honest(nobody, nullptr));
  core::CounterRng rng(15);
  Scratch scratch;
  Prover prover = one.prover(honest);
  double bytes = 0;
  constexpr int kAudits = 8;
  for (int i = 0; i < kAudits; ++i) {
    const auto played = play(one, prover, rng.next_digest(), scratch);
    ASSERT_TRUE(played) << played.error().message;
    ASSERT_FALSE(played->finding) << played->finding->node << " " << played->finding->element;
    bytes += static_cast<double>(played->bytes) / kAudits;
  }
  const Estimate expected = estimate(*one.model->graph, *one.survey, kManyTerms);
  EXPECT_GT(expected.sublinear_bytes, bytes / 2);
  EXPECT_LT(expected.sublinear_bytes, bytes * 2);
  // What it puts out where it rounds every product to bfloat16.
  const auto cheap = meddled(
      *one.model->graph,
      [&](std::size_t node, std::size_t, const Tensor& output) {
        if (!one.survey->nodes[node].is_product) return;
        const auto bytes = writable(output);
        for (std::size_t i = 0; i < bytes.size(); i += 4) bytes[i] = bytes[i + 1] = 0;
      },
      honest);
  one.commit(*cheap(nobody, nullptr));
  Prover cheat = one.prover(cheap);
  for (int i = 0; i < 4; ++i) {
    const auto played = play(one, cheat, rng.next_digest(), scratch);
    ASSERT_TRUE(played) << played.error().message;
    EXPECT_TRUE(played->finding);
  }
}

}  // namespace
}  // namespace commensal::spot
