// Layouts against answers stored from PyTorch: contiguity, broadcasting, every view, the refusals.
#include <doctest/doctest.h>

#include "generated/layouts_view.h"

using namespace msa;

namespace {

std::string text(const Layout& l) { return cat(l.sizes, " ", l.strides, " ", l.offset); }

std::string text(const std::vector<Layout>& list) {
  std::string s;
  for (const Layout& l : list) s += (s.empty() ? "" : "; ") + text(l);
  return s;
}

Layout dense(Dims sizes) { return {sizes, contiguous_strides(sizes), 0}; }

template <class F>
ErrorKind kind_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.kind;
  }
  FAIL("no error was raised");
  return ErrorKind::Runtime;
}

const Layout kCube = dense({2, 3, 4});
const Layout kTurned = layouts::permute(kCube, {2, 0, 1});  // (4, 2, 3) with strides (1, 12, 4)

}  // namespace

TEST_CASE("contiguity looks through dimensions of size 1 and empty tensors") {
  CHECK(is_contiguous(Dims{2, 1, 4}, Dims{4, 77, 1}));
  CHECK(is_contiguous(Dims{2, 0}, Dims{5, 5}));
  CHECK(is_contiguous(Dims{}, Dims{}));
  CHECK_FALSE(is_contiguous(kTurned.sizes, kTurned.strides));
  CHECK(is_channels_last(Dims{2, 3, 4, 5}, Dims{60, 1, 15, 3}));
  CHECK_FALSE(is_channels_last(Dims{2, 3, 4, 5}, Dims{60, 20, 5, 1}));
  CHECK(is_channels_last(Dims{2, 3, 2, 4, 5}, Dims{120, 1, 60, 15, 3}));
  CHECK(text({{}, channels_last_strides(Dims{2, 3, 4, 5}), 0}) == "() (60, 1, 15, 3) 0");
  CHECK(text({{}, contiguous_strides(Dims{2, 0, 3}), 0}) == "() (3, 3, 1) 0");
}

TEST_CASE("dense means without holes and without overlap") {
  CHECK(is_dense(kTurned.sizes, kTurned.strides));
  CHECK_FALSE(is_dense(Dims{2, 3}, Dims{4, 1}));
  CHECK_FALSE(is_dense(Dims{2, 3}, Dims{1, 0}));
  CHECK(may_overlap_itself(Dims{3, 2}, Dims{1, 1}));
  CHECK_FALSE(may_overlap_itself(Dims{3, 2}, Dims{8, 3}));
  CHECK(is_expanded(Dims{3, 2}, Dims{0, 1}));
  CHECK_FALSE(is_expanded(Dims{1, 2}, Dims{0, 1}));
}

TEST_CASE("a copy keeps the order of the strides") {
  CHECK(preserved_strides(kTurned.sizes, kTurned.strides) == kTurned.strides);
  CHECK(preserved_strides(Dims{2, 3, 4}, Dims{24, 1, 6}) == Dims{12, 1, 3});
  CHECK(preserved_strides(Dims{2, 3}, Dims{0, 2}) == Dims{3, 1});
}

TEST_CASE("broadcasting") {
  CHECK(broadcast_sizes("add", Dims{2, 1, 4}, Dims{3, 1}) == Dims{2, 3, 4});
  CHECK(broadcast_sizes("add", Dims{}, Dims{0}) == Dims{0});
  CHECK(expanded_strides(Dims{3, 1}, Dims{1, 9}, Dims{2, 3, 4}) == Dims{0, 1, 0});
  try {
    broadcast_sizes("add", Dims{2, 5}, Dims{3, 5});
    FAIL("no error was raised");
  } catch (const Error& e) {
    CHECK(e.text == "add: cannot broadcast (2, 5) with (3, 5): dim 0 is 2 and 3");
  }
}

TEST_CASE("view finds strides, or none") {
  CHECK(text(layouts::view(kCube, {6, -1})) == "(6, 4) (4, 1) 0");
  CHECK(text(layouts::view(kTurned, {2, 2, 6})) == "(2, 2, 6) (2, 1, 4) 0");
  CHECK(text(layouts::view(dense({0, 3}), {3, 0, 2})) == "(3, 0, 2) (2, 2, 1) 0");
  CHECK(text(layouts::view(dense({}), {1, 1})) == "(1, 1) (1, 1) 0");
  CHECK_FALSE(view_strides(kTurned.sizes, kTurned.strides, Dims{8, 3}));
  CHECK(kind_of([] { layouts::view(kTurned, {24}); }) == ErrorKind::Runtime);
  CHECK(kind_of([] { layouts::view(kCube, {-1, -1}); }) == ErrorKind::Runtime);
  CHECK(kind_of([] { layouts::view(kCube, {5, -1}); }) == ErrorKind::Runtime);
  CHECK(kind_of([] { layouts::view(dense({0}), {-1, 0}); }) == ErrorKind::Runtime);
}

TEST_CASE("views that keep every element") {
  CHECK(text(kTurned) == "(4, 2, 3) (1, 12, 4) 0");
  CHECK(text(layouts::transpose(kCube, 0, -1)) == "(4, 3, 2) (1, 4, 12) 0");
  CHECK(text(layouts::t(dense({2, 3}))) == "(3, 2) (1, 3) 0");
  CHECK(text(layouts::expand(dense({3, 1}), {2, -1, 4})) == "(2, 3, 4) (0, 1, 0) 0");
  CHECK(text(layouts::expand(dense({2, 2}), {1, 2, 2})) == "(1, 2, 2) (4, 2, 1) 0");
  CHECK(text(layouts::unsqueeze(kCube, 1)) == "(2, 1, 3, 4) (12, 12, 4, 1) 0");
  CHECK(text(layouts::unsqueeze(kCube, -1)) == "(2, 3, 4, 1) (12, 4, 1, 1) 0");
  CHECK(text(layouts::squeeze(dense({1, 3, 1}))) == "(3,) (1,) 0");
  CHECK(text(layouts::squeeze_dim(dense({1, 3, 1}), 0)) == "(3, 1) (1, 1) 0");
  CHECK(text(layouts::squeeze_dims(dense({1, 3, 1}), {0, 1})) == "(3, 1) (1, 1) 0");
  CHECK(kind_of([] { layouts::permute(kCube, {0, 0, 1}); }) == ErrorKind::Runtime);
  CHECK(kind_of([] { layouts::transpose(kCube, 0, 3); }) == ErrorKind::Index);
  CHECK(kind_of([] { layouts::t(kCube); }) == ErrorKind::Runtime);
  CHECK(kind_of([] { layouts::expand(kCube, {2, 5, 4}); }) == ErrorKind::Runtime);
}

TEST_CASE("views of a part") {
  CHECK(text(layouts::slice(kCube, 1, -2, {}, 1)) == "(2, 2, 4) (12, 4, 1) 4");
  CHECK(text(layouts::slice(kCube, 2, 1, 100, 2)) == "(2, 3, 2) (12, 4, 2) 1");
  CHECK(text(layouts::slice(kCube, 0, 5, 1, 1)) == "(0, 3, 4) (12, 4, 1) 24");
  CHECK(text(layouts::select(kCube, -1, -1)) == "(2, 3) (12, 4) 3");
  CHECK(text(layouts::narrow(kCube, 1, -2, 2)) == "(2, 2, 4) (12, 4, 1) 4");
  CHECK(text(layouts::diagonal(kCube, 1, 1, 2)) == "(2, 3) (12, 5) 1");
  CHECK(text(layouts::diagonal(kCube, -5, 0, 1)) == "(4, 0) (1, 16) 0");
  CHECK(text(layouts::unfold(kCube, 2, 2, 1)) == "(2, 3, 3, 2) (12, 4, 1, 1) 0");
  CHECK(text(layouts::unfold(dense({}), 0, 1, 1)) == "(1,) (1,) 0");
  CHECK(kind_of([] { layouts::slice(kCube, 0, 0, 1, 0); }) == ErrorKind::Runtime);
  CHECK(kind_of([] { layouts::select(kCube, 0, 2); }) == ErrorKind::Index);
  CHECK(kind_of([] { layouts::select(dense({}), 0, 0); }) == ErrorKind::Index);
  CHECK(kind_of([] { layouts::narrow(kCube, 1, 2, 2); }) == ErrorKind::Runtime);
  CHECK(kind_of([] { layouts::narrow(kCube, 1, 4, 0); }) == ErrorKind::Index);
  CHECK(kind_of([] { layouts::diagonal(kCube, 0, 1, 1); }) == ErrorKind::Runtime);
  CHECK(kind_of([] { layouts::unfold(kCube, 0, 3, 1); }) == ErrorKind::Runtime);
}

TEST_CASE("a step that leaves the range of integers still gives one element") {
  CHECK(text(layouts::slice(kCube, 0, {}, {}, INT64_MAX)) == "(1, 3, 4) (12, 4, 1) 0");
}

TEST_CASE("views in several pieces") {
  Layout five = dense({5, 2});
  CHECK(text(layouts::split(five, 2, 0)) == "(2, 2) (2, 1) 0; (2, 2) (2, 1) 4; (1, 2) (2, 1) 8");
  CHECK(text(layouts::split(dense({0}), 0, 0)) == "(0,) (1,) 0");
  CHECK(text(layouts::split_with_sizes(five, {0, 5}, 0)) == "(0, 2) (2, 1) 0; (5, 2) (2, 1) 0");
  CHECK(text(layouts::unbind(dense({2, 2}), 1)) == "(2,) (2,) 0; (2,) (2,) 1");
  CHECK(kind_of([&] { layouts::split(five, 0, 0); }) == ErrorKind::Runtime);
  CHECK(kind_of([&] { layouts::split_with_sizes(five, {2, 2}, 0); }) == ErrorKind::Runtime);
  CHECK(kind_of([&] { layouts::unbind(dense({}), 0); }) == ErrorKind::Index);
}

TEST_CASE("complex numbers as pairs") {
  CHECK(text(layouts::view_as_real({{2, 3}, {1, 2}, 5})) == "(2, 3, 2) (2, 4, 1) 10");
  CHECK(text(layouts::view_as_complex({{2, 3, 2}, {2, 4, 1}, 10})) == "(2, 3) (1, 2) 5");
  CHECK(kind_of([] { layouts::view_as_complex(dense({2, 3})); }) == ErrorKind::Runtime);
  CHECK(kind_of([] { layouts::view_as_complex({{2, 2}, {3, 1}, 0}); }) == ErrorKind::Runtime);
}
