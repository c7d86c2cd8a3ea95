package caldav_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/account/caldav"
)

// inputs.md, kind 12.1: days and weeks of a DURATION are days of the calendar, hours are exact (RFC 5545, section 3.3.6).
func TestDurationAcrossTheChange(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ from, start, duration, want string }{
		{"kind 12.1", "DTSTART;TZID=Europe/Berlin:20261024T120000", "P1D", "2026-10-24 12:00 CEST to 2026-10-25 12:00 CET"},
		{"libical 630: hours are exact", "DTSTART;TZID=Europe/Berlin:20261024T120000", "PT24H", "2026-10-24 12:00 CEST to 2026-10-25 11:00 CET"},
		{"libical 630: first the day, then the hours", "DTSTART;TZID=Europe/Berlin:20261024T010000", "P1DT2H", "2026-10-24 01:00 CEST to 2026-10-25 02:00 CET"},
		{"ical.net 660: in spring", "DTSTART;TZID=Europe/Berlin:20260328T120000", "P1D", "2026-03-28 12:00 CET to 2026-03-29 12:00 CEST"},
		{"ical.net 660: a mixed one in spring", "DTSTART;TZID=Europe/Berlin:20260328T120000", "P1DT36H", "2026-03-28 12:00 CET to 2026-03-31 00:00 CEST"},
		{"a week", "DTSTART;TZID=Europe/Berlin:20261020T120000", "P1W", "2026-10-20 12:00 CEST to 2026-10-27 12:00 CET"},
		{"ical4j: weeks with days", "DTSTART;TZID=Europe/Berlin:20261020T120000", "P1W1D", "2026-10-20 12:00 CEST to 2026-10-28 12:00 CET"},
		{"Evolution: a plus", "DTSTART;TZID=Europe/Berlin:20261024T120000", "+P1DT0H0M0S", "2026-10-24 12:00 CEST to 2026-10-25 12:00 CET"},
		{"lower case", "DTSTART;TZID=Europe/Berlin:20261024T120000", "p1d", "2026-10-24 12:00 CEST to 2026-10-25 12:00 CET"},
		{"no zone: the owner's", "DTSTART:20261024T120000", "P1D", "2026-10-24 12:00 CEST to 2026-10-25 12:00 CET"},
		{"another zone's change counts", "DTSTART;TZID=America/New_York:20261031T120000", "P1D", "2026-10-31 17:00 CET to 2026-11-01 18:00 CET"},
		{"a day in UTC has 24 hours", "DTSTART:20261024T100000Z", "P1D", "2026-10-24 12:00 CEST to 2026-10-25 11:00 CET"},
		{"dates", "DTSTART;VALUE=DATE:20261024", "P2D", "2026-10-24 to 2026-10-26"},
		{"a week of dates", "DTSTART;VALUE=DATE:20261024", "P1W", "2026-10-24 to 2026-10-31"},
		{"dates with hours (a fault of the sender)", "DTSTART;VALUE=DATE:20261024", "PT48H", "2026-10-24 to 2026-10-26"},
		// Guards: what is no length of an event ends it where it begins.
		{"negative", "DTSTART;TZID=Europe/Berlin:20261024T120000", "-P1D", "2026-10-24 12:00 CEST to 2026-10-24 12:00 CEST"},
		{"negative and mixed", "DTSTART;TZID=Europe/Berlin:20261024T120000", "-P1DT2H", "2026-10-24 12:00 CEST to 2026-10-24 12:00 CEST"},
		{"nothing", "DTSTART;TZID=Europe/Berlin:20261024T120000", "P", "2026-10-24 12:00 CEST to 2026-10-24 12:00 CEST"},
		{"months are no part of it", "DTSTART;TZID=Europe/Berlin:20261024T120000", "P1M", "2026-10-24 12:00 CEST to 2026-10-24 12:00 CEST"},
		{"a negative length of dates", "DTSTART;VALUE=DATE:20261024", "-P2D", "2026-10-24 to 2026-10-25"},
	} {
		from := day(t, "2026-01-01", zone(t, "Europe/Berlin"))
		got, notes, err := caldav.Expand(event(tc.start, "DURATION:"+tc.duration), from, from.AddDate(1, 0, 0))
		if want := []string{tc.want + " x"}; err != nil || len(notes) > 0 || !slices.Equal(got, want) {
			t.Errorf("%s, %s %s:\n got %q\nwant %q\nnotes %q, %v", tc.from, tc.start, tc.duration, got, want, notes, err)
		}
	}
}

// Each repetition over a change of the clock has the length of its own days, and one that reaches into the span is found.
func TestRepeatedDurationAcrossTheChange(t *testing.T) {
	t.Parallel()
	data := event("DTSTART;TZID=W. Europe Standard Time:20261023T120000", "DURATION:P1D", "RRULE:FREQ=DAILY;COUNT=4")
	from := day(t, "2026-10-25", zone(t, "Europe/Berlin"))
	got, notes, err := caldav.Expand(data, from, from.AddDate(0, 0, 1))
	want := []string{"2026-10-24 12:00 CEST to 2026-10-25 12:00 CET x", "2026-10-25 12:00 CET to 2026-10-26 12:00 CET x"}
	if err != nil || len(notes) > 0 || !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q\nnotes %q, %v", got, want, notes, err)
	}
}

// inputs.md, kind 12.2: a zone is found by the names that programs write for it. The event is at 12:00 of its zone, on a day in winter and on one in summer.
func TestNamesOfZones(t *testing.T) {
	t.Parallel()
	outlook := "BEGIN:VTIMEZONE\r\nTZID:%\r\nBEGIN:STANDARD\r\nDTSTART:16010101T030000\r\nTZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\nRRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10\r\nEND:STANDARD\r\n" +
		"BEGIN:DAYLIGHT\r\nDTSTART:16010101T020000\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nRRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3\r\nEND:DAYLIGHT\r\nEND:VTIMEZONE\r\n"
	const none = "the owner's hour, and a note"
	for _, tc := range []struct{ from, tzid, component, want string }{
		{"kind 12.2", "Pacific Standard Time", "", "20:00 19:00"},
		{"kind 12: a Windows name with a dot", "W. Europe Standard Time", "", "11:00 10:00"},
		{"Home Assistant 179613, quoted by biweekly 115", `"W. Europe Standard Time"`, "", "11:00 10:00"},
		{"tutanota 11509", "GMT Standard Time", "", "12:00 11:00"},
		{"Windows in another case", "eastern standard time", "", "17:00 16:00"},
		{"Windows: brackets in a name", "Pacific Standard Time (Mexico)", "", "20:00 19:00"},
		{"Windows: Brasilia", "E. South America Standard Time", "", "15:00 15:00"},
		{"Windows: a name that is an offset", "UTC-02", "", "14:00 14:00"},
		{"Mozilla", "/mozilla.org/20050126_1/Europe/Berlin", "", "11:00 10:00"},
		{"Evolution", "/freeassociation.sourceforge.net/Tzfile/Europe/Berlin", "", "11:00 10:00"},
		{"Citadel, three parts", "/citadel.org/20190914_1/America/Argentina/Buenos_Aires", "", "15:00 15:00"},
		{"a blank in an IANA name", "America/New York", "", "17:00 16:00"},
		{"Exchange: two places of a list", `"(UTC+01:00) Amsterdam, Berlin"`, "", "11:00 10:00"},
		{"exchangelib 541", `"(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna"`, "", "11:00 10:00"},
		{"sabre 618: Exchange in German", `"(UTC+01:00) Amsterdam, Berlin, Bern, Rom, Stockholm, Wien"`, "", "11:00 10:00"},
		{"Exchange, not quoted", "(UTC+01:00) Amsterdam, Berlin", "", "11:00 10:00"},
		{"node-ical 246", `"(UTC+00:00) Dublin, Edinburgh, Lisbon, London"`, "", "12:00 11:00"},
		{"ownCloud 696", "(GMT+01.00) Sarajevo/Warsaw/Zagreb", "", "11:00 10:00"},
		{"Exchange 2003", "(GMT) Greenwich Mean Time : Dublin, Edinburgh, Lisbon, London", "", "12:00 11:00"},
		{"Outlook", `"(UTC-08:00) Pacific Time (US & Canada)"`, "", "20:00 19:00"},
		{"Exchange 2003: a place more", `"(GMT-08:00) Pacific Time (US & Canada); Tijuana"`, "", "20:00 19:00"},
		{"Exchange 2003: the offset decides", `"(GMT+02:00) Athens, Istanbul, Minsk"`, "", "10:00 09:00"},
		{"Exchange: a country that has changed its offset", `"(UTC+02:00) Amman"`, "", "09:00 09:00"},
		{"Rails", "Eastern Time (US & Canada)", "", "17:00 16:00"},
		{"Exchange: UTC", "tzone://Microsoft/Utc", "", "12:00 12:00"},
		{"Outlook: UTC", "(UTC) Coordinated Universal Time", "", "12:00 12:00"},
		{"tutanota 11325", "GMT+0200", "", "10:00 10:00"},
		{"kind 12: GMT+0100", "GMT+0100", "", "11:00 11:00"},
		{"libical 152: Google, with a colon that is not quoted", "GMT+05:30", "", "06:30 06:30"},
		{"libical 159", `"GMT-05:00"`, "", "17:00 17:00"},
		{"an offset alone", "+0100", "", "11:00 11:00"},
		{"UTC+1", "UTC+1", "", "11:00 11:00"},
		{"a name of IANA has its own sign", "Etc/GMT-1", "", "11:00 11:00"},
		{"quotes within the name", "'Europe/Berlin'", "", "11:00 10:00"},
		// A VTIMEZONE counts before a name that is no name of IANA.
		{"node-ical 221", "Customized Time Zone", outlook, "11:00 10:00"},
		{"PlaceOS 11", `"tzone://Microsoft/Custom"`, outlook, "11:00 10:00"},
		{"vobject 173: a comma with a backslash in the VTIMEZONE", `"(UTC+09:00) Here, There"`, strings.ReplaceAll(outlook, "%", `(UTC+09:00) Here\, There`), "11:00 10:00"},
		{"a name of Windows with the file's own rules", "Tokyo Standard Time", outlook, "11:00 10:00"},
		{"a VTIMEZONE without rules", "Tokyo Standard Time", "BEGIN:VTIMEZONE\r\nTZID:Tokyo Standard Time\r\nEND:VTIMEZONE\r\n", "03:00 03:00"},
		// Guards: nothing is guessed.
		{"allenporter 468: no VTIMEZONE", "Customized Time Zone", "", none},
		{"an abbreviation of several zones", "CST", "", none},
		{"places that nobody knows", `"(UTC+01:00) Here, There"`, "", none},
		{"a place under another offset", `"(UTC+05:00) Amsterdam"`, "", none},
		{"two places of two zones", `"(UTC+01:00) Berlin, Paris"`, "", none},
		{"one place without an offset", "Berlin, somewhere", "", none},
		{"an offset that does not exist", "GMT+2500", "", none},
		{"three digits", "GMT+130", "", none},
		{"half a name", "Eastern", "", none},
	} {
		var got, notes []string
		for _, date := range []string{"20260115", "20260715"} {
			data := strings.Replace(event("DTSTART;TZID="+tc.tzid+":"+date+"T120000"), "BEGIN:VEVENT", strings.ReplaceAll(tc.component, "%", strings.Trim(tc.tzid, `"`))+"BEGIN:VEVENT", 1)
			from, err := time.Parse("20060102", date)
			if err != nil {
				t.Fatal(err)
			}
			loc := time.UTC
			if tc.want == none {
				loc = zone(t, "America/New_York")
			}
			lines, said, err := caldav.Expand(data, from.AddDate(0, 0, -1).In(loc), from.AddDate(0, 0, 2).In(loc))
			if err != nil || len(lines) != 1 {
				t.Fatalf("%s: %q, %v", tc.from, lines, err)
			}
			got, notes = append(got, lines[0][11:16]), append(notes, said...)
		}
		want := tc.want
		if want == none {
			want = "12:00 12:00"
		}
		if strings.Join(got, " ") != want || (tc.want == none) != strings.Contains(strings.Join(notes, " "), "is not known") {
			t.Errorf("%s, TZID=%s: at %q, notes %q, want %s", tc.from, tc.tzid, got, notes, want)
		}
	}
}

// An exception is found under the same name as the event, also where the name cuts the line at the wrong place.
func TestExceptionInANamedZone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Pacific Standard Time", `"(UTC-08:00) Pacific Time (US & Canada)"`, "GMT-07:00"} {
		data := event("DTSTART;TZID="+name+":20260701T090000", "RRULE:FREQ=DAILY;COUNT=3", "EXDATE;TZID="+name+":20260702T090000,20260703T090000")
		from := day(t, "2026-07-01", time.UTC)
		got, notes, err := caldav.Expand(data, from, from.AddDate(0, 0, 9))
		if want := []string{"2026-07-01 16:00 UTC to 2026-07-01 16:00 UTC x"}; err != nil || len(notes) > 0 || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q, notes %q, %v", name, got, want, notes, err)
		}
	}
}

// Every zone of the table exists, and no name stands in it twice.
func TestZonesOfWindows(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, row := range caldav.WindowsZones() {
		zone(t, row[0])
		if seen[row[1]] {
			t.Errorf("%s stands there twice", row[1])
		}
		seen[row[1]] = true
		if got := caldav.WindowsZone(row[2]); row[2] != "" && got != row[0] {
			t.Errorf("%s: %s, want %s", row[2], got, row[0])
		}
	}
	if len(seen) < 139 {
		t.Errorf("%d zones", len(seen))
	}
}

// A file cut at any byte is an event, a note or an error, and never ends the program.
func TestZonesCutAnywhere(t *testing.T) {
	t.Parallel()
	whole := event(`DTSTART;TZID="(UTC+01:00) Amsterdam, Berlin":20261024T120000`, "DURATION:P1DT2H", "EXDATE;TZID=GMT+05:30:20261025T120000", "RRULE:FREQ=DAILY;COUNT=2")
	from := day(t, "2026-10-01", time.UTC)
	for at := range len(whole) {
		lines, _, err := caldav.Expand(whole[:at], from, from.AddDate(0, 1, 0))
		if err == nil && at < len(whole)-3 {
			t.Errorf("cut at %d: %q", at, lines)
		}
	}
}
