package mcptest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// folder is the variable that makes a test binary such a server: the folder with its script.
const folder = "MCPTEST"

// Server is a server whose script can be changed. It is read for each message.
type Server struct {
	URL string // of the service
	t   testing.TB
	dir string

	script reader
}

// New makes a server with a script.
func New(t testing.TB, s Script) *Server {
	t.Helper()
	v := &Server{t: t, dir: t.TempDir()}
	v.Play(s)
	web := httptest.NewServer(v)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	v.URL = web.URL + "/mcp"
	return v
}

// Env is the environment that makes this test binary the program of the server.
func (v *Server) Env() map[string]string { return map[string]string{folder: v.dir} }

// Dir is the folder of the script, which a program in a sandbox must be able to write to.
func (v *Server) Dir() string { return v.dir }

// Play changes the script.
func (v *Server) Play(s Script) {
	v.t.Helper()
	next := filepath.Join(v.dir, "next")
	if err := os.WriteFile(next, Raw(s), 0o600); err != nil {
		v.t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(v.dir, "script")); err != nil {
		v.t.Fatal(err)
	}
}

// Go lets the calls with the fault Held go on.
func (v *Server) Go() {
	v.t.Helper()
	if err := os.WriteFile(filepath.Join(v.dir, "go"), nil, 0o600); err != nil {
		v.t.Fatal(err)
	}
}

// hold waits for Go, or for the end of the test, which removes the folder.
func hold(dir string) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		_, err := os.Stat(filepath.Join(dir, "go")) // #nosec G703 -- the test's own
		if _, gone := os.Stat(dir); err == nil || gone != nil {
			return
		}
	}
}

// Got returns what the server has got of a method; "": of all.
func (v *Server) Got(method string) (list []json.RawMessage) {
	v.t.Helper()
	b, err := os.ReadFile(filepath.Join(v.dir, "got"))
	if err != nil && !os.IsNotExist(err) {
		v.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var r request
		if !strings.HasSuffix(line, "\n") || json.Unmarshal([]byte(line), &r) != nil {
			continue // it is being written, or it was cut by a kill
		}
		if method == "" || r.Method == method {
			list = append(list, json.RawMessage(line))
		}
	}
	return list
}

// Sent counts the bytes that the server got rid of in faults without end.
func (v *Server) Sent() (n int64) {
	v.t.Helper()
	info, err := os.Stat(filepath.Join(v.dir, "sent"))
	if err != nil {
		return 0
	}
	return info.Size() << 10
}

// Environ is the environment that the program saw at its last start.
func (v *Server) Environ() []string {
	v.t.Helper()
	b, err := os.ReadFile(filepath.Join(v.dir, "environ"))
	if err != nil {
		v.t.Fatal(err)
	}
	return strings.Split(string(b), "\x00")
}

// reader reads a script again only after it has changed: some have 25 MB.
type reader struct {
	mu     sync.Mutex
	info   os.FileInfo
	script Script
}

func (r *reader) read(dir string) (Script, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	info, err := os.Stat(filepath.Join(dir, "script")) // #nosec G703 -- the test's own
	if err != nil {
		return Script{}, err
	}
	if r.info != nil && os.SameFile(info, r.info) && info.ModTime().Equal(r.info.ModTime()) && info.Size() == r.info.Size() {
		return r.script, nil
	}
	s, err := load(dir)
	if err == nil {
		r.info, r.script = info, s
	}
	return s, err
}

func load(dir string) (s Script, err error) {
	b, err := os.ReadFile(filepath.Join(dir, "script")) // #nosec G304 G703 -- the test's own
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(b, &s)
}

func note(dir string, line []byte) {
	f, err := os.OpenFile(filepath.Join(dir, "got"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) // #nosec G304 G703 -- the test's own
	if err != nil {
		return
	}
	_, _ = f.Write(append(append([]byte{}, line...), '\n'))
	_ = f.Close()
}

// Main is the server's program, if this process is to be one. A TestMain calls it first.
func Main() {
	dir := os.Getenv(folder)
	if dir == "" {
		return
	}
	s, err := load(dir)
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		os.Exit(3)
	}
	if s.IgnoreTERM {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE)
	}
	if s.Child {
		child := exec.Command(os.Args[0]) // #nosec G204 G702 -- this program
		child.Env = append(os.Environ(), folder+"="+dir+"/child")
		_ = os.Mkdir(dir+"/child", 0o700)                                           // #nosec G703 -- the test's own
		_ = os.WriteFile(dir+"/child/script", Raw(Script{IgnoreTERM: true}), 0o600) // #nosec G703 -- the test's own
		in, _ := child.StdinPipe()                                                  // which stays open
		defer func() { _ = in.Close() }()
		_ = child.Start()
	}
	_ = os.WriteFile(filepath.Join(dir, "environ"), []byte(strings.Join(os.Environ(), "\x00")), 0o600) // #nosec G703 -- the test's own
	s.program(dir, os.Stdin, os.Stdout, os.Stderr)
	if s.IgnoreTERM {
		hang()
	}
	os.Exit(0)
}

// hang never returns. It waits for a timer, because Go ends a program in which nothing can happen any more.
func hang() { <-time.After(24 * time.Hour) }

// program serves over stdio.
func (s Script) program(dir string, in io.Reader, out, errs io.Writer) {
	if s.Faults["start"] == Die {
		_, _ = io.WriteString(errs, "cannot start: no \x1b[31mdatabase\n")
		os.Exit(1)
	}
	if s.Faults["start"] == Hang {
		_, _ = io.WriteString(out, s.Stdout)
		hang()
	}
	junk := filler(64 << 10)
	for n := 0; s.Stderr < 0 || n < s.Stderr; n += len(junk) {
		if _, err := errs.Write(junk); err != nil {
			break
		}
	}
	_, _ = io.WriteString(out, s.Stdout)
	to := &pipe{out: out, dir: dir}
	lines := bufio.NewReader(in)
	again := reader{}
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		line = []byte(strings.TrimSpace(string(line)))
		note(dir, line)
		if now, err := again.read(dir); err == nil {
			s = now
		}
		go s.answer(line, to)
		var m request
		if json.Unmarshal(line, &m) == nil && s.Faults[m.Method] == Deaf {
			hang() // it reads no more
		}
	}
}

// pipe is a program's stdout.
type pipe struct {
	mu  sync.Mutex
	out io.Writer
	dir string
	n   counter
}

func (p *pipe) message(b []byte) bool { return p.part(append(append([]byte{}, b...), '\n')) }

func (p *pipe) part(b []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.out.Write(b)
	p.n.add(p.dir, len(b))
	return err == nil
}

// counter notes how much was sent: a byte in a file for each KB, which survives a kill.
type counter struct{ n int }

func (c *counter) add(dir string, n int) {
	c.n += n
	if whole := c.n >> 10; whole > 0 {
		c.n -= whole << 10
		f, err := os.OpenFile(filepath.Join(dir, "sent"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) // #nosec G304 G703 -- the test's own
		if err == nil {
			_, _ = f.Write(make([]byte, whole))
			_ = f.Close()
		}
	}
}

func (p *pipe) end() { os.Exit(1) }

func (p *pipe) wait() { hang() }

func (p *pipe) hold() { hold(p.dir) }

// ServeHTTP serves over streamable HTTP.
func (v *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s, err := v.script.read(v.dir)
	switch {
	case err != nil:
		w.WriteHeader(http.StatusTeapot)
		return
	case r.Method == http.MethodDelete:
		note(v.dir, []byte(`{"method":"DELETE"}`))
		return
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	note(v.dir, raw)
	var m request
	if json.Unmarshal(raw, &m) != nil || m.ID == nil || m.Method == "" {
		if m.Method != "" && s.Faults[m.Method] != "" {
			s.answer(raw, &body{w: w, r: r, dir: v.dir})
		}
		if m.Method == "" && s.Faults["tools/call"] == Deaf {
			(&body{w: w, r: r, dir: v.dir}).wait()
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if s.Session != "" {
		w.Header().Set("Mcp-Session-Id", s.Session)
	}
	switch s.Faults[m.Method] {
	case HTTP500:
		http.Error(w, "<b>all is well</b>", http.StatusInternalServerError)
		return
	case HTTP404:
		http.Error(w, "gone", http.StatusNotFound)
		return
	case Redirect:
		http.Redirect(w, r, "http://127.0.0.1:1/elsewhere", http.StatusTemporaryRedirect)
		return
	}
	if s.Faults[m.Method] == Page {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<html><body>Welcome</body></html>")) // the client sees it
		return
	}
	kind := "text/event-stream"
	if s.JSON {
		kind = "application/json"
	}
	w.Header().Set("Content-Type", kind)
	s.answer(raw, &body{w: w, r: r, kind: kind, dir: v.dir})
}

// body is the body of an HTTP answer.
type body struct {
	w    http.ResponseWriter
	r    *http.Request
	kind string
	dir  string
	n    counter
	open bool
}

func (b *body) message(m []byte) bool {
	if b.kind == "application/json" {
		return b.part(m)
	}
	return b.part([]byte("event: message\ndata: " + string(m) + "\n\n"))
}

func (b *body) part(m []byte) bool {
	if !b.open && b.kind != "application/json" && !strings.HasPrefix(string(m), "event:") {
		m = append([]byte("event: message\ndata: "), m...)
	}
	b.open = true
	if _, err := b.w.Write(m); err != nil {
		return false
	}
	b.n.add(b.dir, len(m))
	return http.NewResponseController(b.w).Flush() == nil && b.r.Context().Err() == nil
}

func (b *body) end() { panic(http.ErrAbortHandler) }

func (b *body) wait() {
	if b.kind != "" {
		_ = http.NewResponseController(b.w).Flush()
	}
	select {
	case <-b.r.Context().Done():
		note(b.dir, []byte(`{"method":"closed"}`))
	case <-time.After(5 * time.Minute):
	}
}

func (b *body) hold() {
	_ = http.NewResponseController(b.w).Flush()
	hold(b.dir)
}
