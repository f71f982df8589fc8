# The hypervisor: one flat ELF, started by QEMU -kernel (Multiboot 1) or GRUB (Multiboot 2).

HV_SRC := $(wildcard hv/boot/*.c hv/boot/*.S hv/lib/*.c hv/mm/*.c hv/irq/*.c hv/irq/*.S hv/time/*.c \
            hv/console/*.c hv/arch/x86/*.c hv/arch/x86/svm/*.c hv/arch/x86/svm/*.S hv/vcpu/*.c \
            hv/vm/*.c hv/dev/*.c hv/shell/*.c) abi/manifest_check.c
HV_ELF := $(B)/hv/cede-hv.elf
HV_BIN := $(B)/hv/cede-hv.bin
ALL    += $(HV_BIN)

$(B)/hv/core_hash.c: $(B)/release/libcede.a
	@mkdir -p $(@D)
	$(Q)printf '#include <stdint.h>\nextern const uint8_t hv_core_hash[32];\nconst uint8_t hv_core_hash[32] = {%s};\n' \
	    "$$(sha256sum $< | cut -c1-64 | sed 's/../0x&,/g')" >$@
$(B)/hv/core_hash.o: $(B)/hv/core_hash.c
	$(Q)$(CC) $(CFLAGS_hv) -c -o $@ $<

$(HV_ELF): hv/hv.lds $(call objects,hv,$(HV_SRC)) $(B)/hv/core_hash.o $(B)/release/libcede.a
	$(Q)ld -nostdlib -static -z noexecstack -z max-page-size=4096 --no-warn-rwx-segments -T hv/hv.lds -o $@ $(filter %.o %.a,$^)

# QEMU's Multiboot loader wants a flat file with the addresses in the header
$(HV_BIN): $(HV_ELF)
	$(Q)objcopy -O binary $< $@

TEST_SCRIPTS += tests/guest/run-boot
TEST_NEEDS   += $(HV_BIN)

.PHONY: soak
soak: demo-needs ## SOAK_RUNS (20) runs of the demo's load on two emulated pCPUs
	@tools/soak

# Tests of the parts that run on a workstation too, under the sanitizers
HV_TESTS := $(B)/tests/hv-decode $(B)/tests/hv-manifest $(B)/tests/hv-lapic
$(B)/tests/hv-decode: $(call objects,asan,tests/hv/decode_test.c hv/dev/decode.c)
$(B)/tests/hv-manifest: $(call objects,asan,tests/hv/manifest_test.c abi/manifest_check.c)
$(B)/tests/hv-lapic: $(call objects,asan,tests/hv/lapic_test.c hv/dev/lapic.c hv/dev/ioapic.c \
    hv/vcpu/pv.c hv/vcpu/msr.c hv/vcpu/cpuid.c hv/vcpu/hypercall.c)
$(HV_TESTS):
	@mkdir -p $(@D)
	$(Q)$(CC_asan) $(CFLAGS_asan) -no-pie -o $@ $^
TEST_PROGRAMS += $(HV_TESTS)
