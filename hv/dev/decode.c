/*
 * decode.c - decodes MOV, MOVZX and MOVSX with a memory operand. See decode.h. AMD64 APM volume 3,
 * 1.2 (prefixes), 1.4 (ModRM and SIB), appendix A (opcodes). No state.
 */
#include "hv/dev/decode.h"

#include <stddef.h>

struct cursor {
    const uint8_t *bytes;
    unsigned count;
    unsigned at;
    bool failed;
};

struct prefixes {
    bool operand; /* 0x66 */
    bool address; /* 0x67 */
    uint8_t rex;
};

static uint8_t next(struct cursor *cursor)
{
    if (cursor->at >= cursor->count || cursor->at >= HV_INSTRUCTION_MAX) {
        cursor->failed = true;
        return 0;
    }
    return cursor->bytes[cursor->at++];
}

static uint64_t next_number(struct cursor *cursor, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++) {
        value |= (uint64_t)next(cursor) << (8 * i);
    }
    return value;
}

/* Legacy prefixes in any order, then REX; returns the opcode's first byte. */
static uint8_t read_prefixes(struct cursor *cursor, unsigned bits, struct prefixes *prefixes)
{
    for (;;) {
        uint8_t byte = next(cursor);
        if (byte == 0x66) {
            prefixes->operand = true;
        } else if (byte == 0x67) {
            prefixes->address = true;
        } else if (byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x64 ||
                   byte == 0x65) {
            continue; /* segment overrides: the fault has given the address */
        } else if (bits == 64 && (byte & 0xf0) == 0x40) {
            prefixes->rex = byte;
            return next(cursor);
        } else {
            return byte;
        }
    }
}

static unsigned operand_size(const struct prefixes *prefixes, unsigned bits)
{
    if ((prefixes->rex & 8) != 0) {
        return 8;
    }
    return (bits == 16) != prefixes->operand ? 2 : 4;
}

static unsigned address_size(const struct prefixes *prefixes, unsigned bits)
{
    if (bits == 64) {
        return prefixes->address ? 4 : 8;
    }
    return (bits == 16) != prefixes->address ? 2 : 4;
}

/* Skips SIB and displacement; false if the operand is a register. */
static bool skip_operand(struct cursor *cursor, uint8_t modrm, unsigned address)
{
    unsigned mod = modrm >> 6;
    unsigned rm = modrm & 7;
    if (mod == 3) {
        return false;
    }
    if (address == 2) {
        next_number(cursor, mod == 1 ? 1 : mod == 2 || rm == 6 ? 2 : 0);
        return true;
    }
    unsigned base = rm;
    if (rm == 4) {
        base = next(cursor) & 7;
    }
    next_number(cursor, mod == 1 ? 1 : mod == 2 || (mod == 0 && base == 5) ? 4 : 0);
    return true;
}

static void set_register(struct hv_move *move, const struct prefixes *prefixes, uint8_t modrm,
                         unsigned size)
{
    unsigned reg = modrm >> 3 & 7;
    move->high_byte = size == 1 && prefixes->rex == 0 && reg >= 4;
    move->reg = (uint8_t)(move->high_byte ? reg - 4 : reg | (prefixes->rex & 4u) << 1);
}

/* Opcodes with ModRM: 88..8b, c6, c7, 0f b6, 0f b7, 0f be, 0f bf (as 0x1b6 and so on). */
static bool decode_modrm(struct cursor *cursor, unsigned opcode, const struct prefixes *prefixes,
                         unsigned bits, struct hv_move *move)
{
    unsigned full = operand_size(prefixes, bits);
    uint8_t modrm = next(cursor);
    bool wide = (opcode & 1) != 0;
    move->is_write = opcode == 0x88 || opcode == 0x89 || opcode == 0xc6 || opcode == 0xc7;
    move->is_immediate = opcode == 0xc6 || opcode == 0xc7;
    move->sign_extend = opcode == 0x1be || opcode == 0x1bf;
    move->size = (uint8_t)(opcode > 0xff ? (wide ? 2 : 1) : wide ? full : 1);
    move->to_size = (uint8_t)(opcode > 0xff ? full : move->size);
    if (!skip_operand(cursor, modrm, address_size(prefixes, bits))) {
        return false;
    }
    if (!move->is_immediate) {
        set_register(move, prefixes, modrm, move->to_size);
        return true;
    }
    unsigned size = move->size == 8 ? 4 : move->size;
    move->immediate = next_number(cursor, size);
    if (move->size == 8) {
        move->immediate = (uint64_t)(int64_t)(int32_t)move->immediate;
    }
    return (modrm >> 3 & 7) == 0;
}

/* a0..a3: RAX and an absolute address */
static bool decode_absolute(struct cursor *cursor, unsigned opcode,
                            const struct prefixes *prefixes, unsigned bits, struct hv_move *move)
{
    move->is_write = opcode >= 0xa2;
    move->size = (uint8_t)((opcode & 1) != 0 ? operand_size(prefixes, bits) : 1);
    move->to_size = move->size;
    next_number(cursor, address_size(prefixes, bits));
    return true;
}

bool hv_decode_move(const uint8_t *bytes, unsigned count, unsigned bits, struct hv_move *move)
{
    struct cursor cursor = {bytes, count, 0, false};
    struct prefixes prefixes = {false, false, 0};
    bool known = false;
    *move = (struct hv_move){0};
    unsigned opcode = read_prefixes(&cursor, bits, &prefixes);
    if (opcode == 0x0f) {
        opcode = 0x100u | next(&cursor);
    }
    if ((opcode >= 0x88 && opcode <= 0x8b) || opcode == 0xc6 || opcode == 0xc7 ||
        opcode == 0x1b6 || opcode == 0x1b7 || opcode == 0x1be || opcode == 0x1bf) {
        known = decode_modrm(&cursor, opcode, &prefixes, bits, move);
    } else if (opcode >= 0xa0 && opcode <= 0xa3) {
        known = decode_absolute(&cursor, opcode, &prefixes, bits, move);
    }
    move->length = (uint8_t)cursor.at;
    return known && !cursor.failed;
}
