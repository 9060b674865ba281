// The layer that dumps what operators take and give, and watches for the first NaN or infinity.
#pragma once
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/dispatch/layers.h"
#include "core/dump/statistics.h"
#include "core/dump/writer.h"

namespace msa::dump {

enum class Watch : uint8_t { Nothing, Nan, Infinite };  // Infinite: NaN too

struct Options {
  bool operators = true;  // dump operators; else only what `tensor` is given
  bool elements = false;  // files of elements beside the statistics
  bool inputs = false, outputs = true;
  bool graph = false;  // a line for each call, with where its inputs come from
  Watch watch = Watch::Nothing;
  std::string names;      // a regular expression that "module/operator" must contain; "": all
  size_t most_bytes = 0;  // that may wait for the disk; 0: written at once
};

class Recorder final : public Layer {
 public:
  explicit Recorder(Options options);
  Level level() const override { return Level::Outermost; }
  void call(LayerCall& call) override;

  // What follows belongs to this folder (one for each step); "" for steps that are not dumped.
  void set_folder(std::string folder);
  void set_module(std::string path);
  const std::string& module() const { return module_; }
  // A tensor that Python brings: a module's, a gradient.
  void tensor(const std::string& type, const std::string& name, const std::string& side, int slot,
              const Tensor& t);
  void flush() { writer_.flush(); }

 private:
  bool wanted(const std::string& type);
  void values(const LayerCall& call, const std::string& name, const std::string& side,
              const std::vector<Tensor>& tensors);
  void note_call(const std::string& type, const std::string& name,
                 const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs);
  void watch(const LayerCall& call, const std::vector<Tensor>& inputs,
             const std::vector<Tensor>& outputs);

  void note_nodes(const std::vector<Tensor>& outputs);
  std::string place() const;

  const Options options_;
  const std::regex pattern_;
  Writer writer_;
  std::string folder_, module_;
  std::map<std::string, int> calls_;  // of each operator in each module, in this step
  std::unordered_map<std::string, bool> wanted_;
  std::unordered_map<const TensorImpl*, int> makers_;  // of the graph's tensors
  std::vector<Tensor> kept_;                           // so that no address comes twice
  std::unordered_map<uint64_t, std::string> made_in_;  // nodes of this step -> modules; for `watch`
  int n_calls_ = 0;
};

}  // namespace msa::dump
