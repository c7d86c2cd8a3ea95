package triggers

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/config/schema"
	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/policy"
	"hob/scheduler"
)

// Section is [jobs.NAME] of the config.
type JobSection struct {
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

	Gate      string   `toml:"gate"`
	GateMode  string   `toml:"gate_mode"`
	GateURL   string   `toml:"gate_url"`
	GateFiles []string `toml:"gate_files"`
	Tools     []string `toml:"tools"`
	Tokens    int64    `toml:"max_tokens"`
}

// draft is the job that a section asks for.
func (in JobSection) draft(name string) scheduler.Draft {
	rights, _ := policy.Rights(strings.Join(in.Allow, ","), fsguard.Absolute) // a mistake in them is a problem of the section: it gets none
	return scheduler.Draft{
		Name: name, Cron: in.Cron, Every: in.Every, At: in.At, When: in.When, Zone: in.TZ, Prompt: in.Prompt, Session: in.Session, Deliver: in.Deliver,
		Missed: in.Missed, MaxLate: in.MaxLate, Overlap: in.Overlap, Trust: event.Owner, Typed: true, Mandate: scheduler.Mandate{Allow: rights, Tools: in.Tools, Tokens: in.Tokens}, Origin: OriginConfig,
		Gate: in.gate(),
	}
}

// job makes the job of a section.
func (in JobSection) job(name string, zone *time.Location, now time.Time) (scheduler.Job, error) {
	j, _, err := scheduler.New(in.draft(name), zone, now)
	if !slices.Contains([]string{"", "change", "exit"}, in.GateMode) {
		err = errors.Join(err, fmt.Errorf("gate_mode %q: want change or exit", in.GateMode))
	}
	return j, err
}

// gate is the gate that a section asks for; what is wrong with it, New says.
func (in JobSection) gate() scheduler.Gate {
	g, _ := scheduler.ParseGate(in.Gate) // New checks it with the rest
	g.Exit = g.Exit || in.GateMode == "exit"
	g.URL = cmp.Or(in.GateURL, g.URL)
	g.Files = append(g.Files, in.GateFiles...)
	return g
}

// Check says what is wrong with a section: its lines begin with the key that they are about.
func CheckJob(decode func(any) error, timezone string, now time.Time) error {
	var in JobSection
	if err := decode(&in); err != nil {
		return err
	}
	zone, err := scheduler.Zone(timezone)
	if err != nil {
		zone = time.UTC
	}
	_, err = in.job("x", zone, now)
	if _, wrong := policy.Rights(strings.Join(in.Allow, ","), fsguard.Absolute); wrong != nil {
		err = errors.Join(err, fmt.Errorf("allow: %w", wrong))
	}
	return err
}

// Notes describe the keys of a section.
func JobNotes() []schema.Note {
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
		{Name: "allow", Unset: "none", Example: `["exec", "write:~/projects"]`, Pattern: `^(exec|net(:.+)?|(read|write):[/~].*|message:.+)$`, Doc: "Rights that it has without asking: `exec`, `net`, `net:HOST`, `read:PATH`, `write:PATH`, `message:ADDRESS`."},
		{Name: "tools", Unset: "all", Example: `["read", "grep"]`, Doc: "The only tools that its runs may call."},
		{Name: "max_tokens", Unset: "no limit", Example: `20000`, Doc: "How many tokens one run may use; it ends when the next request has no room."},
		{Name: "overlap", Unset: "`fold`", Words: []string{"fold", "queue"}, Example: `"fold"`, Doc: "What is done about a time at which the last run has not ended: `fold` leaves it out, `queue` runs it afterwards."},
		{Name: "gate", Unset: "none", Example: `"wc -l inbox.txt"`, Doc: "A command that is run first, in the sandbox: the job runs only when its output is new."},
		{Name: "gate_mode", Unset: "`change`", Words: []string{"change", "exit"}, Example: `"change"`, Doc: "What of the command counts: `change` its output, `exit` that it ends with code 0."},
		{Name: "gate_url", Unset: "none", Example: `"https://example.org/feed.xml"`, Pattern: `^$|^https?://.+`, Doc: "An address that is asked first: the job runs only when what is there is new."},
		{Name: "gate_files", Unset: "none", Example: `["~/Downloads/*.pdf"]`, Doc: "Files that are looked at first: the job runs only when one of them is new, changed or gone."},
	}
}
