// Connects statements by variables, calls and conditions, and finds paths between them.
#include "harness/triage/slices.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

#include "harness/triage/statement_reader.h"

namespace assay::harness {

Slices::Slices(const Source& source, std::span<const std::uint32_t> executed, const KnownConstants& constants) {
  for (const SourcePiece& piece : source.pieces()) {
    if (!piece.is_macro) StatementReader(source, piece, constants, *this).read();
    for (const SourceToken& token : piece.tokens) {
      if (token.is("=")) assigning_.insert(source.place(token.offset).line);
    }
  }
  leave_out_unused(executed);
  connect();
}

void Slices::leave_out_unused(std::span<const std::uint32_t> executed) {
  std::vector<bool> is_used(functions_.size());
  for (const Statement& statement : statements_) {
    for (const std::uint32_t line : executed)
      is_used[statement.function] = is_used[statement.function] || (statement.first_line <= line && line <= statement.last_line);
  }
  for (Statement& statement : statements_) {
    if (statement.function == 0 || is_used[statement.function]) continue;
    for (std::size_t other = 1; other < functions_.size(); ++other) {
      if (is_used[other] && functions_[other] == functions_[statement.function]) statement = {};
    }
  }
}

bool Slices::is_global(std::uint32_t line) const {
  return std::ranges::none_of(statements_, [&](const Statement& statement) {
    return statement.function != 0 && statement.first_line <= line && line <= statement.last_line;
  });
}

bool Slices::shares_loop(const Statement& one, const Statement& other, std::size_t variable) const {
  const std::vector<std::size_t>& inner = variables_[variable].controls;
  return std::ranges::any_of(one.controls, [&](std::size_t control) {
    return statements_[control].is_loop && std::ranges::find(other.controls, control) != other.controls.end() &&
           std::ranges::find(inner, control) == inner.end();
  });
}

void Slices::connect() {
  behind_.resize(statements_.size());
  ahead_.resize(statements_.size());
  const auto link = [&](std::size_t from, std::size_t to, bool is_control, bool is_place = false, bool is_caller = false) {
    behind_[from].push_back({to, is_control, is_place, is_caller});
    ahead_[to].push_back({from, is_control, is_place, is_caller});
  };
  std::vector<std::vector<std::size_t>> definitions(variables_.size());
  for (std::size_t s = 0; s < statements_.size(); ++s) {
    for (const std::size_t variable : statements_[s].defines) definitions[variable].push_back(s);
  }
  for (std::size_t s = 0; s < statements_.size(); ++s) {
    const Statement& statement = statements_[s];
    for (const std::size_t control : statement.controls) link(s, control, true);
    for (const std::size_t variable : statement.uses) {
      const bool is_index = std::ranges::find(statement.indices, variable) != statement.indices.end();
      const bool is_place = is_index || std::ranges::find(statement.bases, variable) != statement.bases.end();
      for (const std::size_t d : definitions[variable]) {
        // What is stored in memory does not decide where a pointer to it points.
        const bool is_stored = std::ranges::find(statements_[d].stores, variable) != statements_[d].stores.end();
        if (d < s || (d != s && shares_loop(statement, statements_[d], variable))) link(s, d, false, is_index || (is_place && !is_stored));
      }
      const Variable& used = variables_[variable];
      if (used.parameter.empty()) continue;
      for (std::size_t other = 0; other < variables_.size(); ++other) {
        // Functions of a launch hand over what they store in buffers of the same name.
        if (variables_[other].parameter != used.parameter || variables_[other].function >= used.function) continue;
        for (const std::size_t d : definitions[other]) link(s, d, false, is_place);
      }
      for (std::size_t caller = 0; caller < statements_.size(); ++caller) {
        if (std::ranges::find(statements_[caller].calls, functions_[used.function]) != statements_[caller].calls.end())
          link(s, caller, false, true, true);
      }
    }
    for (const std::string_view call : statement.calls) {
      for (std::size_t inner = 0; inner < statements_.size(); ++inner) {
        if (statements_[inner].function != 0 && inner != s && functions_[statements_[inner].function] == call) link(s, inner, false, true);
      }
    }
  }
}

bool Slices::is_start(std::uint32_t line) const {
  if (!assigning_.contains(line)) return false;
  return std::ranges::any_of(statements_, [&](const Statement& statement) {
    if (line < statement.first_line || statement.last_line < line || statement.is_loop || !statement.uses.empty()) return false;
    return std::ranges::any_of(statements_, [&](const Statement& other) {
      return &other != &statement && other.controls.size() > statement.controls.size() &&
             std::ranges::any_of(statement.defines,
                                 [&](std::size_t variable) { return std::ranges::find(other.defines, variable) != other.defines.end(); });
    });
  });
}

bool Slices::is_loop(std::uint32_t line) const {
  return std::ranges::any_of(statements_, [&](const Statement& statement) {
    return statement.is_loop && statement.first_line <= line && line <= statement.last_line;
  });
}

std::string_view Slices::root_of(std::size_t variable) const {
  // A pointer that is assigned in a loop may point into itself.
  constexpr int most = 8;
  for (int i = 0; i < most && variables_[variable].within; ++i) variable = *variables_[variable].within;
  return variables_[variable].name;
}

std::set<std::string_view> Slices::arrays_of(std::uint32_t line) const {
  std::set<std::string_view> found;
  for (const Statement& statement : statements_) {
    if (line < statement.first_line || statement.last_line < line) continue;
    for (const auto& [base, deciding] : statement.accesses) found.insert(root_of(base));
  }
  return found;
}

namespace {

bool has_one_of(const std::vector<std::size_t>& all, const std::set<std::size_t>& some) {
  return std::ranges::any_of(all, [&](std::size_t one) { return some.contains(one); });
}

}  // namespace

Slices::Decided Slices::decided_by(std::uint32_t line) const {
  Decided decided = {.limits_loop = is_loop(line), .arrays = {}};
  std::set<std::size_t> defined;
  for (const Statement& statement : statements_) {
    if (statement.first_line <= line && line <= statement.last_line) defined.insert(statement.defines.begin(), statement.defines.end());
  }
  constexpr int far = 4;
  for (int distance = 0; distance < far && !decided.limits_loop && decided.arrays.empty(); ++distance) {
    std::set<std::size_t> next = defined;
    for (const Statement& statement : statements_) {
      for (const auto& [base, deciding] : statement.accesses) {
        if (has_one_of(deciding, defined)) decided.arrays.insert(root_of(base));
      }
      if (!has_one_of(statement.uses, defined)) continue;
      if (statement.is_loop && line < statement.first_line) decided.limits_loop = true;
      next.insert(statement.defines.begin(), statement.defines.end());
    }
    defined = std::move(next);
  }
  return decided;
}

std::map<std::uint32_t, double> Slices::reach(const Edges& edges, std::span<const std::uint32_t> lines, const SliceCosts& costs) const {
  std::vector<double> distance(statements_.size(), std::numeric_limits<double>::infinity());
  using Open = std::pair<double, std::size_t>;
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  for (std::size_t s = 0; s < statements_.size(); ++s) {
    const bool begins = std::ranges::any_of(
        lines, [&](std::uint32_t line) { return statements_[s].first_line <= line && line <= statements_[s].last_line; });
    if (!begins) continue;
    distance[s] = 0;
    open.emplace(0.0, s);
  }
  while (!open.empty()) {
    const auto [so_far, s] = open.top();
    open.pop();
    if (so_far > distance[s]) continue;
    for (const Edge& edge : edges[s]) {
      if (costs.of_place && so_far == 0 && !edge.is_control && !edge.is_place) continue;
      if (!costs.of_conditions && edge.is_control && !statements_[edge.to].is_loop) continue;
      if (!costs.of_callers && edge.is_caller) continue;
      const double further = so_far + (edge.is_control ? costs.control : costs.data);
      if (further >= distance[edge.to]) continue;
      distance[edge.to] = further;
      open.emplace(further, edge.to);
    }
  }
  std::map<std::uint32_t, double> reached;
  for (std::size_t s = 0; s < statements_.size(); ++s) {
    if (distance[s] == std::numeric_limits<double>::infinity()) continue;
    for (std::uint32_t line = statements_[s].first_line; line <= statements_[s].last_line; ++line) {
      const auto [found, is_new] = reached.try_emplace(line, distance[s]);
      if (!is_new) found->second = std::min(found->second, distance[s]);
    }
  }
  return reached;
}

std::map<std::uint32_t, double> Slices::behind(std::span<const std::uint32_t> lines, const SliceCosts& costs) const {
  return reach(behind_, lines, costs);
}

std::map<std::uint32_t, double> Slices::ahead(std::span<const std::uint32_t> lines, const SliceCosts& costs) const {
  return reach(ahead_, lines, costs);
}

namespace {

// The nearest executed line that depends on a line of each list, and on which no right line depends; the first of several. 0: none.
std::uint32_t first_behind(const Slices& slices, const Dice& dice, const std::map<std::uint32_t, double>& known) {
  std::map<std::uint32_t, std::pair<std::size_t, double>> reached;  // number of lists and sum of costs
  std::uint32_t last_needed = 0;
  for (const std::vector<std::uint32_t>& needed : dice.needed) {
    for (const std::uint32_t line : needed) last_needed = std::max(last_needed, line);
    for (const auto& [line, distance] : slices.ahead(needed, {.data = 1, .control = 2})) {
      ++reached[line].first;
      reached[line].second += distance;
    }
  }
  std::uint32_t first = 0;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [line, found] : reached) {
    const bool is_executed = std::ranges::find(dice.executed, line) != dice.executed.end();
    // A line in front of the right ones follows them only in the next round of a loop.
    constexpr double next_round = 0.5;
    const double cost = found.second + (line < last_needed ? next_round : 0.0);
    // A line that has one of the values that it needs may make the wrong one of it.
    const auto right = known.find(line);
    const bool is_right = right != known.end() && (right->second > 0 || dice.needed.size() < 2);
    const bool is_settled = std::ranges::find(dice.settled, line) != dice.settled.end();
    if (found.first != dice.needed.size() || is_right || is_settled || found.second == 0 || !is_executed || cost >= least) continue;
    first = line;
    least = cost;
  }
  return first;
}

}  // namespace

LineSuspicion suspicion_of(const Slices& slices, const Dice& dice) {
  // Lines that right values depend on too are rarely the ones.
  constexpr double exonerated = 0.12;
  constexpr double shared = 2, alone = 0.7;
  constexpr double follows_unknown = 0.9, follows = 0.1;
  SliceCosts costs = dice.is_missing ? SliceCosts{.data = 1.5, .control = 0.4} : SliceCosts{.data = 1, .control = 2};
  costs.of_place = dice.is_load;
  const SliceCosts forwards = {.data = 1, .control = 2};
  std::map<std::uint32_t, double> known = slices.behind(dice.right, {.of_conditions = false, .of_callers = false});
  known.merge(slices.behind(dice.right_loads, {.of_place = true, .of_conditions = false, .of_callers = false}));
  using Fault = LineSuspicion::Fault;
  LineSuspicion suspicion;
  suspicion.fault = dice.is_missing ? Fault::limit : dice.is_load ? Fault::place : Fault::amount;
  const auto add = [&](std::uint32_t line, double value) {
    double& kept = suspicion.by_line[line];
    kept = std::max(kept, value);
  };
  const std::uint32_t wrong[] = {dice.wrong != 0 ? dice.wrong : first_behind(slices, dice, known)};
  const std::map<std::uint32_t, double> others = slices.behind(dice.also_wrong, costs);
  for (const auto& [line, distance] : slices.behind(wrong, costs)) {
    const bool is_settled = std::ranges::find(dice.settled, line) != dice.settled.end();
    const bool is_known = (known.contains(line) || is_settled) && line != wrong[0];
    const double weight = dice.also_wrong.empty() ? 1 : others.contains(line) ? shared : alone;
    // A wrong place is computed in front of the line that uses it; constants of a file are rarely wrong.
    constexpr double itself = 0.55, far = 4, near = 2, constants = 0.3;
    const bool is_user = ((dice.is_place && !dice.has_index) || dice.is_shared || dice.is_missing) && line == wrong[0];
    // If no value is missing, loops are right.
    const bool is_fixed = slices.is_global(line) || ((!dice.is_missing || dice.is_inside) && slices.is_loop(line));
    const bool is_symptom =
        dice.is_common && !dice.also_wrong.empty() && (line == wrong[0] || std::ranges::count(dice.also_wrong, line) != 0);
    constexpr double start = 6;
    const double own = is_user ? itself : is_fixed || is_symptom ? constants : dice.is_start && slices.is_start(line) ? start : 1.0;
    add(line, own * weight * (is_known ? exonerated : 1.0) / (1 + distance / (dice.is_place ? far : near)));
  }
  if (dice.wrong == 0) {
    for (const std::vector<std::uint32_t>& needed : dice.needed) {
      for (const auto& [line, distance] : slices.ahead(needed, forwards)) {
        const bool is_settled = std::ranges::find(dice.settled, line) != dice.settled.end();
        add(line, (known.contains(line) || is_settled ? exonerated : follows_unknown) / (1 + distance / 4));
      }
    }
  }
  for (const auto& [line, distance] : slices.ahead(wrong, forwards)) add(line, follows / (1 + distance));
  double most = 0;
  for (const auto& [line, value] : suspicion.by_line) most = std::max(most, value);
  for (auto& [line, value] : suspicion.by_line) value /= most;
  return suspicion;
}

}  // namespace assay::harness
