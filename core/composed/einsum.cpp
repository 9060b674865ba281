// einsum: operands are contracted from left to right, each pair as one batched matrix product.
#include <algorithm>
#include <cctype>
#include <map>
#include <string>

#include "generated/composed_product.h"
#include "generated/ops_elementwise.h"
#include "generated/ops_linalg.h"
#include "generated/ops_reduce.h"
#include "generated/ops_shape.h"
#include "generated/ops_view.h"

namespace msa::composed {
namespace {

// A subscript: a letter, or a negative number for a dimension of the ellipsis, -1 the last.
using Labels = std::vector<int>;

struct Term {
  Tensor tensor;
  Labels labels;
};

bool has(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

std::string without_spaces(std::string_view text) {
  std::string out;
  for (char c : text)
    if (c != ' ') out += c;
  return out;
}

// The labels of one comma-separated part; `hidden` dimensions stand behind its ellipsis.
Labels parse(std::string_view part, int64_t hidden) {
  Labels out;
  for (size_t i = 0; i < part.size(); ++i) {
    if (part.substr(i, 3) == "...") {
      for (int64_t k = hidden; k > 0; --k) out.push_back(static_cast<int>(-k));
      i += 2;
    } else {
      MSA_REQUIRE(std::isalpha(static_cast<unsigned char>(part[i])), Runtime,
                  "einsum(): invalid subscript given at index ", i,
                  " in the equation string part '", part, "', subscripts must be in [a-zA-Z]");
      out.push_back(part[i]);
    }
  }
  return out;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out(1);
  for (char c : text) {
    if (c == ',') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

// A label that stands twice in one operand reads its diagonal.
Term without_repeats(Term term) {
  for (size_t i = 0; i < term.labels.size(); ++i)
    for (size_t j = i + 1; j < term.labels.size();) {
      if (term.labels[i] != term.labels[j]) {
        ++j;
        continue;
      }
      auto a = static_cast<int64_t>(i), b = static_cast<int64_t>(j);
      MSA_REQUIRE(term.tensor.size(a) == term.tensor.size(b), Runtime, "einsum(): subscript ",
                  static_cast<char>(term.labels[i]),
                  " is repeated for one operand but the sizes don't match, ", term.tensor.size(b),
                  " != ", term.tensor.size(a));
      term.tensor = ops::movedim(ops::diagonal(term.tensor, 0, a, b), {-1}, {a});
      term.labels.erase(term.labels.begin() + static_cast<int64_t>(j));
    }
  return term;
}

// Sums over what neither the result nor a later operand names.
Term summed(Term term, const auto& wanted) {
  Dims dims;
  Labels left;
  for (size_t i = 0; i < term.labels.size(); ++i)
    wanted(term.labels[i]) ? left.push_back(term.labels[i])
                           : dims.push_back(static_cast<int64_t>(i));
  if (!dims.empty()) term.tensor = ops::sum_dim(term.tensor, dims);
  return {term.tensor, left};
}

// The dimensions in the order of `labels`, each a view of the operand; missing ones have size 1.
Tensor arranged(const Term& term, const Labels& labels) {
  Dims order;
  for (int label : labels)
    if (has(term.labels, label))
      order.push_back(std::find(term.labels.begin(), term.labels.end(), label) -
                      term.labels.begin());
  Tensor out = ops::permute(term.tensor, order);
  for (size_t i = 0; i < labels.size(); ++i)
    if (!has(term.labels, labels[i])) out = ops::unsqueeze(out, static_cast<int64_t>(i));
  return out;
}

int64_t size_of(const Term& term, int label) {
  auto at = std::find(term.labels.begin(), term.labels.end(), label);
  return at == term.labels.end() ? 1 : term.tensor.sizes()[at - term.labels.begin()];
}

// Both operands' product, summed over the labels that `wanted` leaves: (shared, left, summed) times
// (shared, summed, right). Dimensions of size 1 broadcast.
Term contracted(const Term& a, const Term& b, const auto& wanted) {
  Labels shared, left, right, inner;
  for (int label : a.labels) {
    bool kept = wanted(label), common = has(b.labels, label);
    MSA_REQUIRE(!common || size_of(a, label) == size_of(b, label) || size_of(a, label) == 1 ||
                    size_of(b, label) == 1,
                Runtime, "einsum(): the operands do not broadcast: sizes ", size_of(a, label),
                " and ", size_of(b, label), " of one subscript");
    (kept ? (common ? shared : left) : inner).push_back(label);
  }
  for (int label : b.labels)
    if (!has(a.labels, label)) right.push_back(label);
  auto sizes_of = [&](const Labels& labels) {
    Dims out;
    for (int label : labels) out.push_back(std::max(size_of(a, label), size_of(b, label)));
    for (size_t i = 0; i < labels.size(); ++i)
      if (size_of(a, labels[i]) == 0 || size_of(b, labels[i]) == 0) out[i] = 0;
    return out;
  };
  auto joined = [](std::initializer_list<Labels> parts) {
    Labels out;
    for (const Labels& part : parts) out.insert(out.end(), part.begin(), part.end());
    return out;
  };
  auto as_batch = [&](const Term& t, const Labels& rows, const Labels& columns) {
    Labels order = joined({shared, rows, columns});
    Tensor wide = ops::_expand(arranged(t, order), sizes_of(order));
    return ops::reshape(
        wide, {product(sizes_of(shared)), product(sizes_of(rows)), product(sizes_of(columns))});
  };
  if (inner.empty()) {
    const Labels labels = joined({shared, left, right});
    return {ops::mul(arranged(a, labels), arranged(b, labels)), labels};
  }
  Tensor result = ops::bmm(as_batch(a, left, inner), as_batch(b, inner, right));
  Labels labels = joined({shared, left, right});
  return {ops::reshape(result, sizes_of(labels)), labels};
}

// The result's labels when the equation names none: the ellipsis, then the letters that stand once
// in all of what was `written`, sorted. "ii" is a trace: its letter stands twice.
Labels implied(const Labels& written, int64_t hidden) {
  std::map<int, int> uses;
  Labels out;
  for (int64_t k = hidden; k > 0; --k) out.push_back(static_cast<int>(-k));
  for (int label : written)
    if (label > 0) ++uses[label];
  for (auto [label, count] : uses)
    if (count == 1) out.push_back(label);
  return out;
}

}  // namespace

Tensor _einsum(std::string_view equation, const TensorList& operands) {
  MSA_REQUIRE(!operands.empty(), Runtime, "einsum(): must provide at least one operand");
  std::string text = without_spaces(equation), left = text.substr(0, text.find("->"));
  std::vector<std::string> parts = split(left);
  MSA_REQUIRE(parts.size() == operands.size(), Runtime, "einsum(): ",
              parts.size() < operands.size()
                  ? "more operands were provided than specified in the equation"
                  : "fewer operands were provided than specified in the equation",
              ": ", operands.size(), " for '", equation, "'");
  std::vector<Term> terms;
  Labels written;
  int64_t most_hidden = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    bool dots = parts[i].find("...") != std::string::npos;
    int64_t named = static_cast<int64_t>(parts[i].size()) - (dots ? 3 : 0),
            hidden = operands[i].dim() - named;
    MSA_REQUIRE(dots ? hidden >= 0 : hidden == 0, Runtime,
                "einsum(): the number of subscripts in the equation (", named,
                ") does not match the number of dimensions (", operands[i].dim(), ") for operand ",
                i, dots ? "" : " and no ellipsis was given");
    most_hidden = std::max(most_hidden, hidden);
    Labels labels = parse(parts[i], hidden);
    written.insert(written.end(), labels.begin(), labels.end());
    terms.push_back(without_repeats({operands[i], labels}));
  }
  bool explicit_result = left.size() != text.size();
  Labels result = explicit_result
                      ? parse(std::string_view(text).substr(left.size() + 2), most_hidden)
                      : implied(written, most_hidden);
  for (size_t i = 0; i < result.size(); ++i) {
    bool known = result[i] < 0 || std::any_of(terms.begin(), terms.end(), [&](const Term& t) {
                   return has(t.labels, result[i]);
                 });
    MSA_REQUIRE(known && std::count(result.begin(), result.end(), result[i]) == 1, Runtime,
                "einsum(): output subscript ", static_cast<char>(result[i]),
                known ? " appears more than once in the output"
                      : " does not appear in the equation for any input operand");
  }
  auto wanted_from = [&](size_t next) {
    return [&, next](int label) {
      return has(result, label) ||
             std::any_of(terms.begin() + static_cast<int64_t>(next), terms.end(),
                         [&](const Term& t) { return has(t.labels, label); });
    };
  };
  Term out = terms.size() == 1 ? terms[0] : summed(terms[0], wanted_from(1));
  for (size_t i = 1; i < terms.size(); ++i) {
    auto in_other = [&](int label) { return wanted_from(i + 1)(label) || has(out.labels, label); };
    out = contracted(out, summed(terms[i], in_other), wanted_from(i + 1));
  }
  return arranged(summed(out, wanted_from(terms.size())), result);
}

}  // namespace msa::composed
