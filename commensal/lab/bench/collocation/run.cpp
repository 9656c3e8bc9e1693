// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_programs.hpp>
#include <commensal/lab/bench/collocation/pair_run.hpp>
#include <commensal/lab/bench/collocation/run.hpp>
#include <fstream>

namespace commensal::lab::bench::collocation {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

/// Those of `all` whose names are wanted.
template <class T>
Result<std::vector<const T*>> choose(std::span<const T> all, const std::vector<std::string>& names,
                                     std::string_view what) {
  std::vector<const T*> made;
  for (const T& one : all) {
    if (names.empty() || std::ranges::find(names, one.name) != names.end()) made.push_back(&one);
  }
  if (!names.empty() && made.size() != names.size()) {
    std::string known;
    for (const T& one : all) known += fmt::format(" {}", one.name);
    return fail(ErrorCode::kInvalidArgument, "expected {} out of{}", what, known);
  }
  return made;
}

Result<Slices> read_file_of(const core::Path& path) {
  const auto bytes = core::read_file(path, limits::kSlicesBytesMax);
  if (bytes) return read_slices(core::as_text(*bytes));
  if (bytes.error().code == ErrorCode::kNotFound) return Slices{};
  return tl::unexpected(bytes.error());
}

Result<void> add_line(const core::Path& path, const std::string& line) {
  std::ofstream file(path, std::ios::app);
  if (file << line << std::flush) return {};
  return fail(ErrorCode::kUnavailable, "cannot write to {}", path.string());
}

std::uint64_t stream_of(const Pair& pair) {
  return static_cast<std::uint64_t>(&pair - collocation_pairs().data());
}

constexpr std::uint64_t kCoinStreams = 1 << 16;  // beyond those of order and dice; of a pair

/// One pair from where the file ends.
class PairBench {
 public:
  PairBench(const CollocationOptions& options, const Pair& pair, const core::Clock& clock,
            Slices& slices)
      : options_(options),
        pair_(pair),
        slices_(slices),
        order_dice_(options.seed, 3 * stream_of(pair)),
        dice_(options.seed, 3 * stream_of(pair) + 1),
        coins_(options.seed, kCoinStreams),
        run_(pair, options.place, clock, dice_, coins_) {}

  Result<void> run(const std::vector<const Arm*>& arms, std::size_t done, std::size_t total) {
    const std::vector<Step> order = make_order(arms, options_.blocks, options_.others, order_dice_);
    for (int i = 0; i < static_cast<int>(order.size()); ++i, ++done) {
      const Step& step = order[static_cast<std::size_t>(i)];
      if (const Slice* const there = slices_.find(pair_.name, i)) {
        if (there->arm == step.arm->name) continue;
        return fail(
            ErrorCode::kInvalidArgument,
            "'{}' is of another run (slice {} of {} is {}, here it is {}): name another file",
            options_.slices_file.string(), i, pair_.name, there->arm, step.arm->name);
      }
      // Those of a slice are its own, wherever a run is taken up again.
      coins_ = core::CounterRng(options_.seed, kCoinStreams + stream_of(pair_) * kCoinStreams +
                                                   static_cast<std::uint64_t>(i));
      if (options_.progress)
        options_.progress(fmt::format("{} {}", pair_.name, step.arm->name), done, total);
      COMMENSAL_TRY(alone());
      COMMENSAL_ASSIGN(Slice slice, run_.measure(step, options_.slice_s));
      slice.index = i;
      COMMENSAL_TRY(add_line(options_.slices_file, to_line(slice)));
      slices_.slices.push_back(std::move(slice));
    }
    return {};
  }

 private:
  Result<void> alone() {
    if (slices_.find_alone(pair_.name) != nullptr) return {};
    COMMENSAL_ASSIGN(Alone made, run_.measure_alone(options_.alone_s));
    COMMENSAL_TRY(add_line(options_.slices_file, to_line(made)));
    slices_.alone.push_back(std::move(made));
    return {};
  }

  const CollocationOptions& options_;
  const Pair& pair_;
  Slices& slices_;
  core::CounterRng order_dice_;  // of its own: the order is the same when a run is taken up again
  core::CounterRng dice_;
  core::CounterRng coins_;
  PairRun run_;
};

}  // namespace

Result<Slices> run_collocation(const CollocationOptions& options, const core::Clock& clock) {
  COMMENSAL_ASSIGN(const auto pairs, choose(collocation_pairs(), options.pairs, "pairs"));
  COMMENSAL_ASSIGN(const auto arms, choose(collocation_arms(), options.arms, "arms"));
  COMMENSAL_ASSIGN(Slices slices, read_file_of(options.slices_file));
  core::CounterRng none(0, 0);
  const std::size_t each = make_order(arms, options.blocks, options.others, none).size();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    PairBench bench(options, *pairs[i], clock, slices);
    COMMENSAL_TRY(bench.run(arms, i * each, pairs.size() * each));
  }
  return slices;
}

}  // namespace commensal::lab::bench::collocation
