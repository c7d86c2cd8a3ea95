package setup

import (
	"fmt"
	"strings"

	"rsc.io/qr"
)

// qrMargin is how many light modules stand around a QR code on each side (ISO/IEC 18004, "Quiet zone").
const qrMargin = 4

// The colours of a code, whatever those of the terminal are: black on white.
const (
	blackOnWhite = "\x1b[30;107m"
	resetColours = "\x1b[0m"
)

// qrText is a link as a QR code for a terminal, two modules in the height of a character, and how many characters it is wide. Without
// colours the light modules are what is drawn, as it is right where letters are light on a dark ground; most phones read the other case too.
func qrText(link string, colours bool) (text string, width int, err error) {
	// Level M can restore about 15 % of the code (ISO/IEC 18004, "Error correction").
	code, err := qr.Encode(link, qr.M)
	if err != nil {
		return "", 0, fmt.Errorf("draw %s: %w", link, err)
	}
	width = code.Size + 2*qrMargin
	drawn := func(x, y int) bool { return code.Black(x-qrMargin, y-qrMargin) == colours }
	var b strings.Builder
	// Outside of the code Black is false, which draws the margin.
	for y := 0; y < width; y += 2 {
		if colours {
			b.WriteString(blackOnWhite)
		}
		for x := range width {
			b.WriteString(halfBlock(drawn(x, y), drawn(x, y+1)))
		}
		if colours {
			b.WriteString(resetColours)
		}
		b.WriteString("\n")
	}
	return b.String(), width, nil
}

// halfBlock is a character of which the upper half, the lower half, both or none are drawn. A character cell is
// about twice as high as wide, so two modules above each other make a square picture.
func halfBlock(upper, lower bool) string {
	switch {
	case upper && lower:
		return "█"
	case upper:
		return "▀"
	case lower:
		return "▄"
	}
	return " "
}
