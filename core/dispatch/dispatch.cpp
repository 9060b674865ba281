// Small state of the dispatcher: the thread's word, default device, rows by name.
#include <unordered_map>

#include "core/dispatch/op_info.h"
#include "core/dispatch/thread_state.h"

namespace msa {

constinit thread_local ThreadState thread_state;

namespace {
thread_local Device default_device_;
}

Device default_device() { return default_device_; }
void set_default_device(Device d) { default_device_ = d; }

const Tensor& Value::undefined_tensor() {
  static const Tensor none;
  return none;
}

const OpInfo* find_op(std::string_view name, std::string_view overload) {
  static const auto& by_name =
      [] {
        auto& map = *new std::unordered_map<std::string, const OpInfo*>;
        for (size_t i = 0; i < op_count; ++i)
          map.emplace(cat(op_table[i]->name, '.', op_table[i]->overload), op_table[i]);
        return std::cref(map);
      }()
          .get();
  auto found = by_name.find(cat(name, '.', overload));
  return found == by_name.end() ? nullptr : found->second;
}

}  // namespace msa
