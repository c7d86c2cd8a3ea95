package markup

import (
	"math"
	"slices"
	"strings"

	extast "github.com/yuin/goldmark/extension/ast"
)

// maxTable is the widest table, in columns, that is shown as a table. It is wider than a phone's line, but
// can be scrolled.
const maxTable = 80

// table shows a table as aligned text in a fixed-width font. If it is too wide or contains links, it is shown
// row by row, with each cell after the name of its column.
func (r *reader) table(n *extast.Table, path []container) {
	var rows [][][]run
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells [][]run
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, tidy(r.inlines(cell)))
		}
		rows = append(rows, cells)
	}
	// A code block keeps the columns aligned on every platform.
	if words, ok := aligned(rows, n.Alignments, r.columns, r.wraps); ok {
		r.add(leaf{kind: code, table: true, path: path, runs: []run{{text: words}}})
		return
	}
	if len(rows) == 1 {
		r.add(leaf{path: path, runs: record(make([][]run, len(rows[0])), rows[0])})
	}
	for _, row := range rows[1:] {
		r.add(leaf{path: path, runs: record(rows[0], row)})
	}
}

// record returns one row as lines "name: value"; empty cells are left out.
func record(names, row []([]run)) []run {
	var out []run
	for i, cell := range row {
		if len(cell) == 0 {
			continue
		}
		if i < len(names) && len(names[i]) > 0 {
			for _, name := range names[i] {
				name.style |= bold
				out = append(out, name)
			}
			out = append(out, run{text: ": "})
		}
		out = append(append(out, cell...), run{text: "\n"})
	}
	return out
}

// A table whose cells are wrapped: the narrowest column and the narrowest screen. On a narrower screen its rows are easier to read one by one.
const (
	leastCell   = 8
	leastScreen = 70
)

// narrow takes columns from the widest cells of a table until it fits; false if it does not fit with the narrowest ones.
func narrow(wide []int, most, narrowest int) bool {
	total := 3 * (len(wide) - 1)
	for _, w := range wide {
		total += w
	}
	for ; total > most; total-- {
		i := slices.Index(wide, slices.Max(wide))
		if wide[i] <= narrowest {
			return false
		}
		wide[i]--
	}
	return true
}

// aligned returns a table in columns, each as wide as its widest cell. A wider table than most wraps its cells where it may. ok is false if it has
// links or is wider all the same.
func aligned(rows [][][]run, align []extast.Alignment, most int, wraps bool) (words string, ok bool) {
	wide := make([]int, len(align))
	text := make([][]string, len(rows))
	for i, row := range rows {
		for j, cell := range row {
			for _, c := range cell {
				if c.url != "" {
					return "", false
				}
			}
			text[i] = append(text[i], undirected(strings.ReplaceAll(leaf{runs: cell}.words(), "\n", " ")))
			if j < len(wide) {
				wide[j] = max(wide[j], width(text[i][j]))
			}
		}
	}
	narrowest := math.MaxInt // only a screen's cells are wrapped
	if wraps {
		narrowest = leastCell
	}
	if !narrow(wide, most, narrowest) {
		return "", false
	}
	var lines []string
	for i, row := range text {
		cells := make([][]string, len(wide))
		tall := 1
		for j := range min(len(row), len(wide)) {
			if cells[j] = []string{row[j]}; width(row[j]) > wide[j] {
				cells[j] = Screen{Width: wide[j], UTF8: true}.Wrap(row[j])
			}
			tall = max(tall, len(cells[j]))
		}
		for n := range tall {
			part := make([]string, len(wide))
			for j := range cells {
				if n < len(cells[j]) {
					part[j] = cells[j][n]
				}
			}
			lines = append(lines, line(part, wide, align))
		}
		if i == 0 {
			lines = append(lines, ruler(wide))
		}
	}
	return strings.Join(lines, "\n"), true
}

// line returns one row of an aligned table.
func line(cells []string, wide []int, align []extast.Alignment) string {
	padded := make([]string, len(wide))
	for i, w := range wide {
		cell := ""
		if i < len(cells) {
			cell = cells[i]
		}
		room := w - width(cell)
		left := 0
		switch align[i] {
		case extast.AlignRight:
			left = room
		case extast.AlignCenter:
			left = room / 2
		}
		padded[i] = strings.Repeat(" ", left) + cell + strings.Repeat(" ", room-left)
	}
	return strings.TrimRight(strings.Join(padded, " | "), " ")
}

// ruler returns the line under the names of the columns.
func ruler(wide []int) string {
	parts := make([]string, len(wide))
	for i, w := range wide {
		parts[i] = strings.Repeat("-", w)
	}
	return strings.Join(parts, "-+-")
}
