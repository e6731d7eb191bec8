// Metal's scalar types. Their names are global, as in Metal.
//
// char is signed, and long has 64 bits. half is IEEE binary16 (a keyword of this dialect), and bfloat is bfloat16; both round to
// nearest even after every operation.
#pragma once

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef __bf16 bfloat;

// Metal has no second 8-bit signed type: int8_t is char, so that vec<int8_t, 4> is char4.
typedef char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;
typedef ulong size_t;
typedef long ptrdiff_t;
typedef long intptr_t;
typedef ulong uintptr_t;

namespace metal {
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::intptr_t;
using ::ptrdiff_t;
using ::size_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::uintptr_t;
}  // namespace metal

static_assert(sizeof(char) == 1 && char(-1) < 0, "Metal's char is signed: compile with -fsigned-char");
static_assert(sizeof(long) == 8 && sizeof(int) == 4 && sizeof(short) == 2 && sizeof(half) == 2 && sizeof(bfloat) == 2);
