package account

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"hob/tools"
	"hob/tools/calendar"
)

var _ calendar.Calendars = (*Service)(nil)

// opening is an account with calendars, or why it cannot be opened.
type opening struct {
	name string
	calendar.Calendar
	err error
}

// calendars opens the accounts with calendars one after the other; account "" means all of them. One that the owner has granted no calendars is left out.
func (s *Service) calendars(ctx context.Context, account string) iter.Seq[opening] {
	return func(yield func(opening) bool) {
		for _, name := range s.Accounts() {
			if account != "" && account != name {
				continue
			}
			if c, err := s.calendarOf(ctx, name); (err != nil || !without(c)) && !yield(opening{name, c, err}) {
				return
			}
		}
	}
}

// Events asks all accounts. One that fails becomes a note if another answers.
func (s *Service) Events(ctx context.Context, span calendar.Span) (calendar.Found, error) {
	list := slices.Collect(s.calendars(ctx, span.Account))
	if len(list) == 0 {
		return calendar.Found{}, noCalendar()
	}
	return calendar.Gather(ctx, "account", list, func(o opening) string { return o.name }, func(o opening, found *calendar.Found) error {
		if o.err != nil {
			return o.err
		}
		one, err := o.Events(ctx, span)
		if err = s.used(ctx, o.name, err); err != nil {
			return err
		}
		found.Events, found.Notes = append(found.Events, one.Events...), append(found.Notes, one.Notes...)
		return nil
	})
}

func noCalendar() error {
	return tools.Refuse(tools.ConfigError, "the owner adds one with: hob account add caldav, or google", "there is no calendar")
}

// without reports whether the owner has granted an account no calendars.
func without(c calendar.Calendar) bool {
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
			e, err := c.Event(ctx, id, zone)
			return e, s.used(ctx, name, err)
		}
	}
	return calendar.Event{}, tools.Refuse(tools.NotFound, "take an id from calendar_list_events", "no account has this event")
}

// taker returns the first account that takes a draft.
func (s *Service) taker(ctx context.Context, d calendar.Draft) (c calendar.Calendar, p calendar.Plan, err error) {
	var first error
	for o := range s.calendars(ctx, d.Account) {
		if err = o.err; err == nil {
			if p, err = o.Plan(ctx, d); err == nil {
				return o.Calendar, p, nil
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
