//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// sample is one measurement, in the unit of its row.
type sample func(ctx context.Context) (float64, error)

// row is one line of the table.
type row struct {
	name   string
	unit   string
	anchor string  // what the anchor is; "" for none
	goal   float64 // the largest ratio to the anchor; without an anchor, the largest figure
	rounds int
	at     float64 // the quantile of hob's figure; 0 for the median

	// open prepares the measurement. job and beside then take turns, and close cleans up. beside is nil without an anchor.
	open func(ctx context.Context, l *lab) (m measurement, err error)
}

// measurement is an opened row.
type measurement struct {
	job, beside sample
	close       func() error
}

// result is a measured row.
// hob and anchors have one figure per counted round, in the unit of the row.
type result struct {
	row
	hob, anchors []float64
}

// measureAll measures the rows that the options select and prints them as soon as they are known.
func measureAll(ctx context.Context, l *lab, o options) error {
	// The published table is read first: a wrong path must not be noticed after minutes.
	old, err := published(o.published)
	if err != nil {
		return err
	}
	fmt.Println("| what | hob | anchor | ratio | goal | published |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, r := range rows() {
		if !o.only.MatchString(r.name) {
			continue
		}
		if o.rounds > 0 {
			r.rounds = o.rounds
		}
		res, err := r.measure(ctx, l)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		cells := res.cells()
		fmt.Println(tableLine(append(cells, old[r.name])))
		if o.write {
			if err := publish(o.published, cells); err != nil {
				return err
			}
		}
	}
	return nil
}

// publish puts a row into the table of a page, in place of the row of that name. A row that the table does not have comes after the one
// before it in the list of rows.
func publish(path string, cells []string) error {
	text, err := os.ReadFile(path) // #nosec G304 -- named by the caller
	if err != nil {
		return fmt.Errorf("read the published table: %w", err)
	}
	order := []string{"what", "---"}
	for _, r := range rows() {
		order = append(order, r.name)
	}
	place := slices.Index(order, cells[0])
	lines, after := strings.Split(string(text), "\n"), -1
	inTable := false
	for i, line := range lines {
		name := firstCell(line)
		inTable = name == "what" || inTable && name != ""
		at := slices.Index(order, name)
		switch {
		case !inTable:
		case at == place:
			lines[i] = tableLine(cells)
			return writePage(path, lines)
		case at >= 0 && at < place:
			after = i
		}
	}
	if after < 0 {
		return fmt.Errorf("%s has no table that begins with | what |", path)
	}
	return writePage(path, slices.Insert(lines, after+1, tableLine(cells)))
}

func writePage(path string, lines []string) error {
	return os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644) // #nosec G306 G703 -- a page of the documentation, named by the caller
}

// firstCell returns the first cell of a line of a table, and "" for another line.
func firstCell(line string) string {
	if !strings.HasPrefix(line, "|") {
		return ""
	}
	cell, _, _ := strings.Cut(line[1:], "|")
	return strings.TrimSpace(cell)
}

func tableLine(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }

// measure runs the rounds. The first round warms up and does not count, unless it is the only one.
// Anchor and job alternate, so that both see the same load of the machine.
func (r row) measure(ctx context.Context, l *lab) (res result, err error) {
	m, err := r.open(ctx, l)
	if err != nil {
		return res, err
	}
	defer func() {
		if m.close == nil {
			return
		}
		if e := m.close(); err == nil {
			err = e
		}
	}()
	res.row = r
	warm := 0
	if r.rounds > 1 {
		warm = 1
	}
	for i := range r.rounds + warm {
		if m.beside != nil {
			v, err := m.beside(ctx)
			if err != nil {
				return res, fmt.Errorf("anchor: %w", err)
			}
			res.anchors = append(res.anchors, v)
		}
		v, err := m.job(ctx)
		if err != nil {
			return res, err
		}
		res.hob = append(res.hob, v)
		if i < warm {
			res.hob, res.anchors = nil, nil
		}
	}
	return res, nil
}

// cells are the cells of the published table.
func (r result) cells() []string {
	at := cmp.Or(r.at, 0.5)
	figure := quantile(r.hob, at)
	cells := []string{r.name, spread(r.hob, at, r.unit), "", "", ""}
	// The score is compared with the goal: the ratio to the anchor, or the figure itself.
	score := figure
	if len(r.anchors) > 0 {
		score = figure / quantile(r.anchors, 0.5)
		cells[2] = r.row.anchor + ": " + spread(r.anchors, 0.5, r.unit)
		cells[3] = number(score)
	}
	cells[4] = "≤ " + number(r.goal)
	if score > r.goal {
		cells[4] += ", **not reached**"
	}
	return cells
}

// quantile is the value below which the given part of the list lies.
// at is between 0 and 1. The result is an element of the list, or 0 for an empty one.
func quantile(list []float64, at float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(int(at*float64(len(sorted))), len(sorted)-1)]
}

// spread writes a quantile, and between which values the middle half lies.
func spread(list []float64, at float64, unit string) string {
	text := number(quantile(list, at)) + " " + unit
	if low, high := number(quantile(list, 0.25)), number(quantile(list, 0.75)); len(list) > 3 && low != high {
		text += fmt.Sprintf(" (half of them %s to %s)", low, high)
	}
	return text
}

// number writes a value with three digits.
func number(v float64) string {
	return strconv.FormatFloat(v, 'f', max(0, 2-digits(v)), 64)
}

func digits(v float64) int {
	n := 0
	for ; v >= 10; v /= 10 {
		n++
	}
	return n
}

// published reads the ratios of a table that this program made: of a row without an anchor, its figure.
// A row that the table does not have gets no entry. The columns are those that measureAll prints.
func published(path string) (map[string]string, error) {
	text, err := os.ReadFile(path) // #nosec G304 -- named by the caller
	if err != nil {
		return nil, fmt.Errorf("read the published table: %w", err)
	}
	old := map[string]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) < 5 {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if old[cells[0]] = cells[3]; cells[3] == "" {
			old[cells[0]], _, _ = strings.Cut(cells[1], " (")
		}
	}
	return old, nil
}
