//go:build linux

package main

import (
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
		fmt.Println(res.line(old[r.name]))
	}
	return nil
}

// measure runs the rounds. The first round warms up and does not count.
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
	for i := range r.rounds + 1 {
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
		// A row of a single round keeps the figures of both runs.
		if i == 0 && r.rounds > 1 {
			res.hob, res.anchors = nil, nil
		}
	}
	return res, nil
}

// line is the row in Markdown. Published is the ratio or figure of the last published table.
func (r result) line(published string) string {
	at := r.at
	if at == 0 {
		at = 0.5
	}
	figure := quantile(r.hob, at)
	cells := []string{r.name, spread(r.hob, at, r.unit), "", "", "", published}
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
	return "| " + strings.Join(cells, " | ") + " |"
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
