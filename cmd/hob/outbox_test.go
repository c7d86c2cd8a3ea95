package main_test

import (
	"testing"
	"time"

	main "hob/cmd/hob"
)

// TestOutboxRemarks: the list says what a message waits for, what went wrong, and what became of it.
func TestOutboxRemarks(t *testing.T) {
	now := time.Date(2026, 11, 21, 22, 0, 0, 0, time.UTC)
	for row, want := range map[string]string{
		`{"id": 7, "state": "ready", "waits": "hold", "not_before": "2026-11-21T22:00:08.3Z"}`:                                     "goes in 8s; hob outbox drop 7 stops it",
		`{"id": 7, "state": "ready", "waits": "hold", "not_before": "2026-11-21T22:00:00.1Z"}`:                                     "goes in 1s; hob outbox drop 7 stops it",
		`{"id": 7, "state": "ready", "waits": "hold", "not_before": "2026-11-21T21:59:59Z"}`:                                       "",
		`{"id": 7, "state": "cancelled", "waits": "hold", "not_before": "2026-11-21T22:00:08Z", "reason": "dropped by the owner"}`: "dropped by you",
		`{"id": 7, "state": "ready", "waits": "quiet", "not_before": "2026-11-22T07:00:00Z"}`:                                      "waits while it is quiet, until 07:00",
		`{"id": 7, "state": "ready", "not_before": "2026-11-22T08:00:00Z"}`:                                                        "waits until 08:00",
		`{"id": 7, "state": "draft", "deliveries": [{"attempts": 1, "error": "no route"}]}`:                                        "an answer that is still being written; hob outbox drop 7 stops it",
		`{"id": 7, "state": "ready", "deliveries": [{"attempts": 1}, {"attempts": 2, "error": "no route"}]}`:                       "2 attempts: no route",
		`{"id": 7, "state": "done", "reason": "retried by the owner"}`:                                                             "",
		`{"id": 7, "state": "cancelled", "reason": "went out together with message 3"}`:                                            "went out together with message 3",
	} {
		if got, err := main.Remark(row, now); err != nil || got != want {
			t.Errorf("%s: %q, want %q (%v)", row, got, want, err)
		}
	}
}
