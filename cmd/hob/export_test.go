package main

import (
	"encoding/json"
	"fmt"
	"time"

	"hob/config/document"
	"hob/daemon/api"
)

// Main is main, for the scripts that run it.
func Main() { main() }

// NewRoot makes the commands that args may name.
var NewRoot = newRoot

// What tests use of the single commands.
var (
	ConfigPage     = configPage
	ConfigSchema   = configSchema
	SetKeys        = document.Set
	ErrEditByHand  = document.ErrByHand
	PairingCommand = pairingCommand
	PseudoVersion  = pseudoVersion
	PercentText    = percentText
	InShort        = inShort
	ShortSpan      = shortSpan
)

// UpgradeRefused reports whether hob upgrade --check counts an upgrade as refused.
func UpgradeRefused(from, to int, free, needs int64) bool {
	r := upgradeCheck{}
	r.Database.From, r.Database.To, r.Database.Free, r.Database.Needs = from, to, free, needs
	return r.refused()
}

// KeyChange is what hob config set changes.
type KeyChange = document.Change

// Remark is what hob outbox list says of a row of the API, beside its text.
func Remark(row string, now time.Time) (string, error) {
	var r api.OutboxRow
	if err := json.Unmarshal([]byte(row), &r); err != nil {
		return "", fmt.Errorf("read a row: %w", err)
	}
	return remark(r, now, func(t time.Time) string { return t.UTC().Format("15:04") }), nil
}

// Markdown is what hob sessions export --format md prints.
func Markdown(s api.SessionDetail) string {
	return markdown(s, nil, func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") })
}

// Pages are the pages that commands draw from what the daemon says, by name.
func Pages() map[string]func(raw []byte, zone *time.Location, width int) (string, error) {
	return map[string]func([]byte, *time.Location, int) (string, error){
		"turn":   page(timeline.page),
		"audit":  page(func(t timeline, p layout) string { return auditPage(t.Audit, p) }),
		"status": page(statusView.page),
		"budget": page(func(s statusView, p layout) string { return budgetPage(s.Budget, p) }),
		"why":    page(whyTree),
	}
}

func page[T any](draw func(T, layout) string) func([]byte, *time.Location, int) (string, error) {
	return func(raw []byte, zone *time.Location, width int) (string, error) {
		var v T
		if err := json.Unmarshal(raw, &v); err != nil {
			return "", fmt.Errorf("a page's data: %w", err)
		}
		return draw(v, layout{zone, width, time.Date(2026, 11, 22, 0, 30, 0, 0, zone)}), nil
	}
}

// LogLine is a line of the log for people.
func LogLine(raw string, color bool, zone *time.Location) string {
	return logWriter{color, zone}.line([]byte(raw))
}

// Line is a text cut to one line of a page.
func Line(text string, width int) string { return layout{width: width}.line(text) }

// Uptime is a time span in words.
func Uptime(d time.Duration) string { return uptimeText(d.Milliseconds()) }
