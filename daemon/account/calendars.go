package account

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"hob/tools"
	"hob/tools/calendar"
)

var _ calendar.Calendars = (*Service)(nil)

// Events asks all accounts. One that fails becomes a note if another answers.
func (s *Service) Events(ctx context.Context, span calendar.Span) (found calendar.Found, err error) {
	var first error
	answered := false
	for _, name := range s.Accounts() {
		if span.Account != "" && span.Account != name {
			continue
		}
		c, err := s.calendarOf(ctx, name)
		if err == nil && without(c) {
			continue
		}
		var one calendar.Found
		if err == nil {
			one, err = c.Events(ctx, span)
		}
		if ctx.Err() != nil {
			return found, ctx.Err()
		}
		if err != nil {
			_, text, _, _ := tools.Refusal(err)
			first = cmp.Or(first, err)
			found.Notes = append(found.Notes, fmt.Sprintf("the account %s could not be read: %s", name, cmp.Or(text, err.Error())))
			continue
		}
		answered = true
		found.Events, found.Notes = append(found.Events, one.Events...), append(found.Notes, one.Notes...)
	}
	if !answered {
		return found, cmp.Or(first, noCalendar())
	}
	return found, nil
}

func noCalendar() error {
	return tools.Refuse(tools.ConfigError, "the owner adds one with: hob account add caldav, or google", "there is no calendar")
}

// without reports whether the owner has granted an account no calendars.
func without(c Calendar) bool {
	granted, ok := c.(interface{ HasCalendar() bool })
	return ok && !granted.HasCalendar()
}

// Event reads an event of the account that its id names.
func (s *Service) Event(ctx context.Context, id string, zone *time.Location) (calendar.Event, error) {
	name, _, _ := strings.Cut(id, ":")
	for _, known := range s.Accounts() {
		if known == name {
			c, err := s.calendarOf(ctx, name)
			if err != nil {
				return calendar.Event{}, err
			}
			return c.Event(ctx, id, zone)
		}
	}
	return calendar.Event{}, tools.Refuse(tools.NotFound, "take an id from calendar_list_events", "no account has this event")
}

// taker returns the first account that takes a draft.
func (s *Service) taker(ctx context.Context, d calendar.Draft) (c Calendar, p calendar.Plan, err error) {
	var first error
	for _, name := range s.Accounts() {
		if d.Account != "" && d.Account != name {
			continue
		}
		if c, err = s.calendarOf(ctx, name); err == nil {
			if without(c) {
				continue
			}
			if p, err = c.Plan(ctx, d); err == nil {
				return c, p, nil
			}
		}
		first = cmp.Or(first, err)
	}
	return nil, p, cmp.Or(first, noCalendar())
}

// Plan says what would become of a draft.
func (s *Service) Plan(ctx context.Context, d calendar.Draft) (calendar.Plan, error) {
	_, p, err := s.taker(ctx, d)
	return p, err
}

// Create makes an event.
func (s *Service) Create(ctx context.Context, d calendar.Draft) (calendar.Event, error) {
	c, _, err := s.taker(ctx, d)
	if err != nil {
		return calendar.Event{}, err
	}
	return c.Create(ctx, d)
}
