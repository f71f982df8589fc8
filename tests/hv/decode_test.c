/*
 * decode_test.c - the MMIO decoder: instructions with their meaning worked out by hand from the
 * manual's tables, everything else refused, and a million random inputs under the sanitizers.
 */
#include "hv/arch/x86/svm/vcpu.h"
#include "hv/dev/decode.h"
#include "tests/tap.h"

#include <string.h>

struct row {
    const char *what;
    uint8_t bytes[HV_INSTRUCTION_MAX];
    unsigned bits;
    struct hv_move move;
};

static const struct row rows[] = {
    {"mov [rdi], eax", {0x89, 0x07}, 64, {.length = 2, .size = 4, .to_size = 4, .is_write = true, .reg = GPR_RAX}},
    {"mov ecx, [rsi+0x20]", {0x8b, 0x4e, 0x20}, 64, {.length = 3, .size = 4, .to_size = 4, .reg = GPR_RCX}},
    {"mov r9d, [r8]", {0x45, 0x8b, 0x08}, 64, {.length = 3, .size = 4, .to_size = 4, .reg = GPR_R9}},
    {"mov rax, [rbx+rcx*8+0x12345678]", {0x48, 0x8b, 0x84, 0xcb, 0x78, 0x56, 0x34, 0x12}, 64, {.length = 8, .size = 8, .to_size = 8, .reg = GPR_RAX}},
    {"mov dword [rip+x], 0x11223344", {0xc7, 0x05, 1, 2, 3, 4, 0x44, 0x33, 0x22, 0x11}, 64, {.length = 10, .size = 4, .to_size = 4, .is_write = true, .is_immediate = true, .immediate = 0x11223344}},
    {"mov qword [rdi], -1", {0x48, 0xc7, 0x07, 0xff, 0xff, 0xff, 0xff}, 64, {.length = 7, .size = 8, .to_size = 8, .is_write = true, .is_immediate = true, .immediate = UINT64_MAX}},
    {"mov word [rdi], ax", {0x66, 0x89, 0x07}, 64, {.length = 3, .size = 2, .to_size = 2, .is_write = true, .reg = GPR_RAX}},
    {"mov [rdi], ah", {0x88, 0x27}, 64, {.length = 2, .size = 1, .to_size = 1, .is_write = true, .reg = GPR_RAX, .high_byte = true}},
    {"mov [rdi], spl", {0x40, 0x88, 0x27}, 64, {.length = 3, .size = 1, .to_size = 1, .is_write = true, .reg = GPR_RSP}},
    {"mov byte [rdi], 0x5a", {0xc6, 0x07, 0x5a}, 64, {.length = 3, .size = 1, .to_size = 1, .is_write = true, .is_immediate = true, .immediate = 0x5a}},
    {"movzx edx, byte [rax]", {0x0f, 0xb6, 0x10}, 64, {.length = 3, .size = 1, .to_size = 4, .reg = GPR_RDX}},
    {"movsx rdx, word [rax]", {0x48, 0x0f, 0xbf, 0x10}, 64, {.length = 4, .size = 2, .to_size = 8, .sign_extend = true, .reg = GPR_RDX}},
    {"mov eax, [moffs64]", {0xa1, 1, 2, 3, 4, 5, 6, 7, 8}, 64, {.length = 9, .size = 4, .to_size = 4, .reg = GPR_RAX}},
    {"mov [moffs32], eax", {0xa3, 1, 2, 3, 4}, 32, {.length = 5, .size = 4, .to_size = 4, .is_write = true, .reg = GPR_RAX}},
    {"fs: mov eax, [ebp+4]", {0x64, 0x8b, 0x45, 0x04}, 32, {.length = 4, .size = 4, .to_size = 4, .reg = GPR_RAX}},
    {"16 bits: mov ax, [bp+di+0x10]", {0x8b, 0x43, 0x10}, 16, {.length = 3, .size = 2, .to_size = 2, .reg = GPR_RAX}},
    {"16 bits: mov eax, [0x1234]", {0x66, 0x8b, 0x06, 0x34, 0x12}, 16, {.length = 5, .size = 4, .to_size = 4, .reg = GPR_RAX}},
    {"mov eax, [esp]", {0x8b, 0x04, 0x24}, 32, {.length = 3, .size = 4, .to_size = 4, .reg = GPR_RAX}},
    {"mov eax, [ebx*4+disp32]", {0x8b, 0x04, 0x9d, 1, 2, 3, 4}, 32, {.length = 7, .size = 4, .to_size = 4, .reg = GPR_RAX}},
};

static const struct row refused[] = {
    {"add [rdi], eax", {0x01, 0x07}, 64, {0}},
    {"xchg [rdi], eax", {0x87, 0x07}, 64, {0}},
    {"mov eax, ecx (no memory)", {0x89, 0xc8}, 64, {0}},
    {"c7 /1 (no such instruction)", {0xc7, 0x0f, 0, 0, 0, 0}, 64, {0}},
    {"lock mov", {0xf0, 0x89, 0x07}, 64, {0}},
    {"rep movsb", {0xf3, 0xa4}, 64, {0}},
    {"movaps [rdi], xmm0", {0x0f, 0x29, 0x07}, 64, {0}},
};

static bool same(const struct hv_move *a, const struct hv_move *b)
{
    return a->length == b->length && a->size == b->size && a->to_size == b->to_size &&
           a->is_write == b->is_write && a->is_immediate == b->is_immediate &&
           a->sign_extend == b->sign_extend && a->high_byte == b->high_byte && a->reg == b->reg &&
           a->immediate == b->immediate;
}

static void test_rows(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hv_move move;
        bool known = hv_decode_move(rows[i].bytes, HV_INSTRUCTION_MAX, rows[i].bits, &move);
        TAP(known && same(&move, &rows[i].move), rows[i].what);
        bool cut = hv_decode_move(rows[i].bytes, rows[i].move.length - 1u, rows[i].bits, &move);
        TAP(!cut, "refused without its last byte");
    }
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct hv_move move;
        TAP(!hv_decode_move(refused[i].bytes, HV_INSTRUCTION_MAX, refused[i].bits, &move),
            refused[i].what);
    }
}

static void test_random(void)
{
    uint64_t state = 88172645463325252u; /* the seed; xorshift64 */
    unsigned wrong = 0, known = 0;
    for (unsigned i = 0; i < 1000000; i++) {
        uint8_t bytes[16];
        struct hv_move move;
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        memcpy(bytes, &state, 8);
        memcpy(bytes + 8, &state, 8);
        unsigned count = (unsigned)(state >> 59) % 16;
        static const unsigned bits[] = {16, 32, 64};
        if (hv_decode_move(bytes, count, bits[i % 3], &move)) {
            known++;
            wrong += move.length > count || move.length == 0 || move.reg >= GPR_COUNT ||
                     (move.size != 1 && move.size != 2 && move.size != 4 && move.size != 8);
        }
    }
    TAP(known > 1000 && wrong == 0, "random bytes: what is decoded lies within the bytes given");
}

int main(void)
{
    test_rows();
    test_random();
    return tap_done();
}
