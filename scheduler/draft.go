package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hob/config/schema"
	"hob/daemon/event"
	"hob/scheduler/phrase"
	"hob/scheduler/spec"
)

// Draft is a requested job. A config section [jobs.NAME], the input of the tool cron, and the flags of hob cron decode into it. An empty
// field takes its default; in a change it leaves the job as it is. An optional text that can be taken away again therefore needs a value that
// says so, such as NoRights. JobFields describes the fields for people and models.
type Draft struct {
	Name     string `toml:"-" json:"name,omitempty" jsonschema:"or its new name" max:"64"`                       // default: made from the prompt
	When     string `toml:"when" json:"schedule,omitempty" jsonschema:"cron, 'every 30m', 'every weekday at 9'"` // any schedule that phrase.Resolve accepts
	Cron     string `toml:"cron" json:"-"`                                                                       // instead of When: cron fields or a macro,
	Every    string `toml:"every" json:"-"`                                                                      // a period,
	At       string `toml:"at" json:"-"`                                                                         // or a time
	Prompt   string `toml:"prompt" json:"prompt,omitempty" jsonschema:"what to do; 'say: TEXT' is sent as it is"`
	Zone     string `toml:"tz" json:"tz,omitempty" jsonschema:"IANA zone"` // default: the owner's
	Session  string `toml:"session" json:"session,omitempty" jsonschema:"runs in" enum:"auto,main,isolated"`
	Deliver  string `toml:"deliver" json:"deliver,omitempty" jsonschema:"owner, none or channel:address"`
	Missed   string `toml:"missed" json:"missed,omitempty" jsonschema:"while off" enum:"once,skip,all,ask"`
	MaxLate  string `toml:"max_late" json:"max_late,omitempty" jsonschema:"later is missed: 2h"` // a period; in a change, NoMaxLate restores the default
	Overlap  string `toml:"overlap" json:"overlap,omitempty" jsonschema:"last still runs" enum:"fold,queue"`
	Allow    string `toml:"-" json:"allow,omitempty" jsonschema:"rights: exec,net,write:PATH,mcp:NAME"`          // NoRights removes all
	GateText string `toml:"gate" json:"gate,omitempty" jsonschema:"if new: COMMAND, url:, files:; exit:COMMAND"` // see ParseGate
	Plain    *bool  `toml:"plain" json:"plain,omitempty" jsonschema:"never ask a model"`                         // see event.Prompts
	Limits   string `toml:"-" json:"limits,omitempty" jsonschema:"as tools=read tokens=900"`                     // for the tool; the config has Tools and MaxTokens

	Rights    []string `toml:"allow" json:"-"`
	GateMode  string   `toml:"gate_mode" json:"-"`
	GateURL   string   `toml:"gate_url" json:"-"`
	GateFiles []string `toml:"gate_files" json:"-"`
	Tools     []string `toml:"tools" json:"-"`
	MaxTokens int64    `toml:"max_tokens" json:"-"`

	// The decoding code sets the remaining fields; they never come from the input.

	ID          int64         `toml:"-" json:"-"` // id of the job to change; 0: a new job
	Origin      string        `toml:"-" json:"-"` // default: run-time
	Trust       event.Trust   `toml:"-" json:"-"` // trust of the requester
	Typed       bool          `toml:"-" json:"-"` // the owner typed this request
	Words       string        `toml:"-" json:"-"` // the owner's message that contains the request; see OwnWords in daemon/triggers
	ReplyTo     event.Address `toml:"-" json:"-"` // address of the request, the default of Deliver
	Now         time.Time     `toml:"-" json:"-"`
	Gate        Gate          `toml:"-" json:"-"` // in addition to the gate fields
	Permissions Permissions   `toml:"-" json:"-"` // the checked rights and limits
}

// Values that remove a setting.
const (
	NoRights  = "none" // as a list of rights
	NoMaxLate = "none" // as max_late
)

// JobFields describes the fields of a job, in the order of the documentation.
func JobFields() []Field {
	words := func(list ...string) []string { return list }
	return []Field{
		{Note: schema.Note{Name: "name"}, Flag: "what to call it (default: made from the prompt)"},
		{Note: schema.Note{Name: "when", Unset: "none", Example: `"every weekday at 9"`, Doc: "The schedule in words."}, Flag: `in words, as in "every weekday at 9"`},
		{Note: schema.Note{Name: "cron", Unset: "none", Apart: true, Example: `"0 9 * * 1-5"`, Doc: "The schedule in the five fields of cron, or a macro like `@daily`."}, Flag: `cron fields, as in "0 9 * * 1-5", or @daily and its like`},
		{Note: schema.Note{Name: "every", Unset: "none", Apart: true, Example: `"2h"`, Doc: "The interval between runs."}, Flag: "a period, as in 30m"},
		{Note: schema.Note{Name: "at", Unset: "none", Apart: true, Example: `"2099-12-24 17:00"`, Doc: "The time of a single run."}, Flag: `one time, as in "2026-12-24 17:00"`},
		{Note: schema.Note{Name: "prompt", Unset: "a mistake", Example: `"list files"`, Doc: "What to do. Required."}},
		{Note: schema.Note{Name: "tz", Unset: "the owner's", Example: `"Europe/Berlin"`, Doc: "The time zone of the schedule, as an IANA name."}, Flag: "time zone, as in Europe/Berlin (default yours)"},
		{
			Note: schema.Note{Name: "session", Unset: "`auto`, with rights `isolated`", Words: words("auto", "main", "isolated"), Example: `"isolated"`, Doc: "The conversation of its runs: `main` is yours, `isolated` its own. `auto`: yours, and its own while yours holds foreign text."},
			Flag: "auto, main or isolated (default auto: main, and its own while main holds foreign text; with --allow isolated)", Summary: true, Usual: "auto",
		},
		{Note: schema.Note{Name: "deliver", Unset: "`owner`", Example: `"owner"`, Doc: "The recipient of its answer: channel:address, `owner` or `none`."}, Flag: "where the answer goes: owner, none or an address"},
		{
			Note: schema.Note{Name: "missed", Unset: "`once`", Words: words("once", "skip", "all", "ask"), Example: `"once"`, Doc: "What happens to runs that were missed while hob was not running."},
			Flag: "what to do about missed runs: once, skip, all or ask (default once)", Summary: true, Usual: "once",
		},
		{
			Note: schema.Note{Name: "max_late", Unset: "half the period, at most 2h", Example: `"2h"`, Doc: "How late a run may still start."},
			Flag: "how late a run may start, as in 2h; none: the default again, half the period and at most 2h", Summary: true,
		},
		{
			Note: schema.Note{Name: "allow", Unset: "none", Example: `["exec", "write:~/projects"]`, Pattern: `^(exec|net(:.+)?|(read|write):[/~].*|message:.+|mcp:[a-z0-9_-]+|account:[a-z][a-z0-9_-]*(:write)?)$`, Doc: "Rights that its runs have without asking: `exec`, `net`, `net:HOST`, `read:PATH`, `write:PATH`, `message:ADDRESS`, `mcp:SERVER`, `account:NAME`, `account:NAME:write`."},
			Flag: "rights that its runs have without asking: exec, net, net:HOST, read:PATH, write:PATH, message:ADDRESS, mcp:SERVER, account:NAME, account:NAME:write, separated by commas; its runs get a session of their own; none: removes all rights",
		},
		{Note: schema.Note{Name: "tools", Unset: "all", Example: `["read", "grep"]`, Doc: "The only tools that its runs may call."}},
		{Note: schema.Note{Name: "max_tokens", Unset: "no limit", Example: `20000`, Doc: "The limit of tokens for one run; the run ends when the next request would exceed it."}},
		{
			Note: schema.Note{Name: "overlap", Unset: "`fold`", Words: words("fold", "queue"), Example: `"fold"`, Doc: "What happens when a run is due before the last one has ended: `fold` skips it, `queue` runs it afterwards."},
			Flag: "if the last run has not ended: fold or queue (default fold)", Summary: true, Usual: "fold",
		},
		PlainField("job"),
		{
			Note: schema.Note{Name: "gate", Unset: "none", Example: `"wc -l inbox.txt"`, Doc: "A command that runs first, in the sandbox: the job runs only if its output is new."},
			Flag: "run only if the output of this `COMMAND` is new; none: removes the gate",
		},
		{
			Note: schema.Note{Name: "gate_mode", Unset: "`change`", Words: words("change", "exit"), Example: `"change"`, Doc: "The test of the command: `change` for new output, `exit` for exit code 0."},
			Flag: "the test of that command: change (new output, the default) or exit (exit code 0)",
		},
		{Note: schema.Note{Name: "gate_url", Unset: "none", Example: `"https://example.org/feed.xml"`, Pattern: `^$|^https?://.+`, Doc: "An address that is fetched first: the job runs only if its content is new."}, Flag: "run only if the content of this `ADDRESS` is new"},
		{Note: schema.Note{Name: "gate_files", Unset: "none", Example: `["~/Downloads/*.pdf"]`, Doc: "Files that are checked first: the job runs only if one of them is new, changed or gone."}, Flag: "run only if one of these files is new, changed or gone: `GLOBS` in quotes, separated by commas"},
	}
}

const longestName = 64

// New creates a job from a draft, with its first slot due. zone is the owner's, for a draft without one. The error has one line for each
// fault of the draft. The caller sets the ID and makes sure that the name is unique.
func New(d Draft, zone *time.Location, now time.Time) (Job, phrase.Resolved, error) {
	return apply(Job{}, d, zone, now)
}

// apply creates a job from a draft and the job that it changes, which is the zero Job for a new one.
func apply(old Job, d Draft, zone *time.Location, now time.Time) (Job, phrase.Resolved, error) {
	f := Faults{}
	if old.ID != 0 {
		d.Trust = old.Trust
	}
	d.Permissions.Tools, d.Permissions.Tokens = append(d.Permissions.Tools, d.Tools...), cmp.Or(d.MaxTokens, d.Permissions.Tokens)
	j := Job{
		Trigger: Trigger{
			Name: f.name(d, old), Prompt: strings.TrimSpace(cmp.Or(d.Prompt, old.Prompt)), Deliver: f.Deliver(cmp.Or(d.Deliver, string(old.Deliver))), Trust: d.Trust, Typed: d.Typed, Permissions: d.Permissions,
			Origin: cmp.Or(d.Origin, "run-time"), Created: now.UTC().Truncate(time.Second),
		},
		Words: f.words(d), Gate: d.gate(old.Gate), Session: f.session(d, old.Session),
		Missed:  Missed(f.oneOf("missed", cmp.Or(d.Missed, string(old.Missed)), string(MissedOnce), string(MissedSkip), string(MissedAll), string(MissedAsk))),
		Overlap: Overlap(f.oneOf("overlap", cmp.Or(d.Overlap, string(old.Overlap)), string(OverlapFold), string(OverlapQueue))),
		MaxLate: f.maxLate(d, old.MaxLate),
	}
	j.Zone, zone = f.zone(cmp.Or(d.Zone, old.Zone), zone)
	f.Add(CheckPrompt(j.Prompt, "say what the job is to do"))
	f.Add(j.Gate.Check())
	f.Add(d.Permissions.Check())
	if d.Trust == "" {
		f.Add(errors.New("trust: the job has no requester"))
	}
	zone = cmp.Or(zone, time.UTC) // so that faults of the schedule are still found
	r := f.resolve(j.Words, zone, now)
	if !slices.Contains([]string{"", gateByChange, gateByExit}, d.GateMode) {
		f.Add(fmt.Errorf("gate_mode %q: want change or exit", d.GateMode))
	}
	if err := f.Err(); err != nil {
		return Job{}, phrase.Resolved{}, err
	}
	j.Spec, j.Words, j.Due = r.Spec, r.Words, r.Next[0].UTC()
	return j, r, nil
}

// GivesRights reports whether a draft requests rights.
func (d Draft) GivesRights() bool { return d.Allow != "" && d.Allow != NoRights }

// The modes of a gate command.
const (
	gateByChange = "change"
	gateByExit   = "exit"
)

// gate returns the requested gate, or old if none is requested. Check finds its faults.
func (d Draft) gate(old Gate) Gate {
	if d.GateText+d.GateMode+d.GateURL == "" && len(d.GateFiles) == 0 && d.Gate.Always() {
		return old
	}
	g, _ := ParseGate(d.GateText)
	g.Exit = g.Exit || d.GateMode == gateByExit
	g.URL = cmp.Or(d.GateURL, g.URL, d.Gate.URL)
	g.Files = slices.Concat(g.Files, d.GateFiles, d.Gate.Files)
	g.Command, g.Exit = cmp.Or(g.Command, d.Gate.Command), g.Exit || d.Gate.Exit
	g.Content, g.Active, g.Idle = d.Gate.Content, d.Gate.Active, d.Gate.Idle
	return g
}

// Zone loads a time zone by its IANA name. It rejects "" and "Local": a job must mean the same on every machine.
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

// Faults collects the faults of a draft.
type Faults struct{ list []error }

// Add notes a fault; nil is none.
func (f *Faults) Add(err error) { f.list = append(f.list, err) }

// Err returns all faults, or nil.
func (f *Faults) Err() error { return errors.Join(f.list...) }

// Deliver parses the address of the answers; without one it is the owner.
func (f *Faults) Deliver(text string) event.Address {
	to, err := event.ParseAddress(cmp.Or(strings.TrimSpace(text), string(event.ToOwner)))
	if err != nil {
		f.Add(fmt.Errorf("deliver: %w", err))
	}
	return to
}

// name checks a job's name, or makes one from the prompt. Names must differ from ids and flags, because commands take either.
func (f *Faults) name(d Draft, old Job) string {
	name := strings.TrimSpace(cmp.Or(d.Name, old.Name))
	switch {
	case name == "":
		if name = NameFrom(strings.TrimPrefix(strings.ToLower(strings.TrimSpace(d.Prompt)), "say:"), "job"); name == Heartbeat {
			name = "job"
		}
	case name == Heartbeat && d.Gate.Content == "":
		f.Add(errors.New("name heartbeat: this name is reserved for HEARTBEAT.md; [heartbeat] in config.toml sets its times"))
	default:
		f.Add(CheckName(name))
	}
	return name
}

// CheckName returns what is wrong with the name of a job or watch, or nil.
func CheckName(name string) error {
	switch {
	case utf8.RuneCountInString(name) > longestName:
		return fmt.Errorf("name %q: it is longer than %d characters", name, longestName)
	case name[0] == '-':
		return fmt.Errorf("name %q: it would look like a flag; let it begin with a letter or a digit", name)
	case strings.ContainsFunc(name, func(r rune) bool { return !nameRune(r) }):
		return fmt.Errorf("name %q: want only letters, digits, - and _", name)
	case strings.Trim(name, "0123456789") == "":
		return fmt.Errorf("name %q: want a letter in it, or it would look like an id", name)
	}
	return nil
}

// nameRune reports whether a name may contain r: letters of any script, digits, - and _.
func nameRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_'
}

// NameFrom builds a name from the first words of a prompt; it is otherwise without any.
func NameFrom(prompt, otherwise string) string {
	words := strings.FieldsFunc(strings.ToLower(prompt), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	name := ""
	for _, w := range words[:min(len(words), 4)] {
		if next := strings.TrimPrefix(name+"-"+w, "-"); utf8.RuneCountInString(next) <= 32 {
			name = next
		}
	}
	if strings.Trim(name, "0123456789-") == "" {
		return otherwise
	}
	return name
}

// words returns the only schedule of a draft.
func (f *Faults) words(d Draft) string {
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
		f.Add(errors.New("schedule: want exactly one of cron, every, at and when"))
		return ""
	}
	return given[0]
}

// resolve parses the words of a schedule.
func (f *Faults) resolve(words string, zone *time.Location, now time.Time) phrase.Resolved {
	if words == "" {
		return phrase.Resolved{}
	}
	r, err := phrase.Resolve(words, zone, now)
	f.Add(err)
	return r
}

// zone returns the named time zone, or the owner's.
func (f *Faults) zone(name string, owner *time.Location) (string, *time.Location) {
	if strings.TrimSpace(name) == "" && owner != nil {
		name = owner.String()
	}
	zone, err := Zone(strings.TrimSpace(name))
	if err != nil {
		f.Add(err)
		return "", nil
	}
	return zone.String(), zone
}

// oneOf returns the allowed value that was given; the first one if none was.
func (f *Faults) oneOf(field, value string, allowed ...string) string {
	value = cmp.Or(strings.ToLower(strings.TrimSpace(value)), allowed[0])
	if slices.Contains(allowed, value) {
		return value
	}
	f.Add(fmt.Errorf("%s %q: want %s", field, value, strings.Join(allowed, " or ")))
	return ""
}

// session returns the conversation of the runs. A job with rights runs in a conversation of its own, where other people's text cannot use
// them.
func (f *Faults) session(d Draft, old string) string {
	name := cmp.Or(d.Session, old)
	if d.GivesRights() {
		name = d.Session // the old one may be the owner's
	}
	switch {
	case len(d.Permissions.Allow) == 0:
		return f.oneOf("session", name, "auto", "main", "isolated")
	case strings.EqualFold(strings.TrimSpace(name), "main"), strings.EqualFold(strings.TrimSpace(name), "auto"):
		f.Add(fmt.Errorf("session %q: want isolated, because a job with rights of its own has its own conversation", name))
		return ""
	}
	return f.oneOf("session", name, "isolated")
}

// maxLate parses the limit of lateness. Without one the old limit stays.
func (f *Faults) maxLate(d Draft, old time.Duration) time.Duration {
	text := strings.TrimSpace(d.MaxLate)
	switch {
	case text == "":
		return old
	case text == NoMaxLate && d.Origin == "": // the config omits the key instead
		return 0
	}
	late, err := spec.ParsePeriod(text)
	switch {
	case err != nil:
		f.Add(fmt.Errorf("max-late: %w", err))
	case late < time.Second || late > spec.LongestPeriod:
		f.Add(fmt.Errorf("max-late %q: want between 1 second and 10 years", text))
	}
	return late
}

// CheckPrompt returns what is wrong with a prompt, or nil. hint is for one that is empty. A prompt "say:" without a text would send an empty
// message each time.
func CheckPrompt(prompt, hint string) error {
	text, says := strings.CutPrefix(prompt, "say:")
	switch {
	case prompt == "":
		return errors.New("prompt: it is empty; " + hint)
	case says && strings.TrimSpace(text) == "":
		return errors.New("prompt: there is no text after say: to send; for example: say: stand up and stretch")
	}
	return nil
}
