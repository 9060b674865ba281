// Drives reductions: orders and collapses dimensions, converts dtypes in blocks, splits over
// threads.
#include "kernels/cpu/reduce/reduce.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/base/lock.h"
#include "kernels/cpu/cast.h"
#include "kernels/cpu/threads.h"

namespace msa::cpu {
namespace {

constexpr int kMaxDims = 64;
constexpr int64_t kScratchBytes = 16384;

// Dimensions of one kind (kept or reduced), innermost first; strides in bytes.
struct Axes {
  int dims = 0;
  int64_t sizes[kMaxDims];
  int64_t in[kMaxDims];
  int64_t out[kMaxDims][2];

  void add(int64_t size, int64_t in_step, int64_t out0, int64_t out1) {
    if (size == 1) return;
    int at = dims++;
    for (; at > 0 && std::abs(in[at - 1]) > std::abs(in_step); --at) {
      sizes[at] = sizes[at - 1];
      in[at] = in[at - 1];
      std::memcpy(out[at], out[at - 1], sizeof out[at]);
    }
    sizes[at] = size;
    in[at] = in_step;
    out[at][0] = out0;
    out[at][1] = out1;
  }
  // Joins neighbours that are one run; gives at least one dimension.
  void collapse() {
    if (dims == 0) {
      sizes[0] = 1;
      in[0] = out[0][0] = out[0][1] = 0;
      dims = 1;
      return;
    }
    int last = 0;
    for (int d = 1; d < dims; ++d) {
      int64_t n = sizes[last];
      if (in[d] == in[last] * n && out[d][0] == out[last][0] * n && out[d][1] == out[last][1] * n) {
        sizes[last] *= sizes[d];
      } else if (++last != d) {
        sizes[last] = sizes[d];
        in[last] = in[d];
        std::memcpy(out[last], out[d], sizeof out[d]);
      }
    }
    dims = last + 1;
  }
  int64_t count() const {
    int64_t n = 1;
    for (int d = 0; d < dims; ++d) n *= sizes[d];
    return n;
  }
};

// Steps an index over dimensions 1 and up; false when all are done.
struct Counter {
  int64_t index[kMaxDims] = {};
  bool next(const Axes& a, const char*& in, char** out) {
    for (int d = 1; d < a.dims; ++d) {
      in += a.in[d];
      for (int k = 0; out && k < 2; ++k) out[k] += a.out[d][k];
      if (++index[d] < a.sizes[d]) return true;
      in -= a.in[d] * a.sizes[d];
      for (int k = 0; out && k < 2; ++k) out[k] -= a.out[d][k] * a.sizes[d];
      index[d] = 0;
    }
    return false;
  }
};

struct Job {
  Job(const Reducer& reducer, const Scalar* numbers) : op(reducer), params(numbers) {}
  const Reducer& op;
  const Scalar* params;
  Axes kept, reduced;
  Loop cast_in = nullptr;  // null: the input already is what the reducer sees
  Loop cast_out[2] = {};
  int64_t in_bytes, seen_bytes;
  const char* in;
  char* out[2] = {};
  int64_t total;  // elements behind each output
};

void take_converted(const Job& job, char* acc, const Slab& slab) {
  alignas(64) char scratch[kScratchBytes];
  // The direction that is dense in the input stays dense in the scratch, and long.
  const bool across = slab.outputs > 1 && std::abs(slab.output_step) < std::abs(slab.step);
  const int64_t room = kScratchBytes / job.seen_bytes, strip = std::min(slab.outputs, room / 4),
                n = std::min(slab.n, across ? room / strip : room),
                outputs = across ? strip : std::max<int64_t>(1, room / n);
  for (int64_t i = 0; i < slab.outputs; i += outputs)
    for (int64_t j = 0; j < slab.n; j += n) {
      int64_t rows = std::min(outputs, slab.outputs - i), length = std::min(n, slab.n - j);
      char* both[] = {scratch, const_cast<char*>(slab.in) + i * slab.output_step + j * slab.step};
      int64_t step = across ? rows * job.seen_bytes : job.seen_bytes;
      int64_t output_step = across ? job.seen_bytes : length * job.seen_bytes;
      if (across) {
        int64_t strides[] = {output_step, slab.output_step, step, slab.step};
        job.cast_in(both, strides, rows, length, nullptr);
      } else {
        int64_t strides[] = {step, slab.step, output_step, slab.output_step};
        job.cast_in(both, strides, length, rows, nullptr);
      }
      job.op.take(acc + i * static_cast<int64_t>(job.op.accumulator_bytes),
                  {scratch, rows, output_step, length, step, slab.first + j}, job.params);
    }
}

// All elements of `reduced` for `outputs` results, the first of which begins at `in`.
void take_all(const Job& job, const Axes& reduced, char* acc, const char* in, int64_t outputs,
              int64_t first) {
  Counter counter;
  int64_t position = first;
  do {
    Slab slab{in, outputs, job.kept.in[0], reduced.sizes[0], reduced.in[0], position};
    if (job.cast_in) {
      take_converted(job, acc, slab);
    } else {
      job.op.take(acc, slab, job.params);
    }
    position += reduced.sizes[0];
  } while (counter.next(reduced, in, nullptr));
}

void finish(const Job& job, const char* acc, int64_t outputs, char* const* out,
            const int64_t* steps) {
  ReduceInfo info{job.total, job.params};
  if (!job.cast_out[0] && !job.cast_out[1]) {
    job.op.finish(acc, outputs, out, steps, info);
    return;
  }
  alignas(64) char scratch[2][kReduceBlock * 16];
  char* target[2];
  int64_t target_steps[2];
  for (int k = 0; k < job.op.n_results; ++k) {
    target[k] = job.cast_out[k] ? scratch[k] : out[k];
    target_steps[k] =
        job.cast_out[k] ? static_cast<int64_t>(size_bytes(job.op.result[k])) : steps[k];
  }
  job.op.finish(acc, outputs, target, target_steps, info);
  for (int k = 0; k < job.op.n_results; ++k) {
    if (!job.cast_out[k]) continue;
    char* both[] = {out[k], scratch[k]};
    int64_t strides[] = {steps[k], target_steps[k], 0, 0};
    job.cast_out[k](both, strides, outputs, 1, nullptr);
  }
}

// Results [begin, end) of the kept dimension 0, with all of the other kept dimensions.
void run_outputs(const Job& job, const Axes& kept) {
  alignas(64) char acc[kReduceBlock * kMaxAccumulatorBytes];
  const char* in = job.in;
  char* out[2] = {job.out[0], job.out[1]};
  Counter counter;
  do {
    for (int64_t i = 0; i < kept.sizes[0]; i += kReduceBlock) {
      int64_t outputs = std::min(kReduceBlock, kept.sizes[0] - i);
      char* here[2] = {out[0] + i * kept.out[0][0], out[1] + i * kept.out[0][1]};
      job.op.start(acc, outputs, job.params);
      if (job.total > 0) take_all(job, job.reduced, acc, in + i * kept.in[0], outputs, 0);
      finish(job, acc, outputs, here, kept.out[0]);
    }
  } while (counter.next(kept, in, out));
}

// Few outputs from many elements: threads share the outermost reduced dimension, then merge.
void run_split(const Job& job) {
  int64_t outputs = job.kept.sizes[0];
  auto bytes = outputs * static_cast<int64_t>(job.op.accumulator_bytes);
  int split = job.reduced.dims - 1;
  int64_t size = job.reduced.sizes[split], inside = job.total / size,
          pieces = std::min<int64_t>(get_num_threads(), size);
  auto acc = std::make_unique<char[]>(static_cast<size_t>(bytes * pieces));
  parallel(pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) {
      int64_t begin = size * p / pieces, end = size * (p + 1) / pieces;
      Axes part = job.reduced;
      part.sizes[split] = end - begin;
      job.op.start(acc.get() + p * bytes, outputs, job.params);
      take_all(job, part, acc.get() + p * bytes, job.in + begin * job.reduced.in[split], outputs,
               begin * inside);
    }
  });
  for (int64_t p = 1; p < pieces; ++p)
    job.op.merge(acc.get(), acc.get() + p * bytes, outputs, job.params);
  finish(job, acc.get(), outputs, job.out, job.kept.out[0]);
}

void run_kept_split(const Job& job) {
  int split = job.kept.dims - 1;
  int64_t grain = std::max<int64_t>(
      1, kGrain * job.kept.sizes[split] / std::max<int64_t>(1, job.kept.count() * job.total));
  parallel(job.kept.sizes[split], grain, [&](int64_t begin, int64_t end) {
    Job part = job;
    part.kept.sizes[split] = end - begin;
    part.in += begin * job.kept.in[split];
    for (int k = 0; k < 2; ++k) part.out[k] += begin * job.kept.out[split][k];
    run_outputs(part, part.kept);
  });
}

// Which dimensions stay, which go, and how each steps through the input and the outputs.
void sort_axes(Job& job, const Tensor& input, DimsView dims, std::span<Tensor* const> outputs) {
  size_t next = 0, kept_dim = 0;
  bool keepdim = outputs[0]->dim() == input.dim();
  for (size_t d = 0; d < input.sizes().size(); ++d) {
    int64_t size = input.sizes()[d], step = input.strides()[d] * job.in_bytes;
    bool gone = next < dims.size() && dims[next] == static_cast<int64_t>(d);
    next += gone;
    if (gone) {
      job.reduced.add(size, step, 0, 0);
      kept_dim += keepdim;
      continue;
    }
    int64_t out_steps[2] = {};
    for (size_t k = 0; k < outputs.size(); ++k)
      out_steps[k] =
          outputs[k]->strides()[kept_dim] * static_cast<int64_t>(outputs[k]->item_bytes());
    job.kept.add(size, step, out_steps[0], out_steps[1]);
    ++kept_dim;
  }
  job.kept.collapse();
  job.reduced.collapse();
}

}  // namespace

void reduce(const Tensor& input, DimsView dims, const Reducer& reducer,
            std::span<Tensor* const> outputs, const Scalar* params) {
  if (outputs[0]->numel() == 0) return;
  Job job(reducer, params);
  job.in_bytes = static_cast<int64_t>(input.item_bytes());
  job.seen_bytes = static_cast<int64_t>(size_bytes(reducer.seen));
  job.in = input.data<char>();
  sort_axes(job, input, dims, outputs);
  job.total = input.numel() == 0 ? 0 : job.reduced.count();
  if (input.dtype() != reducer.seen) job.cast_in = cast_loop(reducer.seen, input.dtype());
  for (size_t k = 0; k < outputs.size(); ++k) {
    job.out[k] = outputs[k]->data<char>();
    if (outputs[k]->dtype() != reducer.result[k])
      job.cast_out[k] = cast_loop(outputs[k]->dtype(), reducer.result[k]);
  }
  Unlocked unlocked(input.numel() >= kGrain);
  bool worth_splitting = input.numel() >= 2 * kGrain && get_num_threads() > 1;
  if (!worth_splitting) {
    run_outputs(job, job.kept);
  } else if (job.kept.dims == 1 && job.kept.sizes[0] < 2 * get_num_threads() && job.total > 0) {
    run_split(job);
  } else {
    run_kept_split(job);
  }
}

}  // namespace msa::cpu
