// From calls on tensors to a graph of values: which value a tensor holds, and what a change leaves.
#include "core/capture/recorder.h"

#include <algorithm>

#include "core/autograd/meta.h"
#include "core/dispatch/arguments.h"
#include "core/dispatch/opaque.h"
#include "core/dispatch/saving.h"
#include "generated/ops_copy.h"
#include "generated/ops_create.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_random.h"

namespace msa::capture {

constinit thread_local Watcher* watcher = nullptr;
std::string (*where_hook)() = nullptr;

namespace {

bool draws(const OpInfo& op) {
  for (int i = 0; i < op.n_params; ++i)
    if (op.params[i].type == ArgType::Generator) return true;
  return false;
}

// In-place rows that do not look at what was there.
bool overwrites(const OpInfo& op, Form form) {
  const std::string_view name = op.name;
  return form == Form::Inplace && !op.call &&
         (draws(op) || name == "fill" || name == "copy" || name == "zero");
}

// BatchNorm in training changes its statistics; other devices do so without a new version.
bool is_statistic(const OpInfo& op, const Value* args, int i) {
  static const OpInfo* const batch_norm = find_op("batch_norm");
  return &op == batch_norm && (i == 3 || i == 4) && args[5].boolean();
}

bool shaped_by_data(const OpInfo& op) {
  for (const OpInfo* const* row = data_shaped_rows; *row; ++row)
    if (*row == &op) return true;
  return false;
}

bool same_layout(const Layout& a, const Layout& b) {
  if (!(a.sizes == b.sizes)) return false;
  if (product(a.sizes) == 0) return true;
  for (size_t d = 0; d < a.sizes.size(); ++d)
    if (a.sizes[d] > 1 && a.strides[d] != b.strides[d]) return false;
  return a.offset == b.offset;
}

std::vector<uint32_t> versions_of(const LayerCall& call) {
  std::vector<uint32_t> versions;
  each_tensor(call.args, argument_count(call.op, call.form),
              [&](const Tensor& t) { versions.push_back(t.version()); });
  return versions;
}

// The same draws and products as the kernel's, but what is drawn is an operator of its own.
void dropout_in_parts(const Value* args, Results& results) {
  const Tensor& input = args[0].tensor();
  const double p = args[1].real();
  const double kept = input.dtype() == DType::F64
                          ? 1 / (1 - p)
                          : static_cast<double>(1 / static_cast<float>(1 - p));
  Tensor noise;
  {
    GradMode off(false);
    noise = ops::empty_like(input, {}, {}, {});
    ops::bernoulli_float_(noise, 1 - p, nullptr);
    ops::mul_(noise, wrapped_number(Scalar(kept)));
  }
  results.set(ops::mul(input, noise));
}

}  // namespace

Recorder::Recorder(TensorsView inputs) : before_(watcher) {
  watcher = this;
  for (const Tensor& t : inputs) {
    if (memories_.contains(t->storage.get()))
      refuse("two inputs share their memory; pass a clone() of one of them");
    add_input(t);
  }
}

Recorder::~Recorder() { watcher = before_; }

void Recorder::add_input(const Tensor& t) {
  Memory& memory = memory_of(t);
  if (!memory.views.empty()) return refuse("an input was in use before it was named as one");
  const VarId var = new_var(Var::Origin::Input, t);
  graph_.inputs.push_back(var);
  memory.views.push_back({t.layout(), t.dtype(), var, 0});
  memory.first = var;
}

void Recorder::refuse(std::string reason) {
  if (!reason_.empty()) return;
  const std::string where = where_hook ? where_hook() : std::string();
  reason_ = where.empty() ? std::move(reason) : cat(reason, " (", where, ")");
}

void Recorder::made(Storage* storage) {
  Birth birth;
  birth.inside = inside_ ? running_ : nullptr;
  birth.external = !inside_ && storage->deleter != nullptr;
  births_[storage] = birth;
  if (inside_) made_inside_.emplace_back(storage);
}

void Recorder::reads(const Tensor& t, const char* how) {
  if (inside_ || !reason_.empty() || t->wrapped_number) return;
  const auto known = memories_.find(t->storage.get());
  if (known == memories_.end()) {
    const auto birth = births_.find(t->storage.get());
    if (birth != births_.end() && !birth->second.inside) return;  // made of Python's numbers here
  } else if (known->second.writes == 0 && known->second.first != kNoVar &&
             graph_.vars[static_cast<size_t>(known->second.first)].origin ==
                 Var::Origin::Constant) {
    return;
  }
  refuse(cat(how, ": the elements of a tensor, ", t,
             ", are read, and what follows may depend on them"));
}

void Recorder::reseeded(const char* how) {
  refuse(cat(
      how,
      ": sets the random generator, which a graph only draws from; seed outside of the function"));
}

bool Recorder::computed(const Tensor& t) const {
  const auto known = memories_.find(t->storage.get());
  if (known == memories_.end()) return births_.contains(t->storage.get());
  const VarId first = known->second.first;
  if (first == kNoVar) return true;
  const Var::Origin origin = graph_.vars[static_cast<size_t>(first)].origin;
  return origin != Var::Origin::Captured && origin != Var::Origin::Input;
}

TensorList Recorder::captured() const {
  TensorList all;
  for (const Var& var : graph_.vars)
    if (var.origin == Var::Origin::Captured) all.push_back(var.tensor);
  return all;
}

// --- values --------------------------------------------------------------------------------------

VarId Recorder::new_var(Var::Origin origin, const Tensor& t) {
  Var var;
  var.origin = origin;
  var.dtype = t.dtype();
  var.device = t.device();
  var.sizes = t.sizes();
  var.strides = t.strides();
  if (origin == Var::Origin::Captured) var.tensor = t;
  if (origin == Var::Origin::Constant) {
    GradMode off(false);
    const bool before = std::exchange(inside_, true);
    var.tensor = ops::clone(t, MemoryFormat::Preserve);
    inside_ = before;
    var.strides = var.tensor.strides();
  }
  if (origin == Var::Origin::Result) var.node = static_cast<int32_t>(graph_.nodes.size()) - 1;
  graph_.vars.push_back(std::move(var));
  return static_cast<VarId>(graph_.vars.size() - 1);
}

Recorder::Memory& Recorder::memory_of(const Tensor& t) {
  Memory& memory = memories_[t->storage.get()];
  if (!memory.storage) {
    memory.storage = t->storage;
    memory.version = t->storage->version;
  }
  return memory;
}

// The memory's first value: what an operator left there, Python's data, or what was there before.
VarId Recorder::first_var(const Tensor& t) {
  const auto found = births_.find(t->storage.get());
  if (found == births_.end()) {
    const VarId var = new_var(Var::Origin::Captured, t);
    seen_.push_back({var, t->storage, t.layout()});
    return var;
  }
  const Birth& birth = found->second;
  if (birth.node >= 0) {
    const VarId var = new_var(Var::Origin::Result, t);
    graph_.vars[static_cast<size_t>(var)].node = birth.node;
    auto& results = graph_.nodes[static_cast<size_t>(birth.node)].results;
    if (results.size() <= birth.place) results.resize(birth.place + 1, kNoVar);
    return results[birth.place] = var;
  }
  if (birth.inside)
    refuse(cat(birth.inside->name,
               ": uses a tensor that it made inside, which a recording does not see"));
  else if (birth.external)
    refuse(cat("the memory of ", t,
               " belongs to another library (NumPy, DLPack), which may change it; "
               "make the tensor outside of the function, or copy the data with torch.tensor"));
  return new_var(Var::Origin::Constant, t);
}

size_t Recorder::view_of(Memory& memory, const Tensor& t) {
  const Layout layout = t.layout();
  for (size_t i = 0; i < memory.views.size(); ++i)
    if (memory.views[i].dtype == t.dtype() && same_layout(memory.views[i].layout, layout)) return i;
  View view{layout, t.dtype(), kNoVar, memory.writes};
  if (memory.views.empty()) {
    view.var = memory.first = first_var(t);
  } else if (graph_.vars[static_cast<size_t>(memory.first)].origin == Var::Origin::Captured &&
             !inside_root(memory, t)) {
    view.var = new_var(Var::Origin::Captured, t);  // another part of the same memory
    seen_.push_back({view.var, t->storage, layout});
    memory.parts = true;
  } else {
    view.parent = 0;
    view.var = restrided(memory, layout, t);
    view.node = graph_.nodes.size() - 1;
  }
  memory.views.push_back(view);
  return memory.views.size() - 1;
}

// Whether the first view spans what the tensor sees, element by element without holes.
bool Recorder::inside_root(const Memory& memory, const Tensor& t) const {
  const View& root = memory.views[0];
  if (root.dtype != t.dtype() || !is_dense(root.layout.sizes, root.layout.strides)) return false;
  int64_t last = t.offset();
  for (size_t d = 0; d < t.sizes().size(); ++d)
    last += std::max<int64_t>(0, t.sizes()[d] - 1) * t.strides()[d];
  return t.offset() >= root.layout.offset && last < root.layout.offset + product(root.layout.sizes);
}

VarId Recorder::restrided(Memory& memory, const Layout& layout, const Tensor& like) {
  if (!inside_root(memory, like))
    refuse(cat("a tensor, ", like,
               ", sees memory of another one in a way that a graph cannot express"));
  Node node;
  node.op = find_op("as_strided");
  node.args = {VarRef{current(memory, 0)}, layout.sizes, layout.strides,
               Scalar(layout.offset - memory.views[0].layout.offset)};
  graph_.nodes.push_back(std::move(node));
  const VarId var = new_var(Var::Origin::Result, like);
  graph_.nodes.back().results = {var};
  return var;
}

// The value of a view now; after a change of its memory it is taken anew.
VarId Recorder::current(Memory& memory, size_t index) {
  View& view = memory.views[index];
  if (view.at == memory.writes || view.parent < 0) return view.var;
  const VarId from = current(memory, static_cast<size_t>(view.parent));
  Node again = graph_.nodes[view.node];
  again.args[0] = VarRef{from};
  std::fill(again.results.begin(), again.results.end(), kNoVar);
  Var var = graph_.vars[static_cast<size_t>(view.var)];
  var.node = static_cast<int32_t>(graph_.nodes.size());
  graph_.vars.push_back(std::move(var));
  view.var = again.results[view.place] = static_cast<VarId>(graph_.vars.size() - 1);
  view.node = graph_.nodes.size();
  view.at = memory.writes;
  graph_.nodes.push_back(std::move(again));
  return view.var;
}

VarId Recorder::read(const Tensor& t) {
  if (is_opaque(t)) refuse(cat("a tensor, ", t, ", is sparse or of a class of its own"));
  Memory& memory = memory_of(t);
  if (memory.version != t->storage->version)
    refuse(cat("the elements of ", t, " were changed by something that is not an operator"));
  return current(memory, view_of(memory, t));
}

void Recorder::write(const Tensor& t, VarId value) {
  Memory& memory = memory_of(t);
  memory.version = t->storage->version;
  if (memory.views.empty() && births_.contains(t->storage.get())) {
    memory.first = value;
    memory.views.push_back({t.layout(), t.dtype(), value, 0});
    return;
  }
  const size_t index = view_of(memory, t);
  if (memory.parts)
    return refuse(cat("a change of ", t, ", whose memory several captured tensors share"));
  VarId whole = value;
  if (memory.views[index].parent >= 0) whole = updated(memory, memory.views[index], value);
  ++memory.writes;
  memory.views[index].var = value;
  memory.views[index].at = memory.writes;
  memory.views[0].var = whole;
  memory.views[0].at = memory.writes;
}

// The whole memory after a view of it got another value.
VarId Recorder::updated(Memory& memory, const View& view, VarId value) {
  const View root = memory.views[0];
  if (view.dtype != root.dtype || !is_dense(root.layout.sizes, root.layout.strides))
    refuse("a change of a view that reads its memory as another dtype, or of memory with holes");
  Node node;
  if (is_contiguous(view.layout.sizes, view.layout.strides) &&
      is_contiguous(root.layout.sizes, root.layout.strides) &&
      product(view.layout.sizes) == product(root.layout.sizes)) {
    node.op = find_op("reshape");
    node.args = {VarRef{value}, root.layout.sizes};
  } else {
    node.op = find_op("as_strided_scatter");
    node.args = {VarRef{current(memory, 0)}, VarRef{value}, view.layout.sizes, view.layout.strides,
                 Scalar(view.layout.offset - root.layout.offset)};
  }
  Var var = graph_.vars[static_cast<size_t>(root.var)];
  var.origin = Var::Origin::Result;
  var.tensor = Tensor();
  var.node = static_cast<int32_t>(graph_.nodes.size());
  graph_.vars.push_back(std::move(var));
  node.results = {static_cast<VarId>(graph_.vars.size() - 1)};
  node.where = where_hook ? where_hook() : std::string();
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().results[0];
}

// --- calls ---------------------------------------------------------------------------------------

Arg Recorder::argument(const Value& v) {
  switch (v.tag()) {
    case Value::Tag::None:
      return std::monostate();
    case Value::Tag::Tensor:
      if (v.tensor()->wrapped_number)
        return Number{load_scalar(v.tensor().dtype(), v.tensor().data())};
      return VarRef{read(v.tensor())};
    case Value::Tag::Tensors: {
      VarRefs list;
      for (const Tensor& t : v.tensors()) list.ids.push_back(t.defined() ? read(t) : kNoVar);
      return list;
    }
    case Value::Tag::Int:
    case Value::Tag::Float:
    case Value::Tag::Bool:
    case Value::Tag::Complex:
      return v.scalar();
    case Value::Tag::Dims:
      return v.dims();
    case Value::Tag::Floats:
      return v.floats();
    case Value::Tag::Str:
      return std::string(v.str());
    case Value::Tag::DType:
      return v.dtype();
    case Value::Tag::Device:
      return v.device();
    case Value::Tag::Format:
      return v.format();
    case Value::Tag::Generator:
      refuse("a generator is given; the graph draws from the default one, so leave it out");
      return std::monostate();
  }
  __builtin_unreachable();
}

void Recorder::call(LayerCall& call) {
  static const OpInfo* const dropout = find_op("_dropout");
  if (inside_ || !reason_.empty()) return call.proceed();
  if (&call.op == dropout) return call.run_instead(dropout_in_parts);
  if (shaped_by_data(call.op))
    refuse(cat(call.op.name, ": the shape of its result depends on the elements of its input"));
  Node node;
  node.op = &call.op;
  node.form = call.form;
  node.random = draws(call.op);
  node.given = static_cast<uint8_t>(given_count(call.op, call.args));
  node.where = where_hook ? where_hook() : std::string();
  for (int i = 0; i < call.op.n_params; ++i)
    node.args.push_back(i == 0 && overwrites(call.op, call.form) ? Arg() : argument(call.args[i]));
  const std::vector<uint32_t> versions = versions_of(call);
  const Layout first = first_layout(call);
  running_ = &call.op;
  inside_ = true;
  made_inside_.clear();
  try {
    call.proceed();
  } catch (...) {
    inside_ = false;
    made_inside_.clear();
    refuse(cat(call.op.name, ": raised an error, which other elements may not raise"));
    throw;
  }
  inside_ = false;
  if (reason_.empty()) note(call, std::move(node), versions, first);
  made_inside_.clear();
}

Layout Recorder::first_layout(const LayerCall& call) {
  const Value& v = call.args[0];
  return call.form == Form::Inplace && v.tag() == Value::Tag::Tensor ? v.tensor().layout()
                                                                     : Layout();
}

void Recorder::note(LayerCall& call, Node node, const std::vector<uint32_t>& versions,
                    const Layout& first) {
  if (call.form == Form::Inplace && !same_layout(first, call.args[0].tensor().layout())) {
    memory_of(call.args[0].tensor()).version = call.args[0].tensor()->storage->version;
    return;  // another view of the same elements: the next who reads it finds that out
  }
  if (call.results.kind == Results::Kind::Scalar &&
      any_tensor(call.args, call.op.n_params, [](const Tensor&) { return true; }))
    return refuse(cat(call.op.name, ": gives a Python number of a tensor's elements"));
  static const OpInfo* const view = find_op("view");
  if (node.op == view) node.op = find_op("reshape");  // strides of values here may be others
  const size_t index = graph_.nodes.size(), vars = graph_.vars.size();
  graph_.nodes.push_back(std::move(node));
  if (call.form == Form::Function) {
    for (size_t i = 0; i < call.results.tensors.size(); ++i)
      note_result(call, index, i, call.results.tensors[i]);
    note_left(index, call);
  }
  note_changes(call, index, versions);
  if (graph_.vars.size() == vars && graph_.nodes.size() == index + 1 && !graph_.nodes[index].random)
    graph_.nodes.pop_back();  // gave back what was there
}

void Recorder::note_result(const LayerCall& call, size_t index, size_t place, const Tensor& t) {
  graph_.nodes[index].results.push_back(kNoVar);
  if (!t.defined()) return;
  const auto known = memories_.find(t->storage.get());
  const auto result = [&] {
    const VarId var = new_var(Var::Origin::Result, t);
    graph_.vars[static_cast<size_t>(var)].node = static_cast<int32_t>(index);
    return graph_.nodes[index].results[place] = var;
  };
  if (known == memories_.end()) {
    Memory& memory = memory_of(t);
    memory.first = result();
    memory.views.push_back({t.layout(), t.dtype(), memory.first, 0});
    return;
  }
  Memory& memory = known->second;
  for (const View& view : memory.views)
    if (view.dtype == t.dtype() && same_layout(view.layout, t.layout())) return;
  static const OpInfo* const as_strided = find_op("as_strided");
  const Value& source = call.args[0];
  if (&call.op == as_strided || source.tag() != Value::Tag::Tensor ||
      source.tensor()->storage.get() != t->storage.get())
    return;  // the next who reads it takes it from the whole
  const auto parent = static_cast<int32_t>(view_of(memory, source.tensor()));
  View view{t.layout(), t.dtype(), result(), memory.writes, parent, index, place};
  memory.views.push_back(view);
}

// What the operator keeps for backward: alive now, and no result. A device may make other things
// before.
void Recorder::note_left(size_t index, const LayerCall& call) {
  const SavingRow* row = saving_row(call.op);
  if (!row) return;
  std::vector<Storage*> left;
  for (const Ref<Storage>& storage : made_inside_) {
    const bool result = std::ranges::any_of(call.results.tensors, [&](const Tensor& t) {
      return t.defined() && t->storage == storage;
    });
    if (!result && storage->refs > 1) left.push_back(storage.get());
  }
  if (left.size() < row->n_saved) return;
  const size_t n_results = call.results.tensors.size(), before = left.size() - row->n_saved;
  for (size_t i = 0; i < row->n_saved; ++i) {
    Birth& birth = births_[left[before + i]];
    birth.node = static_cast<int32_t>(index);
    birth.place = n_results + i;
  }
}

void Recorder::note_changes(const LayerCall& call, size_t index,
                            const std::vector<uint32_t>& versions) {
  std::vector<const Storage*> done;
  size_t at = 0;
  for (int i = 0; i < argument_count(call.op, call.form); ++i) {
    const bool written = i >= call.op.n_params || (call.form == Form::Inplace && i == 0) ||
                         is_statistic(call.op, call.args, i);
    each_tensor(&call.args[i], 1, [&](const Tensor& t) {
      const bool changed = written || t.version() != versions[at];
      ++at;
      if (!changed || std::ranges::find(done, t->storage.get()) != done.end()) return;
      if (call.args[i].tag() == Value::Tag::Tensors)
        return refuse(cat(call.op.name, ": changes tensors of a list"));
      done.push_back(t->storage.get());
      const VarId after = new_var(Var::Origin::Result, t);
      graph_.vars[static_cast<size_t>(after)].node = static_cast<int32_t>(index);
      graph_.nodes[index].changes.push_back({static_cast<uint8_t>(i), after});
      write(t, after);
    });
  }
}

// --- the end -------------------------------------------------------------------------------------

void Recorder::check_ends() {
  for (const Seen& seen : seen_) {
    const Tensor& t = graph_.vars[static_cast<size_t>(seen.var)].tensor;
    if (t->storage != seen.storage || !same_layout(t.layout(), seen.layout))
      refuse(cat("a tensor from outside, ", t,
                 ", got other memory or another shape (.data =, resize_)"));
  }
  for (auto& [storage, memory] : memories_)
    if (memory.version != storage->version)
      refuse("the elements of a tensor were changed by something that is not an operator");
}

// In the order of their targets: two recordings of one function are compared.
void Recorder::note_writes() {
  for (const auto& [storage, memory] : memories_) {
    if (memory.first == kNoVar || memory.views[0].var == memory.first) continue;
    const Var::Origin origin = graph_.vars[static_cast<size_t>(memory.first)].origin;
    if (origin == Var::Origin::Captured || origin == Var::Origin::Input)
      graph_.writes.push_back({memory.first, memory.views[0].var});
  }
  std::ranges::sort(graph_.writes, {}, &Write::target);
}

std::unique_ptr<Graph> Recorder::finish(TensorsView outputs) {
  watcher = before_;
  for (const Tensor& t : outputs) graph_.outputs.push_back(t.defined() ? read(t) : kNoVar);
  check_ends();
  note_writes();
  if (!reason_.empty()) return nullptr;
  auto graph = std::make_unique<Graph>(std::move(graph_));
  graph->prune();
  return graph;
}

}  // namespace msa::capture
