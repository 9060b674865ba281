// The few definitions behind core/base: the hooks and the text of errors.
#include <cstdio>

#include "core/base/error.h"
#include "core/base/lock.h"
#include "core/base/small_vec.h"
#include "core/base/warn.h"

namespace msa {

LockHooks lock_hooks;
void (*warn_hook)(const std::string&) = [](const std::string& text) {
  std::fprintf(stderr, "warning: %s\n", text.c_str());
};

namespace detail {
void append(std::string& s, std::string_view v) { s.append(v); }
void append(std::string& s, const char* v) { s.append(v); }
void append(std::string& s, char v) { s.push_back(v); }
void append(std::string& s, bool v) { s.append(v ? "True" : "False"); }
void append(std::string& s, double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", v);
  s.append(text);
}
void append(std::string& s, long long v) { s.append(std::to_string(v)); }
void append(std::string& s, DimsView dims) {
  s.push_back('(');
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i) s.append(", ");
    s.append(std::to_string(dims[i]));
  }
  s.append(dims.size() == 1 ? ",)" : ")");
}
}  // namespace detail

}  // namespace msa
