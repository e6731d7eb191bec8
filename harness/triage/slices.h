// Which lines of a source a value on some line depends on, read from its tokens.
//
// This is not an analysis of Metal: it knows assignments, declarations, calls, loops and conditions, and takes every assignment to a
// variable that may come before a use as one that reaches it. It serves to try lines in a sensible order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/mutate/source.h"
#include "harness/triage/known_constants.h"

namespace assay::harness {

// Words of statements after which the next line is not executed.
inline constexpr std::array<std::string_view, 3> kJumps = {"break", "continue", "return"};

// What one step of a dependence costs.
struct SliceCosts {
  double data = 1;     // from a value to what it is computed from
  double control = 1;  // from a statement to a condition that decides whether it is executed
  // From the first lines, only pointers and indices are followed: what decides from where a line reads.
  bool of_place = false;
  bool of_conditions = true;  // whether conditions other than those of loops are followed
  bool of_callers = true;     // whether the calls of a function are followed from what it computes of its parameters
};

class Slices {
 public:
  // `executed`: lines that are known to be executed. Of functions with one name, those without such a line are left out if another has
  // one. So are statements that `constants` exclude.
  Slices(const Source& source, std::span<const std::uint32_t> executed, const KnownConstants& constants = {});

  // Lines on which the values of `lines` depend, with the least cost of a path to them; `lines` themselves cost 0.
  [[nodiscard]] std::map<std::uint32_t, double> behind(std::span<const std::uint32_t> lines, const SliceCosts& costs) const;
  // Lines whose values depend on those of `lines`, likewise.
  [[nodiscard]] std::map<std::uint32_t, double> ahead(std::span<const std::uint32_t> lines, const SliceCosts& costs) const;
  // Whether a line is outside of all functions.
  [[nodiscard]] bool is_global(std::uint32_t line) const;
  // Whether it gives a constant to a variable that a loop or a condition changes.
  [[nodiscard]] bool is_start(std::uint32_t line) const;
  // Whether it is the head of a loop.
  [[nodiscard]] bool is_loop(std::uint32_t line) const;
  // Arrays, and buffers by the names of their parameters, that are accessed on a line.
  [[nodiscard]] std::set<std::string_view> arrays_of(std::uint32_t line) const;
  // What the values of a line decide first: which round of a loop is the last, or the places at which these arrays are accessed.
  struct Decided {
    bool limits_loop = false;
    std::set<std::string_view> arrays;
  };
  [[nodiscard]] Decided decided_by(std::uint32_t line) const;
  // Whether a function has a parameter `name` in threadgroup memory, or declares such a variable.
  [[nodiscard]] bool is_threadgroup(std::string_view name) const { return threadgroup_.contains(name); }

 private:
  friend class StatementReader;
  struct Statement {
    std::uint32_t first_line = 0, last_line = 0;
    std::vector<std::size_t> defines, uses;                    // variables
    std::vector<std::size_t> stores;                           // of those defined, arrays and pointers of which one element changes
    std::vector<std::size_t> bases, indices;                   // of those used, pointers before an index, and what is within an index
    std::map<std::size_t, std::vector<std::size_t>> accesses;  // arrays and pointers, with the variables that decide the place
    std::vector<std::size_t> controls;                         // statements
    std::vector<std::string_view> calls;
    std::size_t function = 0;
    bool is_loop = false;
  };
  struct Edge {
    std::size_t to = 0;
    bool is_control = false;
    bool is_place = false;
    bool is_caller = false;
  };
  using Edges = std::vector<std::vector<Edge>>;

  void leave_out_unused(std::span<const std::uint32_t> executed);
  void connect();
  // Whether a variable keeps its value from one statement to the other by way of a loop's next round.
  [[nodiscard]] bool shares_loop(const Statement& one, const Statement& other, std::size_t variable) const;
  [[nodiscard]] std::map<std::uint32_t, double> reach(const Edges& edges, std::span<const std::uint32_t> lines,
                                                      const SliceCosts& costs) const;

  std::vector<Statement> statements_;
  // Of a parameter: the function whose calls define it, and its name. Other variables have no name.
  struct Variable {
    std::string_view parameter;
    std::size_t function = 0;
    bool is_pointer = false;
    std::vector<std::size_t> controls;       // of its declaration
    std::string_view name = {};              // also of one that is no parameter
    std::optional<std::size_t> within = {};  // of a pointer: the variable in whose memory it points
  };
  [[nodiscard]] std::string_view root_of(std::size_t variable) const;
  std::vector<Variable> variables_;
  std::set<std::string_view> threadgroup_;          // names
  std::set<std::uint32_t> assigning_;               // lines with a `=`
  std::vector<std::string_view> functions_ = {""};  // names
  Edges behind_, ahead_;
};

// How suspect each line is that a landmark's value depends on, from 0 to 1; lines that are missing: not at all.
struct LineSuspicion {
  // What is wrong there, as far as it is known.
  enum class Fault : std::uint8_t { unknown, limit, place, amount } fault = Fault::unknown;
  std::map<std::uint32_t, double> by_line;
  [[nodiscard]] double of(std::uint32_t line) const {
    const auto found = by_line.find(line);
    return found == by_line.end() ? 0.0 : found->second;
  }
};

// What the wrong line depends on, less what the right lines depend on too. `wrong` 0: the first executed line that
// depends on all that is needed.
struct Dice {
  std::uint32_t wrong = 0;
  std::vector<std::uint32_t> also_wrong;           // what these depend on too is more suspect than what they do not
  std::vector<std::uint32_t> right, right_loads;   // of the latter only the places are right
  std::vector<std::uint32_t> settled;              // lines that are not the wrong one
  std::vector<std::vector<std::uint32_t>> needed;  // the wrong value is computed from one line of each
  std::vector<std::uint32_t> executed;
  bool is_missing = false;  // conditions around the wrong line count more than its values
  bool is_inside = false;   // of these, not the limits of loops
  bool is_common = false;   // the wrong lines are wrong by one factor, so the cause is in front of them
  bool is_load = false;     // the wrong line reads an input: its places are wrong
  bool is_shared = false;   // the wrong line also holds right values
  bool is_place = false;    // what its indices and pointers depend on counts more than the line
  bool has_index = false;   // unless the line itself computes the place
  bool is_start = false;    // constants that variables start with count more than what is computed
};
[[nodiscard]] LineSuspicion suspicion_of(const Slices& slices, const Dice& dice);

}  // namespace assay::harness
