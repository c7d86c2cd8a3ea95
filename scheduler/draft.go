package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hob/daemon/event"
	"hob/scheduler/phrase"
	"hob/scheduler/spec"
)

// Draft is a job as it is asked for, by command, by chat or in the config. Empty fields take their defaults.
type Draft struct {
	Name    string // default: made from the prompt
	Cron    string // one of Cron, Every, At and When: fields or a macro,
	Every   string // a period,
	At      string // a time,
	When    string // or any schedule that phrase.Resolve takes
	Zone    string // IANA name; default: New's zone
	Prompt  string
	Session string // main (default) or isolated
	Deliver string // channel:address, owner (default) or none
	Missed  string // once (default), skip, all or ask
	MaxLate string // a period; default: half the period and at most 2 h
	Overlap string // fold (default) or queue
	Trust   event.Trust
	Typed   bool
	Mandate
	Gate   Gate
	Origin string // default: run-time
}

const longestName = 64

// New makes a job out of a draft, with its first slot due. zone is the owner's, used when the draft names none. The error
// joins one line for every fault of the draft. The caller gives the ID and sees to it that the name is unique.
func New(d Draft, zone *time.Location, now time.Time) (Job, phrase.Resolved, error) {
	f := faults{}
	j := Job{
		Trigger: Trigger{
			Name: f.name(d), Prompt: strings.TrimSpace(d.Prompt), Deliver: f.deliver(d.Deliver), Trust: d.Trust, Typed: d.Typed, Mandate: d.Mandate,
			Origin: cmp.Or(d.Origin, "run-time"), Created: now.UTC().Truncate(time.Second),
		},
		Words: f.words(d), Gate: d.Gate,
		// One with rights runs in a conversation of its own: what others have said in yours must not use them.
		Session: f.oneOf("session", d.Session, []string{"main", "isolated"}[min(len(d.Allow), 1):]...),
		Missed:  Missed(f.oneOf("missed", d.Missed, string(MissedOnce), string(MissedSkip), string(MissedAll), string(MissedAsk))),
		Overlap: Overlap(f.oneOf("overlap", d.Overlap, string(Fold), string(Queue))),
		MaxLate: f.maxLate(d.MaxLate),
	}
	j.Zone, zone = f.zone(d.Zone, zone)
	if j.Prompt == "" {
		f.add(errors.New("prompt: it is empty; say what the job is to do"))
	}
	if err := d.Gate.Check(); err != nil {
		f.add(err)
	}
	if err := d.Mandate.Check(); err != nil {
		f.add(err)
	}
	if d.Trust == "" {
		f.add(errors.New("trust: nobody stands behind the job"))
	}
	if zone == nil {
		zone = time.UTC // the schedule is read for its own mistakes
	}
	r := f.resolve(j.Words, zone, now)
	if len(f.list) > 0 {
		return Job{}, phrase.Resolved{}, errors.Join(f.list...)
	}
	j.Spec, j.Words, j.Due = r.Spec, r.Words, r.Next[0].UTC()
	return j, r, nil
}

// Zone loads a time zone by its IANA name. "" and "Local" are refused: a job must mean the same on every machine.
func Zone(name string) (*time.Location, error) {
	if name == "" || strings.EqualFold(name, "local") {
		return nil, fmt.Errorf("time zone %q: want a name such as Europe/Berlin or UTC", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone %q is not known: want a name such as Europe/Berlin, America/New_York or UTC", name)
	}
	return zone, nil
}

// faults gathers what is wrong with a draft.
type faults struct{ list []error }

func (f *faults) add(err error) { f.list = append(f.list, err) }

func (f *faults) name(d Draft) string {
	name := strings.TrimSpace(d.Name)
	switch {
	case name == "":
		return nameFrom(d.Prompt)
	case name == Heartbeat && d.Gate.Content == "":
		f.add(errors.New("name heartbeat: it is kept for what HEARTBEAT.md asks for; [heartbeat] in config.toml says when"))
	case utf8.RuneCountInString(name) > longestName:
		f.add(fmt.Errorf("name %q: it is longer than %d characters", name, longestName))
	case name[0] == '-':
		f.add(fmt.Errorf("name %q: it would look like a flag; let it begin with a letter or a digit", name))
	case strings.ContainsFunc(name, func(r rune) bool { return !nameRune(r) }):
		f.add(fmt.Errorf("name %q: want only letters, digits, - and _", name))
	case strings.Trim(name, "0123456789") == "":
		f.add(fmt.Errorf("name %q: want a letter in it, or it would look like an id", name))
	}
	return name
}

func nameRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_'
}

// nameFrom makes a name of the first words of a prompt, "job" when there are none.
func nameFrom(prompt string) string {
	text := strings.ToLower(strings.TrimSpace(prompt))
	text = strings.TrimPrefix(text, "say:")
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	name := ""
	for _, w := range words[:min(len(words), 4)] {
		if next := strings.TrimPrefix(name+"-"+w, "-"); utf8.RuneCountInString(next) <= 32 {
			name = next
		}
	}
	if strings.Trim(name, "0123456789-") == "" || name == Heartbeat {
		return "job"
	}
	return name
}

// words is the one schedule of a draft.
func (f *faults) words(d Draft) string {
	var given []string
	for _, s := range [][2]string{{"cron ", d.Cron}, {"every ", d.Every}, {"at ", d.At}, {"", d.When}} {
		text := strings.TrimSpace(s[1])
		if text == "" {
			continue
		}
		if lower := strings.ToLower(text); !strings.HasPrefix(lower, s[0]) && !strings.HasPrefix(lower, "in ") && text[0] != '@' {
			text = s[0] + text
		}
		given = append(given, text)
	}
	if len(given) != 1 {
		f.add(errors.New("schedule: want exactly one of cron, every, at and when"))
		return ""
	}
	return given[0]
}

func (f *faults) resolve(words string, zone *time.Location, now time.Time) phrase.Resolved {
	if words == "" {
		return phrase.Resolved{}
	}
	r, err := phrase.Resolve(words, zone, now)
	if err != nil {
		f.add(err)
	}
	return r
}

func (f *faults) zone(name string, owner *time.Location) (string, *time.Location) {
	if strings.TrimSpace(name) == "" && owner != nil {
		name = owner.String()
	}
	zone, err := Zone(strings.TrimSpace(name))
	if err != nil {
		f.add(err)
		return "", nil
	}
	return zone.String(), zone
}

func (f *faults) oneOf(field, value string, allowed ...string) string {
	value = cmp.Or(strings.ToLower(strings.TrimSpace(value)), allowed[0])
	for _, a := range allowed {
		if value == a {
			return a
		}
	}
	f.add(fmt.Errorf("%s %q: want %s", field, value, strings.Join(allowed, " or ")))
	return ""
}

func (f *faults) maxLate(text string) time.Duration {
	if strings.TrimSpace(text) == "" {
		return 0
	}
	late, err := spec.ParsePeriod(text)
	switch {
	case err != nil:
		f.add(fmt.Errorf("max-late: %w", err))
	case late < time.Second || late > spec.LongestPeriod:
		f.add(fmt.Errorf("max-late %q: want between 1 second and 10 years", text))
	}
	return late
}

func (f *faults) deliver(text string) event.Address {
	to, err := event.ParseAddress(cmp.Or(strings.TrimSpace(text), string(event.ToOwner)))
	if err != nil {
		f.add(fmt.Errorf("deliver: %w", err))
	}
	return to
}
