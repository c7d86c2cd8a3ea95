package jobs

import (
	"fmt"
	"strings"
	"time"

	"hob/config/schema"
	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/guard"
	"hob/scheduler"
)

// Section is [jobs.NAME] of the config.
type Section struct {
	Cron    string   `toml:"cron"`
	Every   string   `toml:"every"`
	At      string   `toml:"at"`
	When    string   `toml:"when"`
	Prompt  string   `toml:"prompt"`
	TZ      string   `toml:"tz"`
	Session string   `toml:"session"`
	Deliver string   `toml:"deliver"`
	Missed  string   `toml:"missed"`
	MaxLate string   `toml:"max_late"`
	Overlap string   `toml:"overlap"`
	Allow   []string `toml:"allow"`
}

// draft is the job that a section asks for.
func (in Section) draft(name string) scheduler.Draft {
	rights, _ := guard.Rights(strings.Join(in.Allow, ","), fsguard.Absolute) // a mistake in them is a problem of the section: it gets none
	return scheduler.Draft{
		Name: name, Cron: in.Cron, Every: in.Every, At: in.At, When: in.When, Zone: in.TZ, Prompt: in.Prompt, Session: in.Session, Deliver: in.Deliver,
		Missed: in.Missed, MaxLate: in.MaxLate, Overlap: in.Overlap, Trust: event.Owner, Typed: true, Mandate: scheduler.Mandate{Allow: rights}, Origin: OriginConfig,
	}
}

// Check says what is wrong with a section: its lines begin with the key that they are about.
func Check(decode func(any) error, timezone string, now time.Time) error {
	var in Section
	if err := decode(&in); err != nil {
		return err
	}
	zone, err := scheduler.Zone(timezone)
	if err != nil {
		zone = time.UTC
	}
	_, _, err = scheduler.New(in.draft("x"), zone, now)
	if _, wrong := guard.Rights(strings.Join(in.Allow, ","), fsguard.Absolute); err == nil && wrong != nil {
		err = fmt.Errorf("allow: %w", wrong)
	}
	return err
}

// Notes describe the keys of a section.
func Notes() []schema.Note {
	return []schema.Note{
		{Name: "when", Unset: "none", Example: `"every weekday at 9"`, Doc: "The schedule in words."},
		{Name: "cron", Unset: "none", Apart: true, Example: `"0 9 * * 1-5"`, Doc: "The schedule in the five fields of cron, or a macro like `@daily`."},
		{Name: "every", Unset: "none", Apart: true, Example: `"2h"`, Doc: "The time from one run to the next."},
		{Name: "at", Unset: "none", Apart: true, Example: `"2099-12-24 17:00"`, Doc: "The one time when it runs."},
		{Name: "prompt", Unset: "a mistake", Example: `"list files"`, Doc: "What is to be done; it must be there."},
		{Name: "tz", Unset: "the owner's", Example: `"Europe/Berlin"`, Doc: "The zone of the schedule, by its IANA name."},
		{Name: "session", Unset: "`main`, with rights `isolated`", Words: []string{"main", "isolated"}, Example: `"isolated"`, Doc: "The conversation that it runs in: yours, or one of its own."},
		{Name: "deliver", Unset: "`owner`", Example: `"owner"`, Doc: "Where its answer goes: channel:address, `owner` or `none`."},
		{Name: "missed", Unset: "`once`", Words: []string{"once", "skip", "all", "ask"}, Example: `"once"`, Doc: "What is done about times at which hob did not run."},
		{Name: "max_late", Unset: "half the period, at most 2h", Example: `"2h"`, Doc: "How late a run may still begin."},
		{Name: "allow", Unset: "none", Example: `["exec", "write:~/projects"]`, Pattern: `^(exec|net(:.+)?|write:[/~].*|message:.+)$`, Doc: "Rights that it has without asking: `exec`, `net`, `net:HOST`, `write:PATH`, `message:ADDRESS`."},
		{Name: "overlap", Unset: "`fold`", Words: []string{"fold", "queue"}, Example: `"fold"`, Doc: "What is done about a time at which the last run has not ended: `fold` leaves it out, `queue` runs it afterwards."},
	}
}
