package caldav

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/emersion/go-ical"

	"hob/daemon/sys"
)

//go:embed windowszones.txt
var windowsZones string

// zoned returns the name of the zone of a time, and the time. A name with a colon or a comma that is not quoted has cut the line at the wrong place:
// Google writes TZID=GMT+05:30:20120904T020000, Outlook TZID=(UTC+01:00) Amsterdam, Berlin:20120904T020000.
func zoned(p ical.Prop) (id, value string) {
	id, value = strings.Join(p.Params[ical.PropTimezoneID], ","), p.Value
	if at := strings.LastIndexByte(value, ':'); at >= 0 && id != "" {
		rest, _, _ := strings.Cut(value[:at], ";VALUE=")
		id, value = id+":"+rest, value[at+1:]
	}
	return strings.Trim(id, ` "'`), value
}

// sameZone compares the name of a VTIMEZONE with that of a time. Only the first is a text, in which a comma has a backslash.
func sameZone(a, b string) bool {
	plain := strings.NewReplacer(`\`, "", `"`, "", "'", "", " ", "")
	return strings.EqualFold(plain.Replace(a), plain.Replace(b))
}

// otherName finds the zone that a name of Windows or of Exchange, or an offset from UTC, stands for; nil: none, or more than one.
func otherName(id string) *time.Location {
	if zone := windowsZone(id); zone != "" {
		if loc, err := time.LoadLocation(zone); err == nil {
			return loc
		}
	}
	d, bracket, rest := label(id)
	if !bracket {
		d, bracket = shift(strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(strings.ToUpper(id), "UTC"), "GMT")))
		rest = ""
	}
	if !bracket || rest != "" {
		return nil
	}
	at := time.FixedZone("", int(d.Seconds()))
	return time.FixedZone("UTC"+time.Time{}.In(at).Format("-07:00"), int(d.Seconds()))
}

// windowsZone finds the IANA zone of a row of Windows' table: by its name, or by the places that Windows shows for it. Exchange writes these as the name,
// also translated and in older lists, so the row with most of the places counts, if there is exactly one. The offset before them decides between rows.
// It may be an hour off, because some countries have changed theirs.
func windowsZone(id string) (zone string) {
	d, bracket, shown := label(id)
	wanted := places(shown)
	best := 0
	for line := range strings.Lines(windowsZones) {
		row := strings.Split(strings.TrimSpace(line), "|")
		if len(row) != 3 {
			continue
		}
		if strings.EqualFold(id, row[1]) {
			return row[0]
		}
		offset, _, shown := label(row[2])
		known := places(shown)
		n := len(slices.DeleteFunc(slices.Clone(known), func(p string) bool { return !slices.Contains(wanted, p) }))
		score := 2 * n
		switch {
		case n == 0 || bracket && (d-offset).Abs() > time.Hour, !bracket && n == 1 && len(known)+len(wanted) > 2:
			continue
		case bracket && d == offset:
			score++
		}
		if score == best {
			zone = ""
		}
		if score > best {
			best, zone = score, row[0]
		}
	}
	return zone
}

var (
	labelForm = sys.Regexp(`(?i)^\((?:UTC|GMT)([^)]*)\)\s*(.*)$`)
	shiftForm = sys.Regexp(`^([+-])(?:(\d\d?)(?:[:.](\d\d))?|(\d\d)(\d\d))$`)
	asideForm = sys.Regexp(`\([^)]*\)`)
)

// label splits "(UTC+01:00) Amsterdam, Berlin". Without an offset in brackets all of it is the rest.
func label(id string) (d time.Duration, bracket bool, rest string) {
	m := labelForm().FindStringSubmatch(id)
	if m == nil {
		return 0, false, id
	}
	if d, bracket = shift(strings.TrimSpace(m[1])); !bracket && strings.TrimSpace(m[1]) != "" {
		return 0, false, id
	}
	return d, true, m[2]
}

// shift reads an offset such as +1, -05:30 or +0530.
func shift(s string) (time.Duration, bool) {
	m := shiftForm().FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	h, _ := strconv.Atoi(m[2] + m[4])
	minutes, _ := strconv.Atoi(m[3] + m[5])
	d := time.Duration(h)*time.Hour + time.Duration(minutes)*time.Minute
	if m[1] == "-" {
		d = -d
	}
	return d, minutes < 60 && d >= -12*time.Hour && d <= 14*time.Hour
}

// places are the places that a name lists, without what is in brackets.
func places(shown string) (list []string) {
	for _, p := range strings.FieldsFunc(asideForm().ReplaceAllString(shown, ""), func(r rune) bool { return strings.ContainsRune(",;:/", r) }) {
		if p = strings.ToLower(strings.TrimSpace(p)); p != "" {
			list = append(list, p)
		}
	}
	return list
}
