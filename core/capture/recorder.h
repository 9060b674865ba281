// The layer that writes a graph while a function runs.
#pragma once
#include <functional>
#include <memory>
#include <unordered_map>

#include "core/capture/graph.h"
#include "core/capture/watcher.h"

namespace msa::capture {

// The user's line that runs now, for messages; set by the bindings.
extern std::string (*where_hook)();

// Records what runs (the parts of composed operators) between its construction and `finish`, while
// the function computes as always. What cannot stand in a graph ends the recording with a reason;
// the function still runs to its end.
class Recorder final : public Layer, public Watcher {
 public:
  explicit Recorder(TensorsView inputs);
  ~Recorder() override;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  Level level() const override { return Level::Innermost; }
  void call(LayerCall& call) override;
  void made(Storage* storage) override;
  void reads(const Tensor& t, const char* how) override;
  void reseeded(const char* how) override;

  // One more input, first seen now: a number that Python computes anew before each run.
  void add_input(const Tensor& t);
  // In a pause nothing is recorded: Python moves its own numbers on.
  void pause(bool on) { inside_ = on; }
  void refuse(std::string reason);  // the first reason counts
  const std::string& reason() const { return reason_; }
  // Whether operators of this recording computed what the tensor holds.
  bool computed(const Tensor& t) const;
  TensorList captured() const;  // as they were first seen
  // The graph; null with a reason. Ends the recording.
  std::unique_ptr<Graph> finish(TensorsView outputs);

 private:
  // A way to see a memory: the whole of it as it was first seen (no parent), or a view.
  struct View {
    Layout layout;
    DType dtype;
    VarId var;
    uint32_t at;          // the count of writes for which `var` holds
    int32_t parent = -1;  // the view that it was taken of
    size_t node = 0;      // the node that took it, and its place among the results
    size_t place = 0;
  };
  struct Memory {
    Ref<Storage> storage;
    std::vector<View> views;  // the first is the whole
    VarId first = kNoVar;     // what the whole held at first
    uint32_t writes = 0;
    uint32_t version = 0;  // of the storage, after the changes that the recording has seen
    bool parts = false;    // captured tensors see different parts of it
  };
  // Memory that came into being during the recording, before a call has shown what it holds.
  struct Birth {
    const OpInfo* inside = nullptr;  // the operator that made it; null: made between operators
    int32_t node = -1;               // the node that keeps it for backward
    size_t place = 0;
    bool external = false;  // somebody else's (NumPy)
  };
  struct Seen {  // a captured tensor at first sight
    VarId var;
    Ref<Storage> storage;
    Layout layout;
  };

  // Values.
  VarId new_var(Var::Origin origin, const Tensor& t);
  Memory& memory_of(const Tensor& t);
  VarId first_var(const Tensor& t);
  size_t view_of(Memory& memory, const Tensor& t);
  bool inside_root(const Memory& memory, const Tensor& t) const;
  VarId restrided(Memory& memory, const Layout& layout, const Tensor& like);
  VarId current(Memory& memory, size_t index);
  VarId read(const Tensor& t);
  void write(const Tensor& t, VarId value);
  VarId updated(Memory& memory, const View& view, VarId value);

  // Calls.
  Arg argument(const Value& value);
  static Layout first_layout(const LayerCall& call);
  void note(LayerCall& call, Node node, const std::vector<uint32_t>& versions, const Layout& first);
  void note_result(const LayerCall& call, size_t index, size_t place, const Tensor& t);
  void note_left(size_t index, const LayerCall& call);
  void note_changes(const LayerCall& call, size_t index, const std::vector<uint32_t>& versions);
  void check_ends();
  void note_writes();

  Graph graph_;
  std::string reason_;
  std::unordered_map<const Storage*, Memory> memories_;
  std::unordered_map<const Storage*, Birth> births_;
  std::vector<Seen> seen_;
  std::vector<Ref<Storage>> made_inside_;  // by the operator that runs
  const OpInfo* running_ = nullptr;
  bool inside_ = false;  // an operator runs
  Watcher* before_;
};

}  // namespace msa::capture
