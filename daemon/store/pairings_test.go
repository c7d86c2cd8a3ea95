package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/daemon/event"
)

// TestAPairingIsOpenUntilItsEnd (C9): what a channel lets in for a pairing, it lets in only until the code was used, ended, guessed wrong too often or
// has expired.
func TestAPairingIsOpenUntilItsEnd(t *testing.T) {
	s := fresh(t)
	now := time.Now()
	wrongs := 0
	begin := func() (int64, string) {
		p, code := channels.NewPairing("matrix", func(letters string, n int) string { return strings.Repeat(letters[:1], n) }, time.Now())
		id, err := s.Pairings.Begin(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return id, code
	}
	isOpen := func(when string, at time.Time, want bool) {
		t.Helper()
		if got, err := s.Pairings.IsOpen(t.Context(), at, "matrix"); err != nil || got != want {
			t.Errorf("%s: open %v, %v", when, got, err)
		}
		if other, err := s.Pairings.IsOpen(t.Context(), at, "irc"); err != nil || other {
			t.Errorf("%s: open on another channel: %v, %v", when, other, err)
		}
	}
	say := func(text string) {
		t.Helper()
		wrongs++
		m := channels.Message{ID: strings.Repeat("m", wrongs), Text: text, From: channels.Person{ID: "@eve:hob.test"}, Chat: channels.Chat{ID: "@eve:hob.test"}}
		if _, err := s.Pairings.Try(t.Context(), "matrix", m); err != nil {
			t.Fatal(err)
		}
	}
	isOpen("before", now, false)
	id, _ := begin()
	isOpen("begun", now, true)
	isOpen("expired", now.Add(channels.PairingLife+time.Minute), false)
	if err := s.Pairings.End(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	isOpen("ended", now, false)
	_, code := begin()
	say(code)
	isOpen("bound", now, false)
	begin()
	for range channels.PairingTries {
		say("ZZZZ-ZZZZ")
	}
	isOpen("guessed", now, false)
}

// TestABoundPairingHasItsOwner: a pairing that is read as bound has made its person the owner, also for somebody who reads it at that moment. hob setup
// then sends the owner a message.
func TestABoundPairingHasItsOwner(t *testing.T) {
	s := fresh(t)
	for i := range 100 {
		channel := fmt.Sprintf("c%d", i)
		p, code := channels.NewPairing(channel, func(letters string, n int) string { return strings.Repeat(letters[:1], n) }, time.Now())
		id, err := s.Pairings.Begin(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		tried := make(chan error, 1)
		go func() {
			m := channels.Message{ID: channel, Text: code, From: channels.Person{ID: "7"}, Chat: channels.Chat{ID: "7"}}
			_, err := s.Pairings.Try(t.Context(), channel, m)
			tried <- err
		}()
		for bound := false; !bound; {
			r, err := s.Pairings.Row(t.Context(), time.Now(), id)
			if err != nil {
				t.Fatal(err)
			}
			bound = r.State == channels.PairingBound
		}
		if owner := event.Address(channel + ":7"); !slices.Contains(s.Pairings.Paired(), owner) {
			t.Errorf("%s is bound, and not the owner", owner)
		}
		if err := <-tried; err != nil {
			t.Fatal(err)
		}
	}
}
