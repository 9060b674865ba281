// Python's operators on tensors: each is a registry row; foreign operands get NotImplemented.
#include "bindings/call.h"
#include "bindings/convert.h"
#include "bindings/indexing.h"
#include "bindings/tensor/methods.h"

namespace msa::py {

namespace {

// The rows behind the operators, found once; null while the registry lacks a row.
enum Row {
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Pow,
  Matmul,
  And,
  Or,
  Xor,
  Shl,
  Shr,  // binary
  IAdd,
  ISub,
  IMul,
  IDiv,
  IFloorDiv,
  IMod,
  IPow,
  IAnd,
  IOr,
  IXor,
  IShl,
  IShr,  // in place
  Neg,
  Pos,
  Abs,
  Not,
  Reciprocal,
  Lt,
  Le,
  Eq,
  Ne,
  Gt,
  Ge,
  kRows
};
constexpr const char* kNames[kRows] = {"add",
                                       "sub",
                                       "mul",
                                       "div",
                                       "floor_divide",
                                       "remainder",
                                       "pow",
                                       "matmul",
                                       "bitwise_and",
                                       "bitwise_or",
                                       "bitwise_xor",
                                       "bitwise_left_shift",
                                       "bitwise_right_shift",
                                       "add_",
                                       "sub_",
                                       "mul_",
                                       "div_",
                                       "floor_divide_",
                                       "remainder_",
                                       "pow_",
                                       "bitwise_and_",
                                       "bitwise_or_",
                                       "bitwise_xor_",
                                       "bitwise_left_shift_",
                                       "bitwise_right_shift_",
                                       "neg",
                                       "positive",
                                       "abs",
                                       "bitwise_not",
                                       "reciprocal",
                                       "lt",
                                       "le",
                                       "eq",
                                       "ne",
                                       "gt",
                                       "ge"};
const Binding* rows[kRows];

const Binding& row(Row r) {
  MSA_REQUIRE(rows[r], NotImplemented, "Tensor.", kNames[r],
              " is not in the operator registry yet");
  return *rows[r];
}

PyObject* call(Row r, PyObject* a, PyObject* b) {
  return guarded([&] { return call_operator(row(r), a, b); });
}

template <Row r>
PyObject* unary(PyObject* a) {
  return guarded([&] { return call_method(row(r), a, nullptr, 0, nullptr); });
}

// --- operators whose left side is no tensor
// --------------------------------------------------------

constexpr bool commutes(Row r) { return r == Add || r == Mul || r == And || r == Or || r == Xor; }

// `number / tensor` multiplies with the reciprocal, as PyTorch does: the last bit shows it.
PyObject* divide_reflected(PyObject* number, PyObject* tensor) {
  Owned inverse = checked(call_method(row(Reciprocal), tensor, nullptr, 0, nullptr));
  return call_operator(row(Mul), inverse.get(), number);
}

PyObject* reflected(Row r, PyObject* left, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    if (commutes(r)) return call_operator(row(r), tensor, left);
    Scalar number;
    if (!to_scalar(left, number)) Py_RETURN_NOTIMPLEMENTED;
    if (r == Matmul) Py_RETURN_NOTIMPLEMENTED;
    if (r == Div) return divide_reflected(left, tensor);
    Owned wrapped = checked(wrap(wrapped_number(number)));
    return call_operator(row(r), wrapped.get(), tensor);
  });
}

template <Row r>
PyObject* binary(PyObject* a, PyObject* b) {
  return __builtin_expect(is_tensor(a), 1) ? call(r, a, b) : reflected(r, a, b);
}

template <Row r>
PyObject* in_place(PyObject* a, PyObject* b) {
  return call(r, a, b);
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulo) {
  if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary<Pow>(a, b);
}
PyObject* power_in_place(PyObject* a, PyObject* b, PyObject*) { return call(IPow, a, b); }

// --- numbers
// -----------------------------------------------------------------------------------------

int truth(PyObject* self) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    MSA_REQUIRE(t.numel() == 1, Runtime, "Boolean value of Tensor with ",
                t.numel() ? "more than one" : "no", t.numel() ? " value" : " values",
                " is ambiguous");
    return item(t).to<bool>() ? 1 : 0;
  });
}

PyObject* to_python_int(PyObject* self) {
  return guarded([&] {
    require_one_element(tensor_of(self));
    Owned number = checked(item_object(tensor_of(self)));
    return PyNumber_Long(number.get());
  });
}

// What int() and float() cannot hold is a RuntimeError, not Python's TypeError.
void require_real(const char* what, const Tensor& t) {
  if (!is_complex(t.dtype()) || t.numel() != 1 || !t.device().is_cpu()) return;
  Scalar value = load_scalar(t.dtype(), t.data());
  MSA_REQUIRE(value.to_complex().imag() == 0, Runtime, what, ": the imaginary part of ", value,
              " would be lost: value cannot be converted to type ", what,
              " without overflow; take .real or .abs() first");
}

PyObject* to_python_float(PyObject* self) {
  return guarded([&] {
    require_one_element(tensor_of(self));
    require_real("float", tensor_of(self));
    Owned number = checked(item_object(tensor_of(self)));
    return PyNumber_Float(number.get());
  });
}

PyObject* index(PyObject* self) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    MSA_REQUIRE(t.numel() == 1 && is_integral(t.dtype()), Type,
                "only integer tensors of a single element can be converted to an index");
    Owned number = checked(item_object(t));
    return PyNumber_Index(number.get());
  });
}

Py_ssize_t length(PyObject* self) {
  return guarded([&]() -> Py_ssize_t {
    const Tensor& t = tensor_of(self);
    MSA_REQUIRE(t.dim() > 0, Type, "len() of a 0-d tensor");
    return t.sizes()[0];
  });
}

}  // namespace

PyObject* compare_tensors(PyObject* a, PyObject* b, int op) {
  constexpr Row by_op[] = {Lt, Le, Eq, Ne, Gt, Ge};  // in the order of Py_LT ...
  return call(by_op[op], a, b);
}

PyNumberMethods tensor_number = [] {
  PyNumberMethods m = {};
  m.nb_add = binary<Add>;
  m.nb_subtract = binary<Sub>;
  m.nb_multiply = binary<Mul>;
  m.nb_true_divide = binary<Div>;
  m.nb_floor_divide = binary<FloorDiv>;
  m.nb_remainder = binary<Mod>;
  m.nb_power = power;
  m.nb_matrix_multiply = binary<Matmul>;
  m.nb_and = binary<And>;
  m.nb_or = binary<Or>;
  m.nb_xor = binary<Xor>;
  m.nb_lshift = binary<Shl>;
  m.nb_rshift = binary<Shr>;
  m.nb_inplace_add = in_place<IAdd>;
  m.nb_inplace_subtract = in_place<ISub>;
  m.nb_inplace_multiply = in_place<IMul>;
  m.nb_inplace_true_divide = in_place<IDiv>;
  m.nb_inplace_floor_divide = in_place<IFloorDiv>;
  m.nb_inplace_remainder = in_place<IMod>;
  m.nb_inplace_power = power_in_place;
  m.nb_inplace_and = in_place<IAnd>;
  m.nb_inplace_or = in_place<IOr>;
  m.nb_inplace_xor = in_place<IXor>;
  m.nb_inplace_lshift = in_place<IShl>;
  m.nb_inplace_rshift = in_place<IShr>;
  m.nb_negative = unary<Neg>;
  m.nb_positive = unary<Pos>;
  m.nb_absolute = unary<Abs>;
  m.nb_invert = unary<Not>;
  m.nb_bool = truth;
  m.nb_int = to_python_int;
  m.nb_float = to_python_float;
  m.nb_index = index;
  return m;
}();

PyMappingMethods tensor_mapping = {length, get_item, set_item};

void init_operators() {
  for (int r = 0; r < kRows; ++r) rows[r] = find_method(kNames[r]);
}

}  // namespace msa::py
