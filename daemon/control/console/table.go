package console

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// widest is how many cells of a text a table shows at most, also where no terminal sets a limit.
const widest = 200

// How many cells a column keeps when a table does not fit: the last one, and the others.
const (
	lastKeeps  = 10
	otherKeeps = 8
)

// Table draws rows under a head. It fits the width of the terminal, in cells: the last column is cut, and where nothing would be left of
// it, the widest of the others are. Width 0 is no terminal. No text is longer than 200 cells.
func Table(head []string, rows [][]string, width int) string {
	all := append([][]string{head}, rows...)
	wide := make([]int, len(head))
	for _, row := range all {
		for i := range row {
			row[i] = Cut(row[i])
			wide[i] = max(wide[i], Cells(row[i]))
		}
	}
	if width > 0 {
		squeeze(wide, width, func(i int) bool { return !timed(rows, i) })
		squeeze(wide, width, func(int) bool { return true })
		for _, row := range all {
			for i := range row[:len(row)-1] {
				row[i] = shorten(row[i], wide[i])
			}
		}
	}
	var b strings.Builder
	for _, row := range all {
		left := width
		line := ""
		for i, text := range row {
			if i == len(row)-1 {
				line += cut(text, left, width > 0)
				break
			}
			line += text + strings.Repeat(" ", wide[i]-Cells(text)+2)
			left -= wide[i] + 2
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// timed reports whether a column has instants, of which a part says something else.
func timed(rows [][]string, column int) bool {
	return slices.ContainsFunc(rows, func(row []string) bool {
		_, err := time.Parse(time.DateOnly, row[column][:min(len(row[column]), len(time.DateOnly))])
		return err == nil
	})
}

// squeeze makes the widest of some columns narrower until the last one keeps a few cells.
func squeeze(wide []int, width int, may func(column int) bool) {
	last := len(wide) - 1
	for {
		need, widest := min(wide[last], lastKeeps), -1
		for i, n := range wide[:last] {
			need += n + 2
			if n > otherKeeps && may(i) && (widest < 0 || n > wide[widest]) {
				widest = i
			}
		}
		if need <= width || widest < 0 {
			return
		}
		wide[widest]--
	}
}

// Cut makes any text fit for one cell of a table: one line, at most 200 cells wide.
func Cut(s string) string { return cut(OneLine(s), widest, true) }

// OneLine makes any text fit for one line of a terminal.
func OneLine(s string) string { return Clean(strings.Join(strings.Fields(s), " ")) }

// cut shortens a text to n cells; less than 10 are not worth cutting for.
func cut(s string, n int, on bool) string {
	if !on {
		return s
	}
	return shorten(s, max(n, lastKeeps))
}

// shorten cuts a text to n cells.
func shorten(s string, n int) string {
	if Cells(s) <= n {
		return s
	}
	used, out := 1, ""
	for _, r := range s {
		if used += cell(r); used > n {
			break
		}
		out += string(r)
	}
	return strings.TrimRight(out, " ") + "…"
}

// Cells is how wide a text is on a terminal.
func Cells(s string) int {
	n := 0
	for _, r := range s {
		n += cell(r)
	}
	return n
}

// cell is the width of a character: wide in East Asian scripts and for most pictures (Unicode Annex 11, roughly).
func cell(r rune) int {
	switch {
	case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r) || unicode.Is(unicode.Cf, r):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60,
		r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}
