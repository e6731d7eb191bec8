// The exceptions of this folder, for misuse and broken input. Their texts contain the offending values.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace assay::metal {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The source cannot be translated or compiled. what() starts with `file:line: error:` of the user's source and contains the compiler's
// message if there is one.
class CompileError : public Error {
 public:
  using Error::Error;
};

// The compiler needs more time, memory or output for the source than any kernel does. Compiling another function of it would as well.
class CompileLimitExceeded : public CompileError {
 public:
  using CompileError::CompileError;
};

// The machine lacks a requirement (no clang, an unwritable cache); what() says what to install or change.
class EnvironmentError : public Error {
 public:
  using Error::Error;
};

// No such function, a function constant that is used but has no value, or a constant of the wrong type.
class PipelineError : public Error {
 public:
  using Error::Error;
};

// The host and the kernel disagree about an argument or a struct field.
class AbiMismatch : public Error {
 public:
  using Error::Error;
};

// An encoder call that Metal forbids: index, length, unbound argument, limits.
class EncodeError : public Error {
 public:
  using Error::Error;
};

}  // namespace assay::metal
