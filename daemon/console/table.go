package console

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// widest is how many cells of a text a table shows at most, also where no terminal sets a limit.
const widest = 200

// How many cells a column keeps when a table does not fit: the last one, and the others. One that is no wider than the longest word for a
// state is not cut at all.
const (
	lastKeeps   = 10
	otherKeeps  = 8
	longestWord = 9
)

// Table draws rows under a head. It fits the width of the terminal, in cells. Where it is too wide, columns that say nothing are left out and
// the last one is cut, then the widest of the others, but for instants; then columns are left out, from the right. The first two stay, and so do
// dates and the last one. Width 0 is no terminal. No text is longer than 200 cells.
func Table(head []string, rows [][]string, width int) string {
	all := [][]string{slices.Clone(head)}
	for _, row := range rows {
		all = append(all, slices.Clone(row))
	}
	for _, row := range all {
		for i := range row {
			row[i] = Cut(row[i])
		}
	}
	wide := widths(all)
	if width > 0 {
		all, wide = fitted(all, width)
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

// widths are those of the columns, in cells.
func widths(all [][]string) []int {
	wide := make([]int, len(all[0]))
	for _, row := range all {
		for i, text := range row {
			wide[i] = max(wide[i], Cells(text))
		}
	}
	return wide
}

// fitted makes a table as narrow as the terminal: its head and rows, and how wide its columns are then.
func fitted(all [][]string, width int) ([][]string, []int) {
	if wide := widths(all); need(wide, wide[len(wide)-1]) > width {
		last := len(wide) - 1
		all = without(all, func(i int) bool { return i > 0 && i < last && mute(all[1:], i) })
	}
	wide := narrowed(all, width)
	for need(wide, lastKeeps) > width {
		spare := rightmost(all[1:], len(wide)-1)
		if spare < 0 {
			squeeze(wide, width, func(int) bool { return true })
			break
		}
		all = without(all, func(i int) bool { return i == spare })
		wide = narrowed(all, width)
	}
	for _, row := range all {
		for i := range row[:len(row)-1] {
			row[i] = shorten(row[i], wide[i])
		}
	}
	return all, wide
}

// narrowed is how wide the columns are when the widest are cut, but for those with instants.
func narrowed(all [][]string, width int) []int {
	wide := widths(all)
	whole := slices.Clone(wide)
	squeeze(wide, width, func(i int) bool { return whole[i] > longestWord && !clocked(all[1:], i) })
	return wide
}

// rightmost is the column before the last one that is left out next, below 0 when none may be.
func rightmost(rows [][]string, last int) int {
	for i := last - 1; i > 1; i-- {
		if !dated(rows, i) {
			return i
		}
	}
	return -1
}

// need is how many cells a table takes whose last column has so many at most.
func need(wide []int, last int) int {
	n := min(wide[len(wide)-1], last)
	for _, w := range wide[:len(wide)-1] {
		n += w + 2
	}
	return n
}

// without leaves columns out.
func without(all [][]string, out func(column int) bool) [][]string {
	list := make([][]string, len(all))
	for n, row := range all {
		for i, text := range row {
			if !out(i) {
				list[n] = append(list[n], text)
			}
		}
	}
	return list
}

// mute reports whether a column says nothing in any row.
func mute(rows [][]string, column int) bool {
	return !slices.ContainsFunc(rows, func(row []string) bool { return row[column] != "" && row[column] != "-" })
}

// dated reports whether a column has instants with their dates.
func dated(rows [][]string, column int) bool {
	return slices.ContainsFunc(rows, func(row []string) bool {
		_, err := time.Parse(time.DateOnly, row[column][:min(len(row[column]), len(time.DateOnly))])
		return err == nil
	})
}

// clocked reports whether a column has instants, of which a part says something else.
func clocked(rows [][]string, column int) bool {
	return dated(rows, column) || slices.ContainsFunc(rows, func(row []string) bool {
		_, day := time.Parse("01-02 15:04", row[column])
		_, hour := time.Parse(time.TimeOnly, row[column])
		return day == nil || hour == nil
	})
}

// squeeze makes the widest of some columns narrower until the last one keeps a few cells.
func squeeze(wide []int, width int, may func(column int) bool) {
	for need(wide, lastKeeps) > width {
		widest := -1
		for i, n := range wide[:len(wide)-1] {
			if n > otherKeeps && may(i) && (widest < 0 || n > wide[widest]) {
				widest = i
			}
		}
		if widest < 0 {
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
