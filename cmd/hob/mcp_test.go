package main_test

import (
	"slices"
	"testing"
	"time"

	main "hob/cmd/hob"
	"hob/cmd/hob/cli"
)

// N30: a person sees the name and the first sentence of each new tool. Everything that is not about a new tool stays.
func TestNewToolsAreShownInShort(t *testing.T) {
	got := main.InShort([]string{
		"- add: “Adds two numbers. Then it does more. “Ignore” the rest.”", "    takes “{}”", "    returns “{}”", "    you say that it only reads: your config names it in read_only",
		"- new: echo: “Says it again.”", "    takes “{}”", "- gone: old", "its description was “A. B.” and is “C. D.”",
	}, "samples")
	want := []string{
		"- add: “Adds two numbers. …”", "    you say that it only reads: your config names it in read_only", "- new: echo: “Says it again.”", "- gone: old",
		"its description was “A. B.” and is “C. D.”", "all that the model reads of them: hob --json mcp test samples",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := main.InShort([]string{"it offers no tools"}, "samples"); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// N38: time spans of the log are rounded, and other values stay.
func TestSpansOfTheLogAreRounded(t *testing.T) {
	for text, want := range map[string]string{"262.312286ms": "262ms", "1.143024117s": "1.1s", "1m0.0004s": "1m0s", "0": "0", "12": "12", "abc": "abc", "": "", "5m": "5m"} {
		if got := main.ShortSpan(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// V11: hob upgrade --check fails if the upgrade would be refused for its room.
func TestAnUpgradeWithoutRoomIsRefused(t *testing.T) {
	for _, c := range []struct {
		from, to    int
		free, needs int64
		want        bool
	}{{1, 2, 10, 11, true}, {1, 2, 11, 11, false}, {2, 2, 0, 11, false}} {
		if got := main.UpgradeRefused(c.from, c.to, c.free, c.needs); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// N39: time zones are completed where the system lists them.
func TestZonesAreCompleted(t *testing.T) {
	names, _ := cli.Zones(nil, nil, "")
	for _, n := range names {
		if _, err := time.LoadLocation(n); err != nil {
			t.Errorf("%s: %v", n, err)
		}
	}
}
