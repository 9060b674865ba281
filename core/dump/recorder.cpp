// Names, rows and files of a dump, in MindSpore's arrangement.
#include "core/dump/recorder.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>

#include "core/autograd/engine.h"
#include "core/autograd/meta.h"
#include "core/capture/watcher.h"
#include "core/compare/compare.h"
#include "core/dispatch/arguments.h"

namespace msa::dump {
namespace {

constexpr const char* kHeader =
    "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min "
    "Value,Avg Value,Count,NaN Count,Negative Inf Count,Positive Inf Count,Zero Count,L2Norm "
    "Value,CRC32\n";

int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string flat(std::string path) {
  std::replace(path.begin(), path.end(), '.', '_');
  std::replace(path.begin(), path.end(), '/', '_');
  return path;
}

std::vector<Tensor> first_inputs(const LayerCall& call, int n) {
  std::vector<Tensor> found;
  each_tensor(call.args, n, [&](const Tensor& t) { found.push_back(t); });
  return found;
}

std::vector<Tensor> inputs_of(const LayerCall& call) {
  return first_inputs(call, call.op.n_params);
}

std::vector<Tensor> outputs_of(const LayerCall& call) {
  std::vector<Tensor> found;
  for (const Tensor& t : call.results.tensors)
    if (t.defined()) found.push_back(t);
  return found.empty() && call.form == Form::Inplace ? first_inputs(call, 1) : found;
}

std::string shape_text(const Tensor& t) {
  std::string text = "(";
  for (size_t i = 0; i < t.sizes().size(); ++i) text += cat(i ? ", " : "", t.sizes()[i]);
  return text + ")";
}

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", v);
  return text;
}

// Layers see tensors of all devices and dtypes; only these have elements to look at.
bool has_elements(const Tensor& t) {
  return compare::reader_of(t.dtype()) && t.device().kind == DeviceKind::Cpu &&
         t.impl()->storage->data != nullptr;
}

// A recording of a graph ends where elements are read; what is dumped decides nothing.
class Unwatched {
 public:
  Unwatched() : before_(std::exchange(capture::watcher, nullptr)) {}
  ~Unwatched() { capture::watcher = before_; }
  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;

 private:
  capture::Watcher* before_;
};

// Of operators whose result is memory as it was found: another in each run, a NaN for all one
// knows.
bool leaves_unset(std::string_view name) {
  return name.starts_with("empty") || name.starts_with("new_empty") || name.starts_with("resize");
}

bool is_infinite_argument(const Value& v) {
  return v.tag() == Value::Tag::Float && std::isinf(v.real());
}

std::string describe(const Tensor& t) {
  if (!has_elements(t)) return cat(t);
  const Statistics s = statistics(t);
  return cat(t, ": min ", number(s.minimum), ", max ", number(s.maximum), ", NaN ", s.nan, ", inf ",
             s.positive_inf + s.negative_inf);
}

}  // namespace

Recorder::Recorder(Options options)
    : options_(std::move(options)),
      pattern_(options_.names, std::regex::ECMAScript | std::regex::optimize),
      writer_(options_.most_bytes) {}

void Recorder::set_folder(std::string folder) {
  folder_ = std::move(folder);
  calls_.clear();
  makers_.clear();
  kept_.clear();
  made_in_.clear();
  n_calls_ = 0;
}

void Recorder::set_module(std::string path) { module_ = std::move(path); }

bool Recorder::wanted(const std::string& type) {
  if (options_.names.empty()) return true;
  const std::string whole = module_ + "/" + type;
  const auto known = wanted_.find(whole);
  if (known != wanted_.end()) return known->second;
  return wanted_[whole] = std::regex_search(whole, pattern_);
}

void Recorder::call(LayerCall& call) {
  if (leaves_unset(call.op.name)) return call.proceed();
  constexpr const char* kSuffix[] = {"", "_", ""};
  const std::string type = cat(call.op.name, kSuffix[static_cast<int>(call.form)]);
  const bool dumped = options_.operators && !folder_.empty() && wanted(type);
  if (!dumped && options_.watch == Watch::Nothing) return call.proceed();
  std::string name;
  const std::vector<Tensor> inputs = inputs_of(call);
  if (dumped) {
    const std::string key = cat(flat(module_), "-", type);
    name = cat(key, "-op", calls_[key]++);
    if (options_.inputs) values(call, name, "input", inputs);
  }
  call.proceed();
  const std::vector<Tensor> outputs = outputs_of(call);
  if (dumped && options_.outputs) values(call, name, "output", outputs);
  if (dumped && options_.graph) note_call(type, name, inputs, outputs);
  if (options_.watch == Watch::Nothing) return;
  note_nodes(outputs);
  watch(call, inputs, outputs);
}

void Recorder::values(const LayerCall& call, const std::string& name, const std::string& side,
                      const std::vector<Tensor>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i)
    tensor(call.op.name, name, side, static_cast<int>(i), tensors[i]);
}

void Recorder::tensor(const std::string& type, const std::string& name, const std::string& side,
                      int slot, const Tensor& t) {
  if (folder_.empty() || !t.defined() || !has_elements(t)) return;
  const Unwatched unwatched;
  const std::string table = folder_ + "/statistic.csv";
  if (n_calls_ == 0) writer_.append(table, kHeader);
  const int task = n_calls_++;
  const int64_t time = now_us();
  const Statistics s = statistics(t);
  writer_.append(
      table, cat(type, ",", flat(name), ",", task, ",0,", time, ",", side, ",", slot, ",",
                 static_cast<int64_t>(t.numel() * static_cast<int64_t>(t.item_bytes())), ",",
                 std::string(info(t.dtype()).name), ",\"", shape_text(t), "\",", number(s.maximum),
                 ",", number(s.minimum), ",", number(s.mean), ",", s.count, ",", s.nan, ",",
                 s.negative_inf, ",", s.positive_inf, ",", s.zero, ",", number(s.l2), ",",
                 static_cast<int64_t>(s.crc32), "\n"));
  if (options_.elements)
    writer_.save(cat(folder_, "/", type, ".", flat(name), ".", task, ".0.", time, ".", side, ".",
                     slot, ".DefaultFormat.npy"),
                 t);
}

void Recorder::note_call(const std::string& type, const std::string& name,
                         const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  auto listed = [&](const std::vector<Tensor>& tensors, bool made) {
    std::string text = "[";
    for (const Tensor& t : tensors) {
      const auto maker = makers_.find(t.impl());
      const int from = made || maker == makers_.end() ? -1 : maker->second;
      text += cat(text.size() > 1 ? ", " : "", "{\"dtype\": \"", std::string(info(t.dtype()).name),
                  "\", \"shape\": [", shape_text(t).substr(1, shape_text(t).size() - 2), "]");
      text += made ? "}" : from < 0 ? ", \"from\": null}" : cat(", \"from\": ", from, "}");
    }
    return text + "]";
  };
  const int node = static_cast<int>(kept_.size());
  const std::string takes = listed(inputs, false);
  for (const Tensor& t : outputs) {
    makers_[t.impl()] = node;
    kept_.push_back(t);
  }
  if (outputs.empty()) kept_.emplace_back();
  writer_.append(folder_ + "/operators.jsonl",
                 cat("{\"node\": ", node, ", \"operator\": \"", type, "\", \"name\": \"", name,
                     "\", \"module\": \"", module_, "\", \"inputs\": ", takes,
                     ", \"outputs\": ", listed(outputs, true), "}\n"));
}

// An infinity that comes in, as an element or as a number, is meant; one that an operator makes is
// not.
// Where an operator runs, and if that is in a backward pass, whose backward it is.
std::string Recorder::place() const {
  const Node* node = current_node();
  if (!node) return cat(" in ", module_.empty() ? "no module" : module_);
  const auto made = made_in_.find(node->sequence);
  const std::string module = made == made_in_.end() ? "" : cat(" in ", made->second);
  return cat(" in the backward pass, ", node->name(), module);
}

void Recorder::note_nodes(const std::vector<Tensor>& outputs) {
  if (module_.empty()) return;
  for (const Tensor& t : outputs)
    if (t.defined() && t.requires_grad() && grad_fn(t)) made_in_[grad_fn(t)->sequence] = module_;
}

void Recorder::watch(const LayerCall& call, const std::vector<Tensor>& inputs,
                     const std::vector<Tensor>& outputs) {
  const Unwatched unwatched;
  for (const Tensor& t : outputs) {
    if (!has_elements(t) || !is_inexact(t.dtype())) continue;
    const Statistics s = statistics(t);
    const int64_t inf = s.positive_inf + s.negative_inf;
    if (s.nan == 0 && (inf == 0 || options_.watch == Watch::Nan)) continue;
    if (s.nan == 0) {
      bool meant = false;
      for (int i = 0; i < call.op.n_params; ++i) meant |= is_infinite_argument(call.args[i]);
      for (const Tensor& in : inputs) {
        if (!has_elements(in)) continue;
        const Statistics had = statistics(in);
        meant |= had.positive_inf + had.negative_inf > 0;
      }
      if (meant) continue;
    }
    std::string text =
        cat("dump: the first ", s.nan ? "NaN" : "infinity", " comes from ", call.op.name, place(),
            ": ", s.nan, " NaN and ", inf, " infinities of ", s.count, " elements. Its inputs:");
    for (size_t i = 0; i < inputs.size(); ++i) text += cat("\n  ", i, ": ", describe(inputs[i]));
    flush();
    fail(ErrorKind::Runtime, text);
  }
}

}  // namespace msa::dump
