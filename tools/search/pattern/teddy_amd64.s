#include "textflag.h"

// func scan(text *byte, n int, t *tables, hits *[32]byte) (at int, found bool)
//
// Y0 to Y5 are the six tables, Y6 selects the low four bits of each byte. For each of three neighbouring bytes, the two halves of the byte
// are looked up, and all six answers are combined: 32 positions at a time.
TEXT ·scan(SB), NOSPLIT, $0-41
	MOVQ text+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ t+16(FP), DX
	MOVQ hits+24(FP), DI
	VMOVDQU 0(DX), Y0
	VMOVDQU 32(DX), Y1
	VMOVDQU 64(DX), Y2
	VMOVDQU 96(DX), Y3
	VMOVDQU 128(DX), Y4
	VMOVDQU 160(DX), Y5
	MOVL $0x0f0f0f0f, AX
	MOVQ AX, X6
	VPBROADCASTD X6, Y6
	XORQ AX, AX
	SUBQ $34, CX

next:
	CMPQ AX, CX
	JGT none

	VMOVDQU (SI)(AX*1), Y7
	VMOVDQU 1(SI)(AX*1), Y8
	VMOVDQU 2(SI)(AX*1), Y9
	VPSRLW $4, Y7, Y10
	VPSRLW $4, Y8, Y11
	VPSRLW $4, Y9, Y12
	VPAND Y6, Y7, Y7
	VPAND Y6, Y8, Y8
	VPAND Y6, Y9, Y9
	VPAND Y6, Y10, Y10
	VPAND Y6, Y11, Y11
	VPAND Y6, Y12, Y12
	VPSHUFB Y7, Y0, Y7
	VPSHUFB Y10, Y1, Y10
	VPSHUFB Y8, Y2, Y8
	VPSHUFB Y11, Y3, Y11
	VPSHUFB Y9, Y4, Y9
	VPSHUFB Y12, Y5, Y12
	VPAND Y7, Y10, Y7
	VPAND Y8, Y11, Y8
	VPAND Y9, Y12, Y9
	VPAND Y7, Y8, Y7
	VPAND Y7, Y9, Y7
	VPTEST Y7, Y7
	JNZ hit
	ADDQ $32, AX
	JMP next

hit:
	VMOVDQU Y7, (DI)
	VZEROUPPER
	MOVQ AX, at+32(FP)
	MOVB $1, found+40(FP)
	RET

none:
	VZEROUPPER
	MOVQ AX, at+32(FP)
	MOVB $0, found+40(FP)
	RET
