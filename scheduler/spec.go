package scheduler

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

type kind uint8

const (
	kindCron kind = iota + 1
	kindEvery
	kindAt
)

// The bounds of a period.
const (
	shortestPeriod = time.Second
	longestPeriod  = 3653 * 24 * time.Hour // ten years
)

// Spec is a parsed schedule: cron fields, a period, or one instant. It is a value; its zero value never fires.
type Spec struct {
	kind    kind
	elapsed bool // cron only: the hour field begins with "*", so that it follows elapsed time at clock changes
	bits    cron.SpecSchedule
	period  time.Duration
	at      time.Time
	text    string
}

// ParseSpec reads a resolved spec: "cron" with five or six fields (seconds first) or a macro such as @daily,
// "every" with a period of whole seconds, at least 1 s, or "at" with an RFC 3339 instant.
// Phrases are for Resolve. The fields are those of crontab(5), with 0 and 7 for Sunday; a schedule that can
// never fire is an error.
func ParseSpec(text string) (Spec, error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(word) {
	case "cron":
		return parseCron(rest)
	case "every":
		return parseEvery(rest)
	case "at":
		return parseAt(rest)
	}
	return Spec{}, fmt.Errorf("spec %q: want it to begin with cron, every or at", text)
}

// String is the canonical text, which ParseSpec reads back to the same Spec.
func (s Spec) String() string { return s.text }

// Recurring tells a schedule that goes on from a single instant.
func (s Spec) Recurring() bool { return s.kind == kindCron || s.kind == kindEvery }

func parseAt(text string) (Spec, error) {
	at, err := time.Parse(time.RFC3339Nano, strings.ToUpper(text))
	if err != nil {
		return Spec{}, fmt.Errorf("at %q: want an instant such as 2026-12-24T17:00:00+01:00", text)
	}
	if year := at.UTC().Year(); year < 1 || year > lastYear {
		return Spec{}, fmt.Errorf("at %q: the year is out of range", text)
	}
	return makeAt(at), nil
}

func makeAt(at time.Time) Spec {
	return Spec{kind: kindAt, at: at, text: "at " + at.Format(time.RFC3339Nano)}
}

func parseEvery(text string) (Spec, error) {
	period, err := parsePeriod(text)
	if err != nil {
		return Spec{}, err
	}
	return makeEvery(period)
}

func makeEvery(period time.Duration) (Spec, error) {
	switch {
	case period < shortestPeriod:
		return Spec{}, fmt.Errorf("every %v is too often: the shortest period is 1 second", period)
	case period%time.Second != 0:
		return Spec{}, fmt.Errorf("every %v: want whole seconds", period)
	case period > longestPeriod:
		return Spec{}, errors.New("that period is too long: the longest is 10 years")
	}
	return Spec{kind: kindEvery, period: period, text: "every " + period.String()}, nil
}

func parseCron(text string) (Spec, error) {
	fields := strings.Fields(strings.ToLower(text))
	if len(fields) == 0 {
		return Spec{}, errors.New("the cron spec is empty: want five fields, e.g. 0 9 * * 1-5")
	}
	if zoned(fields[0]) {
		return Spec{}, fmt.Errorf("cron spec %q: the zone is not part of the spec; give it by itself, e.g. --tz Europe/Berlin", text)
	}
	if strings.HasPrefix(fields[0], "@") {
		return parseMacro(fields)
	}
	if len(fields) != 5 && len(fields) != 6 {
		return Spec{}, fmt.Errorf("cron spec %q has %s: want five (minute hour day month weekday), or six with seconds first",
			text, count(len(fields), "field"))
	}
	return cronOf(fields)
}

func parseMacro(fields []string) (Spec, error) {
	macros := map[string]string{
		"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
		"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
	}
	if fields[0] == "@every" && len(fields) > 1 {
		return parseEvery(strings.Join(fields[1:], " "))
	}
	spec, ok := macros[fields[0]]
	if !ok || len(fields) != 1 {
		return Spec{}, fmt.Errorf("%q is not a schedule: there are @hourly, @daily, @weekly, @monthly, @yearly and @every 30m",
			strings.Join(fields, " "))
	}
	return cronOf(strings.Fields(spec))
}

// cronOf turns five or six lower-case fields into bit sets with robfig's parser. What that parser
// takes without a word and should not, or refuses and should not, is sorted out before.
func cronOf(fields []string) (Spec, error) {
	text := strings.Join(fields, " ")
	clean, err := cleanFields(fields)
	if err != nil {
		return Spec{}, fmt.Errorf("cron spec %q: %w", text, err)
	}
	parser := cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	parsed, err := parser.Parse(strings.Join(clean, " "))
	if err != nil {
		return Spec{}, fmt.Errorf("cron spec %q: %w", text, err)
	}
	bits, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return Spec{}, fmt.Errorf("cron spec %q is not made of fields", text)
	}
	if !possible(bits) {
		return Spec{}, fmt.Errorf("cron spec %q would never fire: no month that it names has such a day (there is no 30 February and no 31 April)", text)
	}
	hour := fields[len(fields)-4]
	return Spec{kind: kindCron, elapsed: hour[0] == '*' || hour[0] == '?', bits: *bits, text: "cron " + text}, nil
}

// possible reports whether any month named has a day named. Where the weekday counts by itself, one always comes.
func possible(bits *cron.SpecSchedule) bool {
	if bits.Dom&star == 0 && bits.Dow&star == 0 {
		return true
	}
	for month := 1; month <= 12; month++ {
		if bits.Month>>month&1 == 1 && bits.Dom&monthMask(2000, month) != 0 {
			return true
		}
	}
	return false
}
