package caldav

import (
	"fmt"
	"strings"
	"time"

	"hob/tools/calendar"
)

// Expand returns the instances of a file in a span, one line each, and the notes.
func Expand(data string, from, to time.Time) (lines, notes []string, err error) {
	o, err := parse(data, from.Location())
	if err != nil {
		return nil, nil, err
	}
	list, notes := o.expand(from, to)
	for _, i := range list {
		form := "2006-01-02 15:04 MST"
		if i.event.AllDay {
			form = "2006-01-02"
		}
		lines = append(lines, fmt.Sprintf("%s to %s %s", i.event.Start.Format(form), i.event.End.Format(form), i.event.Title))
		if found, ok := o.find(i.key); !ok || !found.Start.Equal(i.event.Start) {
			return lines, notes, fmt.Errorf("the key %q finds %v", i.key, found)
		}
		notes = append(notes, i.event.Notes...)
	}
	return lines, notes, nil
}

// Start is the address that discovery begins with.
var Start = start

// Document writes the file of a draft.
func Document(mail string, d calendar.Draft) (string, error) {
	return (&Account{s: Settings{Mail: mail}}).document(d)
}

// WindowsZone finds a zone by a name of Windows.
var WindowsZone = windowsZone

// WindowsZones are the rows of the table.
func WindowsZones() (rows [][]string) {
	for line := range strings.Lines(windowsZones) {
		if row := strings.Split(strings.TrimSpace(line), "|"); len(row) == 3 {
			rows = append(rows, row)
		}
	}
	return rows
}
