/*
 * decode.h - the one kind of instruction that guests use on device memory: a move of 1, 2, 4 or 8
 * bytes between a register or constant and memory. AMD64 APM volume 3, chapter 1.
 */
#ifndef HV_DEV_DECODE_H
#define HV_DEV_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#define HV_INSTRUCTION_MAX 15u

struct hv_move {
    uint8_t length;      /* of the instruction */
    uint8_t size;        /* of the access */
    uint8_t to_size;     /* MOVZX, MOVSX: of the register */
    bool is_write;
    bool is_immediate;   /* write of `immediate`, else of register `reg` */
    bool sign_extend;
    bool high_byte;      /* reg is AH, CH, DH or BH */
    uint8_t reg;         /* enum arch_gpr */
    uint64_t immediate;
};

/*
 * Decodes up to `count` bytes at a guest's RIP. bits: 16, 32 or 64, the code segment's size. False:
 * not a move that is known here. Reads no memory; no state. O(count).
 */
bool hv_decode_move(const uint8_t *bytes, unsigned count, unsigned bits, struct hv_move *move);

#endif
