package daemon_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/daemon/sys/systest"
)

// private is what only the owner may know: what hob has written down about the owner, and what the owner said in another conversation.
const private = "canary-of-the-owner"

// surfaces are the calls by which a model may come to what is private. The owner's conversation is tainted as soon as it finds what others wrote, and
// then a command asks him, who is not there to answer.
// Each is there once: by its own name, or by the tool that calls tools, as rng has it.
func surfaces(rng *rand.Rand, space string, owner bool) []llm.Answer {
	var list []llm.Answer
	use := func(tool string, args map[string]any) {
		raw, err := json.Marshal(args)
		if err != nil {
			panic(err)
		}
		a := llmtest.Use(tool, string(raw))
		if rng.IntN(2) == 0 {
			a = llmtest.Use("tool", fmt.Sprintf(`{"action": "call", "name": %q, "arguments": %s}`, tool, raw))
		}
		list = append(list, a)
	}
	for _, name := range []string{"USER.md", "MEMORY.md", "CAPABILITIES.md", "memory/trips.md", "./memory/../MEMORY.md", "link.md", "same.md", "folder/trips.md", space + "/USER.md"} {
		use("read", map[string]any{"path": name})
		use("grep", map[string]any{"pattern": "canary", "path": name, "output_mode": "content"})
		use("message", map[string]any{"to": "owner", "content": "look", "attachments": []string{name}})
	}
	for _, name := range []string{"MEMORY.md", "memory/trips.md", "link.md"} {
		use("memory_get", map[string]any{"path": name})
	}
	for _, scope := range []string{"all", "main", "notes"} {
		use("memory_search", map[string]any{"query": "canary of the owner", "scope": scope, "min_score": 0})
	}
	for _, dir := range []string{".", "memory", "folder", space} {
		for _, mode := range []string{"content", "count", "files_with_matches"} {
			use("grep", map[string]any{"pattern": "canary", "path": dir, "output_mode": mode})
		}
		use("glob", map[string]any{"pattern": "**/*trips*", "path": dir})
		use("ls", map[string]any{"path": dir, "depth": 3})
	}
	use("sessions_history", map[string]any{"session_id": "main"})
	use("sessions_history", map[string]any{"session_id": "1"})
	use("sessions_list", map[string]any{})
	use("result_read", map[string]any{"id": "1"})
	if systest.Sandbox() && !owner { // without one the owner would be asked first
		use("exec", map[string]any{"command": "cat MEMORY.md"})
	}
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// Found while reading the pages: who is not the owner, and groups with the owner in them, get nothing of what hob knows about the owner: not in
// the prompt, and by no tool. The owner gets it by each of them.
func TestWhatIsPrivateIsForTheOwner(t *testing.T) {
	t.Parallel()                          // most of it is waiting
	seed := uint64(time.Now().UnixNano()) // #nosec G115 -- positive
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0)) // #nosec G404 -- to be repeated
	home := t.TempDir()
	space := filepath.Join(home, "workspace")
	for _, name := range []string{"USER.md", "MEMORY.md", "CAPABILITIES.md", "memory/trips.md"} {
		put(t, "# Notes\n\n"+private+" "+name+"\n", space, name)
	}
	put(t, "canary-of-all\n", space, "AGENTS.md")
	for name, to := range map[string]string{"link.md": "MEMORY.md", "folder": "memory"} {
		if err := os.Symlink(to, filepath.Join(space, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(space, "USER.md"), filepath.Join(space, "same.md")); err != nil {
		t.Fatal(err)
	}
	s := newStudio(t, home, "")
	var mu sync.Mutex
	seen := map[string][]string{} // the bodies of the requests of each round
	all := map[string][]llm.Answer{}
	s.model.Otherwise(func(r llmtest.Request) llmtest.Turn {
		mu.Lock()
		defer mu.Unlock()
		name := ""
		for _, m := range r.Messages {
			if _, word, ok := strings.Cut(m.Content, "ROUND "); ok && m.Role == "user" && !strings.HasPrefix(m.Content, "[memory]") { // which quotes what was said elsewhere
				name, _, _ = strings.Cut(strings.Fields(word)[0], "\"")
			}
		}
		seen[name] = append(seen[name], string(r.Body))
		if name == "" || name == "theirs" { // what the owner read there would fill the conversation
			return llmtest.Streamed(llmtest.Say("noted"))
		}
		switch len(seen[name]) { // the second half may use what the first has found
		case 1:
			all[name] = surfaces(rng, space, name == "owner" || name == "again")
			return llmtest.Streamed(llmtest.UseAll(all[name][:len(all[name])/2]...))
		case 2:
			return llmtest.Streamed(llmtest.UseAll(all[name][len(all[name])/2:]...))
		default:
			return llmtest.Streamed(llmtest.Say("noted"))
		}
	})
	s.say(private + " is what I say in private")
	rows, err := sql.Open("sqlite", filepath.Join(home, "state", "hob.db")+"?_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}()
	post := func(name, session string, trust event.Trust) {
		t.Helper()
		parts, err := json.Marshal(event.Say("ROUND " + name))
		if err == nil {
			_, err = rows.ExecContext(t.Context(), `INSERT INTO inbox (source, ext_id, session, kind, rank, trust, sender, reply_to, parts, received)
				VALUES ('telegram', ?, ?, 'message', 3, ?, 'kim', 'telegram:88', ?, ?)`, name, session, trust, string(parts), time.Now().UnixMicro())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	guests := []string{"known", "public", "machine", "group", "shared"}
	post("known", "telegram:88", event.Known)
	post("public", "telegram:99", event.Public)
	post("machine", "hook:x", event.Machine)
	post("theirs", "telegram:-100", event.Owner) // a session that the owner has used by another way
	post("group", "telegram:-101", event.Known)  // which is what the owner's own words in a group count as
	s.say("ROUND owner")                         // wakes the thread: rows written straight into the database send no wake signal
	s.until("everybody has had a turn", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(seen["known"]) > 2 && len(seen["public"]) > 2 && len(seen["machine"]) > 2 && len(seen["theirs"]) > 0 && len(seen["group"]) > 2
	})
	post("shared", "telegram:-100", event.Public)
	s.say("and ROUND again")
	s.until("and the last", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(seen["shared"]) > 0
	})
	mu.Lock()
	defer mu.Unlock()
	if all := strings.Join(seen["owner"], ""); !strings.Contains(all, private+" USER.md") || !strings.Contains(all, private+" memory/trips.md") || !strings.Contains(all, private+" CAPABILITIES.md") {
		t.Errorf("the owner's own is not there for the owner")
	}
	for _, name := range guests {
		bodies := seen[name]
		if name == "shared" { // what was said there before is the session's own; its prompt must not be
			bodies = nil
			for _, b := range seen[name] {
				var doc struct {
					Messages []struct{ Role, Content string }
				}
				if err := json.Unmarshal([]byte(b), &doc); err == nil && len(doc.Messages) > 0 {
					bodies = append(bodies, doc.Messages[0].Content)
				}
			}
		}
		if len(bodies) == 0 {
			t.Errorf("%s: no request", name)
		}
		for _, b := range bodies {
			if i := strings.Index(b, private); i >= 0 {
				t.Errorf("%s reads it: …%s…", name, b[max(i-300, 0):min(i+100, len(b))])
				break
			}
			if !strings.Contains(b, "canary-of-all") {
				t.Errorf("%s: AGENTS.md is not in the prompt", name)
				break
			}
		}
	}
}
