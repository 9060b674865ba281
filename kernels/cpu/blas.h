// The one file that knows BLAS: opened at the first product that is worth it, never while
// importing.
#pragma once
#include <cstdint>
#include <string>

#include "core/dtype/dtype.h"

namespace msa::cpu::blas {

// Where the library lies; without it, names the loader knows are tried.
void set_path(std::string path);

// Loads the library when it is not loaded yet; false when there is none (then our own kernels
// serve).
bool available();

// A function of the library by its name without prefix, for the LAPACK that it carries; null where
// there is none.
void* symbol(const char* name);

// c = alpha * a b + beta * c on this thread alone. A matrix is described by its leading dimension
// and whether it is stored transposed; c is row-major.
struct Product {
  int64_t rows, columns, depth;
  const void* a;
  int64_t a_leading;
  bool a_transposed;
  const void* b;
  int64_t b_leading;
  bool b_transposed;
  void* c;
  int64_t c_leading;
};
void gemm(const Product& p, float alpha, float beta);
void gemm(const Product& p, double alpha, double beta);
void gemm(const Product& p, c64 alpha, c64 beta);
void gemm(const Product& p, c128 alpha, c128 beta);

}  // namespace msa::cpu::blas
