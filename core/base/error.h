// Errors that leave the core; the bindings turn each kind into PyTorch's exception type.
#pragma once
#include <exception>
#include <string>
#include <string_view>

namespace msa {

enum class ErrorKind { Runtime, Value, Type, Index, NotImplemented, OutOfMemory, LinAlg };

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string text) : kind(kind), text(std::move(text)) {}
  const char* what() const noexcept override { return text.c_str(); }
  ErrorKind kind;
  std::string text;
};

// A Python exception is already set; unwind to the bindings and leave it as it is.
struct PythonError : std::exception {};

namespace detail {
// Being of this namespace, it lets `cat` find the overloads that later headers declare.
struct Text : std::string {};
void append(std::string& s, std::string_view v);
void append(std::string& s, const char* v);
void append(std::string& s, char v);
void append(std::string& s, bool v);
void append(std::string& s, double v);
void append(std::string& s, long long v);
inline void append(std::string& s, int v) { append(s, static_cast<long long>(v)); }
inline void append(std::string& s, unsigned v) { append(s, static_cast<long long>(v)); }
inline void append(std::string& s, long v) { append(s, static_cast<long long>(v)); }
inline void append(std::string& s, unsigned long v) { append(s, static_cast<long long>(v)); }
}  // namespace detail

// Joins its arguments to one string; types add their own `append` overload in detail.
template <class... Args>
std::string cat(const Args&... args) {
  detail::Text s;
  (append(s, args), ...);
  return s;
}

// fail(ErrorKind::Index, "select: ", ...). Kept out of line and cold.
template <class... Args>
[[noreturn, gnu::cold, gnu::noinline]] void fail(ErrorKind kind, const Args&... args) {
  throw Error(kind, cat(args...));
}

// require(ok, kind, text...): throws unless ok.
#define MSA_REQUIRE(ok, kind, ...)                                                    \
  do {                                                                                \
    if (__builtin_expect(!(ok), 0)) ::msa::fail(::msa::ErrorKind::kind, __VA_ARGS__); \
  } while (0)

}  // namespace msa
