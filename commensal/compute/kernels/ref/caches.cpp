// SPDX-License-Identifier: Apache-2.0
// What decoders do around attention: TensorScatter writes an update into a cache, RotaryEmbedding
// turns pairs of elements. CenterCropPad moves elements likewise.
#include <algorithm>
#include <commensal/compute/kernels/ref/each.hpp>
#include <commensal/compute/kernels/ref/movement.hpp>
#include <commensal/compute/kernels/ref/runs.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using shape_inference::AxisView;

// Moments write .. write + length - 1 of a batch entry are those of the update, in a circle if the
// mode says so.
struct TensorScatter {
  static constexpr int kFirstParameter = 2;
  TensorType type;
  AxisView view;             // along the moments
  std::int64_t updates = 0;  // moments of the update
  std::int64_t a_batch = 1;  // elements of one batch entry
  bool circular = false;
  std::vector<std::int64_t> writes;  // empty: all 0

  static core::Result<TensorScatter> make(const Call& call) {
    TensorScatter op;
    op.type = call.in(0).type();
    const Shape& x = op.type.shape;
    COMMENSAL_TRY(shape_inference::check_same_dtype(call, 1));
    COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", -2));
    COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, x.rank()));
    const Shape& update = call.in(1).shape();
    if (axis == 0 || update.rank() != x.rank()) {
      return fail(ErrorCode::kInvalidArgument, "update {} cannot be put along axis {} of {}",
                  update.text(), axis, x.text());
    }
    op.updates = update[axis];
    COMMENSAL_ASSIGN(const Shape fitting, shape_inference::with_dim(x, axis, op.updates));
    if (update != fitting || op.updates > x[axis]) {
      return fail(ErrorCode::kInvalidArgument, "update {} does not fit {} along axis {}",
                  update.text(), x.text(), axis);
    }
    op.view = AxisView(x, axis);
    op.a_batch = x.elements(1, x.rank());
    COMMENSAL_ASSIGN(const std::string mode, call.attributes->text("mode", "linear"));
    if (mode != "linear" && mode != "circular") {
      return fail(ErrorCode::kInvalidArgument,
                  "attribute 'mode' must be linear or circular, not '{}'", mode);
    }
    op.circular = mode == "circular";
    COMMENSAL_ASSIGN(op.writes, writes_of(call, op));
    return op;
  }
  static core::Result<std::vector<std::int64_t>> writes_of(const Call& call,
                                                           const TensorScatter& op) {
    const std::int64_t batch = op.type.shape[0];
    if (!call.has(2)) return std::vector<std::int64_t>{};
    COMMENSAL_TRY(shape_inference::check_dtype<Types<std::int64_t>>(call, 2));
    if (call.in(2).shape() != Shape{batch}) {
      return fail(ErrorCode::kInvalidArgument, "input 2 must be [{}], not {}", batch,
                  call.in(2).shape().text());
    }
    const auto data = paced<std::int64_t>(call, 2);
    const std::int64_t last = op.circular ? op.view.length - 1 : op.view.length - op.updates;
    for (const std::int64_t write : data) {
      if (write >= 0 && write <= last) continue;
      return fail(ErrorCode::kInvalidArgument, "a write index of {}, expected 0 to {}", write,
                  last);
    }
    return std::vector<std::int64_t>(data.begin(), data.end());
  }
  std::vector<TensorType> types() const { return {type}; }
  ElementRef source(int, std::int64_t index) const {
    std::int64_t moment = view.along(index);
    if (!writes.empty()) moment -= writes[static_cast<std::size_t>(index / a_batch)];
    if (circular && moment < 0) moment += view.length;
    if (moment < 0 || moment >= updates) return {0, index};
    return {1, (view.outer(index) * updates + moment) * view.inner_size + view.inner(index)};
  }
  // All of the cache, then the update over it: in one piece, or two where the circle closes.
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    const auto size = static_cast<std::size_t>(tensor::traits(type.dtype).size);
    const std::size_t moment = static_cast<std::size_t>(view.inner_size) * size;
    std::uint8_t* const to = outputs[0].mutable_bytes().data();
    const std::uint8_t* const from = call.in(1).bytes().data();
    copy_whole(threads, call.in(0).bytes(), to);
    if (call.in(1).elements() == 0) return;
    const std::int64_t outer = type.shape.elements() / (view.length * view.inner_size);
    const std::int64_t an_entry = outer / type.shape[0];
    threads.run(outer, [&](std::int64_t i) {
      Pulse pulse(&threads);
      const std::int64_t write =
          writes.empty() ? 0 : writes[static_cast<std::size_t>(i / an_entry)];
      const std::int64_t before = std::min(updates, view.length - write);
      const auto put = [&](std::int64_t at, std::int64_t first, std::int64_t count) {
        copy(pulse, to + static_cast<std::size_t>(i * view.length + at) * moment,
             from + static_cast<std::size_t>(i * updates + first) * moment,
             static_cast<std::size_t>(count) * moment);
      };
      put(write, 0, before);
      put(0, before, updates - before);
    });
  }
};

// Cut or filled (+0) at both ends of an axis; the end has the odd one.
struct CenterCropPad {
  static constexpr int kFirstParameter = 1;
  TensorType type;
  Shape from;

  static core::Result<CenterCropPad> make(const Call& call) {
    CenterCropPad op;
    op.from = call.in(0).shape();
    COMMENSAL_ASSIGN(const auto sizes, shape_inference::integer_list(call, 1));
    std::vector<std::int64_t> all;
    for (int d = 0; d < op.from.rank(); ++d) all.push_back(d);
    COMMENSAL_ASSIGN(const auto given, call.attributes->integers("axes", all));
    COMMENSAL_TRY(shape_inference::axes_of(given, op.from.rank()));
    if (sizes.size() != given.size()) {
      return fail(ErrorCode::kInvalidArgument, "input 1 must have {} entries, not {}", given.size(),
                  sizes.size());
    }
    Shape to = op.from;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given[i], op.from.rank()));
      COMMENSAL_ASSIGN(to, shape_inference::with_dim(to, axis, sizes[i]));
    }
    op.type = {call.in(0).dtype(), to};
    return op;
  }
  std::vector<TensorType> types() const { return {type}; }
  ElementRef source(int, std::int64_t index) const {
    shape_inference::Dims at = shape_inference::split(type.shape, index);
    for (int d = 0; d < from.rank(); ++d) {
      const std::int64_t more = type.shape[d] - from[d];
      std::int64_t& place = at[static_cast<std::size_t>(d)];
      place += more > 0 ? -(more / 2) : -more / 2;
      if (place < 0 || place >= from[d]) return {kFill, 0};
    }
    return {0, shape_inference::join(from, at)};
  }
  std::uint64_t fill(int) const { return 0; }
};

// Pairs (x1, x2) of a head, either halves apart or neighbours, become
// (cos * x1 - sin * x2, sin * x1 + cos * x2), every product rounded; what lies beyond `turned`
// stays.
struct RotaryEmbedding {
  using In = Floats32;
  DType dtype = DType::kUndefined;
  Shape shape;
  std::int64_t batch = 0, moments = 0, heads = 0, width = 0, turned = 0, columns = 0;
  bool neighbours = false, heads_first = true;
  std::vector<std::int64_t> rows;  // of the caches, by batch entry and moment; empty: in order

  static core::Result<RotaryEmbedding> make(const Call& call) {
    RotaryEmbedding op;
    COMMENSAL_TRY(shape_inference::check_dtype<In>(call, 0));
    COMMENSAL_TRY(shape_inference::check_same_dtype(call, 1));
    COMMENSAL_TRY(shape_inference::check_same_dtype(call, 2));
    op.dtype = call.in(0).dtype();
    COMMENSAL_TRY(op.read_shape(call));
    COMMENSAL_ASSIGN(op.turned, call.attributes->integer("rotary_embedding_dim", 0));
    COMMENSAL_ASSIGN(op.neighbours, call.attributes->integer("interleaved", 0));
    if (op.turned == 0) op.turned = op.width;
    if (op.turned < 0 || op.turned > op.width || op.turned % 2 != 0) {
      return fail(ErrorCode::kInvalidArgument, "{} of {} elements cannot be turned in pairs",
                  op.turned, op.width);
    }
    COMMENSAL_TRY(op.read_rows(call));
    return op;
  }
  core::Result<void> read_shape(const Call& call) {
    shape = call.in(0).shape();
    COMMENSAL_ASSIGN(heads, call.attributes->integer("num_heads", 0));
    heads_first = shape.rank() == 4;
    if (heads_first) {
      heads = shape[1];
    } else if (shape.rank() != 3 || heads < 1 || shape[2] % heads != 0) {
      return fail(ErrorCode::kInvalidArgument,
                  "input 0 must be [N, heads, S, D], or [N, S, D] with attribute 'num_heads', "
                  "not {}",
                  shape.text());
    }
    batch = shape[0];
    moments = shape[heads_first ? 2 : 1];
    width = heads_first ? shape[3] : shape[2] / heads;
    return {};
  }
  core::Result<void> read_rows(const Call& call) {
    const Shape &cache = call.in(1).shape(), positions{batch, moments};
    const bool chosen = call.has(3);
    const int rank = chosen ? 2 : 3;
    const bool fits = cache.rank() == rank && call.in(2).shape() == cache &&
                      cache[rank - 1] >= turned / 2 &&
                      (chosen || (cache[0] == batch && cache[1] == moments));
    if (!fits || (chosen && call.in(3).shape() != positions)) {
      return fail(ErrorCode::kInvalidArgument, "caches {} and {} do not fit input {}", cache.text(),
                  call.in(2).shape().text(), shape.text());
    }
    columns = cache[rank - 1];
    if (!chosen) return {};
    COMMENSAL_TRY(shape_inference::check_dtype<Types<std::int64_t>>(call, 3));
    rows.reserve(static_cast<std::size_t>(positions.elements()));
    for (const std::int64_t row : paced<std::int64_t>(call, 3)) {
      if (row < 0 || row >= cache[0]) {
        return fail(ErrorCode::kInvalidArgument, "position {} in a cache of {}", row, cache[0]);
      }
      rows.push_back(row);
    }
    return {};
  }
  std::vector<TensorType> types() const { return {{dtype, shape}}; }

  // Which elements make the element: itself and its partner, an entry of the caches.
  struct Places {
    std::int64_t first = 0, second = 0, factor = 0, position = 0;
    bool is_second = false, stays = false;
  };
  Places places(std::int64_t index) const {
    const std::int64_t along = index % width, head_start = index - along;
    Places made;
    made.stays = along >= turned;
    if (made.stays) return made;
    const std::int64_t half = turned / 2;
    const std::int64_t pair = neighbours ? along / 2 : along % half;
    made.is_second = neighbours ? along % 2 == 1 : along >= half;
    made.first = head_start + (neighbours ? 2 * pair : pair);
    made.second = made.first + (neighbours ? 1 : half);
    made.position = position(index / width);
    made.factor = factors(made.position) + pair;
    return made;
  }
  // A batch entry and moment, of a row of `width` elements; where its factors begin in the caches.
  std::int64_t position(std::int64_t row) const {
    if (!heads_first) return row / heads;
    return row / (heads * moments) * moments + row % moments;
  }
  std::int64_t factors(std::int64_t position) const {
    return (rows.empty() ? position : rows[static_cast<std::size_t>(position)]) * columns;
  }
  // Row after row of `width` elements, each with a row of the caches.
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    if (shape.elements() == 0) return;
    constexpr std::int64_t kElements = 1 << 14;  // of a task
    visit(In{}, dtype, [&]<class T>() {
      const T* const x = call.in(0).data<T>().data();
      const T* const cos = call.in(1).data<T>().data();
      const T* const sin = call.in(2).data<T>().data();
      T* const y = outputs[0].mutable_data<T>().data();
      in_pieces(call, threads, shape.elements() / width, kElements / width,
                [&](const Call& own, std::int64_t row, std::int64_t end) {
                  for (; row < end; ++row) {
                    const std::int64_t at = row * width, factor = factors(position(row));
                    own.pulse();
                    turn(own.pulse, x + at, cos + factor, sin + factor, y + at);
                  }
                });
    });
  }
  template <class T>
  void turn(Pulse& pulse, const T* x, const T* cos, const T* sin, T* y) const {
    constexpr std::int64_t kPiece = 1 << 12;
    const std::int64_t half = turned / 2, apart = neighbours ? 1 : half;
    for (std::int64_t i = 0; i < half; i += kPiece) {
      const std::int64_t end = std::min(half, i + kPiece);
      pulse(end - i);
      if (neighbours) {
        turn_some<1, 2>(x, x + apart, cos, sin, y, y + apart, i, end);
      } else {
        const std::int64_t many = turn_some<16, 1>(x, x + apart, cos, sin, y, y + apart, i, end);
        turn_some<1, 1>(x, x + apart, cos, sin, y, y + apart, many, end);
      }
    }
    copy(pulse, reinterpret_cast<std::uint8_t*>(y + turned),
         reinterpret_cast<const std::uint8_t*>(x + turned),
         static_cast<std::size_t>(width - turned) * sizeof(T));
  }
  // A fixed number of pairs at once, of which compilers make vectors.
  template <int kAtOnce, int kStep, class T>
  static std::int64_t turn_some(const T* __restrict x1, const T* __restrict x2,
                                const T* __restrict cos, const T* __restrict sin, T* __restrict y1,
                                T* __restrict y2, std::int64_t i, std::int64_t end) {
    for (; i + kAtOnce <= end; i += kAtOnce) {
      for (int k = 0; k < kAtOnce; ++k) {
        const std::int64_t at = (i + k) * kStep;
        const float x = load(x1[at]), y = load(x2[at]), c = load(cos[i + k]), s = load(sin[i + k]);
        y1[at] = store<T>(c * x - s * y);
        y2[at] = store<T>(s * x + c * y);
      }
    }
    return i;
  }
  template <class T>
  Scalar value(const Call& call, int, std::int64_t index) const {
    const Places at = places(index);
    const auto element = [&](int input, std::int64_t i) {
      return paced<T>(call, input)[static_cast<std::size_t>(i)];
    };
    if (at.stays) return scalar_of(element(0, index));
    const float x = load(element(0, at.first)), y = load(element(0, at.second));
    const float cos = load(element(1, at.factor)), sin = load(element(2, at.factor));
    return scalar_of(store<T>(at.is_second ? sin * x + cos * y : cos * x - sin * y));
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    const Places at = places(index);
    if (at.stays) return out.push_back({0, index});
    out.insert(out.end(), {{0, at.first}, {0, at.second}, {1, at.factor}, {2, at.factor}});
    if (call.has(3)) out.push_back({3, at.position});
  }
};

}  // namespace

constinit const Judge kCenterCropPad = movement<CenterCropPad>();
constinit const Judge kRotaryEmbedding = each<RotaryEmbedding>();
constinit const Judge kTensorScatter = movement<TensorScatter>();

}  // namespace commensal::kernels::ref
