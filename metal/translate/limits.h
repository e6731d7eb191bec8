// Limits on a source: far more than any real kernel needs, so that a hostile source ends in an error message instead of exhausting
// memory or time.
#pragma once

#include <cstddef>

namespace assay::metal::translate {

inline constexpr std::size_t kLargestSource = std::size_t{16} << 20;  // bytes, preprocessed
inline constexpr std::size_t kMostTokens = std::size_t{1} << 20;
inline constexpr int kDeepestNesting = 256;         // of brackets; clang's own -fbracket-depth
inline constexpr int kDeepestStatement = 512;       // of `if` in `for` in `do` ... without braces
inline constexpr int kDeepestExpression = 256;      // of conditionals and unary operators in a constant
inline constexpr std::size_t kLongestName = 1024;   // characters of an identifier, and of a qualified name
inline constexpr std::size_t kMostKernels = 16384;  // entry points; each has a copy of its parameters
inline constexpr std::size_t kMostParameters = 128;
inline constexpr std::size_t kMostQuestions = 4096;  // constants that the compiler evaluates
inline constexpr std::size_t kMostQuestionTokens = 256;
// Token accesses plus characters copied. Our kernels need some tens per token. A source with quadratic cost is rejected
// after some seconds.
inline constexpr std::size_t kMostWork = std::size_t{1} << 27;

}  // namespace assay::metal::translate
