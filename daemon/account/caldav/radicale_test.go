package caldav_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hob/daemon/account/caldav"
	"hob/daemon/account/caldavtest"
)

// withCalendar makes anna's calendar and puts files of testdata into it.
func withCalendar(t *testing.T, files ...string) string {
	t.Helper()
	url, end, err := caldavtest.Radicale(t.Context(), t.TempDir())
	switch {
	case errors.Is(err, caldavtest.ErrNone) && os.Getenv("CI") == "":
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(end)
	for _, f := range files {
		doc, err := os.ReadFile(filepath.Join("testdata", f))
		if err != nil {
			t.Fatal(err)
		}
		if err := caldavtest.Do(t.Context(), http.MethodPut, url+"/anna/home/"+f, string(doc)); err != nil {
			t.Fatal(err)
		}
	}
	return url
}

func plainWeb(string) (http.RoundTripper, error) { return http.DefaultTransport, nil }

// connect signs in to a server.
func connect(t *testing.T, url string) *caldav.Account {
	t.Helper()
	s, err := caldav.Connect(t.Context(), plainWeb, url, caldavtest.User, caldavtest.Password)
	if err != nil {
		t.Fatal(err)
	}
	a, err := caldav.Open("caldav", plainWeb, s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// zone loads a zone.
func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// day is a date at midnight.
func day(t testing.TB, date string, loc *time.Location) time.Time {
	t.Helper()
	d, err := time.ParseInLocation("2006-01-02", date, loc)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
