// Package spec computes when a schedule fires. Parse reads the text of a schedule; Spec.Next, Spec.Preview and Spec.Overdue
// compute its slots in a time zone. The package is pure: it reads no clock and knows nothing about jobs or runs.
//
// parseCron uses the parser of robfig/cron for the plain fields, after cleanFields has taken out what that parser does not
// know. calendar.go finds matching wall times without zones; next.go maps them to instants at clock changes.
package spec

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
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

// ShortestPeriod and LongestPeriod are the bounds of a period.
const (
	ShortestPeriod = time.Second
	LongestPeriod  = 3653 * 24 * time.Hour // ten years
)

// Spec is a parsed schedule: cron fields, a period, or one instant. It is a value; its zero value never fires.
type Spec struct {
	kind     kind
	elapsed  bool // cron only: the hour field begins with "*", so that it follows elapsed time at clock changes
	bits     cron.SpecSchedule
	more     special  // cron only: L and #
	interval interval // cron only: every Nth day, week or month
	period   time.Duration
	at       time.Time
	text     string
}

// Parse reads a resolved spec, which is one of
//
//	cron FIELDS                                 0 9 * * 1-5
//	cron FIELDS every N days|weeks|months from DATE    0 9 * * 2 every 2 weeks from 2026-11-24
//	cron MACRO                                  @hourly @daily @weekly @monthly @yearly, @every 1d
//	every PERIOD                                whole seconds, from 1 s to ten years: 30m, 1h30m
//	at INSTANT                                  RFC 3339: 2026-12-24T17:00:00+01:00
//
// FIELDS are the five fields of crontab(5), or six with seconds first. They take names of months and weekdays, lists, ranges and
// steps; 0 and 7 are Sunday. The day field also takes L, the last day of the month. The weekday field also takes 5#2, the second
// Friday of the month, and 5L or friL, the last Friday. If day and weekday are both restricted, a day matches if either does.
//
// "every N … from DATE" keeps only the days in every Nth day, week or month, counted from the one that contains DATE, and none
// before DATE. Weeks begin on Monday, as in RFC 5545, section 3.3.10. For days, the fields day, month and weekday must be *; for
// weeks, day and month; for months, the month.
//
// Case and white space do not matter. Phrases in English are read by package phrase. A schedule that can never fire is an error
// that says why.
func Parse(text string) (Spec, error) {
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

// String returns the canonical text. Parse reads it back to the same Spec.
func (s Spec) String() string { return s.text }

// Recurring reports whether the schedule repeats. It is false for a single instant.
func (s Spec) Recurring() bool { return s.kind == kindCron || s.kind == kindEvery }

// parseAt parses an instant.
func parseAt(text string) (Spec, error) {
	at, err := time.Parse(time.RFC3339Nano, strings.ToUpper(text))
	if err != nil {
		return Spec{}, fmt.Errorf("at %q: want an instant such as 2026-12-24T17:00:00+01:00", text)
	}
	if year := at.UTC().Year(); year < 1 || year > lastYear {
		return Spec{}, fmt.Errorf("at %q: the year is out of range", text)
	}
	return At(at), nil
}

// At returns a Spec for a single instant.
func At(at time.Time) Spec {
	return Spec{kind: kindAt, at: at.UTC(), text: "at " + at.Format(time.RFC3339Nano)}
}

// parseEvery parses a period.
func parseEvery(text string) (Spec, error) {
	period, err := ParsePeriod(text)
	if err != nil {
		return Spec{}, err
	}
	return Every(period)
}

// Every returns a Spec for a period of whole seconds, from ShortestPeriod to LongestPeriod.
func Every(period time.Duration) (Spec, error) {
	switch {
	case period < ShortestPeriod:
		return Spec{}, fmt.Errorf("every %v is too often: the shortest period is 1 second", period)
	case period%time.Second != 0:
		return Spec{}, fmt.Errorf("every %v: want whole seconds", period)
	case period > LongestPeriod:
		return Spec{}, errors.New("that period is too long: the longest is 10 years")
	}
	return Spec{kind: kindEvery, period: period, text: "every " + Plain(period)}, nil
}

// parseCron parses a cron spec of five or six fields, optionally with "every N" after it, or a macro. A spec that never matches is an
// error.
func parseCron(text string) (Spec, error) {
	fields := strings.Fields(strings.ToLower(text))
	if len(fields) == 0 {
		return Spec{}, errors.New("the cron spec is empty: want five fields, e.g. 0 9 * * 1-5")
	}
	if Zoned(fields[0]) {
		return Spec{}, fmt.Errorf("cron spec %q: the zone is not part of the spec; give it by itself, e.g. --tz Europe/Berlin", text)
	}
	if strings.HasPrefix(fields[0], "@") {
		return parseMacro(fields)
	}
	// "every other" and the like count days, weeks or months, beside the fields.
	var every []string
	if i := slices.Index(fields, "every"); i >= 0 {
		fields, every = fields[:i], fields[i:]
	}
	if len(fields) != 5 && len(fields) != 6 {
		return Spec{}, fmt.Errorf("cron spec %q has %s: want five (minute hour day month weekday), or six with seconds first",
			text, howMany(len(fields)))
	}
	s, err := cronOf(fields)
	if err == nil && every != nil {
		err = s.setInterval(every)
	}
	if err == nil {
		err = s.possible()
	}
	if err != nil {
		return Spec{}, fmt.Errorf("cron spec %q: %w", strings.TrimSpace(text), err)
	}
	return s, nil
}

// Zoned reports whether a first field names a zone, as some cron programs allow.
func Zoned(field string) bool {
	field = strings.ToLower(field)
	return strings.HasPrefix(field, "tz=") || strings.HasPrefix(field, "cron_tz=")
}

func howMany(fields int) string {
	if fields == 1 {
		return "1 field"
	}
	return fmt.Sprintf("%d fields", fields)
}

// parseMacro parses a spec that begins with @.
func parseMacro(fields []string) (Spec, error) {
	macros := map[string]string{
		"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
		"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
	}
	if fields[0] == "@every" && len(fields) > 1 {
		return parseEvery(strings.Join(fields[1:], " "))
	}
	text, ok := macros[fields[0]]
	if !ok || len(fields) != 1 {
		return Spec{}, fmt.Errorf("%q is not a schedule: there are @hourly, @daily, @weekly, @monthly, @yearly and @every 30m",
			strings.Join(fields, " "))
	}
	return cronOf(strings.Fields(text))
}

// cronOf turns five or six lower-case fields into bit sets with robfig's parser. cleanFields first handles the input that this
// parser wrongly accepts or wrongly refuses.
func cronOf(fields []string) (Spec, error) {
	clean, shown, more, err := cleanFields(fields)
	if err != nil {
		return Spec{}, err
	}
	parser := cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	parsed, err := parser.Parse(strings.Join(clean, " "))
	if err != nil {
		return Spec{}, err
	}
	bits, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return Spec{}, errors.New("it is not made of fields")
	}
	// A field with special days only had a placeholder, which must not fire.
	if more.noDays {
		bits.Dom = 0
	}
	if more.noWeekdays {
		bits.Dow = 0
	}
	hour := fields[len(fields)-4]
	return Spec{kind: kindCron, elapsed: hour[0] == '*' || hour[0] == '?', bits: *bits, more: more, text: "cron " + strings.Join(shown, " ")}, nil
}

// possible refuses a spec that never fires. A spec that can match by weekday alone always fires.
func (s *Spec) possible() error {
	if s.interval.n > 0 {
		if _, ok := s.match(s.interval.from * daySecs); !ok {
			return fmt.Errorf("it would never fire: no month that comes %s has such a day", s.interval)
		}
		return nil
	}
	if s.more.last || s.bits.Dow&star == 0 {
		return nil
	}
	var short []string
	for month := time.January; month <= time.December; month++ {
		if s.bits.Month>>int(month)&1 == 0 {
			continue
		}
		length := MonthDays(2000, int(month)) // a leap year
		if s.bits.Dom&monthMask(2000, int(month)) != 0 {
			return nil
		}
		short = append(short, fmt.Sprintf("%s has at most %d days", month, length))
	}
	return fmt.Errorf("it would never fire on day %d: %s", bits.TrailingZeros64(s.bits.Dom), strings.Join(short, ", "))
}
