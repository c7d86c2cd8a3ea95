package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// layout is the time zone and the width, in cells, of a printed page. Width 0 means that the output is no
// terminal. Pages are drawn by pure functions of rows and a layout, so that tests can compare them with golden
// files.
type layout struct {
	zone  *time.Location
	width int
	now   time.Time // lists name the days around it: "tomorrow 09:00"
}

// layoutFor asks the daemon for the owner's zone. Times are shown in that zone, even if the terminal is on a
// machine in another one.
func layoutFor(ctx context.Context, c *client.Client, out *os.File) (layout, error) {
	s, err := client.Show(ctx, c, api.ShowStatus, "")
	if err != nil {
		return layout{}, err
	}
	return layout{zone: cli.ZoneOrLocal(s.Zone), width: cli.Columns(out), now: time.Now()}, nil
}

// showPage reads a row and prints its page, with times in the owner's zone.
// With --json it prints the row as the daemon wrote it. id may be "last" for rows with numbers.
func showPage[R any](ctx context.Context, a *cli.App, s api.Show[R], id string, page func(R, layout) string) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	if id, err = cli.RowID(ctx, c, s.Resource(), id); err != nil {
		return err
	}
	row, doc, err := cli.Row(ctx, c, s, id)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Document(doc)
	}
	p, err := layoutFor(ctx, c, a.Out)
	if err != nil {
		return err
	}
	return a.Text(page(row, p))
}

// at is an instant with its zone, to the second.
func (p layout) at(t time.Time) string { return console.InZone(t, p.zone, true) }

// clock is the time of day of an instant.
func (p layout) clock(t time.Time) string { return t.In(p.zone).Format("15:04:05") }

// near formats an instant that follows another one: only the time of day if it is the same day.
func (p layout) near(t, to time.Time) string {
	if t.In(p.zone).Format(time.DateOnly) == to.In(p.zone).Format(time.DateOnly) {
		return p.clock(t)
	}
	return p.at(t)
}

// line cuts a text to one line of the page, or to 200 cells if the output is no terminal. Control characters
// are removed: a line may contain text that anybody sent.
func (p layout) line(text string) string {
	width := p.width
	if width <= 0 {
		width = 200
	}
	// Line ends become a sign, so that no text can fake another line of the page.
	text = strings.TrimRight(console.Clean(strings.ReplaceAll(strings.ReplaceAll(text, "\r", ""), "\n", " ⏎ ")), " ")
	if console.Cells(text) <= width {
		return text
	}
	// used counts cells, and cut is an offset in bytes.
	used, cut := 1, 0
	for i, r := range text {
		// One cell is kept for the ellipsis. Wide characters take two cells.
		if used += console.Cells(string(r)); used > width {
			break
		}
		cut = i + len(string(r))
	}
	return strings.TrimRight(text[:cut], " ") + "…"
}

// percentText says how much of a cap is used, in per cent. Of a cap that is far below the use it says only that.
// It is "" where there is no cap, and where the cap is 0.
func percentText(used, most int64) string {
	if most <= 0 {
		return ""
	}
	if used/most >= 10 {
		return " (over)"
	}
	return fmt.Sprintf(" (%d %%)", 100*used/most)
}
