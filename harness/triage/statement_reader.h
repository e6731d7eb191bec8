// Reads statements for slices: what each assigns, uses and calls, and which conditions decide about it. Internal to harness/triage.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/mutate/source.h"
#include "harness/triage/slices.h"

namespace assay::harness {

class StatementReader {
 public:
  StatementReader(const Source& source, const SourcePiece& piece, const KnownConstants& constants, Slices& slices)
      : source_(source), tokens_(piece.tokens), constants_(constants), slices_(slices) {}
  void read();

 private:
  using Statement = Slices::Statement;
  [[nodiscard]] const SourceToken& at(std::size_t i) const;
  [[nodiscard]] std::size_t step(std::size_t i) const;
  [[nodiscard]] std::size_t end_of_statement(std::size_t i) const;
  [[nodiscard]] std::size_t call_of(std::size_t name) const;
  void read_namespace(std::size_t first, std::size_t last);
  void read_function(std::size_t name, std::size_t open, std::size_t body);
  void read_parameters(std::size_t first, std::size_t last);
  std::size_t read_statement(std::size_t i, std::size_t last);
  void read_block(std::size_t first, std::size_t last);
  std::size_t read_controlled(std::size_t i, std::size_t last);
  [[nodiscard]] bool jumps(std::size_t first, std::size_t last) const;
  [[nodiscard]] bool always_jumps(std::size_t first, std::size_t last) const;
  // Whether a condition holds in the case; nullopt if constants do not decide.
  [[nodiscard]] std::optional<bool> decided(std::size_t first, std::size_t last) const;
  std::size_t add(std::size_t first, std::size_t last);
  void read_uses(Statement& statement, std::size_t first, std::size_t last);
  void read_access(Statement& statement, std::size_t base, std::size_t name, std::size_t last);
  [[nodiscard]] std::size_t declared(std::size_t first, std::size_t last) const;
  void declare(Statement& statement, std::size_t name, std::size_t first, std::size_t last);
  void define(Statement& statement, std::size_t variable);
  void define_arguments(Statement& statement, std::size_t first, std::size_t last);
  std::size_t variable(std::string_view name);
  std::size_t new_variable(std::string_view name);

  const Source& source_;
  const std::vector<SourceToken>& tokens_;
  const KnownConstants& constants_;
  Slices& slices_;
  std::vector<std::map<std::string_view, std::size_t>> scopes_ = {{}};
  std::vector<std::size_t> controls_;
  std::map<std::size_t, std::size_t> aliases_;  // from a pointer to the variable in whose memory it points
  std::size_t function_ = 0;
  bool is_excluded_ = false;  // constants exclude that the statement runs
};

}  // namespace assay::harness
