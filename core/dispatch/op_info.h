// What is known at run time about each registry row: names, parameters, and its boxed calls.
#pragma once
#include "core/dispatch/value.h"

namespace msa {

enum class ArgType : uint8_t {
  Tensor,
  Tensors,
  Scalar,
  Int,
  Float,
  Bool,
  Dims,
  Floats,
  Str,
  DType,
  Device,
  Format,
  Generator,
  Layout  // an Int: 0 is torch.strided
};

// Where a Python number may stand for a tensor (it becomes a 0-d wrapped one): nowhere, beside
// a tensor at another place, or whatever else is given.
enum class Number : uint8_t { No, BesideTensor, Always };

struct Param {
  const char* name;
  ArgType type;
  bool optional;  // None is accepted ("Tensor?")
  bool keyword_only;
  bool has_default;
  Number number;
  int8_t repeat_int;  // int[2]: one int stands for that many; 0: a list only
  Value default_value;
};

// What autocast does with the floating inputs: casts them to its lower precision, to float32, or to
// the widest of them; keeps them as they are, in what the operator is composed of too; or refuses
// the call. None: the parts of a composed operator are asked.
enum class Autocast : uint8_t { None, Lower, Float32, Promote, Keep, Refuse };

// Runs the operator itself, below the layers (autograd included).
using Boxed = void (*)(const Value* args, Results& results);

// One row of ops/*.toml.
struct OpInfo {
  const char* name;      // "max"
  const char* overload;  // "dim", or ""
  const char* schema;
  const Param* params;
  uint8_t n_params, n_positional;
  uint8_t n_results;                // outputs that `out=` takes
  Boxed call;                       // functional; null if the row has only an in-place form
  Boxed call_inplace;               // args[0] is changed; null if the row has none
  Boxed call_out;                   // args: params, then the outputs; null if none
  const char* const* result_names;  // of torch.return_types, null for a plain tensor or tuple
  const char* node_name;            // "AddBackward0", null when not differentiable
  const char* const* ms;            // MindSpore callables to try, best first; null-terminated
  bool python_bool, python_float;   // how a Scalar result is shown
  bool composed = false;            // runs other rows: layers of level Innermost see those instead
  Autocast autocast_cpu = Autocast::None, autocast_accelerator = Autocast::None;
  mutable void* face = nullptr;  // what the Python face keeps with the row
};

extern const OpInfo* const op_table[];  // generated
extern const size_t op_count;
const OpInfo* find_op(std::string_view name, std::string_view overload = "");

}  // namespace msa
