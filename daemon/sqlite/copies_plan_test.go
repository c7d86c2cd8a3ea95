package sqlite_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hob/daemon/sqlite"
)

func at(t *testing.T, zone *time.Location, text string) time.Time {
	t.Helper()
	v, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestNext(t *testing.T) {
	zone := berlin(t)
	const born = "2026-10-20 12:00"
	for name, c := range map[string]struct {
		every     time.Duration
		made      []string // by schedule
		byHand    []string
		now, want string
	}{
		"the first night":                       {24 * time.Hour, nil, nil, "2026-10-20 12:01", "2026-10-21 03:40"},
		"the night after the last":              {24 * time.Hour, []string{"2026-10-22 03:40"}, nil, "2026-10-22 03:41", "2026-10-23 03:40"},
		"one that was made up for at noon":      {24 * time.Hour, []string{"2026-10-22 12:30"}, nil, "2026-10-22 13:00", "2026-10-23 03:40"},
		"one that was made early":               {24 * time.Hour, []string{"2026-10-22 01:00"}, nil, "2026-10-22 01:01", "2026-10-22 03:40"},
		"the machine was off for days":          {24 * time.Hour, []string{"2026-10-22 03:40"}, nil, "2026-10-28 09:00", "2026-10-23 03:40"},
		"the newest counts, in any order":       {24 * time.Hour, []string{"2026-10-21 03:40", "2026-10-23 03:40", "2026-10-22 03:40"}, nil, "2026-10-23 10:00", "2026-10-24 03:40"},
		"those made by hand do not":             {24 * time.Hour, []string{"2026-10-22 03:40"}, []string{"2026-10-22 18:00"}, "2026-10-22 19:00", "2026-10-23 03:40"},
		"over the end of summer time":           {24 * time.Hour, []string{"2026-10-24 03:40"}, nil, "2026-10-24 10:00", "2026-10-25 03:40"},
		"a copy from the future is not counted": {24 * time.Hour, []string{"2026-10-22 03:40", "2027-10-22 03:40"}, nil, "2026-10-28 04:00", "2026-10-23 03:40"},
		"once a week":                           {7 * 24 * time.Hour, []string{"2026-10-22 03:40"}, nil, "2026-10-22 04:00", "2026-10-29 03:40"},
		"more than once a day":                  {6 * time.Hour, []string{"2026-10-22 03:40"}, nil, "2026-10-22 04:00", "2026-10-22 09:40"},
		"never":                                 {0, nil, nil, "2026-10-22 04:00", ""},
		"the clock was ahead at birth":          {24 * time.Hour, nil, nil, "2026-10-10 12:00", "2026-10-11 03:40"},
	} {
		var list []sqlite.BackupFile
		for _, m := range c.made {
			list = append(list, sqlite.BackupFile{Made: at(t, zone, m), Auto: true})
		}
		for _, m := range c.byHand {
			list = append(list, sqlite.BackupFile{Made: at(t, zone, m)})
		}
		var want time.Time
		if c.want != "" {
			want = at(t, zone, c.want)
		}
		p := sqlite.BackupPlan{Every: c.every}
		if got := p.Next(list, at(t, zone, born), at(t, zone, c.now), zone); !got.Equal(want) {
			t.Errorf("%s: %s, want %s", name, got.In(zone), want)
		}
	}
}

// Over two months of nights the plan keeps seven days and one copy of each of four weeks, whatever was missed in between.
func TestSurplus(t *testing.T) {
	zone := berlin(t)
	p := sqlite.DefaultBackupPlan()
	kept := map[string]bool{} // what is in the folder
	for night := at(t, zone, "2026-10-01 03:40"); night.Before(at(t, zone, "2026-12-01 00:00")); night = night.AddDate(0, 0, 1) {
		if night.Day() == 13 {
			continue // the machine was off
		}
		kept[night.Format("2006-01-02 15:04")] = true
		for _, f := range p.Surplus(folder(t, zone, kept), zone) {
			delete(kept, f.Made.In(zone).Format("2006-01-02 15:04"))
		}
	}
	var left []string
	for _, f := range folder(t, zone, kept) {
		left = append(left, f.Made.In(zone).Format("Mon 02.01."))
	}
	// Monday the 30th begins its week; the newest of the weeks before are their Sundays.
	want := []string{"Mon 30.11.", "Sun 29.11.", "Sat 28.11.", "Fri 27.11.", "Thu 26.11.", "Wed 25.11.", "Tue 24.11.", "Sun 22.11.", "Sun 15.11."}
	if !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
}

// folder lists copies as List does.
func folder(t *testing.T, zone *time.Location, made map[string]bool) []sqlite.BackupFile {
	t.Helper()
	var list []sqlite.BackupFile
	for m := range made {
		list = append(list, sqlite.BackupFile{Path: m, Made: at(t, zone, m), Auto: true})
	}
	slices.SortFunc(list, func(a, b sqlite.BackupFile) int { return b.Made.Compare(a.Made) })
	return list
}

func TestSurplusSparesTheLastOne(t *testing.T) {
	now := time.Date(2026, 11, 21, 3, 40, 0, 0, time.UTC)
	list := []sqlite.BackupFile{{Path: "hand", Made: now.Add(time.Hour)}, {Path: "new", Made: now, Auto: true}, {Path: "old", Made: now.Add(-time.Hour), Auto: true}, {Path: "older by hand", Made: now.AddDate(-1, 0, 0)}}
	got := sqlite.BackupPlan{}.Surplus(list, time.UTC) // a plan that keeps nothing
	if len(got) != 1 || got[0].Path != "old" {
		t.Errorf("thrown away: %v", got)
	}
	if got := (sqlite.BackupPlan{Daily: 1}).Surplus(list, time.UTC); len(got) != 1 || got[0].Path != "old" {
		t.Errorf("of two of one day: %v", got)
	}
}

func TestList(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd [name]*")
	if list, err := sqlite.ListBackups(dir); err != nil || list == nil || len(list) != 0 {
		t.Errorf("a folder that is not there: %v, %v", list, err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 21, 3, 40, 0, 0, time.UTC)
	for _, name := range []string{
		sqlite.AutoBackupName(now), sqlite.HandBackupName(now.Add(time.Hour)), "hob-20261119-034000.000.tar.gz", "hob-20261118-034000.000.tar.gz.age", "mine.db", "hob-auto-20261301-000000.db", "notes.txt", sqlite.AutoBackupName(now.Add(time.Minute)) + sqlite.Unfinished,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "hob-auto-20261120-034000.db"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mine.db", "hob-auto-20261301-000000.db"} {
		if err := os.Chtimes(filepath.Join(dir, name), now, now.AddDate(0, -1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	list, err := sqlite.ListBackups(dir)
	if err != nil || len(list) != 6 {
		t.Fatalf("%v, %v", list, err)
	}
	if f := list[0]; f.Auto || !f.Made.Equal(now.Add(time.Hour)) || f.Bytes != 1 {
		t.Errorf("the newest: %+v", f)
	}
	if f := list[1]; !f.Auto || !f.Made.Equal(now) {
		t.Errorf("the one made by schedule: %+v", f)
	}
	// The files are newer than their names say, as after a copy from another machine.
	if f := list[2]; !f.Whole || !f.Made.Equal(now.AddDate(0, 0, -2)) {
		t.Errorf("a whole one: %+v", f)
	}
	if f := list[3]; !f.Whole || !f.Made.Equal(now.AddDate(0, 0, -3)) {
		t.Errorf("an encrypted one: %+v", f)
	}
	if list[4].Auto || list[5].Auto { // no such month: not a name of hob's
		t.Errorf("what others named: %+v", list[4:])
	}
}
