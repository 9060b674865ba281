// Writes a dump so that a crash leaves all that was finished readable: rows go to the system as
// they come, files of elements appear whole under their names.
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "core/tensor/tensor.h"

namespace msa::dump {

class Writer {
 public:
  // At most `most_bytes` wait for the disk; who brings more waits. 0: written at once.
  explicit Writer(size_t most_bytes);
  ~Writer();  // finishes what waits
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Appends a line to a file, which is there when this returns.
  void append(const std::string& path, const std::string& line);
  // A NumPy file of the tensor as it is now.
  void save(const std::string& path, const Tensor& t);
  // Waits until all is written.
  void flush();

 private:
  struct File {
    std::string path, bytes;
  };
  void write(const File& file);
  void run();
  void check();

  const size_t most_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<File> waiting_;
  size_t waiting_bytes_ = 0;
  bool writing_ = false, ending_ = false;
  std::string problem_;  // the first failure, raised by the next call
  std::string open_path_;
  int open_file_ = -1;  // of the rows
  std::thread thread_;  // started with the first file that may wait
};

}  // namespace msa::dump
