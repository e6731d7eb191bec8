// A mock of the few parts of Foundation that runners/metal uses, for GNU's Objective-C runtime. Declarations as in Apple's documentation.
#pragma once

#include <objc/objc.h>

#include <cstddef>

#define MOCK_ROOT __attribute__((objc_root_class))

using NSUInteger = unsigned long;

@protocol NSObject
- (void)release;
@end

MOCK_ROOT
@interface NSObject <NSObject> {
  Class isa;
  NSUInteger count_;
}
+ (id)alloc;
- (id)init;
- (id)retain;
- (void)release;
- (id)autorelease;
- (void)dealloc;
@end

// What @autoreleasepool becomes.
@interface NSAutoreleasePool : NSObject
+ (void)addObject:(id)object;
- (void)drain;
@end

@interface NSString : NSObject {
  char* text_;
}
+ (NSString*)stringWithUTF8String:(const char*)text;
- (const char*)UTF8String;
@end

@interface NSError : NSObject {
  NSString* text_;
}
- (NSString*)localizedDescription;
@end

@interface NSProcessInfo : NSObject
+ (NSProcessInfo*)processInfo;
- (NSString*)operatingSystemVersionString;
@end
