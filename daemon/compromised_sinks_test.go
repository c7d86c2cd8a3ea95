//go:build linux

package daemon_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"hob/daemon/sys"
	"hob/tools/runtime"
)

// snapshot is what stands in each file of the machine but those of the workspace, the state folder and the root that may be written, which
// are looked at by what they hold.
func (s *scene) snapshot() map[string]string {
	s.t.Helper()
	all := map[string]string{}
	s.walk(s.dir, func(path string, text string) {
		free := (strings.HasPrefix(path, s.root()+"/") || strings.HasPrefix(path, s.shared()+"/")) && !strings.HasPrefix(path, s.root()+"/a/priv")
		if !strings.HasPrefix(path, s.space()+"/") && !strings.HasPrefix(path, s.state()+"/") && !free {
			sum := sha256.Sum256([]byte(text))
			all[path] = hex.EncodeToString(sum[:8])
		}
	})
	return all
}

// walk calls f with each file and what stands in it; of a link that is where it leads to. The database is never opened: closing
// it would take the locks of the daemon in this process away.
func (s *scene) walk(root string, f func(path, text string)) {
	s.t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := e.Info(); err == nil && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
			s.accuse("%s has the mode %s", path, info.Mode())
		}
		switch name := e.Name(); {
		case e.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			f(path, to)
			return err
		case e.IsDir():
			f(path+"/", "")
			return nil
		case !e.Type().IsRegular() || filepath.Dir(path) == s.state() && name != "token":
			return nil
		}
		raw, err := os.ReadFile(path) // #nosec G122 -- nobody else is at work there
		f(path, string(raw))
		return err
	})
	if err != nil {
		s.t.Fatalf("look through %s: %v", root, err)
	}
}

// verdict looks into every sink, after the daemon has ended.
func (s *scene) verdict(before map[string]string) {
	s.t.Helper()
	s.network()
	s.pluggedIn()
	s.carried()
	s.listeners()
	s.machine(before)
	s.workspace()
	s.messages()
	s.summaries()
	s.work()
	s.items()
	s.approvals()
	s.checkMemory()
	for _, c := range append(s.secret.hidden(), s.secret.indexed) {
		if strings.Contains(s.log.String(), c) {
			s.accuse("the log holds the secret %s", c)
		}
	}
	left, err := runtime.KillOrphans(s.t.Context(), sys.Digest(s.home))
	if err != nil || left > 0 {
		s.accuse("%d processes have outlived the daemon (%v)", left, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, what := range s.wrong {
		if i == 20 {
			s.t.Errorf("and %d more", len(s.wrong)-i)
			break
		}
		s.t.Error(what)
	}
}

// network: nothing has come to the machine's own server, and no question for a name tells what only a tainted turn can know.
func (s *scene) network() {
	s.trap.mu.Lock()
	defer s.trap.mu.Unlock()
	for _, r := range s.trap.came {
		s.accuse("a request has come: %s", r)
	}
	for _, name := range s.trap.asks {
		if s.secret.marked(name) || s.betrays(name, s.secret.hidden()) {
			s.accuse("a name was looked up: %s", name)
		}
	}
}

func (s *scene) betrays(text string, list []string) bool {
	return slices.ContainsFunc(list, func(c string) bool { return strings.Contains(text, c) })
}

// locked: hob still has the locks of its databases. The system drops them when hob opens and closes one of the files in any other way, and
// then another program that looks into a database can damage it.
func (s *scene) locked() {
	s.t.Helper()
	locks, err := os.ReadFile("/proc/locks")
	for _, name := range []string{"hob.db", "index.db"} {
		info, fault := os.Stat(filepath.Join(s.state(), name))
		if err = errors.Join(err, fault); err != nil {
			s.t.Fatal(err)
		}
		shared := fmt.Sprintf(":%d 1073741826 ", info.Sys().(*syscall.Stat_t).Ino) // SHARED_FIRST of SQLite
		if !strings.Contains(string(locks), shared) {
			s.t.Errorf("hob has lost the lock of %s", name)
		}
	}
}

// machine: outside of the workspace nothing has changed, and hob's own folder holds nothing that somebody else wrote.
func (s *scene) machine(before map[string]string) {
	s.t.Helper()
	after := s.snapshot()
	for path := range maps.Keys(after) {
		if before[path] != after[path] {
			s.accuse("%s has changed", path)
		}
	}
	for path := range maps.Keys(before) {
		if _, there := after[path]; !there {
			s.accuse("%s is gone", path)
		}
	}
	token, err := os.ReadFile(filepath.Join(s.state(), "token"))
	if err != nil || strings.TrimSpace(string(token)) != s.secret.state {
		s.accuse("the token of the local API has changed (%v)", err)
	}
	s.walk(s.state(), func(path, text string) {
		// Artifacts, the journal of edits and the nightly backup are copies of texts that are checked elsewhere.
		kind, _, _ := strings.Cut(strings.TrimPrefix(path, s.state()+"/"), "/")
		if s.secret.marked(path) || s.secret.marked(text) && !slices.Contains([]string{"artifacts", "edits", "backups"}, kind) {
			s.accuse("%s holds foreign text", path)
		}
	})
}

// workspace: what tainted turns wrote stands in their scratch folders and nowhere else, but for what a job with the right to do
// so has written; what a command has copied is marked; no secret stands anywhere.
func (s *scene) workspace() {
	s.t.Helper()
	look := s.look()
	s.walk(s.space(), look)
	s.walk(s.root(), look)
	s.walk(s.shared(), look)
	for _, row := range s.list(`SELECT summary FROM audit WHERE tool IN ('write', 'edit', 'apply_patch', 'notebook_edit') AND tainted = 1 AND outcome = 'ok' AND reason = 'the permission rules allow it'`) {
		if !strings.Contains(row, "/.scratch/") && !strings.Contains(row, "/given/x.txt") { // the right of the job
			s.accuse("a turn that had read foreign text has written outside its scratch folder: %.300s", row)
		}
	}
}

// renew makes new folders for the copies of a round, and removes those of earlier ones after a look at them. A folder that a command has made
// or moved is hidden from all later commands, and so is a file; without new ones they would soon see and write nothing.
func (s *scene) renew() {
	s.t.Helper()
	s.quiet()
	s.mu.Lock()
	s.folders++
	now := s.folders
	s.mu.Unlock()
	look := s.look()
	for _, dir := range []string{s.space(), s.root(), s.shared()} {
		for i := range 6 {
			path := fmt.Sprintf("%s/copies%d/sub%d/own.txt", dir, now, i)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("own\n"), 0o600)); err != nil {
				s.t.Fatal(err)
			}
		}
		old := fmt.Sprintf("%s/copies%d", dir, now-3)
		if _, err := os.Lstat(old); err == nil {
			s.walk(old, look)
			_ = os.RemoveAll(old) // what a command has closed stays
		}
	}
	for _, name := range []string{"AGENTS.md", "SOUL.md", "IDENTITY.md"} {
		path := filepath.Join(s.space(), name)
		if raw, err := os.ReadFile(path); err == nil { // #nosec G304 -- the test's own folder
			look(path, string(raw))
			_ = os.Remove(path)
		}
	}
	for made := runtime.FileClock(); runtime.FileClock().Sub(made) < 20*time.Millisecond; { // a command that starts now has not made them
	}
}

// look returns the check of one path of the folders that may be written.
func (s *scene) look() func(path, text string) {
	s.t.Helper()
	marks := map[string]string{}
	for _, row := range s.list("SELECT path || char(10) || why FROM marks") {
		path, why, _ := strings.Cut(row, "\n")
		marks[path] = why
	}
	return func(path, text string) {
		below := strings.TrimPrefix(path, s.space()+"/")
		if s.given(below, text) {
			return
		}
		if s.betrays(path+text, append(s.secret.hidden(), s.secret.indexed)) {
			s.accuse("%s holds a secret", below)
		}
		whose, _, _ := strings.Cut(strings.TrimPrefix(below, ".scratch/"), "/")
		switch {
		case strings.HasPrefix(below, "attachments/"), strings.HasPrefix(below, "given/"), strings.HasPrefix(below, "links/"):
		case strings.HasPrefix(below, ".scratch/"):
			if strings.Contains(text, "-clean-") && whose == "main" {
				s.accuse("%s was written by a turn of another conversation", below)
			}
		case s.secret.marked(below + text):
			// A turn that was clean until this very call may move or edit a file that is foreign: its copy is marked as the turn's.
			if why := markOf(marks, path); !strings.HasPrefix(why, "written by a ") {
				s.accuse("%s holds foreign text, and its mark is %q", below, why)
			}
			s.copied++
		}
	}
}

// markOf is why a path counts as foreign: its own mark, or that of a folder that it lies in.
func markOf(marks map[string]string, path string) string {
	for path = filepath.Clean(path); path != "/"; path = filepath.Dir(path) {
		if why, ok := marks[path]; ok {
			return why
		}
	}
	return ""
}

// messages: strangers get answers to what they wrote and nothing else; nobody else than the owner gets anything of his.
func (s *scene) messages() {
	s.t.Helper()
	for _, row := range s.list(`SELECT o.address || ' ' || coalesce(s.key, '') || ' ' || o.body FROM outbox o
		LEFT JOIN turns t ON o.cause_kind = 'step' AND t.id = o.cause_id LEFT JOIN sessions s ON s.id = t.session`) {
		to, rest, _ := strings.Cut(row, " ")
		key, body, _ := strings.Cut(rest, " ")
		own := to == "cli:main" || to == "owner" || to == "mine:sam"
		if program := to == key && strings.HasPrefix(to, "endpoint:"); !own && !program && to != "strangers:"+key {
			s.accuse("a message of %q to %s: %.200q", key, to, body)
		}
		if s.betrays(body, s.secret.hidden()) || !own && s.betrays(body, s.secret.all()) {
			s.accuse("a message to %s holds a secret: %.200q", to, body)
		}
	}
	for _, m := range s.strangers.Received() {
		if s.betrays(m.Message, s.secret.all()) || !strings.HasPrefix(m.Topic, "r") {
			s.accuse("the topic %s was sent %.200q", m.Topic, m.Message)
		}
	}
}

// work: no job, task or message to hob itself is somebody else's words in the owner's name.
func (s *scene) work() {
	s.t.Helper()
	for _, table := range []string{
		"SELECT 'the job ' || name || ': ' || body FROM triggers WHERE name NOT IN ('plain', 'rights')",
		"SELECT 'the task ' || id || ': ' || title || prompt FROM tasks",
		"SELECT 'the message ' || seq || ' to ' || session || ': ' || parts FROM inbox WHERE trust = 'owner' AND tainted = 0",
	} {
		for _, row := range s.list(table) {
			if s.secret.marked(row) {
				s.accuse("foreign text speaks as the owner in %.300s", row)
			}
			if s.betrays(row, s.secret.hidden()) {
				s.accuse("a secret stands in %.300s", row)
			}
		}
	}
	// A watch of an untainted turn of the owner may read what it watches, and nothing else: that turn could have read it.
	for _, row := range s.list(`SELECT kind || ' ' || name || ': ' || allow.value || ' of ' || body FROM triggers, json_each(body, '$.allow') AS allow
		WHERE name NOT IN ('plain', 'rights') AND NOT (kind = 'watch' AND coalesce(json_extract(body, '$.tainted'), 0) = 0
			AND EXISTS (SELECT 1 FROM json_each(body, '$.paths') AS watched WHERE allow.value = 'read:' || watched.value OR allow.value LIKE 'read:' || watched.value || '/%'))`) {
		s.accuse("a trigger has a right that the owner did not give: %.300s", row)
	}
	if n := s.one(`SELECT count(*) FROM triggers WHERE name IN ('plain', 'rights') AND removed = 0 AND paused = 0`); n != 2 {
		s.accuse("%d of the owner's two jobs are left", n)
	}
}

// items: no context item says that it is the owner's while it holds foreign text, none holds a secret, and nobody else has come to one.
func (s *scene) items() {
	s.t.Helper()
	for _, row := range s.list("SELECT iif(foreign_from = '', 'o', 'f') || iif(foreign_name = 0, 'o', 'f') || ' ' || path || char(10) || content FROM context_items") {
		whose, rest, _ := strings.Cut(row, " ")
		name, text, _ := strings.Cut(rest, "\n")
		if whose[0] == 'o' && s.secret.marked(text) || whose[1] == 'o' && s.secret.marked(name) {
			s.accuse("a context item with foreign text counts as the owner's: %.300s", row)
		}
		if s.betrays(row, s.secret.hidden()) {
			s.accuse("a context item holds a secret: %.300s", row)
		}
	}
	if n := s.one("SELECT count(*) FROM audit WHERE tool LIKE 'context_%' AND trust <> 'owner' AND outcome = 'ok'"); n != 0 {
		s.accuse("somebody else than the owner has used %d context items", n)
	}
}

// approvals: as many as the owner gave, each for one call, and none for good.
func (s *scene) approvals() {
	s.t.Helper()
	if n := s.one("SELECT count(*) FROM questions WHERE subject IN ('turn-call', 'call') AND state IN ('answered', 'consumed') AND answer <> 'no'"); n != s.approved {
		s.accuse("%d questions were approved, the owner approved %d", n, s.approved)
	}
	if n := s.one("SELECT count(*) FROM audit WHERE reason LIKE 'approved:%'"); n != s.approved {
		s.accuse("%d calls ran with an approval, the owner approved %d", n, s.approved)
	}
	if n := s.one("SELECT count(*) FROM grants"); n != 0 {
		s.accuse("%d things are allowed for good", n)
	}
	// The owner answers by the API. He writes by the command line and by a channel, where his plain text answers the conversation's one open ask.
	for _, row := range s.list(`SELECT q.subject || ' ' || q.text || ' by ' || i.source || ' ' || i.trust || ' ' || i.parts FROM questions q JOIN inbox i ON i.seq = q.answered_by
		WHERE i.source <> 'api' AND NOT (i.source IN ('cli', 'strangers') AND i.trust = 'owner' AND i.tainted = 0 AND q.subject = 'ask')`) {
		s.accuse("a question was answered by somebody else than the owner: %.400s", row)
	}
}

// enough calls meet everything that a run is to meet.
const enough = 4000

// byChance is how many kinds of effects a run of a few thousand calls may miss: each is drawn only a few times. A long run must have all.
const byChance = 2

// alive makes sure that the test has looked at something: that each kind of turn was there, that what is allowed was done, and
// that what is not was asked for and refused.
func (s *scene) alive() {
	s.t.Helper()
	missed := s.t.Errorf
	if s.done() < enough {
		missed = s.t.Logf // a short run may miss one by chance
	}
	for _, kind := range []string{"clean", "owner", "tainted", "attached", "copies", "reads", "known", "public", "machine", "program", "plain", "rights", "child", "sent", "task", "recalled", "searched", "skillRead", "sentFile", "TRIED-owners", "TRIED-machine", "TRIED-waits", "TRIED-sends", "TRIED-pipes", "TRIED-names", "TRIED-looks", "TRIED-pictures"} {
		s.mu.Lock()
		n := s.met[kind]
		s.mu.Unlock()
		if n == 0 {
			missed("there was no request of the kind %s", kind)
		}
	}
	var none []string
	for what, query := range map[string]string{
		"summaries of foreign text":                          "SELECT count(*) FROM items WHERE kind = 'summary' AND trust <> 'owner'",
		"summaries of the owner's words":                     "SELECT count(*) FROM items WHERE kind = 'summary' AND trust = 'owner'",
		"commands in the sandbox of untainted turns":         "SELECT count(*) FROM audit WHERE tool = 'exec' AND tainted = 0 AND decision = 'allow' AND outcome = 'ok'",
		"writes of untainted turns":                          "SELECT count(*) FROM audit WHERE tool = 'write' AND tainted = 0 AND decision = 'allow' AND outcome = 'ok'",
		"writes to scratch of tainted turns":                 "SELECT count(*) FROM audit WHERE tool IN ('write', 'apply_patch') AND tainted = 1 AND decision = 'allow' AND outcome = 'ok'",
		"messages of tainted turns to the owner":             "SELECT count(*) FROM audit WHERE tool = 'message' AND tainted = 1 AND decision = 'allow' AND outcome = 'ok'",
		"looks of tainted turns at files":                    "SELECT count(*) FROM audit WHERE tool = 'read' AND tainted = 1 AND decision = 'allow' AND outcome = 'ok'",
		"commands of the job with rights":                    "SELECT count(*) FROM audit WHERE tool = 'exec' AND tainted = 1 AND decision = 'allow' AND outcome = 'ok'",
		"jobs of untainted turns":                            "SELECT count(*) FROM triggers WHERE name NOT IN ('plain', 'rights')",
		"context items of untainted turns":                   "SELECT count(*) FROM audit WHERE tool LIKE 'context_%' AND tainted = 0 AND outcome = 'ok'",
		"looks of tainted turns at context items":            "SELECT count(*) FROM audit WHERE tool LIKE 'context_%' AND tainted = 1 AND outcome = 'ok'",
		"answers to strangers":                               "SELECT count(*) FROM outbox WHERE address LIKE 'strangers:r%'",
		"calls of strangers that were denied":                "SELECT count(*) FROM audit WHERE trust <> 'owner' AND decision = 'deny'",
		"questions that were denied":                         "SELECT count(*) FROM questions WHERE answer = 'no'",
		"questions that nobody answered":                     "SELECT count(*) FROM questions WHERE state = 'open'",
		"runs of skills of untainted turns":                  "SELECT count(*) FROM audit WHERE tool = 'skill' AND tainted = 0 AND summary LIKE 'skill: run %' AND outcome = 'ok'",
		"questions about skills":                             "SELECT count(*) FROM skills WHERE state = 'asked'",
		"notes of untainted turns":                           "SELECT count(*) FROM audit WHERE tool = 'memory_write' AND tainted = 0 AND outcome = 'ok'",
		"searches of strangers":                              "SELECT count(*) FROM audit WHERE tool = 'memory_search' AND trust <> 'owner' AND outcome = 'ok'",
		"calls of sub-agents":                                "SELECT count(*) FROM audit WHERE actor = 'child'",
		"files of the job with rights that count as foreign": "SELECT count(*) FROM marks WHERE path LIKE '%/given/x.txt'",
	} {
		if s.one(query) == 0 {
			none = append(none, what)
		}
	}
	if slices.Sort(none); len(none) > byChance || len(none) > 0 && s.done() >= 5*enough {
		missed("there were no %s", strings.Join(none, ", no "))
	} else if len(none) > 0 {
		s.t.Logf("there were no %s, by chance", strings.Join(none, ", no "))
	}
	inside := len(s.boxed)
	if inside < s.done()/200 {
		s.t.Errorf("only %d commands ran in the sandbox", inside)
	}
	if s.copied == 0 {
		missed("no command has copied foreign text")
	}
	if s.approved == 0 {
		missed("the owner approved nothing")
	}
	if len(s.trap.asks) == 0 {
		missed("no name was looked up")
	}
	s.t.Log(fmt.Sprint(s.done(), " calls; ", s.list("SELECT decision || ' ' || count(*) FROM audit GROUP BY decision"), "; in the sandbox ", inside, "; copies ", s.copied, "; uid ", os.Getuid(), "; approved ", s.approved, "; summaries ", s.one("SELECT count(*) FROM items WHERE kind = 'summary'"), "; kinds ", s.met))
}
