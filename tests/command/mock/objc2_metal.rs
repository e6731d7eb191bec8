// A stand-in for the crate objc2-metal: the calls of an encoder that docs/RECORDERS.md makes, with the types that they have there. Each
// call prints a line.
#![allow(non_snake_case)]
use std::ffi::c_void;
use std::ptr::NonNull;

use objc2::runtime::ProtocolObject;

pub type NSUInteger = usize;

pub struct MTLSize {
    pub width: NSUInteger,
    pub height: NSUInteger,
    pub depth: NSUInteger,
}

pub struct MTLBarrierScope(pub NSUInteger);
#[allow(non_upper_case_globals)]
impl MTLBarrierScope {
    pub const Buffers: Self = MTLBarrierScope(1);
}

pub trait MTLBuffer {}
pub trait MTLComputePipelineState {}

pub trait MTLComputeCommandEncoder {
    fn setComputePipelineState(&self, _state: &ProtocolObject<dyn MTLComputePipelineState>) {
        println!("pipeline");
    }
    unsafe fn setBuffer_offset_atIndex(&self, buffer: Option<&ProtocolObject<dyn MTLBuffer>>, offset: NSUInteger, index: NSUInteger) {
        println!("buffer of {} at {offset} to {index}", buffer.unwrap().number);
    }
    unsafe fn setBytes_length_atIndex(&self, bytes: NonNull<c_void>, length: NSUInteger, index: NSUInteger) {
        println!("{length} bytes, first {}, to {index}", unsafe { *bytes.cast::<u8>().as_ref() });
    }
    unsafe fn setThreadgroupMemoryLength_atIndex(&self, length: NSUInteger, index: NSUInteger) {
        println!("memory {length} to {index}");
    }
    fn memoryBarrierWithScope(&self, scope: MTLBarrierScope) {
        println!("barrier {}", scope.0);
    }
    fn dispatchThreadgroups_threadsPerThreadgroup(&self, groups: MTLSize, threads: MTLSize) {
        println!(
            "{} {} {} of {} {} {}",
            groups.width, groups.height, groups.depth, threads.width, threads.height, threads.depth
        );
    }
}
impl MTLComputeCommandEncoder for ProtocolObject<dyn MTLComputeCommandEncoder> {}
