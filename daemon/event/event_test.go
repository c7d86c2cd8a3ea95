package event_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"hob/daemon/event"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]event.Address{
		"telegram:123": "telegram:123", " cli:main ": "cli:main", "ntfy.alerts:a:b": "ntfy.alerts:a:b", "owner": event.ToOwner, "none": event.ToNone,
		"": "", "telegram": "", ":123": "", "telegram:": "", ":": "",
	} {
		a, err := event.ParseAddress(text)
		if a != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, a, err)
		}
	}
	if a := event.Address("ntfy.alerts:a:b"); a.Channel() != "ntfy.alerts" || a.Local() != "a:b" {
		t.Errorf("parts %q and %q", a.Channel(), a.Local())
	}
}

func TestTextOf(t *testing.T) {
	parts := []event.Part{{Kind: event.Text, Text: "a"}, {Kind: event.Image, Text: "alt", Artifact: "x"}, {Kind: event.Text, Text: "b"}}
	if got := event.TextOf(parts); got != "a\nb" {
		t.Errorf("%q", got)
	}
	if got := event.TextOf(nil); got != "" {
		t.Errorf("%q", got)
	}
}

func TestFault(t *testing.T) {
	f := event.NewFault(event.Clash, "try %s later", "row %d is gone", 7)
	f.Err = errors.New("cause")
	err := fmt.Errorf("act: %w", f)
	got, ok := event.AsFault(err)
	if !ok || got.Text != "row 7 is gone" || got.Hint != "try %s later" || !errors.Is(err, f.Err) {
		t.Errorf("%+v", got)
	}
	if _, ok := event.AsFault(errors.New("plain")); ok {
		t.Error("a plain error is a fault")
	}
}

// Nobody waits for a slow follower.
func TestFeed(t *testing.T) {
	var f event.Feed
	f.Publish(event.Piece{Text: "to nobody"})
	slow, end := f.Follow()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 1000 {
				f.Publish(event.Piece{Offset: i})
			}
		})
	}
	wg.Wait()
	if n := len(slow); n == 0 || n == 4000 {
		t.Errorf("a follower that did not read holds %d pieces", n)
	}
	end()
	before := len(slow)
	f.Publish(event.Piece{Text: "late"})
	if len(slow) != before {
		t.Error("a follower that has left got a piece")
	}
	end() // a second call does nothing
}
