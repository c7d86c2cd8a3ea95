package turn_test

import (
	"fmt"
	"strings"
	"testing"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
)

// done is a call with its result: tool, arguments, the result's text. A text in capitals up to a colon is an error.
type done [3]string

// after is the state of a turn that made these calls.
func after(calls ...done) turn.Snapshot {
	var s turn.Snapshot
	for i, c := range calls {
		id := fmt.Sprintf("t1_%d", i)
		code, _, _ := strings.Cut(c[2], ":")
		failed := code == strings.ToUpper(code)
		s.Items = append(s.Items, llm.Item{Kind: llm.CallItem, CallID: id, Tool: c[0], Args: []byte(c[1])},
			llm.Item{Kind: llm.ResultItem, CallID: id, Tool: c[0], Parts: event.Say(c[2]), IsError: failed})
	}
	return s
}

// V6, N24: an answer names each call that failed, was refused or ended with a code, unless a later one did the same.
func TestAnAnswerNamesTheCallsThatFailed(t *testing.T) {
	const ran, no = "exit code 0 (1ms)\nx", "PERMISSION_DENIED: the owner said no"
	for name, c := range map[string]struct {
		calls []done
		want  []string
	}{
		"all worked":        {[]done{{"exec", `{"command":"make"}`, ran}, {"read", `{"path":"a"}`, "exit code 3 (1ms)"}}, nil},
		"a code":            {[]done{{"exec", `{"command":"make  \"x\" ` + "`y`" + `"}`, "exit code 2 (1ms)\nno rule"}}, []string{`(hob: exec "make 'x' 'y'" ended with exit code 2)`}},
		"by the catalog":    {[]done{{"tool", `{"action":"call","name":"exec","arguments":{"command":"nope"}}`, "exit code 127 (1ms)"}}, []string{`(hob: exec "nope" ended with exit code 127)`}},
		"repaired":          {[]done{{"exec", `{"command":"make"}`, "exit code 2 (1ms)"}, {"exec", `{"command":"make","description":"again"}`, ran}}, nil},
		"another command":   {[]done{{"exec", `{"command":"make"}`, "exit code 2 (1ms)"}, {"exec", `{"command":"ls"}`, ran}}, []string{`(hob: exec "make" ended with exit code 2)`}},
		"worked before":     {[]done{{"exec", `{"command":"make"}`, ran}, {"exec", `{"command":"make"}`, "exit code 2 (1ms)"}}, []string{`(hob: exec "make" ended with exit code 2)`}},
		"another message":   {[]done{{"message", `{"to":"x:1","content":"a"}`, no}, {"message", `{"to":"x:1","content":"b"}`, "queued"}}, []string{`(hob: message "x:1": permission denied: the owner said no)`}},
		"another edit":      {[]done{{"edit", `{"path":"a","new_text":"1"}`, "CONFLICT: it is not there"}, {"edit", `{"path":"a","new_text":"2"}`, "ok"}}, []string{`(hob: edit "a": conflict: it is not there)`}},
		"the edit again":    {[]done{{"edit", `{"path":"a","new_text":"1","old_text":"x"}`, "CONFLICT: it is not there"}, {"edit", `{"path":"a","new_text":"1","old_text":"y"}`, "ok"}}, nil},
		"wrong arguments":   {[]done{{"cron", `{"action":"add"}`, "VALIDATION_ERROR: schedule is missing\nhint: x"}}, []string{`(hob: cron add: validation error: schedule is missing)`}},
		"then right ones":   {[]done{{"look", `{}`, "VALIDATION_ERROR: where is missing"}, {"look", `{"where":1}`, "ok"}}, nil},
		"then with a name":  {[]done{{"cron", `{"action":"add"}`, "VALIDATION_ERROR: name is missing"}, {"cron", `{"action":"add","name":"x"}`, "ok"}}, nil},
		"only a list then":  {[]done{{"cron", `{"action":"add"}`, "VALIDATION_ERROR: name is missing"}, {"cron", `{"action":"list"}`, "ok"}}, []string{`(hob: cron add: validation error: name is missing)`}},
		"no such tool":      {[]done{{"cron_add", `{}`, `NOT_FOUND: there is no tool named "cron_add"`}}, []string{`(hob: cron_add: not found: there is no tool named "cron_add")`}},
		"arguments no JSON": {[]done{{"cron_add", `nonsense`, "UNKNOWN"}}, []string{"(hob: cron_add: UNKNOWN)"}},
		"nobody answered":   {[]done{{"ask", `{"questions":[]}`, "no answer: the owner did not answer in time"}}, []string{"(hob: ask: no answer: the owner did not answer in time)"}},
		"a silent child":    {[]done{{"sessions_spawn", `{"title":"look"}`, "the sub-agent ended and said nothing"}}, []string{`(hob: sessions_spawn "look": the sub-agent ended and said nothing)`}},
		"thrice the same":   {[]done{{"reach", `{}`, no}, {"reach", `{}`, no}, {"reach", `{}`, no}}, []string{"(hob: reach: permission denied: the owner said no)"}},
	} {
		if got := turn.FinalText(after(c.calls...), turn.Finish{State: turn.Done}, "Done.", true); got != strings.TrimSpace("Done.\n\n"+strings.Join(c.want, "\n")) {
			t.Errorf("%s: got %q, want below the answer %q", name, got, c.want)
		}
	}
}

// The lines stay few and short, others than the owner learn only the number, and what the built-in interpreter answers is its result already.
func TestWhoIsToldOfFailedCalls(t *testing.T) {
	var many []done
	for i := range 12 {
		many = append(many, done{"write", fmt.Sprintf(`{"path":"%d%s"}`, i, strings.Repeat("ä", 500)), "IO_ERROR: " + strings.Repeat("ü", 5000)})
	}
	got := turn.FinalText(after(many...), turn.Finish{State: turn.Done}, "Done.", true)
	if lines := strings.Split(got, "\n"); len(lines) != 7 || lines[6] != "(hob: and 8 more calls did not work)" || len(got) > 2000 {
		t.Errorf("twelve failures: %d bytes\n%s", len(got), got)
	}
	if got := turn.FinalText(after(many...), turn.Finish{State: turn.Done}, "Done.", false); got != "Done.\n\n(hob: calls that did not work: 12)" {
		t.Errorf("to others: %q", got)
	}
	own := after(many[0])
	own.Items[0].Provider = llm.Builtin
	if got := turn.FinalText(own, turn.Finish{State: turn.Done}, "It failed.", true); got != "It failed." {
		t.Errorf("of the interpreter: %q", got)
	}
}

// V6: the message of a failed run begins with that, and does not say it twice.
func TestTheMessageOfAFailedRunSaysSo(t *testing.T) {
	job := func(calls ...done) turn.Snapshot {
		s := after(calls...)
		s.Turn.Fire = 1
		return s
	}
	bad, good := done{"exec", `{"command":"make"}`, "exit code 2 (1ms)"}, done{"exec", `{"command":"ls"}`, "exit code 0 (1ms)"}
	for name, c := range map[string]struct {
		s           turn.Snapshot
		fault, told string
	}{
		"the last call":     {job(done{"read", `{"path":"a"}`, "NOT_FOUND: no a"}), "read: NOT_FOUND: no a", "This run failed: read: NOT_FOUND: no a.\n\nDone."},
		"the last command":  {job(bad), `exec "make" ended with exit code 2`, "This run failed: exec \"make\" ended with exit code 2.\n\nDone."},
		"with a call after": {job(bad, done{"look", `{}`, "ok"}), `exec "make" ended with exit code 2`, "This run failed: exec \"make\" ended with exit code 2.\n\nDone."},
		"the first of two":  {job(bad, good), "", "Done.\n\n(hob: exec \"make\" ended with exit code 2)"},
		"no run":            {after(bad), "", "Done.\n\n(hob: exec \"make\" ended with exit code 2)"},
	} {
		f := turn.Finish{State: turn.Done, Fault: turn.Fault(c.s)}
		if got := turn.FinalText(c.s, f, "Done.", true); f.Fault != c.fault || got != c.told {
			t.Errorf("%s: fault %q, told %q; want %q, %q", name, f.Fault, got, c.fault, c.told)
		}
		if got := turn.FinalText(c.s, f, "Done.", false); c.fault != "" && got != "This run failed.\n\nDone." {
			t.Errorf("%s, to others: %q", name, got)
		}
	}
	// In a chat the answer itself says it.
	if got := turn.FinalText(after(good), turn.Finish{State: turn.Done, Fault: "the built-in interpreter could not do this"}, "I did not understand that.", true); got != "I did not understand that." {
		t.Errorf("in a chat: %q", got)
	}
}
