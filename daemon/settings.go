package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"hob/channels"
	chanall "hob/channels/all"
	"hob/channels/ntfy"
	"hob/config"
	"hob/config/schema"
	"hob/daemon/clock"
	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/guard"
	"hob/daemon/llm/openai"
	"hob/daemon/models"
	"hob/scheduler"
)

// ConfigSections describes the sections of the config that config keeps raw: their keys, and what their owners would say of them. Nothing
// is opened and nobody is asked: a secret is not looked up.
func ConfigSections() config.Owned {
	return config.Owned{
		Backends: append([]string{models.Builtin}, openai.Backends()...),
		Parts: []config.Part{
			{
				Path: "channels.NAME", Kind: "ntfy", Named: "alerts", Doc: "A topic at an ntfy server. See channels.md.",
				Keys: schema.Describe(ntfy.Config{Server: "https://ntfy.sh", Title: "hob"}, ntfyNotes()), Check: checkChannel,
			},
			{
				Path: "jobs.NAME", Named: "morning", Doc: "A chore by schedule, as `hob cron add` makes it: exactly one of `when`, `cron`, `every` and `at`.",
				Keys: schema.Describe(jobSection{}, jobNotes()), Check: checkJob,
			},
		},
	}
}

// ChannelKinds are the kinds of channels that this hob has.
func ChannelKinds() []string {
	var names []string
	for _, k := range chanall.All() {
		names = append(names, k.Name)
	}
	return names
}

func ntfyNotes() []schema.Note {
	return []schema.Note{
		{Name: "server", Example: `"https://ntfy.sh"`, Pattern: `^$|^https?://.+`, Doc: "The server's address."},
		{Name: "topic", Unset: "none", Example: `"my-topic"`, Pattern: `^$|^[-_A-Za-z0-9]{1,64}$`, Doc: "The topic to listen to, and to write to."},
		{Name: "topics", Apart: true, Example: `["one", "two"]`, Pattern: `^[-_A-Za-z0-9]{1,64}$`, Doc: "Several topics in the place of `topic`."},
		{Name: "token", Unset: "none", Example: `"env:NTFY_TOKEN"`, Doc: "The access token."},
		{Name: "owner", Example: "true", Doc: "What is written to the topics was written by you; it needs a token, and topics that nobody else can write to."},
		{Name: "receive", Unset: "true", Example: "true", Doc: "Listen to the topics; false: only send."},
		{Name: "title", Example: `"hob"`, Doc: "The title of what hob sends."},
	}
}

func jobNotes() []schema.Note {
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

// checkChannel builds the channel of a section, as the daemon does, with a stand-in for its secrets.
func checkChannel(snap *config.Snapshot, section config.Section) []config.Problem {
	kind := section.Name
	for _, c := range snap.Channels {
		if c.Name == section.Name {
			kind, section = c.Kind, c.Section
		}
	}
	env := channels.Env{
		HTTP: &http.Client{}, Clock: clock.Real(), Log: slog.New(slog.DiscardHandler),
		Secret: func(string) (string, error) { return "stand-in", nil },
	}
	_, err := channels.Build(chanall.All(), section.Name, kind, env, section.Decode)
	return faults(section, err)
}

// checkJob makes the job of a section, as the daemon does.
func checkJob(snap *config.Snapshot, section config.Section) []config.Problem {
	var in jobSection
	if err := section.Decode(&in); err != nil {
		return faults(section, err)
	}
	zone, err := scheduler.Zone(snap.Owner.Timezone)
	if err != nil {
		zone = time.UTC
	}
	_, _, err = scheduler.New(in.draft(section.Name), zone, clock.Real().Wall())
	if _, wrong := guard.Rights(strings.Join(in.Allow, ","), fsguard.Absolute); err == nil && wrong != nil {
		err = fmt.Errorf("allow: %w", wrong)
	}
	return faults(section, err)
}

// draft is the job that a section asks for.
func (in jobSection) draft(name string) scheduler.Draft {
	rights, _ := guard.Rights(strings.Join(in.Allow, ","), fsguard.Absolute) // a mistake in them is a problem of the section: it gets none
	return scheduler.Draft{
		Name: name, Cron: in.Cron, Every: in.Every, At: in.At, When: in.When, Zone: in.TZ, Prompt: in.Prompt, Session: in.Session, Deliver: in.Deliver,
		Missed: in.Missed, MaxLate: in.MaxLate, Overlap: in.Overlap, Trust: event.Owner, Typed: true, Mandate: scheduler.Mandate{Allow: rights}, Origin: originConfig,
	}
}

// faults are the problems behind an owner's error, each line of which begins with the key it is about.
func faults(section config.Section, err error) []config.Problem {
	var list config.Errors
	switch {
	case err == nil:
		return nil
	case errors.As(err, &list):
		return list
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		line = strings.TrimPrefix(line, section.Path()+": ")
		key, _, _ := strings.Cut(line, " ")
		if strings.HasPrefix(line, "time zone ") {
			key = "tz"
		}
		list = append(list, section.Fault(strings.TrimSuffix(key, ":"), line))
	}
	return list
}
