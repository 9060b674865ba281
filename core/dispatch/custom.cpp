// The table of custom rows, and a function for each place in it: OpInfo::call carries no data.
#include "core/dispatch/custom.h"

#include <array>
#include <utility>

namespace msa {
namespace {

std::vector<std::unique_ptr<CustomRow>>& rows() {
  static auto& all = *new std::vector<std::unique_ptr<CustomRow>>;
  return all;
}

template <size_t N>
void call_row(const Value* args, Results& results) {
  rows()[N]->body(args, results);
}
template <size_t... N>
constexpr std::array<Boxed, sizeof...(N)> make_calls(std::index_sequence<N...>) {
  return {&call_row<N>...};
}
constexpr auto kCalls = make_calls(std::make_index_sequence<kCustomRows>());

}  // namespace

const OpInfo& add_custom_row(std::unique_ptr<CustomRow> row, int n_positional) {
  MSA_REQUIRE(rows().size() < kCustomRows, Runtime, row->name, ": there are ", kCustomRows,
              " custom operators already, which is the most that there can be");
  OpInfo& info = row->info;
  info.name = row->name.c_str();
  info.overload = row->overload.c_str();
  info.schema = row->schema.c_str();
  info.params = row->params.data();
  info.n_params = static_cast<uint8_t>(row->params.size());
  info.n_positional = static_cast<uint8_t>(n_positional);
  info.call = kCalls[rows().size()];
  rows().push_back(std::move(row));
  return rows().back()->info;
}

void call_custom(const OpInfo& op, const Value* args, Results& results) {
  if (thread_state.layers_active)
    call_layered(op, Form::Function, args, results);
  else
    op.call(args, results);
}

}  // namespace msa
