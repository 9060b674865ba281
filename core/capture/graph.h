// The graph of a captured function: values without memory, operators in order, and what they leave.
//
// A graph is functional. No node changes a value: an in-place change gives a new value, a change of
// a view gives a new value of what it views (`as_strided_scatter`). What the function changed of
// its inputs and of tensors that it found outside is written back at the end (`writes`).
#pragma once
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/dispatch/layers.h"

namespace msa::capture {

using VarId = int32_t;
inline constexpr VarId kNoVar = -1;

// A value. Its strides are those of the recorded run: operators that ask for them (`as_strided`)
// need the same again.
struct Var {
  enum class Origin : uint8_t { Input, Captured, Constant, Result };
  Origin origin = Origin::Result;
  DType dtype = DType::F32;
  Device device;
  Dims sizes, strides;
  Tensor tensor;      // Captured: the tensor itself; Constant: a copy of its elements
  int32_t node = -1;  // Result: the node that gives it
  bool used = true;   // by nodes that are left, as an output or in what is written back
};

struct VarRef {
  VarId id;
};
struct VarRefs {
  std::vector<VarId> ids;  // kNoVar: None in a list of tensors
};
struct Number {  // a Python number where a tensor may stand
  Scalar value;
};

// An argument that borrows nothing. std::monostate is None, or the old value of what is overwritten
// as a whole.
using Arg = std::variant<std::monostate, VarRef, VarRefs, Number, Scalar, Dims, std::vector<double>,
                         std::string, DType, Device, MemoryFormat>;

// An argument's new value after the node.
struct Change {
  uint8_t arg;
  VarId after;
};

struct Node {
  const OpInfo* op = nullptr;
  Form form = Form::Function;
  std::vector<Arg> args;        // the row's parameters in order
  std::vector<VarId> results;   // then what it leaves for backward; kNoVar: not used
  std::vector<Change> changes;  // in-place forms change argument 0, out= forms what comes after all
  uint8_t given = 0;            // so many arguments say something, the rest are at their defaults
  bool random = false;          // draws from the generator
  std::string where;            // the user's line: "train.py:12"
};

struct Write {
  VarId target, value;  // an input or a captured tensor, and what it holds at the end
};

struct Graph {
  std::vector<Var> vars;
  std::vector<Node> nodes;
  std::vector<VarId> inputs, outputs;
  std::vector<Write> writes;

  // Drops nodes whose results nobody uses; those that draw random numbers stay.
  void prune();
  std::string text() const;
};

std::string node_name(const Node& node);  // "add", "add_", "max.dim"
std::string var_name(const Graph& graph, VarId id);
std::string type_text(const Var& var);  // "float32 (2, 3)"
std::string arg_text(const Graph& graph, const Arg& arg);

// Whether two recordings of one function did the same: then the graph stands for the function. Else
// false, and `difference` says where they part.
bool same(const Graph& a, const Graph& b, std::string& difference);

// A graph whose later outputs are gradients, in two: what gives the first `n_outputs` of the first
// `n_inputs` (and writes), and the rest. The first gives what the second needs of it as further
// outputs; the second takes that before the other inputs.
std::pair<Graph, Graph> split(const Graph& graph, size_t n_inputs, size_t n_outputs);

// The draws of a graph that depend on nothing in it, as a graph without inputs, and the rest, which
// takes what is drawn before its inputs: compilers with generators of their own get PyTorch's
// stream.
std::pair<Graph, Graph> split_draws(const Graph& graph);

// Runs the graph on our own engine: the outputs; what it changes is written back.
TensorList replay(const Graph& graph, TensorsView inputs);

}  // namespace msa::capture
