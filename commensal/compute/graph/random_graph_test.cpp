// SPDX-License-Identifier: Apache-2.0
// Random graphs give the same bits by ref/ and by cpu/ on every instruction set of this machine,
// with 1 to 8 threads, and in every batch in which batching.hpp allows to run them.
#include <gtest/gtest.h>

#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/graph/testing/random_graph.hpp>
#include <set>

namespace commensal::graph {
namespace {

using namespace testing;
using kernels::testing::case_count;
using kernels::testing::dims_of;
using kernels::testing::shape_of;
using tensor::Tensor;

std::string text_of(const Graph& graph) {
  std::string made;
  for (const Node& node : graph.nodes) {
    made += node.name + "(";
    for (const ValueId id : node.inputs) made += id == kAbsent ? "- " : graph.name_of(id) + " ";
    made += ") ->";
    for (const ValueId id : node.outputs) made += " " + graph.name_of(id);
    made += "\n";
  }
  return made;
}

core::Result<std::vector<Tensor>> try_run(std::shared_ptr<const Graph> graph,
                                          std::span<const Tensor> inputs,
                                          const SessionOptions& options) {
  auto session = Session::create(std::move(graph), options);
  EXPECT_TRUE(session) << session.error().message;
  return session->run(inputs);
}

std::vector<Tensor> run(std::shared_ptr<const Graph> graph, std::span<const Tensor> inputs,
                        const SessionOptions& options) {
  auto outputs = try_run(std::move(graph), inputs, options);
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? *std::move(outputs) : std::vector<Tensor>();
}

/// The first output that differs, "" if there is none.
std::string difference(const Graph& graph, std::span<const Tensor> got,
                       std::span<const Tensor> expected) {
  if (got.size() != expected.size()) return "another number of outputs";
  for (std::size_t o = 0; o < expected.size(); ++o) {
    if (got[o].type() == expected[o].type() &&
        std::ranges::equal(got[o].bytes(), expected[o].bytes())) {
      continue;
    }
    return fmt::format("output {} {}, expected {}", graph.name_of(graph.outputs[o]),
                       got[o].type().text(), expected[o].type().text());
  }
  return {};
}

std::vector<SessionOptions> all_back_ends() {
  std::vector<SessionOptions> made = {{.backend = Backend::kRef}};
  for (const kernels::Isa isa : kernels::available_isas()) {
    for (int threads = 1; threads <= 8; ++threads) made.push_back({.isa = isa, .threads = threads});
  }
  return made;
}

std::string text_of(const SessionOptions& options) {
  if (options.backend == Backend::kRef) return "ref";
  return fmt::format("{} threads={}", kernels::name_of(*options.isa), options.threads);
}

TEST(EqualityRandomGraphs, EveryBackEndAndNumberOfThreads) {
  std::set<std::string_view> operators;
  std::int64_t nodes = 0, empty_outputs = 0;
  const int cases = case_count(300);
  for (int seed = 0; seed < cases; ++seed) {
    RandomGraph made(static_cast<std::uint64_t>(seed), false);
    const auto graph = made.finish();
    ASSERT_GE(graph->nodes.size(), 5U) << "the generator found too little for seed " << seed;
    const auto inputs = made.inputs(), expected = made.expected();
    for (const SessionOptions& options : all_back_ends()) {
      ASSERT_EQ(difference(*graph, run(graph, inputs, options), expected), "")
          << "seed " << seed << ", " << text_of(options) << "\n"
          << text_of(*graph);
    }
    for (const Node& node : graph->nodes) operators.insert(node.op->name);
    for (const Tensor& output : expected) empty_outputs += output.elements() == 0 ? 1 : 0;
    nodes += made.node_count();
  }
  EXPECT_GE(operators.size(), 100U) << "different operators";
  EXPECT_GE(nodes, 20 * cases);
  EXPECT_GE(empty_outputs, 1);
}

/// Rows [first, first + count) of a tensor's first axis.
Tensor rows_of(const Tensor& tensor, std::int64_t first, std::int64_t count) {
  auto dims = dims_of(tensor);
  const auto row = tensor.bytes().size() / static_cast<std::size_t>(dims[0]);
  dims[0] = count;
  return Tensor::copy_of({tensor.dtype(), shape_of(dims)},
                         tensor.bytes().subspan(static_cast<std::size_t>(first) * row,
                                                static_cast<std::size_t>(count) * row));
}

std::vector<Tensor> rows_of(const std::vector<Tensor>& all, std::int64_t first,
                            std::int64_t count) {
  std::vector<Tensor> made;
  for (const Tensor& tensor : all) made.push_back(rows_of(tensor, first, count));
  return made;
}

/// Runs the batch at once and in pieces of `piece` rows. A batch is refused where one of its
/// pieces is (an index out of range); returns whether it was.
bool check_batch(const std::shared_ptr<const Graph>& graph, const std::vector<Tensor>& batch,
                 std::int64_t piece, const SessionOptions& options) {
  const std::int64_t rows = batch[0].shape()[0];
  const auto together = try_run(graph, batch, options);
  bool refused = false;
  for (std::int64_t row = 0; row < rows; row += piece) {
    const std::int64_t count = std::min(piece, rows - row);
    const auto alone = try_run(graph, rows_of(batch, row, count), options);
    refused = refused || !alone;
    if (!alone || !together) continue;
    EXPECT_EQ(difference(*graph, *alone, rows_of(*together, row, count)), "")
        << "rows " << row << " to " << row + count << " of " << rows;
  }
  EXPECT_EQ(!together, refused) << (together ? "only alone" : together.error().message);
  return refused;
}

TEST(EqualityRandomGraphs, EveryBatchThatTheAnalysisAllows) {
  std::set<std::string_view> operators;
  const int cases = case_count(250);
  const auto back_ends = all_back_ends();
  int refused = 0;
  for (int seed = 0; seed < cases; ++seed) {
    RandomGraph made(static_cast<std::uint64_t>(seed), true);
    const auto graph = made.finish();
    const auto batch = made.other_inputs(static_cast<std::uint64_t>(seed), 2 + seed % 7);
    const auto& options = back_ends[static_cast<std::size_t>(seed) % back_ends.size()];
    SCOPED_TRACE(fmt::format("seed {}, {}\n{}", seed, text_of(options), text_of(*graph)));
    for (const std::int64_t piece : {1, 2}) refused += check_batch(graph, batch, piece, options);
    if (HasFailure()) return;
    for (const Node& node : graph->nodes) operators.insert(node.op->name);
  }
  EXPECT_GE(operators.size(), 80U) << "different operators that leave rows apart";
  EXPECT_LE(refused, cases / 2);
}

}  // namespace
}  // namespace commensal::graph
