package caldav_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/daemon/account/caldav"
)

// radicale starts Debian's CalDAV server on a free port, with the user anna and the password tea, and returns its address.
func radicale(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("radicale")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no radicale: .ci/lib installs it")
		}
		t.Skip("there is no radicale")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"users": "anna:tea\n",
		"conf": "[server]\nhosts = " + addr + "\n[auth]\ntype = htpasswd\nhtpasswd_filename = " + filepath.Join(dir, "users") + "\nhtpasswd_encryption = plain\ndelay = 0\n" +
			"[storage]\nfilesystem_folder = " + filepath.Join(dir, "store") + "\n[rights]\ntype = owner_only\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), path, "--config", filepath.Join(dir, "conf")) // #nosec G204 -- a program of the test
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has nothing to keep
		_ = cmd.Wait()
	})
	limit := time.Now().Add(time.Minute)
	for {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
			return "http://" + addr
		}
		if time.Now().After(limit) {
			t.Fatal(err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// dav makes a request as anna's other program does.
func dav(t *testing.T, method, link, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, link, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("anna", "tea")
	req.Header.Set("Content-Type", "text/calendar")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s", method, link, resp.Status)
	}
}

// withCalendar makes anna's calendar and puts files of testdata into it.
func withCalendar(t *testing.T, files ...string) (url string) {
	t.Helper()
	url = radicale(t)
	dav(t, "MKCALENDAR", url+"/anna/home/", `<?xml version="1.0"?><C:mkcalendar xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:set><D:prop><D:displayname>Home</D:displayname></D:prop></D:set></C:mkcalendar>`)
	for _, f := range files {
		doc, err := os.ReadFile(filepath.Join("testdata", f))
		if err != nil {
			t.Fatal(err)
		}
		dav(t, http.MethodPut, url+"/anna/home/"+f, string(doc))
	}
	return url
}

func plainWeb(string) (http.RoundTripper, error) { return http.DefaultTransport, nil }

// connect signs in to a server.
func connect(t *testing.T, url string) *caldav.Account {
	t.Helper()
	s, err := caldav.Connect(t.Context(), plainWeb, url, "anna", "tea")
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
