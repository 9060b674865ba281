// Matrix products of every path (tiles, row dots, transposes, BLAS' size) against three plain
// loops.
#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "kernels/cpu/matmul/gemm.h"

using namespace msa;
using cpu::Matrix;

namespace {

// Small whole numbers: every order of adding them gives the same float.
template <class T>
std::vector<T> numbers(int64_t count, std::mt19937& random) {
  std::vector<T> values(static_cast<size_t>(count));
  for (T& v : values) v = static_cast<T>(static_cast<int>(random() % 7) - 3);
  return values;
}

enum class Order { Rows, Columns, Spread };

Matrix shaped(void* data, int64_t rows, int64_t columns, Order order) {
  switch (order) {
    case Order::Rows:
      return {data, rows, columns, columns, 1};
    case Order::Columns:
      return {data, rows, columns, 1, rows};
    default:
      return {data, rows, columns, 2 * columns, 2};
  }
}

template <class T>
T& at(const Matrix& m, int64_t i, int64_t j) {
  return static_cast<T*>(m.data)[i * m.row_stride + j * m.column_stride];
}

template <class T>
void check_product(int64_t rows, int64_t columns, int64_t depth, Order a_order, Order b_order,
                   Order c_order, int alpha, int beta) {
  std::mt19937 random(1);
  auto a = numbers<T>(2 * rows * depth, random), b = numbers<T>(2 * depth * columns, random);
  auto c = numbers<T>(2 * rows * columns, random), before = c;
  const Matrix ma = shaped(a.data(), rows, depth, a_order),
               mb = shaped(b.data(), depth, columns, b_order);
  const Matrix mc = shaped(c.data(), rows, columns, c_order),
               old = shaped(before.data(), rows, columns, c_order);
  cpu::gemm(dtype_of<T>::value, ma, mb, mc, Scalar(alpha), Scalar(beta));
  int wrong = 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      T sum = 0;
      for (int64_t k = 0; k < depth; ++k) sum += at<T>(ma, i, k) * at<T>(mb, k, j);
      wrong += at<T>(mc, i, j) != static_cast<T>(alpha * sum + beta * at<T>(old, i, j));
    }
  }
  CHECK(wrong == 0);
}

template <class T>
void check_all() {
  constexpr Order kOrders[] = {Order::Rows, Order::Columns, Order::Spread};
  constexpr int64_t kShapes[][3] = {{1, 1, 1},   {4, 4, 4},   {5, 1, 9},
                                    {1, 33, 17}, {13, 35, 7}, {64, 48, 40}};
  for (const auto& shape : kShapes)
    for (Order a : kOrders)
      for (Order b : kOrders)
        for (Order c : kOrders) {
          check_product<T>(shape[0], shape[1], shape[2], a, b, c, 1, 0);
          check_product<T>(shape[0], shape[1], shape[2], a, b, c, 2, 3);
        }
}

}  // namespace

TEST_CASE("products of any strides equal plain loops") {
  check_all<float>();
  check_all<double>();
  check_all<int32_t>();
}

TEST_CASE("large products, split over threads") {
  check_product<float>(272, 264, 260, Order::Rows, Order::Columns, Order::Rows, 1, 0);
  check_product<double>(270, 256, 256, Order::Columns, Order::Rows, Order::Rows, 2, 1);
}

TEST_CASE("with beta 0 the result's old contents do not matter") {
  float a = 2, b = 3, c = __builtin_nanf("");
  cpu::gemm(DType::F32, {&a, 1, 1, 1, 1}, {&b, 1, 1, 1, 1}, {&c, 1, 1, 1, 1});
  CHECK(c == 6);
}

TEST_CASE("no depth gives zeros, and bool is refused") {
  float c[2] = {5, 5};
  cpu::gemm(DType::F32, {nullptr, 1, 0, 1, 1}, {nullptr, 0, 2, 2, 1}, {c, 1, 2, 2, 1});
  CHECK(c[0] == 0);
  CHECK(c[1] == 0);
  bool flag = true;
  const Matrix one{&flag, 1, 1, 1, 1};
  CHECK_THROWS_AS(cpu::gemm(DType::Bool, one, one, one), Error);
}
