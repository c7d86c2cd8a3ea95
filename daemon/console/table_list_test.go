package console_test

import (
	"testing"

	"hob/daemon/console"
)

// TestNarrowTables (N45): below 70 cells a table that is too wide is a list, whose texts are wrapped and whole.
func TestNarrowTables(t *testing.T) {
	head := []string{"NAME", "NEXT", "STATE", "PROMPT"}
	rows := [][]string{{"garden", "2026-11-30 08:00 CET", "-", "water the plants on the balcony and in the kitchen"}, {"tea", "2026-11-30 16:00 CET", "paused", "say tea?"}}
	want := "garden\n  NEXT    2026-11-30 08:00 CET\n  PROMPT  water the plants on the balcony and in\n          the kitchen\n" +
		"tea\n  NEXT    2026-11-30 16:00 CET\n  STATE   paused\n  PROMPT  say tea?\n"
	if got := console.Table(head, rows, 50); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	short := [][]string{{"tea", "16:00", "on", "tea"}}
	if got := console.Table(head, short, 50); got != "NAME  NEXT   STATE  PROMPT\ntea   16:00  on     tea\n" {
		t.Errorf("a table that fits:\n%s", got)
	}
}
