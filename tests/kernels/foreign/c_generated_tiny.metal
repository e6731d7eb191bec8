// Straight-line kernels in the manner of a tensor-graph compiler; buffers are bound by position.
#include <metal_stdlib>
using namespace metal;
float2 __WMMA_8_8_8_half_float(half2 a, half2 b, float2 c){
  simdgroup_half8x8 mat_a, mat_b; simdgroup_float8x8 mat_c;
  mat_a.thread_elements()[0] = a[0]; mat_b.thread_elements()[0] = b[0]; mat_c.thread_elements()[0] = c[0];
  mat_a.thread_elements()[1] = a[1]; mat_b.thread_elements()[1] = b[1]; mat_c.thread_elements()[1] = c[1];
  simdgroup_multiply_accumulate(mat_c, mat_a, mat_b, mat_c);
  return float2(mat_c.thread_elements()[0], mat_c.thread_elements()[1]);
}
kernel void E_10_32_4(device float* data0_1280, const device float* data1_1280, const device half* data2_4, uint3 gid [[threadgroup_position_in_grid]], uint3 lid [[thread_position_in_threadgroup]]) {
  int gidx0 = gid.x; /* 10 */
  int lidx0 = lid.x; /* 32 */
  int alu0 = ((gidx0<<7)+(lidx0<<2));
  half4 val0 = *((const device half4*)((data2_4+0)));
  float4 val1 = *((const device float4*)((data1_1280+alu0)));
  float cast0 = ((float)(val0.x));
  float cast1 = ((float)(val0.y));
  float cast2 = ((float)(val0.z));
  float cast3 = ((float)(val0.w));
  float alu1 = (val1.x*cast0);
  float alu2 = (val1.y*cast1);
  float alu3 = (val1.z*cast2);
  float alu4 = (val1.w*cast3);
  *((device float4*)((data0_1280+alu0))) = float4((alu1*(1/(1.0f+exp2((alu1*-1.4426950408889634f))))),(alu2*(1/(1.0f+exp2((alu2*-1.4426950408889634f))))),(alu3*(1/(1.0f+exp2((alu3*-1.4426950408889634f))))),(alu4*(1/(1.0f+exp2((alu4*-1.4426950408889634f))))));
}
kernel void r_12_16_12(device float* data0_12, const device float* data1_2304, uint3 gid [[threadgroup_position_in_grid]], uint3 lid [[thread_position_in_threadgroup]]) {
  threadgroup __attribute__((aligned(16))) float temp0[16];
  float acc0[1];
  float acc1[1];
  int gidx0 = gid.x; /* 12 */
  int lidx0 = lid.x; /* 16 */
  *(acc0+0) = 0.0f;
  for (int ridx0 = 0; ridx0 < 3; ridx0++) {
    float4 val0 = *((const device float4*)((data1_2304+((gidx0*192)+(lidx0*12)+(ridx0<<2)))));
    *(acc0+0) = ((*(acc0+0))+val0.x+val0.y+val0.z+val0.w);
  }
  *(temp0+lidx0) = (*(acc0+0));
  threadgroup_barrier(mem_flags::mem_threadgroup);
  *(acc1+0) = 0.0f;
  for (int ridx1 = 0; ridx1 < 16; ridx1++) {
    float val1 = (*(temp0+ridx1));
    *(acc1+0) = ((*(acc1+0))+val1);
  }
  bool alu0 = ((bool)(lidx0)!=1);
  if (alu0) {
    *(data0_12+gidx0) = ((*(acc1+0))*0.005208333333333333f);
  }
}
kernel void r_12_16_12n1(device float* data0_12, const device float* data1_2304, uint3 gid [[threadgroup_position_in_grid]], uint3 lid [[thread_position_in_threadgroup]]) {
  threadgroup __attribute__((aligned(16))) float4 temp0[16];
  int gidx0 = gid.x; /* 12 */
  int lidx0 = lid.x; /* 16 */
  float4 acc0 = (float4)(-INFINITY);
  for (int ridx0 = 0; ridx0 < 3; ridx0++) {
    float4 val0 = *((const device float4*)((data1_2304+((gidx0*192)+(lidx0*12)+(ridx0<<2)))));
    float alu0 = ((acc0.x<val0.x)?val0.x:acc0.x);
    float alu1 = ((acc0.y<val0.y)?val0.y:acc0.y);
    float alu2 = ((acc0.z<val0.z)?val0.z:acc0.z);
    float alu3 = ((acc0.w<val0.w)?val0.w:acc0.w);
    acc0 = float4(alu0,alu1,alu2,alu3);
  }
  *(temp0+lidx0) = acc0;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if ((lidx0<1)) {
    float acc1 = -INFINITY;
    for (int ridx1 = 0; ridx1 < 16; ridx1++) {
      float4 val1 = (*(temp0+ridx1));
      float alu4 = ((val1.x<val1.y)?val1.y:val1.x);
      float alu5 = ((val1.z<val1.w)?val1.w:val1.z);
      float alu6 = ((alu4<alu5)?alu5:alu4);
      acc1 = ((acc1<alu6)?alu6:acc1);
    }
    *(data0_12+gidx0) = acc1;
  }
}
kernel void r_12_16_12n2(device half* data0_2304, const device float* data1_2304, const device float* data2_12, uint3 gid [[threadgroup_position_in_grid]], uint3 lid [[thread_position_in_threadgroup]]) {
  threadgroup __attribute__((aligned(16))) float temp0[16];
  int gidx0 = gid.x; /* 12 */
  int lidx0 = lid.x; /* 16 */
  int alu0 = ((gidx0*192)+(lidx0*12));
  float val0 = (*(data2_12+gidx0));
  float acc0 = 0.0f;
  for (int ridx0 = 0; ridx0 < 12; ridx0++) {
    float val1 = (*(data1_2304+alu0+ridx0));
    acc0 = (acc0+exp2(((val1-val0)*1.4426950408889634f)));
  }
  *(temp0+lidx0) = acc0;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float acc1 = 0.0f;
  for (int ridx1 = 0; ridx1 < 16; ridx1++) { acc1 = (acc1+(*(temp0+ridx1))); }
  float alu1 = (1/acc1);
  float4 val2 = *((const device float4*)((data1_2304+alu0)));
  float4 val3 = *((const device float4*)((data1_2304+(alu0+4))));
  float4 val4 = *((const device float4*)((data1_2304+(alu0+8))));
  *((device half4*)((data0_2304+alu0))) = half4(((half)((exp2(((val2.x-val0)*1.4426950408889634f))*alu1))),((half)((exp2(((val2.y-val0)*1.4426950408889634f))*alu1))),((half)((exp2(((val2.z-val0)*1.4426950408889634f))*alu1))),((half)((exp2(((val2.w-val0)*1.4426950408889634f))*alu1))));
  *((device half4*)((data0_2304+(alu0+4)))) = half4(((half)((exp2(((val3.x-val0)*1.4426950408889634f))*alu1))),((half)((exp2(((val3.y-val0)*1.4426950408889634f))*alu1))),((half)((exp2(((val3.z-val0)*1.4426950408889634f))*alu1))),((half)((exp2(((val3.w-val0)*1.4426950408889634f))*alu1))));
  *((device half4*)((data0_2304+(alu0+8)))) = half4(((half)((exp2(((val4.x-val0)*1.4426950408889634f))*alu1))),((half)((exp2(((val4.y-val0)*1.4426950408889634f))*alu1))),((half)((exp2(((val4.z-val0)*1.4426950408889634f))*alu1))),((half)((exp2(((val4.w-val0)*1.4426950408889634f))*alu1))));
}
kernel void r_3_2_8_2_2_3_8(device float* data0_384, const device half* data1_576, const device half* data2_384, uint3 gid [[threadgroup_position_in_grid]], uint3 lid [[thread_position_in_threadgroup]]) {
  int gidx0 = gid.x; /* 2 */
  int gidx1 = gid.y; /* 3 */
  int lidx0 = lid.x; /* 8 */
  int lidx1 = lid.y; /* 4 */
  int lane = (lidx0+(lidx1<<3));
  int alu0 = (((lane>>1)&3)+((lane>>2)&4));
  int alu1 = (((lane&1)<<1)+((lane>>1)&4));
  float2 acc0 = float2(0.0f,0.0f);
  for (int ridx0 = 0; ridx0 < 3; ridx0++) {
    int alu2 = ((((gidx1<<3)+alu0)*24)+(ridx0<<3)+alu1);
    int alu3 = ((((ridx0<<3)+alu0)<<4)+(gidx0<<3)+alu1);
    half2 val0 = *((const device half2*)((data1_576+alu2)));
    half2 val1 = *((const device half2*)((data2_384+alu3)));
    float2 wmma0 = __WMMA_8_8_8_half_float(val0, val1, acc0);
    acc0 = wmma0;
  }
  *((device float2*)((data0_384+((((gidx1<<3)+alu0)<<4)+(gidx0<<3)+alu1)))) = acc0;
}
kernel void r_6_8_50(device float* data0_48, const device int* data1_6, const device float* data2_400, uint3 gid [[threadgroup_position_in_grid]], uint3 lid [[thread_position_in_threadgroup]]) {
  int gidx0 = gid.x; /* 6 */
  int lidx0 = lid.x; /* 8 */
  float acc0 = 0.0f;
  int val0 = (*(data1_6+gidx0));
  for (int ridx0 = 0; ridx0 < 50; ridx0++) {
    float val1 = (((val0!=ridx0)!=1)?(*(data2_400+(lidx0+(ridx0<<3)))):0.0f);
    acc0 = (acc0+val1);
  }
  *(data0_48+(lidx0+(gidx0<<3))) = acc0;
}
kernel void r_3_5_6_3_3(device float* data0_90, const device float* data1_30, const device float* data2_27, const device float* data3_3, uint3 gid [[threadgroup_position_in_grid]], uint3 lid [[thread_position_in_threadgroup]]) {
  int gidx0 = gid.x; /* 5 */
  int gidx1 = gid.y; /* 3 */
  int lidx0 = lid.x; /* 6 */
  bool alu0 = (gidx0<1);
  bool alu1 = (3<gidx0);
  bool alu2 = (lidx0<1);
  bool alu3 = (4<lidx0);
  int alu4 = ((gidx0*6)+lidx0);
  int alu5 = (gidx1*9);
  float val0 = (((alu0|alu2)!=1)?(*(data1_30+(alu4+-7))):0.0f);
  float val1 = ((alu0!=1)?(*(data1_30+(alu4+-6))):0.0f);
  float val2 = (((alu0|alu3)!=1)?(*(data1_30+(alu4+-5))):0.0f);
  float val3 = ((alu2!=1)?(*(data1_30+(alu4+-1))):0.0f);
  float val4 = (*(data1_30+alu4));
  float val5 = ((alu3!=1)?(*(data1_30+(alu4+1))):0.0f);
  float val6 = (((alu1|alu2)!=1)?(*(data1_30+(alu4+5))):0.0f);
  float val7 = ((alu1!=1)?(*(data1_30+(alu4+6))):0.0f);
  float val8 = (((alu1|alu3)!=1)?(*(data1_30+(alu4+7))):0.0f);
  float val9 = (*(data3_3+gidx1));
  float alu6 = ((val0*(*(data2_27+alu5)))+(val1*(*(data2_27+(alu5+1))))+(val2*(*(data2_27+(alu5+2))))+(val3*(*(data2_27+(alu5+3))))+(val4*(*(data2_27+(alu5+4))))+(val5*(*(data2_27+(alu5+5))))+(val6*(*(data2_27+(alu5+6))))+(val7*(*(data2_27+(alu5+7))))+(val8*(*(data2_27+(alu5+8))))+val9);
  *(data0_90+((gidx1*30)+alu4)) = ((0.0f<alu6)?alu6:0.0f);
}
kernel void E_7_9n1(device uchar* data0_63, const device int* data1_63, const device ushort* data2_9, constant int& start_pos, uint3 gid [[threadgroup_position_in_grid]], uint3 lid [[thread_position_in_threadgroup]]) {
  int gidx0 = gid.x; /* 7 */
  int lidx0 = lid.x; /* 9 */
  int alu0 = (lidx0+(gidx0*9));
  int val0 = (*(data1_63+alu0));
  int val1 = ((int)((*(data2_9+lidx0))));
  uint cast0 = ((uint)(val0));
  uint alu1 = (((cast0*2654435761u)>>13u)^((uint)((val1<<3))));
  bool alu2 = ((lidx0<(gidx0+start_pos+1))&(val0!=-7));
  *(data0_63+alu0) = (alu2?((uchar)(alu1)):((uchar)(255)));
}
