/*
 * multiboot.c - reads what a Multiboot 1 (QEMU -kernel) or Multiboot 2 (GRUB) loader left.
 *
 * Sources: Multiboot Specification 0.6.96, 3.3; Multiboot2 Specification 2.0, 3.6. Both structures
 * lie below 4 GiB, which the first page tables map.
 */
#include "hv/boot/boot.h"

#include "hv/log.h"

struct mb1_info {
    uint32_t flags, mem_lower, mem_upper, boot_device, cmdline, mods_count, mods_addr;
    uint32_t syms[4];
    uint32_t mmap_length, mmap_addr;
};

struct mb1_module {
    uint32_t start, end, string, reserved;
};

struct mb1_mmap {
    uint32_t size;
    uint64_t base, length;
    uint32_t type;
} __attribute__((packed));

struct mb2_tag {
    uint32_t type, size;
};

struct mb2_module {
    struct mb2_tag tag;
    uint32_t start, end;
};

struct mb2_mmap {
    struct mb2_tag tag;
    uint32_t entry_size, version;
    struct {
        uint64_t base, length;
        uint32_t type, reserved;
    } entry[];
};

struct hv_boot_info hv_boot_info;

static void add_ram(uint64_t base, uint64_t length, uint32_t type)
{
    if (type != 1 || length == 0 || hv_boot_info.ram_count == HV_RAM_RANGES_MAX) {
        return;
    }
    hv_boot_info.ram[hv_boot_info.ram_count++] = (struct hv_range){base, base + length};
}

static void *low(uint32_t address)
{
    return (void *)(uintptr_t)address;
}

static void read_mb1(const struct mb1_info *info)
{
    if ((info->flags & 1u << 6) != 0) {
        for (uint32_t at = 0; at + sizeof(struct mb1_mmap) <= info->mmap_length;) {
            const struct mb1_mmap *entry = low(info->mmap_addr + at);
            add_ram(entry->base, entry->length, entry->type);
            at += entry->size + 4;
        }
    }
    if ((info->flags & 1u << 3) != 0 && info->mods_count > 0) {
        const struct mb1_module *module = low(info->mods_addr);
        hv_boot_info.module = (struct hv_range){module->start, module->end};
    }
}

static void read_mb2_tag(const struct mb2_tag *tag)
{
    if (tag->type == 3 && hv_boot_info.module.end == 0) {
        const struct mb2_module *module = (const void *)tag;
        hv_boot_info.module = (struct hv_range){module->start, module->end};
    } else if (tag->type == 6) {
        const struct mb2_mmap *map = (const void *)tag;
        uint32_t count = (tag->size - 16) / map->entry_size;
        for (uint32_t i = 0; i < count; i++) {
            add_ram(map->entry[i].base, map->entry[i].length, map->entry[i].type);
        }
    } else if (tag->type == 14 || tag->type == 15) {
        hv_boot_info.rsdp = (uint64_t)(uintptr_t)(tag + 1);
    }
}

static void read_mb2(uint32_t address)
{
    uint32_t size = *(const uint32_t *)low(address);
    for (uint32_t at = 8; at + sizeof(struct mb2_tag) <= size;) {
        const struct mb2_tag *tag = low(address + at);
        if (tag->type == 0) {
            break;
        }
        read_mb2_tag(tag);
        at += (tag->size + 7) & ~7u;
    }
}

void hv_multiboot_read(uint32_t magic, uint32_t address)
{
    if (magic == 0x2badb002) {
        read_mb1(low(address));
    } else if (magic == 0x36d76289) {
        read_mb2(address);
    } else {
        hv_panic("started by a loader that is neither Multiboot 1 nor 2 (%x)", magic);
    }
    if (hv_boot_info.ram_count == 0) {
        hv_panic("the loader gave no memory map");
    }
}
