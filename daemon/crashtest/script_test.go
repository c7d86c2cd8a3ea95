//go:build linux

package crashtest_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// A token tells what the model does with a message: "please do exec-17".
var tokens = regexp.MustCompile(`\b(plain|long|file|exec|two|chain|stray|nap|big|note|cron|ask|tick|outside|patch|page|bg|spawn|task|work|todo|plan|taint|aside|slow|send|keep|program|service)-(\d+)\b`)

// working matches the mark in the prompt of a task. The turn of the task does the work; other turns that read the mark only made
// the task.
var working = regexp.MustCompile(`\((work-\d+)\)`)

// Names that hob has given, in the results of calls.
var (
	shelvedAs  = regexp.MustCompile(`result_read (\w+)`)
	runsOnAs   = regexp.MustCompile(`process (\w+)`)
	pendings   = regexp.MustCompile(`^(?:\[late result of|pending) #(\d+)`) // the places of results that were not there yet when the next input came
	reports    = regexp.MustCompile(`\b(process \w+ has ended|sub-agent \w+ \()`)
	backlogged = regexp.MustCompile(`#(\d+) work-`)
)

// want is what a request is about.
type want struct {
	token   string
	results int    // of the calls that were made for it
	said    string // the newest of them
	over    bool   // it is a report of what was begun before, in an earlier conversation perhaps
	thread  bool   // neither a sub-agent asks, nor a tool that has a text worked on
}

// wanted is what the newest message of a user asks for. A late result asks to go on with what its call was made for.
func wanted(r llmtest.Request) want {
	of, late := map[string]string{}, map[string]string{}
	count, said := map[string]int{}, map[string]string{}
	token, over := "", false
	for _, m := range r.Messages {
		for _, c := range m.Calls {
			of[c.ID] = tokens.FindString(c.Function.Arguments)
		}
		k := pendings.FindStringSubmatch(m.Content)
		switch {
		case m.Role == "tool":
			count[of[m.CallID]]++
			said[of[m.CallID]] = m.Content
			if k != nil {
				late[k[1]] = of[m.CallID]
			}
		case m.Role == "user" && strings.HasPrefix(m.Content, "[memory]"): // quotes of what was said before, which ask for nothing
		case m.Role == "user" && k != nil:
			token, over = late[k[1]], false
		case m.Role == "user":
			token = tokens.FindString(m.Content)
			before, _, _ := strings.Cut(m.Content, token)
			over = reports.MatchString(before)
			if w := working.FindStringSubmatch(m.Content); w != nil {
				token = w[1]
			}
		}
	}
	return want{token, count[token], said[token], over, slices.Contains(r.Tools, "sessions_spawn")}
}

// reply is what the model answers. n is another number each time, so that no two answers are the same.
func (w *outside) reply(q want, n int) llm.Answer {
	kind, id, _ := strings.Cut(q.token, "-")
	if !q.thread || q.over {
		return llm.Answer{Text: fmt.Sprintf("answer %d to %s", n, q.token)}
	}
	var calls []llm.Call
	if q.results == 0 {
		if c, ok := single(kind, q.token, n); ok {
			calls = []llm.Call{c}
		}
	}
	if calls == nil {
		calls = w.several(kind, id, q, n)
	}
	if calls != nil {
		return llm.Answer{Calls: calls}
	}
	done := llm.Answer{Text: fmt.Sprintf("answer %d to %s", n, q.token)}
	if kind == "long" {
		done.Text += strings.Repeat("\n"+strings.Repeat("all work and no play ", 20), 22)
	}
	return done
}

// single is the one call that a kind of message makes, or the first one.
func single(kind, token string, n int) (llm.Call, bool) {
	switch kind {
	case "file":
		return call(n, 1, "write", map[string]any{"path": "f/" + token, "content": token}), true
	case "exec", "chain":
		return shell(n, 1, "echo "+token+" >> once.txt"), true
	case "outside": // which is asked about, in a sandbox too; what it writes counts as foreign, so it gets a file of its own
		return call(n, 1, "exec", map[string]any{"command": "echo " + token + " >> ../home/workspace/" + token + ".once", "workdir": "../../beside"}), true
	case "stray":
		return shell(n, 1, "(setsid sleep 300 >/dev/null 2>&1 &); echo "+token+" >> once.txt && sleep 0.05"), true
	case "nap":
		return shell(n, 1, "(setsid sleep 300 >/dev/null 2>&1 &); echo "+token+" >> once.txt && sleep 300"), true
	case "big", "page":
		return shell(n, 1, "echo "+token+" >> once.txt && seq 1 30000"), true
	case "bg":
		return call(n, 1, "exec", map[string]any{"command": "echo " + token + " >> once.txt; sleep 0.1", "background": true}), true
	case "note":
		return call(n, 1, "message", map[string]any{"to": "owner", "content": "a note about " + token}), true
	case "cron":
		return call(n, 1, "cron", map[string]any{"action": "add", "name": token, "schedule": "every 24h", "prompt": "please do plain-0"}), true
	case "ask":
		question := map[string]any{"question": "What about " + token + "?"}
		if token[len(token)-1]%2 == 0 {
			question["options"] = []any{map[string]any{"label": "this for " + token}, map[string]any{"label": "that for " + token}}
		}
		return call(n, 1, "ask", map[string]any{"questions": []any{question}}), true
	case "program", "service": // a tool of the MCP server of that name
		return deferred(n, kind+"__do", token, map[string]any{"a": token}), true
	case "work":
		return deferred(n, "complete_task", token, map[string]any{"summary": fmt.Sprintf("answer %d to %s", n, token)}), true
	}
	return llm.Call{}, false
}

// several are the calls of kinds that make more than one: what comes next depends on how many results there are, and on the last.
// nil: it is done.
func (w *outside) several(kind, id string, q want, n int) []llm.Call {
	token := q.token
	switch step := fmt.Sprintf("%s %d", kind, q.results); step {
	case "two 0":
		return []llm.Call{shell(n, 1, "echo "+token+" >> once.txt"), shell(n, 2, "echo "+token+".b >> once.txt")}
	case "chain 1":
		return []llm.Call{call(n, 1, "write", map[string]any{"path": "f/" + token, "content": token})}
	case "patch 0", "patch 1":
		return []llm.Call{call(n, 1, "apply_patch", map[string]any{"patch": patches(token)[q.results]})}
	case "patch 2":
		return []llm.Call{call(n, 1, "edit", map[string]any{"edits": []any{swap(token, "a"), swap(token, "b")}})}
	case "page 1":
		if found := shelvedAs.FindStringSubmatch(q.said); found != nil {
			return []llm.Call{call(n, 1, "result_read", map[string]any{"id": found[1], "search": token + "|29999"})}
		}
	case "send 0":
		return []llm.Call{call(n, 1, "write", map[string]any{"path": "f/" + token, "content": token})}
	case "send 1":
		to := w.posts[n%len(w.posts)]
		return []llm.Call{call(n, 1, "message", map[string]any{"to": to, "content": "a file of " + token, "attachments": []string{"f/" + token}})}
	case "bg 1":
		if found := runsOnAs.FindStringSubmatch(q.said); found != nil {
			return []llm.Call{deferred(n, "process", token, map[string]any{"action": "poll", "process_id": found[1], "wait": 1})}
		}
	case "spawn 0":
		return []llm.Call{call(n, 1, "sessions_spawn", map[string]any{"prompt": "the part of " + token, "background": id[len(id)-1]%2 == 0})}
	case "task 0":
		return []llm.Call{backlog(n, token, "work-"+id)}
	case "task 1":
		if found := backlogged.FindStringSubmatch(q.said); found != nil {
			return []llm.Call{backlog(n, token, "work-"+id+"0", json.Number(found[1]))}
		}
	case "todo 0", "todo 1":
		return []llm.Call{call(n, 1, "todo", map[string]any{"todos": []any{
			map[string]any{"content": token, "status": []string{"in_progress", "completed"}[q.results]}, map[string]any{"content": "then rest", "status": "pending"},
		}})}
	case "keep 0", "keep 1":
		return []llm.Call{call(n, 1, "context_write", map[string]any{
			"drive": "agent", "path": "kept/" + token, "content": fmt.Sprintf("%s for the %d time", token, q.results), "on_conflict": []string{"error", "overwrite"}[q.results],
		})}
	case "plan 0":
		return []llm.Call{deferred(n, "plan", token, map[string]any{"action": "enter"})}
	case "plan 1":
		return []llm.Call{deferred(n, "plan", token, map[string]any{"action": "exit", "summary": "look at " + token})}
	case "aside 0", "taint 0":
		return []llm.Call{call(n, 1, "web_fetch", map[string]any{"url": w.model.URL + "/models?" + id, "prompt": "what " + token + " is about"})}
	case "taint 1":
		return []llm.Call{call(n, 1, "write", map[string]any{"path": "f/" + token, "content": token})}
	}
	return nil
}

// patches take the files of a token from nothing to their first version, and from that to the second.
func patches(token string) [2]string {
	first, second := "*** Begin Patch\n", "*** Begin Patch\n"
	for _, name := range []string{"a", "b", "c"} {
		path := "p/" + token + "/" + name
		first += "*** Add File: " + path + "\n+" + token + " 1\n"
		second += "*** Update File: " + path + "\n"
		if name == "c" {
			second += "*** Move to: p/" + token + "/d\n"
		}
		second += "@@\n-" + token + " 1\n+" + token + " 2\n"
	}
	return [2]string{first + "*** End Patch\n", second + "*** End Patch\n"}
}

// swap is an edit that takes a file to its third version.
func swap(token, name string) map[string]any {
	return map[string]any{"path": "p/" + token + "/" + name, "old_text": token + " 2", "new_text": token + " 3"}
}

// versions are the files of a token, by the version that they have come to.
func versions(token string) [4]map[string]string {
	one, two, three := token+" 1\n", token+" 2\n", token+" 3\n"
	return [4]map[string]string{{}, {"a": one, "b": one, "c": one}, {"a": two, "b": two, "d": two}, {"a": three, "b": three, "d": two}}
}

func shell(n, i int, command string) llm.Call {
	return call(n, i, "exec", map[string]any{"command": command})
}

func backlog(n int, token, work string, after ...any) llm.Call {
	in := map[string]any{"title": work, "prompt": "the work of " + token + " (" + work + ")"}
	if len(after) > 0 {
		in["blocked_by"] = after
	}
	return deferred(n, "task_add", token, in)
}

// deferred is a call of a tool that no request carries. The query says whose call it is, which the arguments need not.
func deferred(n int, name, token string, args map[string]any) llm.Call {
	return call(n, 1, "tool", map[string]any{"action": "call", "name": name, "arguments": args, "query": token})
}

func call(n, i int, tool string, args map[string]any) llm.Call {
	raw, err := json.Marshal(args)
	if err != nil {
		panic("rig: " + err.Error()) // maps of plain values always have their JSON
	}
	return llm.Call{ID: fmt.Sprintf("call_%d_%d", n, i), Name: tool, Args: raw}
}
