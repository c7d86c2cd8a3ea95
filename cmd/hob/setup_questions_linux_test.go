package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hob/daemon/sys/systest"
)

// up starts hob in the home of the wizard, until the end of the test.
func (w *wizardry) up() *os.Process {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), "hob", "up", "--no-chat", "--listen", "127.0.0.1:0")
	cmd.Env = w.env()
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		w.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() //nolint:forbidigo // it ends with the command
	return cmd.Process
}

// runs runs a command and returns what it prints.
func (w *wizardry) runs(args ...string) string {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), "hob", args...)
	cmd.Env = w.env()
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("hob %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// zones are the time zones of the jobs.
func (w *wizardry) zones() map[string]string {
	w.Helper()
	var jobs []struct{ Name, Zone string }
	if err := json.Unmarshal([]byte(w.runs("cron", "list", "--json")), &jobs); err != nil {
		w.Fatal(err)
	}
	zones := map[string]string{}
	for _, j := range jobs {
		if j.Name != "heartbeat" { // its zone follows with the config, a moment later
			zones[j.Name] = j.Zone
		}
	}
	return zones
}

// N18, F5: jobs that were made before the owner's zone was known are moved on request, and setup names those that a first model will be asked by.
func TestSetupAndTheJobsThatWereThereBefore(t *testing.T) {
	w := newWizardry(t)
	w.up()
	w.runs("cron", "add", "--name", "plants", "--at", "2099-01-01 08:00", "say: water the plants")
	w.runs("cron", "add", "--name", "news", "--when", "every day at 9", "Brief me.")
	w.runs("cron", "add", "--name", "tokyo", "--tz", "Asia/Tokyo", "--when", "every day at 9", "say: it is nine there")
	c := w.begin()
	c.takes([]wizardStep{
		{question: `Which model shall think for hob \[1\]: `, answer: "1"},
		{question: `each run of these asks the model from now on: job news\s(.|\s)*Your name.*: `},
		{question: `Your time zone.*: `, answer: "Berlin"},
		{question: `2 jobs keep their zone UTC: (plants, news|news, plants)\.\s+Move them to Europe/Berlin, at the same time of day\? \[Y/n\] `},
		{question: `Which one \[\d+\]: `},
	})
	c.declines()
	if code := c.ends(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, c.shown)
	}
	if got, want := fmt.Sprint(w.zones()), "map[news:Europe/Berlin plants:Europe/Berlin tokyo:Asia/Tokyo]"; got != want {
		t.Errorf("the zones are %s, want %s", got, want)
	}
	if out := w.runs("config", "set", "owner.timezone", "America/Lima"); !strings.Contains(out, "2 jobs keep their zone Europe/Berlin") {
		t.Errorf("config set does not say which jobs keep their zone: %s", out)
	}
	if out := w.runs("setup", "--yes", "--zone", "Asia/Tokyo"); strings.Contains(out, "keep") {
		t.Errorf("jobs of another zone are named: %s", out)
	}
	w.runs("cron", "update", "news", "--tz", "Asia/Tokyo")
	out := w.runs("setup", "--yes", "--zone", "Europe/Paris") // a yes to the question
	if got, want := fmt.Sprint(w.zones()), "map[news:Europe/Paris plants:Europe/Berlin tokyo:Europe/Paris]"; got != want {
		t.Errorf("after --yes the zones are %s, want %s", got, want)
	}
	if !strings.Contains(out, "Moved to Europe/Paris, at the same time of day: ") || strings.Contains(out, "keep") {
		t.Errorf("--yes says %s", out)
	}
}

// N11, N12: what people type as an address is understood, and what the server refuses is asked again.
func TestSetupAsksAgainWhatAServerRefuses(t *testing.T) {
	w := newWizardry(t)
	host := strings.TrimSuffix(strings.TrimPrefix(w.model.URL, "http://"), "/v1")
	guarded := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer right" {
			http.Error(out, `{"error":{"message":"no such key"}}`, http.StatusUnauthorized)
			return
		}
		req := r.Clone(r.Context())
		req.URL.Scheme, req.URL.Host, req.RequestURI = "http", host, ""
		res, err := http.DefaultClient.Do(req) // #nosec G704 -- to the server of this test
		if err != nil {
			http.Error(out, err.Error(), http.StatusBadGateway)
			return
		}
		defer res.Body.Close() //nolint:errcheck // read to its end
		out.Header().Set("Content-Type", res.Header.Get("Content-Type"))
		out.WriteHeader(res.StatusCode)
		_, _ = io.Copy(out, res.Body)
	}))
	t.Cleanup(guarded.Close)
	c := w.begin()
	c.takes([]wizardStep{
		{question: `Which model shall think for hob \[1\]: `, answer: "another"},
		{question: `address of the server.*: `, answer: "http://"},
		{question: `"http://" is not an address(.|\s)*address of the server.*: `, answer: "127.0.0.1:1"},
		{question: `key \(.*\): `},
		{question: `address of the server \(Enter goes on with http://127.0.0.1:1\): `, answer: strings.TrimPrefix(guarded.URL, "http://")},
		{question: `HTTP 401(.|\s)*key \(.*\): `, answer: "wrong"},
		{question: `HTTP 401(.|\s)*key \(.*\): `, answer: "right"},
		{question: `The address is http://127[^ ]*/v1\.(.|\s)*The model is scripted\.(.|\s)*can do chores(.|\s)*Your name.*: `, answer: ""},
	})
	if doc := w.doc(); !strings.Contains(doc, `base_url = "`+guarded.URL+`/v1"`) {
		t.Errorf("the config:\n%s", doc)
	}
	for typed, want := range map[string]string{"localhost:1": "http://localhost:1", "api.example.com/v1": "https://api.example.com/v1"} {
		w.runs("setup", "--yes", "--no-test", "--model", "compatible/m", "--base-url", typed)
		if got := strings.TrimSpace(w.runs("config", "get", "model.base_url")); !strings.Contains(got, want) {
			t.Errorf("--base-url %s has set %s", typed, got)
		}
	}
}

// N13, N14, N15: the largest model that this machine can hold comes first, the trial counts its seconds, and the lines end at words.
func TestSetupOnANarrowTerminal(t *testing.T) {
	w := newWizardry(t)
	release := make(chan struct{})
	ollama := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/":
			_, _ = io.WriteString(out, "Ollama is running")
		case "/v1/models":
			_, _ = io.WriteString(out, `{"object":"list","data":[{"id":"huge:1"},{"id":"llama3.2:3b"},{"id":"qwen3:8b"}]}`)
		case "/api/tags":
			_, _ = io.WriteString(out, `{"models":[{"name":"huge:1","size":900000000000000},{"name":"llama3.2:3b","size":2000000},{"name":"qwen3:8b","size":5000000}]}`)
		case "/v1/chat/completions":
			<-release
			http.Error(out, "no", http.StatusInternalServerError)
		default:
			http.NotFound(out, r)
		}
	}))
	t.Cleanup(ollama.Close)
	free := func() {
		select {
		case <-release:
		default:
			close(release)
		}
	}
	t.Cleanup(free)
	screen, terminal := pair(t)
	if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 60}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "hob", "setup")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.Env = append(w.env(), "OLLAMA_HOST="+strings.TrimPrefix(ollama.URL, "http://"), "TERM=xterm")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = terminal.Close()
	c := &conversation{wizardry: w, cmd: cmd, screen: screen}
	c.takes([]wizardStep{
		{question: `ollama at (.|\s)*Which model shall think for hob \[1\]: `, answer: "1"},
		{question: `1  qwen3:8b, 4\.8 MB\s+2  llama3\.2:3b, 1\.9 MB\s+3  huge:1(.|\s)*Which model \(a number, or a name\) \[1\]: `},
	})
	c.sees(`trying ollama/qwen3:8b, .*\r.* 2 s`)
	free()
	_ = cmd.Process.Signal(os.Interrupt)
	c.ends()
	for line := range strings.Lines(c.shown) {
		if line = strings.TrimRight(line, "\r\n"); len([]rune(line)) > 60 && !strings.Contains(line, "\r") && !strings.Contains(line, filepath.Join(w.home, "h")) {
			t.Errorf("a line of %d characters: %s", len([]rune(line)), line)
		}
	}
}

// N19, N20: the hint names the flag that was typed, and the channels that a newcomer can have at once come first.
func TestSetupHelpsWithChannels(t *testing.T) {
	w := newWizardry(t)
	cmd := exec.CommandContext(t.Context(), "hob", "setup", "--yes", "--no-test", "--channel", "telegram", "--channel-key", "token=-")
	cmd.Env = w.env()
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "hob setup --yes … --channel-key token=-") {
		t.Errorf("%v, %s", err, out)
	}
	c := w.begin()
	c.takes([]wizardStep{
		{question: `Which model shall think for hob \[1\]: `, answer: "n"},
		{question: `Your name.*: `},
		{question: `Your time zone.*: `},
		{question: `1  telegram: a Telegram bot, which @BotFather makes\s+2  ntfy: a topic at an ntfy server, without an account\s(.|\s)*Which one \[\d+\]: `},
	})
	c.declines()
	if code := c.ends(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, c.shown)
	}
}

// F2: hob's own server describes the machine and not its sandbox. Another file does not leave the sandbox, whatever its arguments are.
func TestTheServerOfHobDescribesTheMachine(t *testing.T) {
	systest.Program(t, "bwrap")
	w := newWizardry(t)
	w.up()
	var st unix.Statfs_t
	if err := unix.Statfs("/", &st); err != nil {
		t.Fatal(err)
	}
	root := fmt.Sprintf(`"path":"/","total_bytes":%d`, int64(st.Blocks)*int64(st.Bsize)) //nolint:gosec,unconvert // sizes of disks; the type differs between architectures
	hob := exec.CommandContext(t.Context(), "hob").Path
	other := filepath.Join(w.home, "hob") // the same program in another file
	program, err := os.ReadFile(hob)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, program, 0o700); err != nil { // #nosec G306 -- a program
		t.Fatal(err)
	}
	w.runs("mcp", "add", "machine", "--yes", "--", "hob", "mcp", "system-info")
	w.runs("mcp", "add", "other", "--yes", "--bind", other+":ro", "--", other, "mcp", "system-info")
	w.runs("mcp", "add", "flagged", "--yes", "--bind", hob+":ro", "--env", "A=b", "--", "hob", "mcp", "system-info")
	for name, want := range map[string]bool{"machine": true, "other": false, "flagged": false} {
		out := w.runs("tool", name+"__disk_info", "--json")
		if got := strings.Contains(strings.ReplaceAll(out, `\"`, `"`), root); got != want {
			t.Errorf("%s sees the root of this machine: %v, want %v\n%s", name, got, want, out)
		}
	}
}

// N44: a server whose program is gone is not ready.
func TestAServerWithoutItsProgramIsOff(t *testing.T) {
	systest.Program(t, "bwrap")
	w := newWizardry(t)
	w.up()
	other := filepath.Join(w.home, "d", "hob") // the scripts tell their commands by the name of the file
	program, err := os.ReadFile(exec.CommandContext(t.Context(), "hob").Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Dir(other), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, program, 0o700); err != nil { // #nosec G306 -- a program
		t.Fatal(err)
	}
	w.runs("mcp", "add", "gone", "--yes", "--bind", other+":ro", "--", other, "mcp", "system-info")
	if out := w.runs("mcp", "list", "--json"); !strings.Contains(out, `"state":"ready"`) && !strings.Contains(out, `"state":"running"`) {
		t.Fatalf("before: %s", out)
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	if out := w.runs("mcp", "list"); !strings.Contains(out, "off") || !strings.Contains(out, "there is no program") {
		t.Errorf("without its program: %s", out)
	}
}

// V10: a command waits no longer than ten seconds for a hob whose process is stopped, and says so.
func TestACommandDoesNotWaitForAStoppedHob(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for ten seconds")
	}
	w := newWizardry(t)
	hob := w.up()
	if err := hob.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hob.Signal(syscall.SIGCONT) }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "hob", "status")
	cmd.Env = w.env()
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), "hob does not answer: its process is stopped, or stuck") {
		t.Errorf("%v, exit code %d: %s", err, code, out)
	}
}
