// Package caldavtest has CalDAV servers for tests: Debian's radicale, and one in memory that a test can hold up.
package caldavtest

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// User and Password are the account at every server here.
const (
	User     = "anna"
	Password = "tea-for-two"
)

// ErrNone says that radicale is not installed.
var ErrNone = errors.New("there is no radicale: .ci/lib installs it")

// Radicale starts radicale on a free port, with files in dir, and makes the calendar Home at /anna/home/. end stops it.
func Radicale(ctx context.Context, dir string) (url string, end func(), err error) {
	path, err := exec.LookPath("radicale")
	if err != nil {
		return "", nil, ErrNone
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	addr := l.Addr().String()
	conf := "[server]\nhosts = " + addr + "\n[auth]\ntype = htpasswd\nhtpasswd_filename = " + filepath.Join(dir, "users") + "\nhtpasswd_encryption = plain\ndelay = 0\n" +
		"[storage]\nfilesystem_folder = " + filepath.Join(dir, "store") + "\n[rights]\ntype = owner_only\n"
	err = errors.Join(l.Close(), os.WriteFile(filepath.Join(dir, "users"), []byte(User+":"+Password+"\n"), 0o600), os.WriteFile(filepath.Join(dir, "conf"), []byte(conf), 0o600))
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), path, "--config", filepath.Join(dir, "conf")) // #nosec G204 -- a program of the tests
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	end = func() {
		_ = cmd.Process.Kill() // it has nothing to keep
		_ = cmd.Wait()
	}
	url = "http://" + addr
	for limit := time.Now().Add(time.Minute); ; {
		err := Do(ctx, "MKCALENDAR", url+"/anna/home/", `<?xml version="1.0"?><C:mkcalendar xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:set><D:prop><D:displayname>Home</D:displayname></D:prop></D:set></C:mkcalendar>`)
		if err == nil {
			return url, end, nil
		}
		if time.Now().After(limit) || ctx.Err() != nil {
			end()
			return "", nil, err
		}
		<-time.After(20 * time.Millisecond)
	}
}

// Do makes a request as another program of the user does.
func Do(ctx context.Context, method, link, body string) error {
	req, err := http.NewRequestWithContext(ctx, method, link, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.SetBasicAuth(User, Password)
	req.Header.Set("Content-Type", "text/calendar")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s", method, link, resp.Status)
	}
	return nil
}

// Server is a CalDAV server in memory, as far as hob uses one: RFC 4918, RFC 4791 and RFC 5397. It answers a question with all its events.
type Server struct {
	*httptest.Server
	// Before is called when a request has arrived whole. A status other than 0 is the answer, and nothing else happens.
	Before func(r *http.Request) (status int)
	// Stored is called after an event was stored, before the answer.
	Stored func(r *http.Request)

	mu     sync.Mutex
	events map[string]string // by path
	puts   int
}

// NewServer starts one.
func NewServer() *Server {
	s := &Server{events: map[string]string{}}
	s.Server = httptest.NewServer(s)
	return s
}

// Events returns how many events there are, and how many requests wanted to store one.
func (s *Server) Events() (events, puts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.events), s.puts
}

// Add stores an event that somebody else has sent.
func (s *Server) Add(name, data string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events["/anna/home/"+name] = data
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if user, password, _ := r.BasicAuth(); user != User || password != Password {
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if s.Before != nil {
		if status := s.Before(r); status != 0 {
			w.WriteHeader(status)
			return
		}
	}
	switch r.Method {
	case "PROPFIND":
		answer(w, r.URL.Path, `<current-user-principal><href>/anna/</href></current-user-principal><C:calendar-home-set><href>/anna/</href></C:calendar-home-set><C:calendar-user-address-set><href>mailto:anna@example.org</href></C:calendar-user-address-set><resourcetype><collection/><C:calendar/></resourcetype><displayname>Home</displayname>`)
	case "REPORT":
		s.mu.Lock()
		var pairs []string
		for path, data := range s.events {
			pairs = append(pairs, path, "<C:calendar-data>"+html.EscapeString(data)+"</C:calendar-data>")
		}
		s.mu.Unlock()
		answer(w, pairs...)
	case http.MethodGet:
		s.mu.Lock()
		data, ok := s.events[r.URL.Path]
		s.mu.Unlock()
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, data)
	case http.MethodPut:
		s.put(w, r, string(body))
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (s *Server) put(w http.ResponseWriter, r *http.Request, data string) {
	s.mu.Lock()
	_, there := s.events[r.URL.Path]
	refused := there && r.Header.Get("If-None-Match") == "*"
	if s.puts++; !refused {
		s.events[r.URL.Path] = data
	}
	s.mu.Unlock()
	if s.Stored != nil && !refused {
		s.Stored(r)
	}
	status := http.StatusCreated
	if refused {
		status = http.StatusPreconditionFailed
	}
	w.WriteHeader(status)
}

// answer writes a multistatus of pairs of a path and its properties.
func answer(w http.ResponseWriter, pairs ...string) {
	w.WriteHeader(http.StatusMultiStatus)
	_, _ = io.WriteString(w, `<multistatus xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">`)
	for pair := range slices.Chunk(pairs, 2) {
		_, _ = fmt.Fprintf(w, `<response><href>%s</href><propstat><prop>%s</prop><status>HTTP/1.1 200 OK</status></propstat></response>`, pair[0], pair[1]) // #nosec G705 -- to a test
	}
	_, _ = io.WriteString(w, `</multistatus>`)
}
