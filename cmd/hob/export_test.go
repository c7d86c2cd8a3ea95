package main

import (
	"encoding/json"
	"fmt"
	"time"

	"hob/daemon/api"
)

// Main is main, for the scripts that run it.
func Main() { main() }

// NewRoot makes all commands.
var NewRoot = newRoot

// Remark is what hob outbox list says of a row of the API, beside its text.
func Remark(row string, now time.Time) (string, error) {
	var r api.OutboxRow
	if err := json.Unmarshal([]byte(row), &r); err != nil {
		return "", fmt.Errorf("read a row: %w", err)
	}
	return remark(r, now, func(t time.Time) string { return t.UTC().Format("15:04") }), nil
}
