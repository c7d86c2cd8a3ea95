package look

import (
	"encoding/json"
	"fmt"
	"time"
)

// Pages are the pages that commands draw from what the daemon says, by name.
func Pages() map[string]func(raw []byte, zone *time.Location, width int) (string, error) {
	return map[string]func([]byte, *time.Location, int) (string, error){
		"turn":   page(story.page),
		"audit":  page(func(t story, p sheet) string { return auditPage(t.Audit, p) }),
		"status": page(status.page),
		"budget": page(func(s status, p sheet) string { return budgetPage(s.Budget, p) }),
		"why":    page(tree),
	}
}

func page[T any](draw func(T, sheet) string) func([]byte, *time.Location, int) (string, error) {
	return func(raw []byte, zone *time.Location, width int) (string, error) {
		var v T
		if err := json.Unmarshal(raw, &v); err != nil {
			return "", fmt.Errorf("a page's data: %w", err)
		}
		return draw(v, sheet{zone, width}), nil
	}
}

// LogLine is a line of the log for people.
func LogLine(raw string, color bool, zone *time.Location) string {
	return logWriter{color, zone}.line([]byte(raw))
}

// Line is a text cut to one line of a page.
func Line(text string, width int) string { return sheet{width: width}.line(text) }

// Uptime is a time span in words.
func Uptime(d time.Duration) string { return uptime(d.Milliseconds()) }
