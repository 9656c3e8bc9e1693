// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/cpu/interleaved.hpp>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/strided.hpp>
#include <cstring>

namespace commensal::kernels::cpu {

namespace {

/// Bytes of a task: enough to be worth a thread's while.
constexpr std::int64_t kTaskBytes = 65536;
/// And the most of one, so that the others, and who wants the processor, need not wait.
constexpr std::int64_t kPieceBytes = 1 << 20;

using Axis = CopyPlan::Axis;

/// The dimensions that are more than 1, neighbours joined where both sides allow it.
std::vector<Axis> axes_of(const StridedCopy& copy) {
  std::vector<Axis> axes;  // the last first
  std::int64_t dense = 1;
  for (std::size_t d = copy.dims.size(); d-- > 0;) {
    const std::int64_t size = copy.dims[d];
    const std::int64_t out = copy.out_strides.empty() ? dense : copy.out_strides[d];
    dense *= size;
    if (size == 1) continue;
    Axis* const inner = axes.empty() ? nullptr : &axes.back();
    if (inner != nullptr && copy.strides[d] == inner->in * inner->size &&
        out == inner->out * inner->size) {
      inner->size *= size;
    } else {
      axes.push_back({size, copy.strides[d], out});
    }
  }
  return axes;
}

std::int64_t places_of(const std::vector<Axis>& axes) {
  std::int64_t product = 1;
  for (const Axis& axis : axes) product *= axis.size;
  return product;
}

struct Offsets {
  std::int64_t in = 0, out = 0;
};
Offsets offsets_of(const std::vector<Axis>& axes, std::int64_t place) {
  Offsets made;
  for (const Axis& axis : axes) {
    made.in += place % axis.size * axis.in;
    made.out += place % axis.size * axis.out;
    place /= axis.size;
  }
  return made;
}

/// Calls f(offsets) for rows [first, last): where each begins.
template <class F>
void each_row(const std::vector<Axis>& outer, std::int64_t first, std::int64_t last, const F& f) {
  const Axis along = outer.empty() ? Axis() : outer.front();
  for (std::int64_t i = first; i < last;) {
    Offsets at = offsets_of(outer, i);
    const std::int64_t end = std::min(last, i + along.size - i % along.size);
    for (; i < end; ++i, at.in += along.in, at.out += along.out) f(at);
  }
}

/// What moves: everything in bytes but the axes.
struct Bytes {
  const std::uint8_t* from = nullptr;
  std::uint8_t* to = nullptr;
  std::int64_t size = 1;
};

/// Runs of `length` elements side by side in both.
void copy_runs(const Bytes& bytes, const std::vector<Axis>& outer, std::int64_t length,
               ThreadPool& threads) {
  const std::int64_t run = length * bytes.size, runs = places_of(outer);
  const std::int64_t runs_a_task = std::max<std::int64_t>(kTaskBytes / run, 1);
  const std::int64_t parts = runs_a_task > 1 ? 1 : ceil_div(run, kTaskBytes);
  threads.run(ceil_div(runs, runs_a_task) * parts, [&](std::int64_t task) {
    const std::int64_t first = task / parts * runs_a_task;
    const std::int64_t begin = task % parts * kTaskBytes;
    const auto count =
        static_cast<std::size_t>(parts == 1 ? run : std::min(kTaskBytes, run - begin));
    const std::int64_t last = std::min(runs, first + runs_a_task);
    each_row(outer, first, last, [&](const Offsets& at) {
      std::memcpy(bytes.to + at.out * bytes.size + begin, bytes.from + at.in * bytes.size + begin,
                  count);
    });
  });
}

/// rows x columns elements at (row * in_row + column * in_column) go to (row * out_row + column *
/// out_column).
struct Block {
  std::int64_t rows = 0, columns = 0;
  std::int64_t in_row = 0, in_column = 0, out_row = 0, out_column = 0;
};

template <std::size_t kSize>
void copy_block(const Block& block, const std::uint8_t* from, std::uint8_t* to) {
  constexpr auto kBytes = static_cast<std::int64_t>(kSize);
  for (std::int64_t row = 0; row < block.rows; ++row) {
    const std::uint8_t* source = from + row * block.in_row * kBytes;
    std::uint8_t* target = to + row * block.out_row * kBytes;
    for (std::int64_t column = 0; column < block.columns; ++column) {
      std::memcpy(target + column * block.out_column * kBytes,
                  source + column * block.in_column * kBytes, kSize);
    }
  }
}

/// One element again and again, side by side: eight bytes at a time.
template <std::size_t kSize>
void repeat_element(const Block& block, const std::uint8_t* from, std::uint8_t* to) {
  std::uint8_t together[8];
  for (std::size_t i = 0; i < 8; i += kSize) std::memcpy(together + i, from, kSize);
  std::uint64_t word;
  std::memcpy(&word, together, 8);
  std::uint8_t* const end = to + block.columns * static_cast<std::int64_t>(kSize);
  for (; end - to >= 8; to += 8) std::memcpy(to, &word, 8);
  std::memcpy(to, &word, static_cast<std::size_t>(end - to));
}

/// 8 x 8 bytes, row i at from + i * step: their columns to to + i * to_step. By words, of which
/// each is a row: halves, quarters and bytes change places.
void transpose_bytes(const std::uint8_t* from, std::int64_t step, std::uint8_t* to,
                     std::int64_t to_step) {
  std::uint64_t rows[8];
  for (int i = 0; i < 8; ++i) std::memcpy(&rows[i], from + i * step, 8);
  const auto change = [&rows](int a, int b, int shift, std::uint64_t mask) {
    const std::uint64_t other = (rows[a] >> shift ^ rows[b]) & mask;
    rows[b] ^= other;
    rows[a] ^= other << shift;
  };
  constexpr std::uint64_t kHalves = 0xffffffff, kQuarters = 0x0000ffff0000ffff,
                          kBytes = 0x00ff00ff00ff00ff;
  change(0, 4, 32, kHalves), change(1, 5, 32, kHalves);
  change(2, 6, 32, kHalves), change(3, 7, 32, kHalves);
  change(0, 2, 16, kQuarters), change(1, 3, 16, kQuarters);
  change(4, 6, 16, kQuarters), change(5, 7, 16, kQuarters);
  change(0, 1, 8, kBytes), change(2, 3, 8, kBytes);
  change(4, 5, 8, kBytes), change(6, 7, 8, kBytes);
  for (int i = 0; i < 8; ++i) std::memcpy(to + i * to_step, &rows[i], 8);
}

/// What copy_block does, where rows lie side by side in the input and columns do in the output.
void copy_byte_matrix(const Block& block, const std::uint8_t* from, std::uint8_t* to) {
  const std::int64_t rows = block.rows / 8 * 8, columns = block.columns / 8 * 8;
  for (std::int64_t row = 0; row < rows; row += 8) {
    for (std::int64_t column = 0; column < columns; column += 8) {
      transpose_bytes(from + row + column * block.in_column, block.in_column,
                      to + row * block.out_row + column, block.out_row);
    }
  }
  Block rest = block;
  rest.rows = rows, rest.columns = block.columns - columns;
  copy_block<1>(rest, from + columns * block.in_column, to + columns);
  rest.rows = block.rows - rows, rest.columns = block.columns;
  copy_block<1>(rest, from + rows, to + rows * block.out_row);
}

using BlockFn = void (*)(const Block&, const std::uint8_t*, std::uint8_t*);
struct BlockFns {
  BlockFn copy = nullptr, repeat = nullptr;
};
template <std::size_t kSize>
inline constexpr BlockFns kBlockFns = {copy_block<kSize>, repeat_element<kSize>};
BlockFns block_fns_of(std::int64_t size) {
  if (size == 1) return kBlockFns<1>;
  if (size == 2) return kBlockFns<2>;
  return size == 4 ? kBlockFns<4> : kBlockFns<8>;
}

/// A matrix whose columns lie side by side in the input and whose rows do in the output: `across`
/// is the output's last axis, `along` the one that runs in the input. Blocks are as broad as a
/// cache line, so that what is fetched is used, and lines are taken tile by tile, so that the next
/// block's lie beside those that were just fetched.
void copy_matrices(const Bytes& bytes, const std::vector<Axis>& outer, const Axis& across,
                   const Axis& along, Workspace& ws) {
  constexpr std::int64_t kLine = 16, kTile = 128;
  const auto transpose = kernels_for(ws.isa).transpose_words;
  const BlockFn block_fn = bytes.size == 1 ? copy_byte_matrix : block_fns_of(bytes.size).copy;
  const std::int64_t lines = ceil_div(along.size, kLine);
  const std::int64_t line_bytes = kLine * across.size * bytes.size;
  const std::int64_t lines_a_task = std::max<std::int64_t>(kTaskBytes / line_bytes, 1);
  const std::int64_t tasks = ceil_div(lines, lines_a_task);
  const std::int64_t part = kPieceBytes / kLine / bytes.size;
  const std::int64_t parts = ceil_div(across.size, part);
  ws.threads.run(places_of(outer) * tasks * parts, [&](std::int64_t i) {
    const std::int64_t first = i % parts * part, columns = std::min(part, across.size - first);
    const std::int64_t task = i / parts;
    const Offsets at = offsets_of(outer, task / tasks);
    const std::int64_t last = std::min(lines, (task % tasks + 1) * lines_a_task);
    const std::int64_t end = first + columns;
    for (std::int64_t column = first; column < end; column += kTile) {
      const std::int64_t here = std::min(kTile, end - column);
      for (std::int64_t line = task % tasks * lines_a_task; line < last; ++line) {
        const std::int64_t begin = line * kLine, count = std::min(kLine, along.size - begin);
        const std::uint8_t* from = bytes.from + (at.in + begin + column * across.in) * bytes.size;
        std::uint8_t* to = bytes.to + (at.out + begin * along.out + column) * bytes.size;
        if (bytes.size == 4) {
          transpose({reinterpret_cast<const float*>(from), across.in, reinterpret_cast<float*>(to),
                     along.out, here, count});
        } else {
          block_fn({count, here, 1, across.in, along.out, 1}, from, to);
        }
      }
    }
  });
}

bool is_few(std::int64_t size) { return size >= 2 && size <= 4; }

/// Such a matrix of few rows or few columns of small elements, all of them side by side.
bool copy_interleaved(const Bytes& bytes, const std::vector<Axis>& outer, const Axis& across,
                      const Axis& along, Workspace& ws) {
  const bool apart = is_few(along.size) && across.in == along.size;
  const bool together = is_few(across.size) && along.out == across.size;
  if (bytes.size > 2 || !(apart || together)) return false;
  const InterleavedKernels& kernels = interleaved_kernels_for(ws.isa, bytes.size);
  const std::int64_t parts = apart ? along.size : across.size;
  const std::int64_t count = apart ? across.size : along.size;
  const std::int64_t a_task = kTaskBytes / parts / bytes.size, tasks = ceil_div(count, a_task);
  ws.threads.run(places_of(outer) * tasks, [&](std::int64_t task) {
    const Offsets at = offsets_of(outer, task / tasks);
    const std::int64_t first = task % tasks * a_task;
    Interleaved part;
    part.from = bytes.from + (at.in + first * (apart ? parts : 1)) * bytes.size;
    part.to = bytes.to + (at.out + first * (apart ? 1 : parts)) * bytes.size;
    part.step = apart ? along.out : across.in;
    part.parts = static_cast<int>(parts);
    part.count = std::min(a_task, count - first);
    (apart ? kernels.take_apart : kernels.put_together)(part);
  });
  return true;
}

}  // namespace

StridedCopy same_places(const tensor::Shape& from, const tensor::Shape& to) {
  const auto strides = tensor::strides_of(from);
  StridedCopy copy;
  for (int d = 0; d < to.rank(); ++d) {
    copy.dims.push_back(to[d]);
    copy.strides.push_back(strides[static_cast<std::size_t>(d)]);
  }
  return copy;
}

CopyPlan::CopyPlan(const StridedCopy& copy)
    : from_(copy.from), to_(copy.to), outer_(axes_of(copy)) {
  places_ = places_of(outer_);
  if (outer_.empty()) outer_.push_back({1, 1, 1});
  last_ = outer_.front();
  outer_.erase(outer_.begin());
  if (last_.out != 1 || last_.in <= 1) return;
  if (const auto along = std::ranges::find(outer_, 1, &Axis::in); along != outer_.end()) {
    along_ = *along;
    outer_.erase(along);
  }
}

void CopyPlan::run(std::int64_t size, const std::uint8_t* from, std::uint8_t* to,
                   Workspace& ws) const {
  if (places_ == 0) return;
  const Bytes bytes{from + from_ * size, to + to_ * size, size};
  if (last_.in == 1 && last_.out == 1) return copy_runs(bytes, outer_, last_.size, ws.threads);
  if (along_) {
    if (copy_interleaved(bytes, outer_, last_, *along_, ws)) return;
    return copy_matrices(bytes, outer_, last_, *along_, ws);
  }
  const BlockFns fns = block_fns_of(size);
  const BlockFn row_fn = last_.in == 0 && last_.out == 1 ? fns.repeat : fns.copy;
  const std::int64_t rows = places_ / last_.size;
  const std::int64_t rows_a_task = std::max<std::int64_t>(kTaskBytes / 4 / (last_.size * size), 1);
  const std::int64_t part = kPieceBytes / 4 / size, parts = ceil_div(last_.size, part);
  ws.threads.run(ceil_div(rows, rows_a_task) * parts, [&](std::int64_t task) {
    const std::int64_t begin = task % parts * part, count = std::min(part, last_.size - begin);
    const std::int64_t first = task / parts * rows_a_task;
    each_row(outer_, first, std::min(rows, first + rows_a_task), [&](const Offsets& at) {
      row_fn({1, count, 0, last_.in, 0, last_.out}, bytes.from + (at.in + begin * last_.in) * size,
             bytes.to + (at.out + begin * last_.out) * size);
    });
  });
}

void CopyPlan::run(const Tensor& from, Tensor& to, Workspace& ws) const {
  run(tensor::traits(to.dtype()).size, from.bytes().data(), to.mutable_bytes().data(), ws);
}

}  // namespace commensal::kernels::cpu
