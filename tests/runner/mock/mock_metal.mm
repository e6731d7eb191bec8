// The mock of Metal and Foundation: Objective-C objects over the simulator, which fail where a test asks for it.
#import <Metal/Metal.h>
#import <objc/runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/runner/mock/simulated.h"

namespace simulated = assay::tests::simulated;

namespace {

[[noreturn]] void misuse(const char* what) {
  std::fprintf(stderr, "mock of Metal: %s\n", what);
  std::abort();
}

// GNU's runtime constructs and destroys no members of C++ itself.
void call_hidden(id object, const char* name) {
  const SEL method = sel_registerName(name);
  Class of = object_getClass(object);
  if (class_respondsToSelector(of, method))
    class_getMethodImplementation(of, method)(object, method);
}

std::vector<std::vector<id>>& pools() {
  static std::vector<std::vector<id>> all;
  return all;
}

}  // namespace

@implementation NSObject
+ (id)alloc {
  simulated::add_alive(1);
  id made = class_createInstance(self, 0);
  call_hidden(made, ".cxx_construct");
  return made;
}
- (id)init {
  count_ = 1;
  return self;
}
- (id)retain {
  ++count_;
  return self;
}
- (void)release {
  if (count_ == 0) misuse("an object was released too often");
  if (--count_ == 0) [self dealloc];
}
- (id)autorelease {
  [NSAutoreleasePool addObject:self];
  return self;
}
- (void)dealloc {
  simulated::add_alive(-1);
  call_hidden(self, ".cxx_destruct");
  object_dispose(self);
}
@end

@implementation NSAutoreleasePool
+ (void)addObject:(id)object {
  if (pools().empty()) misuse("an object was autoreleased without a pool");
  pools().back().push_back(object);
}
- (id)init {
  pools().emplace_back();
  return [super init];
}
- (void)drain {
  const std::vector<id> objects = std::move(pools().back());
  pools().pop_back();
  for (id object : objects) [object release];
  [self release];
}
@end

@implementation NSString
+ (NSString*)stringWithUTF8String:(const char*)text {
  simulated::note_call("stringWithUTF8String:");
  NSString* made = [[NSString alloc] init];
  made->text_ = strdup(text);
  return [made autorelease];
}
- (const char*)UTF8String {
  return text_;
}
- (void)dealloc {
  std::free(text_);
  [super dealloc];
}
@end

@interface NSError (Mock)
+ (NSError*)saying:(const std::string&)text;
@end

@implementation NSError
+ (NSError*)saying:(const std::string&)text {
  NSError* made = [[NSError alloc] init];
  made->text_ = [[NSString stringWithUTF8String:text.c_str()] retain];
  return [made autorelease];
}
- (NSString*)localizedDescription {
  simulated::note_call("localizedDescription");
  return text_;
}
- (void)dealloc {
  [text_ release];
  [super dealloc];
}
@end

@implementation NSProcessInfo
+ (NSProcessInfo*)processInfo {
  return [[[NSProcessInfo alloc] init] autorelease];
}
- (NSString*)operatingSystemVersionString {
  simulated::note_call("operatingSystemVersionString");
  return [NSString stringWithUTF8String:"Version 0 (mock)"];
}
@end

@implementation MTLCompileOptions
- (void)setLanguageVersion:(MTLLanguageVersion)version {
  simulated::note_call("setLanguageVersion:");
  version_ = version;
}
- (void)setFastMathEnabled:(BOOL)isFast {
  simulated::note_call(isFast ? "setFastMathEnabled:YES" : "setFastMathEnabled:NO");
  is_fast_ = isFast;
}
@end

@implementation MTLFunctionConstantValues
- (id)init {
  values_ = new simulated::Constants;
  return [super init];
}
- (void)setConstantValue:(const void*)value type:(MTLDataType)type atIndex:(NSUInteger)index {
  simulated::note_call("setConstantValue:type:atIndex:");
  // More than any type has; the runner's value is followed by its zero.
  const auto* bytes = static_cast<const char*>(value);
  static const struct {
    NSUInteger first, size;
  } sizes[] = {{85, 8}, {81, 8}, {53, 1}, {49, 1}, {45, 1}, {41, 2}, {37, 2}, {33, 4}, {29, 4}, {16, 2}, {3, 4}};
  for (const auto& [first, size] : sizes) {
    if (type < first) continue;
    (*static_cast<simulated::Constants*>(values_))[index] = {type, std::string(bytes, size * (type - first + 1))};
    return;
  }
  misuse("a function constant has no known type");
}
- (void)dealloc {
  delete static_cast<simulated::Constants*>(values_);
  [super dealloc];
}
@end

@interface MockFunction : NSObject <MTLFunction> {
 @public
  std::shared_ptr<simulated::Library> library_;
  std::string name_;
  simulated::Constants constants_;
}
@end
@implementation MockFunction
@end

@interface MockLibrary : NSObject <MTLLibrary> {
 @public
  std::shared_ptr<simulated::Library> library_;
}
@end
@implementation MockLibrary
- (id<MTLFunction>)newFunctionWithName:(NSString*)name constantValues:(MTLFunctionConstantValues*)values error:(NSError**)error {
  simulated::note_call("newFunctionWithName:constantValues:error:");
  if (simulated::is_asked("no function")) {
    *error = [NSError saying:"no function of that name"];
    return nil;
  }
  MockFunction* made = [[MockFunction alloc] init];
  made->library_ = library_;
  made->name_ = [name UTF8String];
  made->constants_ = *static_cast<simulated::Constants*>(values->values_);
  return made;
}
@end

@interface MockPipeline : NSObject <MTLComputePipelineState> {
 @public
  std::shared_ptr<simulated::Pipeline> pipeline_;
}
@end
@implementation MockPipeline
- (NSUInteger)maxTotalThreadsPerThreadgroup {
  simulated::note_call("maxTotalThreadsPerThreadgroup");
  return simulated::is_asked("few threads") ? 8 : simulated::most_threads(*pipeline_);
}
- (NSUInteger)threadExecutionWidth {
  simulated::note_call("threadExecutionWidth");
  return simulated::is_asked("wide simdgroups") ? 64 : 32;
}
@end

@interface MockBuffer : NSObject <MTLBuffer> {
 @public
  std::shared_ptr<simulated::Memory> memory_;
}
@end
@implementation MockBuffer
- (void*)contents {
  simulated::note_call("contents");
  return simulated::contents(*memory_);
}
@end

@interface MockEncoder : NSObject <MTLComputeCommandEncoder> {
 @public
  std::shared_ptr<simulated::Commands> commands_;
  BOOL has_pipeline_, has_ended_;
}
@end
@implementation MockEncoder
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state {
  simulated::note_call("setComputePipelineState:");
  if (state == nil) misuse("a nil pipeline is set");
  simulated::set_pipeline(*commands_, static_cast<MockPipeline*>(state)->pipeline_);
  has_pipeline_ = YES;
}
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
  simulated::note_call("setBuffer:offset:atIndex:");
  simulated::set_buffer(*commands_, buffer == nil ? nullptr : static_cast<MockBuffer*>(buffer)->memory_, offset, index);
}
- (void)setBytes:(const void*)bytes length:(NSUInteger)length atIndex:(NSUInteger)index {
  simulated::note_call("setBytes:length:atIndex:");
  simulated::set_bytes(*commands_, bytes, length, index);
}
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index {
  simulated::note_call("setThreadgroupMemoryLength:atIndex:");
  simulated::set_threadgroup_memory(*commands_, length, index);
}
- (void)memoryBarrierWithScope:(MTLBarrierScope)scope {
  simulated::note_call("memoryBarrierWithScope:");
  if (scope != MTLBarrierScopeBuffers) misuse("a barrier of another scope than buffers");
  simulated::add_barrier(*commands_);
}
- (void)dispatch:(MTLSize)grid threads:(MTLSize)threads counted:(bool)countsThreads {
  if (!has_pipeline_) misuse("a dispatch without a pipeline");
  simulated::dispatch(*commands_, {grid.width, grid.height, grid.depth}, {threads.width, threads.height, threads.depth}, countsThreads);
}
- (void)dispatchThreadgroups:(MTLSize)threadgroups threadsPerThreadgroup:(MTLSize)threads {
  simulated::note_call("dispatchThreadgroups:threadsPerThreadgroup:");
  [self dispatch:threadgroups threads:threads counted:false];
}
- (void)dispatchThreads:(MTLSize)grid threadsPerThreadgroup:(MTLSize)threads {
  simulated::note_call("dispatchThreads:threadsPerThreadgroup:");
  [self dispatch:grid threads:threads counted:true];
}
- (void)endEncoding {
  simulated::note_call("endEncoding");
  if (has_ended_) misuse("an encoder ended twice");
  has_ended_ = YES;
}
- (void)dealloc {
  if (!has_ended_) misuse("an encoder was released without endEncoding");
  [super dealloc];
}
@end

@interface MockCommandBuffer : NSObject <MTLCommandBuffer> {
 @public
  MockEncoder* encoder_;
  NSError* error_;
  BOOL is_committed_, is_completed_;
}
@end
@implementation MockCommandBuffer
- (id<MTLComputeCommandEncoder>)computeCommandEncoder {
  simulated::note_call("computeCommandEncoder");
  if (simulated::is_asked("no encoder")) return nil;
  encoder_ = [[MockEncoder alloc] init];
  encoder_->commands_ = simulated::make_commands();
  return [[encoder_ retain] autorelease];
}
- (void)commit {
  simulated::note_call("commit");
  if (encoder_ == nil || !encoder_->has_ended_) misuse("a command buffer was committed while its encoder is open");
  is_committed_ = YES;
  if (simulated::is_asked("failing commands")) {
    error_ = [[NSError saying:"Caused GPU Timeout Error (00000002:kIOAccelCommandBufferCallbackErrorTimeout)"] retain];
    return;
  }
  try {
    simulated::execute(*encoder_->commands_);
  } catch (const std::exception& error) {
    error_ = [[NSError saying:error.what()] retain];
  }
}
- (void)waitUntilCompleted {
  simulated::note_call("waitUntilCompleted");
  if (!is_committed_) misuse("a wait for commands that were not committed");
  is_completed_ = YES;
}
- (MTLCommandBufferStatus)status {
  simulated::note_call("status");
  if (!is_completed_) misuse("the outputs are read before the commands have completed");
  return error_ == nil ? MTLCommandBufferStatusCompleted : MTLCommandBufferStatusError;
}
- (NSError*)error {
  simulated::note_call("error");
  return simulated::is_asked("failing without a reason") ? nil : error_;
}
- (void)dealloc {
  [encoder_ release];
  [error_ release];
  [super dealloc];
}
@end

@interface MockQueue : NSObject <MTLCommandQueue>
@end
@implementation MockQueue
- (id<MTLCommandBuffer>)commandBuffer {
  simulated::note_call("commandBuffer");
  return [[[MockCommandBuffer alloc] init] autorelease];
}
@end

@interface MockDevice : NSObject <MTLDevice>
@end
@implementation MockDevice
- (NSString*)name {
  simulated::note_call("name");
  return [NSString stringWithUTF8String:"Mock \"GPU\" of assay"];
}
- (NSUInteger)maxBufferLength {
  simulated::note_call("maxBufferLength");
  return simulated::is_asked("small buffers") ? 64 : NSUInteger{1} << 36;
}
- (id<MTLCommandQueue>)newCommandQueue {
  simulated::note_call("newCommandQueue");
  return simulated::is_asked("no queue") ? nil : [[MockQueue alloc] init];
}
- (id<MTLLibrary>)newLibraryWithSource:(NSString*)source options:(MTLCompileOptions*)options error:(NSError**)error {
  simulated::note_call("newLibraryWithSource:options:error:");
  try {
    auto library = simulated::make_library([source UTF8String], options->version_);
    MockLibrary* made = [[MockLibrary alloc] init];
    made->library_ = std::move(library);
    return made;
  } catch (const std::exception& refusal) {
    *error = [NSError saying:refusal.what()];
    return nil;
  }
}
- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function error:(NSError**)error {
  simulated::note_call("newComputePipelineStateWithFunction:error:");
  try {
    auto* of = static_cast<MockFunction*>(function);
    auto pipeline = simulated::make_pipeline(of->library_, of->name_, of->constants_);
    MockPipeline* made = [[MockPipeline alloc] init];
    made->pipeline_ = std::move(pipeline);
    return made;
  } catch (const std::exception& refusal) {
    *error = [NSError saying:refusal.what()];
    return nil;
  }
}
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
  simulated::note_call("newBufferWithLength:options:");
  if (options != MTLResourceStorageModeShared) misuse("a buffer that the host cannot read");
  if (length == 0) misuse("a buffer without bytes");
  if (simulated::is_asked("no memory")) return nil;
  MockBuffer* made = [[MockBuffer alloc] init];
  made->memory_ = simulated::make_memory(length);
  return made;
}
@end

id<MTLDevice> MTLCreateSystemDefaultDevice() {
  simulated::note_call("MTLCreateSystemDefaultDevice");
  return simulated::is_asked("no device") ? nil : [[MockDevice alloc] init];
}
