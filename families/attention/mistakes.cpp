// The known mistakes of attention kernels of any project.
//
// Long because it is a table of them.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "families/attention/mistaken.h"
#include "families/shared/mistake_table.h"

namespace assay::families::attention {
namespace {

using Table = MistakeTable<MistakenAttention, Change>;
using Online = AttentionChange;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// More than a case of few keys has chunks.
constexpr std::size_t kManyParts = 16;

struct NamedSplit {
  Split split;
  std::string in;
};

// What a kernel of some project does is unknown, so mistakes that depend on it are tried in several ways.
std::vector<NamedSplit> splits() {
  std::vector<NamedSplit> all;
  for (const std::size_t chunk : std::array<std::size_t, 6>{1, 8, 16, 32, 64, 128})
    all.push_back({{1, chunk}, ", in chunks of " + std::to_string(chunk) + (chunk == 1 ? " key" : " keys")});
  all.push_back({{0, 1}, ", keys being dealt to the parts in turn"});
  for (const std::size_t chunk : std::array<std::size_t, 2>{16, 32})
    all.push_back({{0, chunk}, ", chunks of " + std::to_string(chunk) + " keys being dealt to the parts in turn"});
  all.push_back({{0, 0}, ", keys being divided among the parts"});
  for (const std::size_t chunk : std::array<std::size_t, 2>{128, 256})
    all.push_back({{kManyParts, chunk}, ", each chunk of " + std::to_string(chunk) + " keys being a part"});
  for (const std::size_t streams : std::array<std::size_t, 3>{4, 8, 32})
    all.push_back({{streams, 1}, ", keys being dealt to " + std::to_string(streams) + " parts"});
  return all;
}

std::vector<double> likely_factors(const Model& model) {
  const auto& attention = static_cast<const MistakenAttention&>(model);
  const double scale = attention.scale();
  const auto dim = static_cast<double>(attention.shape().dk);
  const double root = std::sqrt(dim);
  return {std::numbers::ln2,   std::numbers::log2e,       0.5, 2.0, 0.25, 4.0,  scale, 1.0 / scale, root, 1.0 / root, 1.0 / dim, dim,
          std::numbers::sqrt2, 1.0 / std::numbers::sqrt2, 0.9, 1.1, 0.05, 16.0, -1.0,  0.0};
}

void add_visibility(Table& table) {
  table.add(mistake::kNewest, "the causal mask hides one key too many: query i does not see its own position", &Change::offset, -1);
  table.add(mistake::kWindow, "the causal mask hides one key too few: query i sees the next position", &Change::offset, 1);
  table.add(mistake::kWindow, "the window is one key too short", &Change::window, -1);
  table.add(mistake::kWindow, "the window is one key too long", &Change::window, 1);
  table.add(mistake::kMask, "the causal mask is ignored", &Change::is_not_causal, true);
  table.add(mistake::kMask, "the window is ignored", &Change::has_no_window, true);
  table.add(mistake::kMask, "the offset of the causal mask is ignored: query i sees keys up to i", &Change::starts_at_first, true, 1);
  table.add(mistake::kNewest, "the last key is lost", &Change::keys, -1);
  table.add(mistake::kNewest, "one key behind the last one is read", &Change::keys, 1, 1);
  table.add(mistake::kOldest, "the first key is lost", [](Change& c) { c.online.lost = Online::Lost::oldest; });
  table.add(mistake::kOldest, "the oldest key of the window is lost", [](Change& c) { c.online.lost = Online::Lost::oldest_visible; }, 1);
  table.add(mistake::kMask, "the offset of the queries is that of the longest batch, in every batch", &Change::is_at_end_of_longest, true);
  for (const std::size_t size : std::array<std::size_t, 6>{2, 4, 8, 16, 32, 64}) {
    const std::string of = " of each tile of " + std::to_string(size) + " queries";
    table.add(mistake::kMask, "the causal mask of all queries is that of the first one" + of, &Change::ends_with_first_of, size, 1);
    table.add(mistake::kWindow, "the windows of all queries begin with that of the last one" + of, &Change::begins_with_last_of, size, 1);
  }
  table.add(mistake::kNewest, "every batch has as many keys as the first", &Change::length, Change::Length::of_first_batch, 1);
  table.add(mistake::kNewest, "every batch has as many keys as the longest", &Change::length, Change::Length::longest, 1);
}

void add_masks(Table& table) {
  const auto read = [&](std::string says, Online::Mask which, int rank) {
    table.add(mistake::kMask, std::move(says), [which](Change& c) { c.online.mask = which; }, rank);
  };
  read("the mask is ignored", Online::Mask::ignored, 0);
  read("every head uses the mask of the first head", Online::Mask::first_head, 0);
  read("every batch uses the mask of the first batch", Online::Mask::first_batch, 0);
  read("every query uses the mask of the first query", Online::Mask::first_row, 0);
  read("the mask is read transposed", Online::Mask::transposed, 1);
  read("the mask of the previous key is applied", Online::Mask::column_before, 1);
  read("the mask of the next key is applied", Online::Mask::column_after, 1);
  read("the mask of the previous query is applied", Online::Mask::row_before, 1);
  read("the mask of the next query is applied", Online::Mask::row_after, 1);
  read("the mask hides keys, but its finite values are not added to the scores", Online::Mask::hides_only, 1);
  read("hidden keys count as visible", Online::Mask::hidden_count, 1);
  table.add(mistake::kMask, "the mask is added before the scale", &Change::scales_bias, true, 0);
  table.add_factor(mistake::kMask, "what the mask adds is multiplied by {}", likely_factors, [](Change& c, double f) { c.bias = f; }, 1);
  table.add(mistake::kMask, "every head uses the slope of ALiBi of the first head", &Change::slopes, Change::Slopes::first);
  table.add(mistake::kMask, "every head uses the slope of ALiBi of the next head", &Change::slopes, Change::Slopes::next);
  table.add(mistake::kMask, "the slopes of ALiBi are ignored", &Change::slopes, Change::Slopes::none);
  using Cap = Change::Cap;
  table.add(mistake::kSoftcap, "the soft cap is ignored", &Change::cap, Cap::ignored);
  table.add(mistake::kSoftcap, "the soft cap is applied behind the mask", &Change::cap, Cap::behind_mask, 1);
  table.add(mistake::kSoftcap, "scores are not divided by the soft cap before tanh", &Change::cap, Cap::not_divided);
  table.add(mistake::kSoftcap, "tanh(s / cap) is not multiplied by the soft cap", &Change::cap, Cap::without_factor);
  table.add_factor(
      mistake::kSoftcap, "scores are multiplied by {} before the soft cap, and divided by it behind", likely_factors,
      [](Change& c, double f) { c.capped_factor = f; }, 1);
  table.add_factor(mistake::kSinks, "the sinks are multiplied by {}", likely_factors, [](Change& c, double f) { c.sink = f; }, 1);
  using Sinks = Change::Sinks;
  table.add(mistake::kSinks, "the sinks are ignored", &Change::sinks, Sinks::ignored);
  table.add(mistake::kSinks, "every head uses the sink of the first head", &Change::sinks, Sinks::of_first);
  table.add(mistake::kSinks, "every head uses the sink of the next head", &Change::sinks, Sinks::of_next);
  table.add(mistake::kSinks, "the sink is that of the row's number, modulo the number of heads", &Change::sinks, Sinks::of_row);
  table.add(mistake::kSinks, "every head uses the sink of its key/value head's number", &Change::sinks, Sinks::of_kv_head);
  table.add(mistake::kSinks, "the sinks are scaled like scores", &Change::sinks, Sinks::scaled);
  table.add(mistake::kSinks, "the sink has the weight 1, whatever the highest score is", &Change::sinks, Sinks::as_highest, 1);
  table.add(mistake::kSinks, "the sink counts once for each part of the launch", &Change::sinks, Sinks::in_each_part, 1);
  table.add_factor(
      mistake::kSinks, "the sink counts {} times", [](const Model&) { return std::vector<double>{2, 3, 4, 8, 16, 32, 64}; },
      [](Change& c, double f) { c.sink_times = f; }, 1);
}

void add_chunks(Table& table) {
  const auto add = [&](std::string says, const Split& split, auto make, int rank) {
    table.add(
        mistake::kChunk, std::move(says),
        [split, make](Change& c) {
          c.split = split;
          make(c.online);
        },
        rank);
  };
  for (const std::size_t chunk : std::array<std::size_t, 6>{4, 8, 16, 32, 64, 128}) {
    const std::string of = " of " + std::to_string(chunk) + " keys";
    const Split split{1, chunk};
    add("the keys after the last whole chunk" + of + " are lost", split, [](Online& c) { c.lost = Online::Lost::tail; }, 1);
    add("the last chunk" + of + " is lost", split, [](Online& c) { c.lost = Online::Lost::last_chunk; }, 2);
    add("the last key of each chunk" + of + " is lost", split, [](Online& c) { c.lost = Online::Lost::last_of_chunks; }, 1);
    add("the first key of each chunk" + of + " is lost", split, [](Online& c) { c.lost = Online::Lost::first_of_chunks; }, 1);
    add("every second chunk" + of + " is lost", split, [](Online& c) { c.lost = Online::Lost::odd_chunks; }, 2);
    for (std::size_t lost = 0; lost < 2; ++lost) {
      add(
          "chunk " + std::to_string(lost) + of + " is lost", split,
          [lost](Online& c) {
            c.lost = Online::Lost::chunk;
            c.lost_chunk = lost;
          },
          2);
    }
    add("the first chunk" + of + " counts twice", split, [](Online& c) { c.twice = Online::Twice::first_chunk; }, 2);
    add("the keys after the last whole chunk" + of + " count twice", split, [](Online& c) { c.twice = Online::Twice::tail; }, 2);
  }
  table.add(mistake::kChunk, "the keys that remain when all are divided among the parts, rounded down, are lost", &Change::loses_remainder,
            true, 1);
  using Stream = Online::Stream;
  for (const NamedSplit& some : splits()) {
    if (some.split.streams == 1) continue;
    for (const auto& [lost, which] : {std::pair{Stream::first_simdgroup, "first part"},
                                      {Stream::last_simdgroup, "last part"},
                                      {Stream::odd_simdgroups, "part of every two parts"},
                                      {Stream::upper_simdgroups, "upper half of the parts"}}) {
      table.add(
          mistake::kSimdgroup, std::string("the ") + which + " is lost" + some.in,
          [split = some.split, chosen = lost](Change& c) {
            c.split = split;
            c.online.lost_stream = chosen;
          },
          1);
    }
  }
  for (const auto& [weight, below] : kSkippedWeights) {
    table.add(
        mistake::kSkipped, fmt::format("keys whose weight is below {} are skipped", weight),
        [limit = below](Change& c) { c.skips_below = limit; }, 1);
  }
  table.add_factor(
      mistake::kSkipped, "keys whose score is {} below the maximum are skipped",
      [](const Model&) { return std::vector<double>{2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 30.0, 60.0}; },
      [](Change& c, double f) { c.skips_below = f; }, 1);
}

void add_heads(Table& table) {
  const auto both = [&](std::string says, HeadMap map, int rank) {
    table.add(mistake::kHead, std::move(says), [map](Change& c) { c.online.key_heads = c.online.value_heads = map; }, rank);
  };
  both("query head h uses key/value head h modulo their number, instead of one per group of query heads", HeadMap::modulo, 0);
  both("every query head uses the first key/value head", HeadMap::first, 1);
  both("query head h uses key/value head h", HeadMap::own_number, 1);
  both("query head h is divided by the number of key/value heads, instead of by the size of their groups", HeadMap::divided, 1);
  both("key/value heads are used in reverse order", HeadMap::reversed, 2);
  both("the next key/value head is used", HeadMap::next, 2);
  for (const auto& [map, how] : {std::pair{HeadMap::modulo, "from head h modulo their number"},
                                 {HeadMap::first, "from the first head"},
                                 {HeadMap::own_number, "from head h"},
                                 {HeadMap::next, "from the next head"}}) {
    const auto says = [from = std::string(how)](const char* what, const char* others) {
      return std::string("query head h takes its ") + what + " " + from + ", " + others + " are right";
    };
    table.add(mistake::kHead, says("keys", "values"), [chosen = map](Change& c) { c.online.key_heads = chosen; }, 3);
    table.add(mistake::kHead, says("values", "keys"), [chosen = map](Change& c) { c.online.value_heads = chosen; }, 3);
  }
  table.add(mistake::kHead, "every head uses the query of the first head", [](Change& c) { c.online.query_heads = HeadMap::first; }, 2);
  table.add(mistake::kHead, "every head uses the query of the next head", [](Change& c) { c.online.query_heads = HeadMap::next; }, 3);
  table.add(mistake::kHead, "every row uses the first query of its head", &Change::query_of_first_row, true, 2);
  table.add(mistake::kHead, "every batch uses the queries of the first batch", &Change::queries_of_first_batch, true, 1);
  table.add(mistake::kHead, "every batch uses the keys of the first batch", &Change::keys_of_first_batch, true, 1);
  table.add(mistake::kHead, "every batch uses the values of the first batch", &Change::values_of_first_batch, true, 1);
  table.add(
      mistake::kHead, "every batch uses the keys and values of the first batch",
      [](Change& c) { c.keys_of_first_batch = c.values_of_first_batch = true; }, 0);
}

void add_rows(Table& table) {
  using Spacing = Online::HeadSpacing;
  table.add(
      mistake::kStride, "heads of keys and values are addressed as many rows apart as there are keys, whatever their stride",
      [](Change& c) { c.online.key_spacing = c.online.value_spacing = Spacing::length; }, 1);
  table.add(
      mistake::kStride, "heads of keys are addressed as many rows apart as there are keys, whatever their stride",
      [](Change& c) { c.online.key_spacing = Spacing::length; }, 2);
  table.add(
      mistake::kStride, "heads of values are addressed as many rows apart as there are keys, whatever their stride",
      [](Change& c) { c.online.value_spacing = Spacing::length; }, 2);
  using Neighbour = Change::Neighbour;
  for (const auto& [which, name] : {std::pair{Neighbour::previous, "before"}, {Neighbour::next, "behind"}}) {
    table.add(mistake::kStride, std::string("the rows of keys are read one row ") + name, &Change::key_rows, which, 2);
    table.add(mistake::kStride, std::string("the rows of values are read one row ") + name, &Change::value_rows, which, 2);
  }
  using Ring = Change::Ring;
  for (const auto& [ring, says] : {std::pair{Ring::ignored, "the start of the ring is ignored"},
                                   {Ring::later, "the ring starts one slot later"},
                                   {Ring::earlier, "the ring starts one slot earlier"},
                                   {Ring::turns_early, "the ring turns after as many slots as there are keys, and not at its capacity"}}) {
    table.add(mistake::kRing, says, [chosen = ring](Change& c) { c.ring_of_keys = c.ring_of_values = chosen; });
    table.add(mistake::kRing, std::string("for keys, ") + says, &Change::ring_of_keys, ring, 1);
    table.add(mistake::kRing, std::string("for values, ") + says, &Change::ring_of_values, ring, 1);
  }
}

void add_coordinates(Table& table) {
  using Nibbles = Change::Nibbles;
  for (const auto& [nibbles, says] :
       {std::pair{Nibbles::neighbours, "a byte of 4-bit codes is read as neighbours instead of coordinates 16 apart"},
        {Nibbles::apart, "a byte of 4-bit codes is read as coordinates 16 apart instead of neighbours"}}) {
    table.add(mistake::kNibbles, says, [chosen = nibbles](Change& c) { c.nibbles_of_keys = c.nibbles_of_values = chosen; });
    table.add(mistake::kNibbles, std::string("keys: ") + says, &Change::nibbles_of_keys, nibbles, 1);
    table.add(mistake::kNibbles, std::string("values: ") + says, &Change::nibbles_of_values, nibbles, 1);
  }
  using Scales = Change::Scales;
  for (const auto& [scales, says] : {std::pair{Scales::of_first, "all blocks of a row have the scale of the first block"},
                                     {Scales::of_next, "each block of a row has the scale of the next one"}}) {
    table.add(mistake::kNorm, says, [chosen = scales](Change& c) { c.scales_of_keys = c.scales_of_values = chosen; });
    table.add(mistake::kNorm, std::string("keys: ") + says, &Change::scales_of_keys, scales, 1);
    table.add(mistake::kNorm, std::string("values: ") + says, &Change::scales_of_values, scales, 1);
  }
  using Coordinates = Change::Coordinates;
  for (const auto& [which, says] :
       {std::pair{Coordinates::lower_half, "only the lower half of the coordinates of q and k enters the scores"},
        {Coordinates::upper_half, "only the upper half of the coordinates of q and k enters the scores"},
        {Coordinates::all_but_last_block, "the last 32 coordinates of q and k do not enter the scores"},
        {Coordinates::first_block, "only the first 32 coordinates of q and k enter the scores"},
        {Coordinates::one_in_two, "only every second coordinate of q and k enters the scores"},
        {Coordinates::lower_twice, "the lower half of the coordinates of q and k enters the scores twice, the upper half never"}}) {
    table.add(mistake::kCoordinates, says, &Change::coordinates, which, 1);
  }
}

void add_scales(Table& table) {
  table.add_factor(mistake::kScale, "scores are multiplied by {}", likely_factors, [](Change& c, double f) { c.scale = f; });
  table.add_factor(
      mistake::kScale, "scores with what the mask adds are multiplied by {}", likely_factors, [](Change& c, double f) { c.score = f; }, 1);
  table.add_factor(mistake::kScale, "the output is multiplied by {}", likely_factors,
                   [](Change& c, double f) { c.online.output_factor = f; });
  for (const std::size_t chunk : std::array<std::size_t, 3>{1, 16, 32}) {
    const std::string in = ", in chunks of " + std::to_string(chunk);
    table.add_factor(
        mistake::kScale, "the exponents of the weights are multiplied by {}, those of rescaling are not" + in, likely_factors,
        [chunk](Change& c, double f) {
          c.split = {1, chunk};
          c.online.weight_exponent = f;
        },
        2);
    table.add_factor(
        mistake::kScale, "the exponents of rescaling are multiplied by {}, those of the weights are not" + in, likely_factors,
        [chunk](Change& c, double f) {
          c.split = {1, chunk};
          c.online.rescale_exponent = f;
        },
        2);
  }
  table.add(mistake::kUnnormalised, "the output is not divided by the sum of the weights", [](Change& c) { c.online.unnormalised = true; });
}

// Long because it is a list.
void add_softmax(Table& table) {
  const auto add = [&](std::string_view kind, const std::string& says, const NamedSplit& some, auto make, int rank) {
    table.add(
        kind, says + some.in,
        [split = some.split, make](Change& c) {
          c.split = split;
          make(c.online);
        },
        rank);
  };
  for (const NamedSplit& some : splits()) {
    add(mistake::kRescale, "the output so far is not rescaled when the maximum grows", some, [](Online& c) { c.keeps_output = true; }, 1);
    add(mistake::kRescale, "the sum so far is not rescaled when the maximum grows", some, [](Online& c) { c.keeps_sum = true; }, 1);
    add(
        mistake::kRescale, "neither the output nor the sum so far is rescaled when the maximum grows", some,
        [](Online& c) { c.keeps_output = c.keeps_sum = true; }, 2);
    add(
        mistake::kRescale, "what rescales the output and the sum so far is inverted: exp(new - old) in place of exp(old - new)", some,
        [](Online& c) { c.inverted = Online::Inverted::something; }, 1);
    add(
        mistake::kRescale,
        "what rescales the output and the sum so far is inverted, also where nothing has been seen: exp(new - old) is infinite there", some,
        [](Online& c) { c.inverted = Online::Inverted::nothing; }, 2);
    table.add(
        mistake::kEmptyMerge, "a chunk of hidden keys gives NaN: its maximum and the one before are both minus infinity" + some.in,
        [split = some.split](Change& c) {
          c.split = split;
          c.keeps_hidden = true;
          c.online.first_maximum = -kInfinity;
        },
        1);
    add(
        mistake::kRescale, "what rescales the output so far is also applied to the new values", some,
        [](Online& c) { c.rescales_new_output = true; }, 1);
    if (some.split.streams == 1) continue;
    add(
        mistake::kUnnormalised, "parts are merged without the sums of their weights, by their maxima only", some,
        [](Online& c) { c.merges_without_sums = true; }, 1);
    add(
        mistake::kEmptyMerge, "a merge of parts without a key gives NaN: all maxima are minus infinity", some,
        [](Online& c) { c.first_maximum = c.first_merge_maximum = -kInfinity; }, 1);
    add(
        mistake::kRescale, "the weights of merged parts are inverted: exp(maximum - own) in place of exp(own - maximum)", some,
        [](Online& c) { c.inverted = Online::Inverted::merges; }, 1);
    add(mistake::kRescale, "outputs of parts are added without weights", some, [](Online& c) { c.merges_output_as_is = true; }, 2);
    add(mistake::kRescale, "sums of parts are added without weights", some, [](Online& c) { c.merges_sum_as_is = true; }, 2);
    add(
        mistake::kRescale, "outputs and sums of parts are added without weights", some,
        [](Online& c) { c.merges_output_as_is = c.merges_sum_as_is = true; }, 2);
    for (const auto& [pairs, how] : {std::pair{Online::Pairs::halves, "by halves"}, {Online::Pairs::in_turn, "one after the other"}}) {
      add(
          mistake::kRescale, std::string("parts merged ") + how + " keep the maximum of the first", some,
          [chosen = pairs](Online& c) {
            c.pairs = chosen;
            c.merges_forget_maximum = true;
          },
          3);
      add(
          mistake::kEmptyMerge, std::string("two parts without a key, merged ") + how + ", give NaN: both maxima are minus infinity", some,
          [chosen = pairs](Online& c) {
            c.pairs = chosen;
            c.first_maximum = -kInfinity;
          },
          2);
    }
  }
  for (const double start : {0.0, -1.0, -10.0, -50.0, -100.0, -1000.0, -10000.0, -16384.0, -32752.0, -65504.0}) {
    const std::string number = std::to_string(static_cast<int>(start));
    table.add(mistake::kMaximum, "the running maximum starts at " + number, [start](Change& c) { c.online.first_maximum = start; });
    table.add(
        mistake::kMaximum, "the maximum over parts starts at " + number,
        [start](Change& c) {
          c.split = {0, 0};
          c.online.first_merge_maximum = start;
        },
        1);
  }
}

void add_precision(Table& table) {
  for (const auto& [precision, name] : {std::pair{Precision::half, "half"}, {Precision::bfloat, "bfloat"}}) {
    const std::string in = std::string(" in ") + name;
    for (const std::size_t chunk : std::array<std::size_t, 3>{1, 8, 32}) {
      table.add(
          mistake::kHalf, "the output is accumulated" + in,
          [chosen = precision, chunk](Change& c) {
            c.split = {1, chunk};
            c.online.output = chosen;
          },
          1);
      table.add(
          mistake::kHalf, "the sum of weights is accumulated" + in,
          [chosen = precision, chunk](Change& c) {
            c.split = {1, chunk};
            c.online.sum = chosen;
          },
          1);
    }
    table.add(mistake::kHalf, "weights are kept" + in, [chosen = precision](Change& c) { c.online.weights = chosen; }, 1);
    table.add(mistake::kHalf, "scores are kept" + in, [chosen = precision](Change& c) { c.online.scores = chosen; }, 1);
  }
}

}  // namespace

std::vector<Mistake> attention_mistakes() {
  Table table;
  add_visibility(table);
  add_masks(table);
  add_chunks(table);
  add_heads(table);
  add_rows(table);
  add_coordinates(table);
  add_scales(table);
  add_softmax(table);
  add_precision(table);
  return table.take();
}

}  // namespace assay::families::attention
