// Builds, keeps and runs oneDNN primitives; versions 2 and 3 differ in how a primitive is
// described.
#include "kernels/cpu/onednn.h"

#include <map>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>

#include "kernels/cpu/scratch.h"
#include "kernels/cpu/threads.h"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace msa::cpu::onednn {

using dnnl::memory;

namespace {

// An operand as the caller has it and as the primitive wants it; a reorder between where they
// differ.
struct Slot {
  int argument;
  memory::desc given, wanted;
  dnnl::reorder reorder;
  bool differs() const { return given != wanted; }
};

dnnl::engine& engine() {
  static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

}  // namespace

struct Plan {
  dnnl::primitive primitive;
  memory::desc scratchpad;
  Slot a, b, bias, result;
  bool has_bias = false;
};

namespace {

using Key = std::vector<int64_t>;

// Plans by shape. A program with ever new shapes must not grow without bound.
std::map<Key, std::unique_ptr<Plan>>& plans() {
  static std::map<Key, std::unique_ptr<Plan>> kept;
  return kept;
}
constexpr size_t kMostPlans = 4096;

template <class Make>
const Plan* kept_plan(Key key, Make&& make) {
  static std::mutex mutex;  // batches of products ask from several threads
  const std::lock_guard<std::mutex> lock(mutex);
  auto& all = plans();
  const auto found = all.find(key);
  if (found != all.end()) return found->second.get();
  if (all.size() >= kMostPlans) return nullptr;  // others may be running: none is dropped
  std::unique_ptr<Plan> plan;
  try {
    plan = make();
  } catch (const dnnl::error&) {
    plan = nullptr;  // this machine or version does not serve it
  }
  return all.emplace(std::move(key), std::move(plan)).first->second.get();
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(
      dnnl::scratchpad_mode::user);  // one primitive may run on several threads at once
  return attr;
}

Slot input_slot(int argument, const memory::desc& given, const memory::desc& wanted) {
  Slot slot{argument, given, wanted, {}};
  if (slot.differs()) slot.reorder = dnnl::reorder({engine(), given, engine(), wanted});
  return slot;
}
Slot output_slot(int argument, const memory::desc& given, const memory::desc& wanted) {
  Slot slot{argument, given, wanted, {}};
  if (slot.differs()) slot.reorder = dnnl::reorder({engine(), wanted, engine(), given});
  return slot;
}

memory::dims dense_strides(const memory::dims& sizes) {
  memory::dims strides(sizes.size(), 1);
  for (size_t d = sizes.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * sizes[d + 1];
  return strides;
}
memory::desc dense(const memory::dims& sizes) {
  return {sizes, memory::data_type::f32, dense_strides(sizes)};
}
memory::desc any(const memory::dims& sizes) {
  return {sizes, memory::data_type::f32, memory::format_tag::any};
}

// A convolution's numbers as oneDNN takes them, without a depth of 1.
struct ConvDims {
  memory::dims source, weight, bias, result, stride, dilation, padding, padding_after;

  explicit ConvDims(const ConvShape& s) {
    const int first = s.in[0] == 1 && s.kernel[0] == 1 && s.padding[0] == 0 ? 1 : 0;
    source = {s.batch, s.groups * s.in_channels};
    result = {s.batch, s.groups * s.out_channels};
    bias = {s.groups * s.out_channels};
    if (s.groups > 1) weight = {s.groups};
    weight.insert(weight.end(), {s.out_channels, s.in_channels});
    for (int d = first; d < 3; ++d) {
      source.push_back(s.in[d]);
      result.push_back(s.out[d]);
      weight.push_back(s.kernel[d]);
      stride.push_back(s.stride[d]);
      dilation.push_back(s.dilation[d] - 1);
      padding.push_back(s.padding[d]);
      padding_after.push_back((s.out[d] - 1) * s.stride[d] + (s.kernel[d] - 1) * s.dilation[d] + 1 -
                              s.in[d] - s.padding[d]);
    }
  }
};

dnnl::convolution_forward::primitive_desc forward_desc(const ConvDims& c, bool with_bias) {
  const memory::desc bias = with_bias ? dense(c.bias) : memory::desc();
#if DNNL_VERSION_MAJOR >= 3
  return {engine(),
          dnnl::prop_kind::forward_training,
          dnnl::algorithm::convolution_direct,
          any(c.source),
          any(c.weight),
          bias,
          any(c.result),
          c.stride,
          c.dilation,
          c.padding,
          c.padding_after,
          attributes()};
#else
  const dnnl::convolution_forward::desc desc =
      with_bias ? dnnl::convolution_forward::desc(dnnl::prop_kind::forward_training,
                                                  dnnl::algorithm::convolution_direct,
                                                  any(c.source), any(c.weight), bias, any(c.result),
                                                  c.stride, c.dilation, c.padding, c.padding_after)
                : dnnl::convolution_forward::desc(dnnl::prop_kind::forward_training,
                                                  dnnl::algorithm::convolution_direct,
                                                  any(c.source), any(c.weight), any(c.result),
                                                  c.stride, c.dilation, c.padding, c.padding_after);
  return {desc, attributes(), engine()};
#endif
}

template <class Primitive>
typename Primitive::primitive_desc backward_desc(const ConvDims& c) {
  const auto hint = forward_desc(c, false);
  const memory::desc first = any(c.source), second = any(c.weight), third = any(c.result);
#if DNNL_VERSION_MAJOR >= 3
  return {engine(),        dnnl::algorithm::convolution_direct,
          first,           second,
          third,           c.stride,
          c.dilation,      c.padding,
          c.padding_after, hint,
          attributes()};
#else
  return {typename Primitive::desc(dnnl::algorithm::convolution_direct, first, second, third,
                                   c.stride, c.dilation, c.padding, c.padding_after),
          attributes(), engine(), hint};
#endif
}

std::unique_ptr<Plan> make_conv(ConvPart part, const ConvShape& s, bool with_bias) {
  const ConvDims c(s);
  auto plan = std::make_unique<Plan>();
  switch (part) {
    case ConvPart::Forward: {
      const auto desc = forward_desc(c, with_bias);
      plan->primitive = dnnl::convolution_forward(desc);
      plan->scratchpad = desc.scratchpad_desc();
      plan->a = input_slot(DNNL_ARG_SRC, dense(c.source), desc.src_desc());
      plan->b = input_slot(DNNL_ARG_WEIGHTS, dense(c.weight), desc.weights_desc());
      plan->result = output_slot(DNNL_ARG_DST, dense(c.result), desc.dst_desc());
      plan->has_bias = with_bias;
      if (with_bias) plan->bias = input_slot(DNNL_ARG_BIAS, dense(c.bias), desc.bias_desc());
      break;
    }
    case ConvPart::InputGradient: {
      const auto desc = backward_desc<dnnl::convolution_backward_data>(c);
      plan->primitive = dnnl::convolution_backward_data(desc);
      plan->scratchpad = desc.scratchpad_desc();
      plan->a = input_slot(DNNL_ARG_DIFF_DST, dense(c.result), desc.diff_dst_desc());
      plan->b = input_slot(DNNL_ARG_WEIGHTS, dense(c.weight), desc.weights_desc());
      plan->result = output_slot(DNNL_ARG_DIFF_SRC, dense(c.source), desc.diff_src_desc());
      break;
    }
    case ConvPart::WeightGradient: {
      const auto desc = backward_desc<dnnl::convolution_backward_weights>(c);
      plan->primitive = dnnl::convolution_backward_weights(desc);
      plan->scratchpad = desc.scratchpad_desc();
      plan->a = input_slot(DNNL_ARG_DIFF_DST, dense(c.result), desc.diff_dst_desc());
      plan->b = input_slot(DNNL_ARG_SRC, dense(c.source), desc.src_desc());
      plan->result = output_slot(DNNL_ARG_DIFF_WEIGHTS, dense(c.weight), desc.diff_weights_desc());
      break;
    }
  }
  return plan;
}

memory::desc bf16_matrix(const Matrix& m) {
  return {
      {m.rows, m.columns}, memory::data_type::bf16, memory::dims{m.row_stride, m.column_stride}};
}

std::unique_ptr<Plan> make_product(const Matrix& a, const Matrix& b, const Matrix& c, bool adds) {
  const memory::desc da = bf16_matrix(a), db = bf16_matrix(b), dc = bf16_matrix(c);
  dnnl::primitive_attr attr = attributes();
  if (adds) {
    dnnl::post_ops after;
    after.append_sum();
    attr.set_post_ops(after);
  }
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::matmul::primitive_desc desc(engine(), da, db, dc, attr);
#else
  const dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(da, db, dc), attr, engine());
#endif
  auto plan = std::make_unique<Plan>();
  plan->primitive = dnnl::matmul(desc);
  plan->scratchpad = desc.scratchpad_desc();
  plan->a = input_slot(DNNL_ARG_SRC, da, desc.src_desc());
  plan->b = input_slot(DNNL_ARG_WEIGHTS, db, desc.weights_desc());
  plan->result = output_slot(DNNL_ARG_DST, dc, desc.dst_desc());
  return plan;
}

bool is_plain(const Matrix& m) {
  return (m.column_stride == 1 && m.row_stride >= m.columns) ||
         (m.row_stride == 1 && m.column_stride >= m.rows);
}

// An operand while a plan runs: the caller's memory, or room in the primitive's own layout.
class Bound {
 public:
  Bound(const Slot& slot, const void* data)
      : slot_(slot),
        given_(slot.given, engine(), const_cast<void*>(data)),
        room_(slot.differs() ? static_cast<int64_t>(slot.wanted.get_size()) : 0),
        used_(slot.differs() ? memory(slot.wanted, engine(), room_.data()) : given_) {}
  void load(dnnl::stream& stream) {
    if (slot_.differs()) dnnl::reorder(slot_.reorder).execute(stream, given_, used_);
  }
  void save(dnnl::stream& stream) {
    if (slot_.differs()) dnnl::reorder(slot_.reorder).execute(stream, used_, given_);
  }
  memory& used() { return used_; }

 private:
  const Slot& slot_;
  memory given_;
  Scratch<char, 64> room_;
  memory used_;
};

}  // namespace

const Plan* plan_conv(ConvPart part, const ConvShape& s, bool with_bias) {
  Key key{static_cast<int64_t>(part),
          with_bias,
          get_num_threads(),
          s.batch,
          s.groups,
          s.in_channels,
          s.out_channels};
  for (const auto* list : {&s.in, &s.out, &s.kernel, &s.stride, &s.padding, &s.dilation})
    key.insert(key.end(), *list, *list + 3);
  return kept_plan(std::move(key), [&] { return make_conv(part, s, with_bias); });
}

const Plan* plan_product(const Matrix& a, const Matrix& b, const Matrix& c, bool adds) {
  if (!is_plain(a) || !is_plain(b) || !is_plain(c)) return nullptr;
  Key key{-1, get_num_threads(), adds};
  for (const Matrix* m : {&a, &b, &c})
    key.insert(key.end(), {m->rows, m->columns, m->row_stride, m->column_stride});
  return kept_plan(std::move(key), [&] { return make_product(a, b, c, adds); });
}

void run(const Plan& plan, const void* a, const void* b, const void* bias, void* result) {
#ifdef _OPENMP
  omp_set_num_threads(get_num_threads());  // of this thread's next regions: oneDNN's
#endif
  dnnl::stream stream(engine());
  Bound first(plan.a, a), second(plan.b, b), to(plan.result, result);
  first.load(stream);
  second.load(stream);
  Scratch<char, 64> scratchpad(static_cast<int64_t>(plan.scratchpad.get_size()));
  std::unordered_map<int, memory> arguments{
      {plan.a.argument, first.used()},
      {plan.b.argument, second.used()},
      {plan.result.argument, to.used()},
      {DNNL_ARG_SCRATCHPAD, memory(plan.scratchpad, engine(), scratchpad.data())}};
  if (plan.has_bias)
    arguments.emplace(plan.bias.argument,
                      memory(plan.bias.given, engine(), const_cast<void*>(bias)));
  plan.primitive.execute(stream, arguments);
  to.save(stream);
  stream.wait();
}

}  // namespace msa::cpu::onednn
