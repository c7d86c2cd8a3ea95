package calendar_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"hob/tools"
	"hob/tools/calendar"
)

// A source that fails is a note while another answers, an error if none does, and nothing at all to a caller who has left.
func TestGather(t *testing.T) {
	t.Parallel()
	full := tools.Refuse(tools.IO, "wait", "it is full")
	down := errors.New("it is down")
	read := func(s string, found *calendar.Found) error {
		switch s {
		case "full":
			return full
		case "down":
			return down
		}
		found.Events = append(found.Events, calendar.Event{Title: s})
		return nil
	}
	name := func(s string) string { return s }
	for _, tc := range []struct {
		sources []string
		events  int
		notes   []string
		err     error
	}{
		{[]string{"a", "b"}, 2, nil, nil},
		{[]string{"full", "a", "down"}, 1, []string{"the account full could not be read: it is full", "the account down could not be read: it is down"}, nil},
		{[]string{"full", "down"}, 0, []string{"the account full could not be read: it is full", "the account down could not be read: it is down"}, full},
	} {
		found, err := calendar.Gather(t.Context(), "account", tc.sources, name, read)
		if len(found.Events) != tc.events || !slices.Equal(found.Notes, tc.notes) || !errors.Is(err, tc.err) {
			t.Errorf("%v: %+v, %v", tc.sources, found, err)
		}
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	if found, err := calendar.Gather(left, "account", []string{"down", "a"}, name, read); len(found.Events)+len(found.Notes) > 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", found, err)
	}
}
