// Opens OpenBLAS (the build that SciPy publishes, symbols prefixed) and calls its matrix products.
#include "kernels/cpu/blas.h"

#include <dlfcn.h>

namespace msa::cpu::blas {
namespace {

// OpenBLAS' C interface: 32-bit sizes; order 101 is row-major, 111 plain, 112 transposed.
constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;
template <class Alpha, class T>
using Gemm = void (*)(int, int, int, int, int, int, Alpha, const T*, int, const T*, int, Alpha, T*,
                      int);

struct Library {
  Gemm<float, float> sgemm = nullptr;
  Gemm<double, double> dgemm = nullptr;
  Gemm<const void*, c64> cgemm = nullptr;
  Gemm<const void*, c128> zgemm = nullptr;
  void* handle = nullptr;
  bool loaded = false;
};
Library library;
std::string chosen_path;

template <class F>
bool resolve(void* handle, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(handle, name));
  return function != nullptr;
}

// The folder that installed packages share, from where this module lies in one of them.
std::string beside_the_package() {
  Dl_info here;
  if (!dladdr(reinterpret_cast<void*>(&beside_the_package), &here) || !here.dli_fname) return "";
  std::string path = here.dli_fname;
  for (int up = 0; up < 2; ++up) path.resize(std::min(path.size(), path.rfind('/')));
  return path + "/scipy_openblas32/lib/libscipy_openblas.so";
}

void* open_library() {
  for (const std::string& path :
       {chosen_path, beside_the_package(), std::string("libscipy_openblas.so")}) {
    if (path.empty()) continue;
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  return nullptr;
}

void load() {
  void* handle = library.handle = open_library();
  if (!handle) return;
  void (*set_num_threads)(int) = nullptr;
  library.loaded = resolve(handle, "scipy_openblas_set_num_threads", set_num_threads) &&
                   resolve(handle, "scipy_cblas_sgemm", library.sgemm) &&
                   resolve(handle, "scipy_cblas_dgemm", library.dgemm) &&
                   resolve(handle, "scipy_cblas_cgemm", library.cgemm) &&
                   resolve(handle, "scipy_cblas_zgemm", library.zgemm);
  // We split the work over our own threads: a fork then finds no second pool to repair.
  if (library.loaded) set_num_threads(1);
}

template <class Alpha, class T>
void call(Gemm<Alpha, T> function, const Product& p, Alpha alpha, Alpha beta) {
  function(kRowMajor, p.a_transposed ? kTransposed : kPlain, p.b_transposed ? kTransposed : kPlain,
           static_cast<int>(p.rows), static_cast<int>(p.columns), static_cast<int>(p.depth), alpha,
           static_cast<const T*>(p.a), static_cast<int>(p.a_leading), static_cast<const T*>(p.b),
           static_cast<int>(p.b_leading), beta, static_cast<T*>(p.c),
           static_cast<int>(p.c_leading));
}

}  // namespace

void set_path(std::string path) { chosen_path = std::move(path); }

bool available() {
  // Not std::call_once: its thread-locals, read as initial-exec, could not be had once PyTorch is
  // loaded.
  static const bool loaded = (load(), library.loaded);
  return loaded;
}

void* symbol(const char* name) {
  return available() ? dlsym(library.handle, ("scipy_" + std::string(name)).c_str()) : nullptr;
}

void gemm(const Product& p, float alpha, float beta) { call(library.sgemm, p, alpha, beta); }
void gemm(const Product& p, double alpha, double beta) { call(library.dgemm, p, alpha, beta); }
void gemm(const Product& p, c64 alpha, c64 beta) {
  call<const void*, c64>(library.cgemm, p, &alpha, &beta);
}
void gemm(const Product& p, c128 alpha, c128 beta) {
  call<const void*, c128>(library.zgemm, p, &alpha, &beta);
}

}  // namespace msa::cpu::blas
