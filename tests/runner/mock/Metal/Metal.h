// A mock of the few parts of Metal that runners/metal uses. Declarations and enumerators as in Apple's documentation.
#pragma once

#import <Foundation/Foundation.h>

struct MTLSize {
  NSUInteger width, height, depth;
};
inline MTLSize MTLSizeMake(NSUInteger width, NSUInteger height, NSUInteger depth) { return {width, height, depth}; }

enum MTLDataType : NSUInteger {
  MTLDataTypeFloat = 3,
  MTLDataTypeHalf = 16,
  MTLDataTypeInt = 29,
  MTLDataTypeUInt = 33,
  MTLDataTypeShort = 37,
  MTLDataTypeUShort = 41,
  MTLDataTypeChar = 45,
  MTLDataTypeUChar = 49,
  MTLDataTypeBool = 53,
  MTLDataTypeLong = 81,
  MTLDataTypeULong = 85,
};
enum MTLLanguageVersion : NSUInteger { MTLLanguageVersion3_1 = (3 << 16) + 1 };
enum MTLResourceOptions : NSUInteger { MTLResourceStorageModeShared = 0 };
enum MTLBarrierScope : NSUInteger { MTLBarrierScopeBuffers = 1 };
enum MTLCommandBufferStatus : NSUInteger { MTLCommandBufferStatusCompleted = 4, MTLCommandBufferStatusError = 5 };

@interface MTLCompileOptions : NSObject {
 @public
  NSUInteger version_;
  BOOL is_fast_;
}
- (void)setLanguageVersion:(MTLLanguageVersion)version;
- (void)setFastMathEnabled:(BOOL)isFast;
@end

@interface MTLFunctionConstantValues : NSObject {
 @public
  void* values_;
}
- (void)setConstantValue:(const void*)value type:(MTLDataType)type atIndex:(NSUInteger)index;
@end

@protocol MTLFunction <NSObject>
@end

@protocol MTLLibrary <NSObject>
- (id<MTLFunction>)newFunctionWithName:(NSString*)name constantValues:(MTLFunctionConstantValues*)values error:(NSError**)error;
@end

@protocol MTLComputePipelineState <NSObject>
- (NSUInteger)maxTotalThreadsPerThreadgroup;
- (NSUInteger)threadExecutionWidth;
@end

@protocol MTLBuffer <NSObject>
- (void*)contents;
@end

@protocol MTLComputeCommandEncoder <NSObject>
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state;
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setBytes:(const void*)bytes length:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)memoryBarrierWithScope:(MTLBarrierScope)scope;
- (void)dispatchThreadgroups:(MTLSize)threadgroups threadsPerThreadgroup:(MTLSize)threads;
- (void)dispatchThreads:(MTLSize)grid threadsPerThreadgroup:(MTLSize)threads;
- (void)endEncoding;
@end

@protocol MTLCommandBuffer <NSObject>
- (id<MTLComputeCommandEncoder>)computeCommandEncoder;
- (void)commit;
- (void)waitUntilCompleted;
- (MTLCommandBufferStatus)status;
- (NSError*)error;
@end

@protocol MTLCommandQueue <NSObject>
- (id<MTLCommandBuffer>)commandBuffer;
@end

@protocol MTLDevice <NSObject>
- (NSString*)name;
- (NSUInteger)maxBufferLength;
- (id<MTLCommandQueue>)newCommandQueue;
- (id<MTLLibrary>)newLibraryWithSource:(NSString*)source options:(MTLCompileOptions*)options error:(NSError**)error;
- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function error:(NSError**)error;
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
@end

id<MTLDevice> MTLCreateSystemDefaultDevice();
