package caldav_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/account/caldav"
)

// event wraps properties into a file.
func event(lines ...string) string {
	return "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTAMP:20260101T000000Z\r\nSUMMARY:x\r\n" +
		strings.Join(lines, "\r\n") + "\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
}

// Instances are right across changes of the clock, in the event's zone and in the owner's.
func TestExpand(t *testing.T) {
	t.Parallel()
	file := func(name string) string {
		doc, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(doc)
	}
	for name, tc := range map[string]struct {
		data, from, to, zone string
		want                 []string
	}{
		"Thunderbird: moved, excepted, across the change": {file("standup.ics"), "2026-03-27", "2026-04-02", "Europe/Berlin", []string{
			"2026-03-27 09:00 CET to 2026-03-27 09:30 CET Stand-up", "2026-03-29 09:00 CEST to 2026-03-29 09:30 CEST Stand-up",
			"2026-03-30 15:00 CEST to 2026-03-30 15:30 CEST Stand-up, moved", "2026-04-01 09:00 CEST to 2026-04-01 09:30 CEST Stand-up",
		}},
		"the same seen from Tokyo": {file("standup.ics"), "2026-03-27", "2026-03-30", "Asia/Tokyo", []string{
			"2026-03-27 17:00 JST to 2026-03-27 17:30 JST Stand-up", "2026-03-29 16:00 JST to 2026-03-29 16:30 JST Stand-up",
		}},
		"Outlook: a zone of the file, UNTIL in UTC includes the last": {file("outlook.ics"), "2026-03-20", "2026-05-01", "Europe/Berlin", []string{
			"2026-03-24 14:00 CET to 2026-03-24 15:00 CET Budget", "2026-03-31 14:00 CEST to 2026-03-31 15:00 CEST Budget", "2026-04-07 14:00 CEST to 2026-04-07 15:00 CEST Budget",
		}},
		"Thunderbird: offsets with seconds, EXDATE in UTC, an alarm, moved to another day": {file("thunderbird.ics"), "2026-03-22", "2026-04-03", "Europe/Berlin", []string{
			"2026-03-22 20:00 CET to 2026-03-22 21:30 CET Choir", "2026-03-30 19:00 CEST to 2026-03-30 20:30 CEST Choir, in the church", "2026-04-02 20:00 CEST to 2026-04-02 21:30 CEST Choir",
		}},
		"Apple: its own properties, two EXDATE, UNTIL is the last": {file("apple.ics"), "2026-03-25", "2026-04-10", "Europe/Berlin", []string{
			"2026-03-25 16:00 CET to 2026-03-25 17:00 CET Swimming", "2026-03-26 16:00 CET to 2026-03-26 17:00 CET Swimming", "2026-03-29 16:00 CEST to 2026-03-29 17:00 CEST Swimming",
			"2026-03-30 08:15 CEST to 2026-03-30 09:15 CEST Swimming before work", "2026-03-31 16:00 CEST to 2026-03-31 17:00 CEST Swimming",
		}},
		"Google: another continent, moved to another day, days moved": {file("google.ics"), "2026-03-23", "2026-04-20", "Europe/Berlin", []string{
			"2026-03-23 13:00 CET to 2026-03-23 13:30 CET Weekly with São Paulo", "2026-03-28 to 2026-03-30 On call", "2026-03-30 14:00 CEST to 2026-03-30 14:30 CEST Weekly with São Paulo",
			"2026-04-02 19:00 CEST to 2026-04-02 19:30 CEST Weekly with São Paulo", "2026-04-05 to 2026-04-06 On call, one day", "2026-04-06 14:00 CEST to 2026-04-06 14:30 CEST Weekly with São Paulo",
			"2026-04-08 14:00 CEST to 2026-04-08 14:30 CEST Weekly with São Paulo", "2026-04-13 14:00 CEST to 2026-04-13 14:30 CEST Weekly with São Paulo",
		}},
		"the same seen from Auckland": {file("google.ics"), "2026-04-02", "2026-04-04", "Pacific/Auckland", []string{"2026-04-03 06:00 NZDT to 2026-04-03 06:30 NZDT Weekly with São Paulo"}},
		"Google: weeks between the changes of two continents": {file("newyork.ics"), "2026-03-01", "2026-05-01", "Europe/Berlin", []string{
			"2026-03-04 16:00 CET to 2026-03-04 17:00 CET Call with New York", "2026-03-11 15:00 CET to 2026-03-11 16:00 CET Call with New York",
			"2026-03-18 15:00 CET to 2026-03-18 16:00 CET Call with New York", "2026-03-25 15:00 CET to 2026-03-25 16:00 CET Call with New York",
			"2026-04-01 16:00 CEST to 2026-04-01 17:00 CEST Call with New York",
		}},
		"Apple: a birthday on the day of the change":                {file("days.ics"), "2026-03-29", "2026-03-30", "Europe/Berlin", []string{"2026-03-29 to 2026-03-30 Grandma's birthday"}},
		"Outlook: days until a midnight in London, seen from there": {file("outlook-days.ics"), "2024-06-01", "2024-09-01", "Europe/London", []string{"2024-07-01 to 2024-07-08 test123", "2024-07-29 to 2024-08-05 test123"}},
		"the same seen from New York":                               {file("outlook-days.ics"), "2024-06-01", "2024-09-01", "America/New_York", []string{"2024-07-01 to 2024-07-08 test123", "2024-07-29 to 2024-08-05 test123"}},
		"days until the last second of a day":                       {event("DTSTART;VALUE=DATE:20260327", "RRULE:FREQ=DAILY;UNTIL=20260328T235959Z"), "2026-03-01", "2026-05-01", "America/New_York", []string{"2026-03-27 to 2026-03-28 x", "2026-03-28 to 2026-03-29 x"}},
		"a day in the middle of a trip":                             {file("trip.ics"), "2026-03-29", "2026-03-30", "Europe/Berlin", []string{"2026-03-28 to 2026-03-31 Trip"}},
		"the day after a trip":                                      {file("trip.ics"), "2026-03-31", "2026-04-01", "Europe/Berlin", nil},
		"an hour that is skipped":                                   {event("DTSTART;TZID=Europe/Berlin:20260329T023000", "DURATION:PT30M"), "2026-03-29", "2026-03-30", "Europe/Berlin", []string{"2026-03-29 03:30 CEST to 2026-03-29 04:00 CEST x"}},
		"an hour that occurs twice":                                 {event("DTSTART;TZID=Europe/Berlin:20261025T023000", "DURATION:PT30M"), "2026-10-25", "2026-10-26", "Europe/Berlin", []string{"2026-10-25 02:30 CEST to 2026-10-25 02:00 CET x"}},
		"exact length across the change":                            {event("DTSTART;TZID=Europe/Berlin:20260328T230000", "DTEND;TZID=Europe/Berlin:20260329T070000"), "2026-03-28", "2026-03-29", "Europe/Berlin", []string{"2026-03-28 23:00 CET to 2026-03-29 07:00 CEST x"}},
		"reaching into the span":                                    {event("DTSTART:20260327T220000Z", "DTEND:20260328T020000Z", "RRULE:FREQ=DAILY;COUNT=2"), "2026-03-29", "2026-03-30", "UTC", []string{"2026-03-28 22:00 UTC to 2026-03-29 02:00 UTC x"}},
		"no zone: the owner's":                                      {event("DTSTART:20260327T090000"), "2026-03-27", "2026-03-28", "Asia/Tokyo", []string{"2026-03-27 09:00 JST to 2026-03-27 09:00 JST x"}},
		"a zone with a prefix":                                      {event("DTSTART;TZID=/freeassociation.sourceforge.net/Europe/Berlin:20260327T090000"), "2026-03-27", "2026-03-28", "UTC", []string{"2026-03-27 08:00 UTC to 2026-03-27 08:00 UTC x"}},
		"moved out of the span":                                     {event("DTSTART:20260327T090000Z", "RRULE:FREQ=DAILY;COUNT=2") + "", "2026-03-29", "2026-03-30", "UTC", nil},
		"EXDATE in UTC, RDATE":                                      {event("DTSTART;TZID=Europe/Berlin:20260327T090000", "RRULE:FREQ=DAILY;COUNT=3", "EXDATE:20260328T080000Z", "RDATE;TZID=Europe/Berlin:20260328T180000"), "2026-03-28", "2026-03-30", "Europe/Berlin", []string{"2026-03-28 18:00 CET to 2026-03-28 18:00 CET x", "2026-03-29 09:00 CEST to 2026-03-29 09:00 CEST x"}},
		"UNTIL as a date":                                           {event("DTSTART:20260327T090000Z", "RRULE:FREQ=DAILY;UNTIL=20260328"), "2026-03-27", "2026-04-30", "UTC", []string{"2026-03-27 09:00 UTC to 2026-03-27 09:00 UTC x", "2026-03-28 09:00 UTC to 2026-03-28 09:00 UTC x"}},
		"all days excepted":                                         {event("DTSTART;VALUE=DATE:20260327", "RRULE:FREQ=DAILY;COUNT=2", "EXDATE;VALUE=DATE:20260327,20260328"), "2026-03-27", "2026-04-30", "UTC", nil},
		"every other week":                                          {event("DTSTART;TZID=Europe/Berlin:20260316T080000", "RRULE:FREQ=WEEKLY;INTERVAL=2"), "2026-03-23", "2026-04-13", "Europe/Berlin", []string{"2026-03-30 08:00 CEST to 2026-03-30 08:00 CEST x"}},
		"the last Friday":                                           {event("DTSTART;TZID=Europe/Berlin:20260130T080000", "RRULE:FREQ=MONTHLY;BYDAY=-1FR"), "2026-03-01", "2026-04-01", "Europe/Berlin", []string{"2026-03-27 08:00 CET to 2026-03-27 08:00 CET x"}},
		"a line without a colon":                                    {event("DTSTART:20260327T090000Z", "DESCRIPTION:one", "two", "DTEND:20260327T100000Z"), "2026-03-27", "2026-04-30", "UTC", []string{"2026-03-27 09:00 UTC to 2026-03-27 10:00 UTC x"}},
		"parameters that are none":                                  {event("X-A;B:c", "ATTENDEE;CN=\"Zoe:mailto:z@example.org", "DTSTART:20260327T090000Z", "DTEND:20260327T100000Z"), "2026-03-27", "2026-04-30", "UTC", []string{"2026-03-27 09:00 UTC to 2026-03-27 10:00 UTC x"}},
		"a parameter on two lines":                                  {event("DTSTART;VALUE=DATE-", " TIME:20260327T090000Z", "DTEND:20260327T100000Z"), "2026-03-27", "2026-04-30", "UTC", []string{"2026-03-27 09:00 UTC to 2026-03-27 10:00 UTC x"}},
		"the signs of ISO 8601":                                     {event("DTSTART:2026-03-27T09:00:00Z", "DTEND:2026-03-27T10:00:00.000Z"), "2026-03-27", "2026-04-30", "UTC", []string{"2026-03-27 09:00 UTC to 2026-03-27 10:00 UTC x"}},
		"small letters, no seconds":                                 {event("DTSTART:20260327t0900z", "DTEND:20260327t1000z"), "2026-03-27", "2026-04-30", "UTC", []string{"2026-03-27 09:00 UTC to 2026-03-27 10:00 UTC x"}},
		"a rule with an end and spaces":                             {event("DTSTART:20260327T090000Z", "DTEND:20260327T100000Z", "RRULE: FREQ=DAILY; COUNT=1;X-NAME=SALARY;"), "2026-03-27", "2026-04-30", "UTC", []string{"2026-03-27 09:00 UTC to 2026-03-27 10:00 UTC x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loc := zone(t, tc.zone)
			got, notes, err := caldav.Expand(tc.data, day(t, tc.from, loc), day(t, tc.to, loc))
			slices.Sort(got)
			if err != nil || !slices.Equal(got, tc.want) || len(notes) > 0 {
				t.Errorf("got %q\nwant %q\nnotes %q, %v", got, tc.want, notes, err)
			}
		})
	}
}

// No file makes hob work without end or fall over. What it cannot follow is said, and the first time of the event is still shown.
func TestExpandHostile(t *testing.T) {
	t.Parallel()
	many := func(n int, of string) string { return strings.TrimSuffix(strings.Repeat(of+",", n), ",") }
	for name, tc := range map[string]struct {
		data string
		most int    // instances
		note string // "": none is needed
	}{
		"every second for ever":       {event("DTSTART:20260327T000000Z", "RRULE:FREQ=SECONDLY"), 1, "cannot follow its rule"},
		"never, by the minute":        {event("DTSTART:20260327T000000Z", "RRULE:FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30"), 1, "cannot follow its rule"},
		"never, by the day":           {event("DTSTART:20260327T000000Z", "RRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"), 0, ""},
		"the 53rd Monday of a month":  {event("DTSTART:20260327T000000Z", "RRULE:FREQ=YEARLY;BYMONTH=12;BYDAY=53MO"), 1, "cannot follow its rule"},
		"86,400 times a day":          {event("DTSTART:20260327T000000Z", "RRULE:FREQ=DAILY;BYHOUR="+many(24, "1")+";BYMINUTE="+many(60, "1")+";BYSECOND="+many(60, "1")), 1, "cannot follow its rule"},
		"100 times a day":             {event("DTSTART:19000101T000000Z", "RRULE:FREQ=DAILY;BYMINUTE="+many(50, "1")), 10_000, "more often than hob follows"},
		"a rule of rubbish":           {event("DTSTART:20260327T000000Z", "RRULE:FREQ=;;=;UNTIL=x"), 1, "cannot follow its rule"},
		"an absurd zone":              {event("DTSTART;TZID=../../etc/passwd:20260327T090000"), 1, "is not known"},
		"a zone of 10,000 bytes":      {event("DTSTART;TZID=" + strings.Repeat("A/", 5000) + ":20260327T090000"), 1, "is not known"},
		"a zone that shifts by weeks": {strings.Replace(event("DTSTART;TZID=Absurd:20260327T090000"), "BEGIN:VEVENT", "BEGIN:VTIMEZONE\r\nTZID:Absurd\r\nBEGIN:STANDARD\r\nDTSTART:00010101T000000\r\nTZOFFSETFROM:+2359\r\nTZOFFSETTO:-235959\r\nRRULE:FREQ=YEARLY;BYDAY=53MO\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT", 1), 1, ""},
		"a zone of 1,000 parts":       {strings.Replace(event("DTSTART;TZID=Absurd:20260327T090000", "RRULE:FREQ=DAILY"), "BEGIN:VEVENT", "BEGIN:VTIMEZONE\r\nTZID:Absurd\r\n"+strings.Repeat("BEGIN:STANDARD\r\nDTSTART:19700101T000000\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nRRULE:FREQ=YEARLY\r\nEND:STANDARD\r\n", 1000)+"END:VTIMEZONE\r\nBEGIN:VEVENT", 1), 366, ""},
		"10,000 dates":                {event("DTSTART:20260327T000000Z", "RDATE:"+many(10_000, "20260327T000000Z,20260328T010203Z")), 10_000, ""},
		"the machine's zone":          {event("DTSTART;TZID=Local:20260327T090000"), 1, ""},
		"the year 0":                  {event("DTSTART:00000101T000000Z"), 0, "cannot be read"},
		"no begin":                    {event("RRULE:FREQ=DAILY"), 0, "cannot be read"},
		"a negative length":           {event("DTSTART:20260327T090000Z", "DURATION:-P9999999W"), 1, ""},
		"an end before the begin":     {event("DTSTART:20260327T090000Z", "DTEND:19700101T000000Z"), 1, ""},
		"a length of ages":            {event("DTSTART:20260327T090000Z", "DURATION:P99999999999W"), 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := day(t, "2026-03-27", time.UTC)
			got, notes, err := caldav.Expand(tc.data, from, from.AddDate(1, 0, 0))
			if err != nil || len(got) > tc.most || tc.note != "" && !strings.Contains(strings.Join(notes, "\n"), tc.note) {
				t.Errorf("%d instances, notes %q, %v", len(got), notes, err)
			}
			if tc.note == "" && len(notes) > 0 {
				t.Errorf("notes %q", notes)
			}
		})
	}
	for name, data := range map[string]string{
		"deep":  "BEGIN:VCALENDAR\r\n" + strings.Repeat("BEGIN:VEVENT\r\n", 100_000),
		"large": event("DTSTART:20260327T090000Z", "DESCRIPTION:"+strings.Repeat("<b>", 1<<20)),
		"HTML":  "<html><body>sign in</body></html>", "nothing": "",
		"a parameter that ends the line": "BEGIN:VCALENDAR\r\nX;0=",
	} {
		if _, _, err := caldav.Expand(data, time.Time{}, time.Time{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, name := range []string{"standup.ics", "outlook.ics", "newyork.ics", "days.ics", "trip.ics"} {
		doc, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(doc))
	}
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, data string) {
		lines, _, err := caldav.Expand(data, from, from.AddDate(0, 2, 0))
		if err == nil && len(lines) > 20_000 {
			t.Errorf("%d instances", len(lines))
		}
		if err != nil && strings.Contains(err.Error(), "internal") {
			t.Error(fmt.Sprint(err))
		}
	})
}
