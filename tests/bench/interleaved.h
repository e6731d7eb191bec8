// Times several pieces of work in turn, so that what disturbs the machine disturbs all of them alike.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace assay::tests {

// CPU time of one piece of work over all rounds, in seconds.
struct Timing {
  double smallest = 0.0;
  double median = 0.0;
  double largest = 0.0;
};

// Every round runs each contender once, in the order given. Counted is the CPU time of the whole process: neighbours on the
// machine do not enter, and a contender that used a second thread would pay for it.
class Interleaved {
 public:
  struct Contender {
    std::string name;
    std::function<void()> work;
  };

  // Runs each contender once untimed: first touches of memory and lazily made state belong to no round.
  explicit Interleaved(std::vector<Contender> contenders);

  // Returns the CPU seconds of the whole round.
  double round();

  // Throws std::invalid_argument for an unknown name and std::logic_error before the first round.
  [[nodiscard]] Timing timing(const std::string& name) const;

  // Median over the rounds of (seconds of `numerator`) / (seconds of `denominator`), each pair out of one round: a machine that
  // changes its pace between rounds does not enter. Throws as timing().
  [[nodiscard]] double ratio(const std::string& numerator, const std::string& denominator) const;

  // How far the machine was from quiet: the largest (median / smallest - 1) of a contender. It says nothing of how they compare, so
  // that measuring again because of it favours no result. Throws std::logic_error before the first round.
  [[nodiscard]] double disturbance() const;

  [[nodiscard]] std::size_t rounds() const { return rounds_; }

 private:
  [[nodiscard]] const std::vector<double>& seconds_of(const std::string& name) const;

  std::vector<Contender> contenders_;
  std::vector<std::vector<double>> seconds_;  // [contender][round]
  std::size_t rounds_ = 0;
};

// The calmest of several measurements of so many rounds. A neighbour on the machine costs the contenders unequally, because he empties
// caches that one of them fills and another hardly needs: a measurement that was much disturbed is repeated.
[[nodiscard]] Interleaved measure_calmly(const std::vector<Interleaved::Contender>& contenders, std::size_t rounds);

}  // namespace assay::tests
