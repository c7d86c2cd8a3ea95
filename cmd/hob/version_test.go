package main_test

import (
	"testing"

	main "hob/cmd/hob"
)

// TestPseudoVersion reads commit and date from the version that go install writes for a commit without a tag.
func TestPseudoVersion(t *testing.T) {
	for version, want := range map[string][2]string{
		"v0.0.0-20261122101500-abcdef123456":        {"abcdef123456", "2026-11-22T10:15:00Z"},
		"v1.2.4-0.20261122101500-abcdef123456":      {"abcdef123456", "2026-11-22T10:15:00Z"},
		"v1.2.3-rc.1.0.20261122101500-abcdef123456": {"abcdef123456", "2026-11-22T10:15:00Z"},
		"v0.0.0-20261122101500-abcdef123456+dirty":  {"abcdef123456", "2026-11-22T10:15:00Z"},
		"v1.2.3":                             {},
		"devel":                              {},
		"v0.0.0-20269922101500-abcdef123456": {},
	} {
		if commit, date := main.PseudoVersion(version); commit != want[0] || date != want[1] {
			t.Errorf("%s: %q, %q", version, commit, date)
		}
	}
}
