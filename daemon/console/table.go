package console

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/channels/markup"
)

// widest is the longest text in a table, in cells, even without a terminal that limits the width.
const widest = 200

// How many cells the last column and the other ones keep when a table is too wide. A column no wider than the longest word for a state
// (longestWord) is not cut at all.
const (
	lastKeeps   = 10
	otherKeeps  = 8
	longestWord = 9
)

// Table formats rows under a head. Width is the terminal's in cells; 0 means no terminal and no limit. No text is longer than 200 cells.
//
// On a terminal of less than 70 cells a table that is too wide becomes a list. Elsewhere it is made narrower in steps, until it fits:
//
//   - columns that are empty in every row are left out;
//   - the last column is cut, then the widest of the others, but not columns with a time;
//   - columns are left out from the right, except the first two, those with dates and the last one;
//   - every column is cut.
func Table(head []string, rows [][]string, width int) string {
	all := [][]string{slices.Clone(head)}
	for _, row := range rows {
		all = append(all, slices.Clone(row))
	}
	for _, row := range all {
		for i := range row {
			row[i] = CellText(row[i])
		}
	}
	wide := widths(all)
	if width > 0 && width < leastTable && len(head) > 2 && need(wide, widest) > width {
		return listed(all, width)
	}
	if width > 0 {
		all, wide = fitted(all, width)
	}
	var b strings.Builder
	for _, row := range all {
		left := width
		line := ""
		for i, text := range row {
			if i == len(row)-1 {
				line += truncate(text, left, width > 0)
				break
			}
			line += text + strings.Repeat(" ", wide[i]-Cells(text)+2)
			left -= wide[i] + 2
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// leastTable is the narrowest terminal, in cells, that gets wide tables.
const leastTable = 70

// listed shows the rows of a table one below the other: the first cell, and below it the other ones with the names of their columns.
func listed(all [][]string, width int) string {
	names := 0
	for _, name := range all[0][1:] {
		names = max(names, Cells(name))
	}
	screen := markup.Screen{Width: max(width-names-4, lastKeeps), UTF8: true}
	var b strings.Builder
	for _, row := range all[1:] {
		b.WriteString(shorten(row[0], width) + "\n")
		for i, text := range row[1:] {
			name := all[0][i+1]
			for _, part := range screen.Wrap(text) {
				if text != "" && text != "-" {
					fmt.Fprintf(&b, "  %s%s  %s\n", name, strings.Repeat(" ", names-Cells(name)), part)
				}
				name = ""
			}
		}
	}
	return b.String()
}

// widths returns the widths of the columns, in cells.
func widths(all [][]string) []int {
	wide := make([]int, len(all[0]))
	for _, row := range all {
		for i, text := range row {
			wide[i] = max(wide[i], Cells(text))
		}
	}
	return wide
}

// fitted makes a table fit the terminal. It returns the head with the rows, and the widths of the columns.
func fitted(all [][]string, width int) ([][]string, []int) {
	// The steps are those of Table. Each is tried only if the table is still too wide.
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

// narrowed returns the widths of the columns after the widest were cut. Columns with times stay whole.
func narrowed(all [][]string, width int) []int {
	wide := widths(all)
	whole := slices.Clone(wide)
	squeeze(wide, width, func(i int) bool { return whole[i] > longestWord && !clocked(all[1:], i) })
	return wide
}

// rightmost returns the column that is left out next, below 0 if none may be.
func rightmost(rows [][]string, last int) int {
	for i := last - 1; i > 1; i-- {
		if !dated(rows, i) {
			return i
		}
	}
	return -1
}

// need returns how many cells a table takes if its last column has at most that many. Two cells separate columns.
func need(wide []int, last int) int {
	n := min(wide[len(wide)-1], last)
	for _, w := range wide[:len(wide)-1] {
		n += w + 2
	}
	return n
}

// without returns the table without the columns that out selects.
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

// mute reports whether a column is empty in every row.
func mute(rows [][]string, column int) bool {
	return !slices.ContainsFunc(rows, func(row []string) bool { return row[column] != "" && row[column] != "-" })
}

// dated reports whether any text in a column begins with a date.
func dated(rows [][]string, column int) bool {
	return slices.ContainsFunc(rows, func(row []string) bool {
		_, err := time.Parse(time.DateOnly, row[column][:min(len(row[column]), len(time.DateOnly))])
		return err == nil
	})
}

// clocked reports whether a column has times. A cut time would be a wrong one.
func clocked(rows [][]string, column int) bool {
	return dated(rows, column) || slices.ContainsFunc(rows, func(row []string) bool {
		_, day := time.Parse("01-02 15:04", row[column])
		_, hour := time.Parse(time.TimeOnly, row[column])
		return day == nil || hour == nil
	})
}

// squeeze takes cells from the widest of some columns, one at a time, until the last column has room for lastKeeps.
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

// CellText fits any text into one cell of a table: one line of at most 200 cells.
func CellText(s string) string { return truncate(OneLine(markup.WithoutSequences(s)), widest, true) }

// OneLine fits any text into one line of a terminal.
func OneLine(s string) string { return Clean(strings.Join(strings.Fields(s), " ")) }

// truncate shortens a text to n cells, but to no fewer than lastKeeps.
func truncate(s string, n int, on bool) string {
	if !on {
		return s
	}
	return shorten(s, max(n, lastKeeps))
}

// shorten cuts a text to n cells, with an ellipsis at its end.
func shorten(s string, n int) string {
	if Cells(s) <= n {
		return s
	}
	// One cell is kept for the ellipsis.
	used, out := 1, ""
	for _, r := range s {
		if used += Cells(string(r)); used > n {
			break
		}
		out += string(r)
	}
	return strings.TrimRight(out, " ") + "…"
}

// Cells returns the width of a text on a terminal.
func Cells(s string) int { return markup.Width(s) }
