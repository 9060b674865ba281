// The queue between a training and the disk.
#include "core/dump/writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/base/lock.h"
#include "core/dispatch/host.h"
#include "kernels/cpu/contiguous.h"

namespace msa::dump {
namespace {

std::string numpy_descr(DType t) {
  if (t == DType::Bool) return "|b1";
  const size_t bytes = size_bytes(t);
  const char kind = is_complex(t) ? 'c' : is_floating(t) ? 'f' : info(t).is_signed ? 'i' : 'u';
  return std::string(bytes == 1 ? "|" : "<") + kind + std::to_string(bytes);
}

// The dtype that the elements are written as: NumPy has no bfloat16, float8 and complex32.
DType numpys(DType t) {
  if (t == DType::C32) return DType::C64;
  return t == DType::BF16 || is_float8(t) ? DType::F32 : t;
}

// The file's bytes: header, padded to 64, and elements.
std::string npy_of(const Tensor& given) {
  Tensor t = in_host(given);
  t = cpu::contiguous(t, numpys(t.dtype()));
  std::string shape;
  for (size_t i = 0; i < t.sizes().size(); ++i) shape += std::to_string(t.sizes()[i]) + ", ";
  if (t.sizes().size() > 1) shape.resize(shape.size() - 2);
  std::string header = cat("{'descr': '", numpy_descr(t.dtype()),
                           "', 'fortran_order': False, 'shape': (", shape, "), }");
  constexpr size_t kPrefix = 10;
  header.resize((kPrefix + header.size() + 1 + 63) / 64 * 64 - kPrefix - 1, ' ');
  header += '\n';
  const char prefix[kPrefix] = {'\x93',
                                'N',
                                'U',
                                'M',
                                'P',
                                'Y',
                                1,
                                0,
                                static_cast<char>(header.size() & 255),
                                static_cast<char>(header.size() >> 8)};
  std::string bytes(prefix, kPrefix);
  bytes.reserve(kPrefix + header.size() + static_cast<size_t>(t.numel()) * t.item_bytes());
  bytes += header;
  bytes.append(t.data<char>(), static_cast<size_t>(t.numel()) * t.item_bytes());
  return bytes;
}

std::string write_fully(int file, const char* from, size_t bytes) {
  while (bytes > 0) {
    const ssize_t done = ::write(file, from, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return std::strerror(errno);
    from += done;
    bytes -= static_cast<size_t>(done);
  }
  return "";
}

}  // namespace

Writer::Writer(size_t most_bytes) : most_bytes_(most_bytes) {}

Writer::~Writer() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (open_file_ >= 0) close(open_file_);
}

void Writer::check() {
  std::string problem;
  {
    const std::lock_guard lock(mutex_);
    problem = problem_;
  }
  MSA_REQUIRE(problem.empty(), Runtime, "dump: ", problem);
}

void Writer::append(const std::string& path, const std::string& line) {
  check();
  if (path != open_path_) {
    if (open_file_ >= 0) close(open_file_);
    open_file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    MSA_REQUIRE(open_file_ >= 0, Runtime, "dump: cannot write ", path, ": ", std::strerror(errno));
    open_path_ = path;
  }
  const std::string problem = write_fully(open_file_, line.data(), line.size());
  MSA_REQUIRE(problem.empty(), Runtime, "dump: cannot write ", path, ": ", problem);
}

void Writer::save(const std::string& path, const Tensor& t) {
  check();
  File file{path, npy_of(t)};
  if (most_bytes_ == 0) {
    write(file);
    return check();
  }
  const Unlocked unlocked(true);
  std::unique_lock lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.wait(lock, [&] { return waiting_bytes_ == 0 || waiting_bytes_ < most_bytes_; });
  waiting_bytes_ += file.bytes.size();
  waiting_.push_back(std::move(file));
  changed_.notify_all();
}

void Writer::flush() {
  {
    const Unlocked unlocked(true);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.empty() && !writing_; });
  }
  check();
}

void Writer::write(const File& file) {
  const std::string part = file.path + ".part";
  std::string problem;
  const int to = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (to < 0) {
    problem = std::strerror(errno);
  } else {
    problem = write_fully(to, file.bytes.data(), file.bytes.size());
    close(to);
    if (problem.empty() && rename(part.c_str(), file.path.c_str()) != 0)
      problem = std::strerror(errno);
  }
  if (problem.empty()) return;
  const std::lock_guard lock(mutex_);
  if (problem_.empty()) problem_ = cat("cannot write ", file.path, ": ", problem);
}

void Writer::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const File file = std::move(waiting_.front());
    waiting_.pop_front();
    writing_ = true;
    lock.unlock();
    write(file);
    lock.lock();
    writing_ = false;
    waiting_bytes_ -= file.bytes.size();
    changed_.notify_all();
  }
}

}  // namespace msa::dump
