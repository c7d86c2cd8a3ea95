package daemon_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
)

// chore is an everyday chore: what the owner says, what the model has to call for it, and how it is seen that it is done.
type chore struct {
	name, prompt string
	files        map[string]string // of the workspace
	before       string            // arguments of cron, called before
	steps        []step
	effect       func(r *running) string // what is wrong; "" for nothing
}

// step returns the right answer after the results of the last one.
type step func(results []string) said

// makes is a step that makes calls: names and arguments in turn.
func makes(pairs ...string) step {
	return func([]string) said {
		var s said
		for i := 0; i < len(pairs); i += 2 {
			s.calls = append(s.calls, toolUse{pairs[i], pairs[i+1]})
		}
		return s
	}
}

// takes is a step with what a pattern finds in the last results: $1 in the arguments is its first group. Without it the model has nothing to write.
func takes(pattern, name, args string) step {
	return func(results []string) said {
		found := regexp.MustCompile(pattern).FindStringSubmatch(strings.Join(results, "\n"))
		if found == nil {
			return said{text: "I do not see it."}
		}
		return said{calls: []toolUse{{name, strings.ReplaceAll(args, "$1", found[1])}}}
	}
}

// via is a call of a tool that the request does not describe: found, described and called through the tool "tool".
func via(query, name, args string) []step {
	return []step{
		makes("tool", fmt.Sprintf(`{"action":"search","query":%q}`, query)),
		makes("tool", fmt.Sprintf(`{"action":"describe","name":%q}`, name)),
		makes("tool", fmt.Sprintf(`{"action":"call","name":%q,"arguments":%s}`, name, args)),
	}
}

// holds reports a file of the workspace that is not as wanted, whatever its last line end is.
func holds(name, want string) func(r *running) string {
	return func(r *running) string {
		raw, err := os.ReadFile(filepath.Join(r.home, "workspace", name))
		if got := strings.TrimSuffix(string(raw), "\n"); err != nil || got != strings.TrimSuffix(want, "\n") {
			return fmt.Sprintf("%s holds %q, want %q", name, got, want)
		}
		return ""
	}
}

// all joins reports.
func everything(checks ...func(r *running) string) func(r *running) string {
	return func(r *running) (wrong string) {
		for _, check := range checks {
			if one := check(r); one != "" {
				wrong += one + ". "
			}
		}
		return wrong
	}
}

// hasJobs reports jobs that are not as wanted: "name=prompt", in order.
func hasJobs(want ...string) func(r *running) string {
	return func(r *running) string {
		if got := strings.Join(r.jobs(), "; "); got != strings.Join(want, "; ") {
			return "the jobs are " + got
		}
		return ""
	}
}

// job reports what a job is not: a part of its row as JSON.
func job(name, part string) func(r *running) string {
	return func(r *running) string {
		one, err := client.Show(r.t.Context(), r.client, api.ShowJob, name)
		raw, _ := json.Marshal(one) // a row has its JSON
		if err != nil || !strings.Contains(string(raw), part) {
			return fmt.Sprintf("the job %s is %s, %v, without %s", name, raw, err, part)
		}
		return ""
	}
}

// listed reports that no row of a list holds a text.
func listed[T any](list api.List[T], part string) func(r *running) string {
	return func(r *running) string {
		rows, err := client.List(r.t.Context(), r.client, list, event.Filter{})
		if err != nil || !slices.ContainsFunc(rows, func(row T) bool {
			raw, _ := json.Marshal(row) // a row has its JSON
			return strings.Contains(string(raw), part)
		}) {
			raw, _ := json.Marshal(rows)
			return fmt.Sprintf("no row has %s: %s, %v", part, raw, err)
		}
		return ""
	}
}

// remembered reports whether some memory file holds a text.
func remembered(part string, want bool) func(r *running) string {
	return func(r *running) string {
		found := false
		err := filepath.WalkDir(filepath.Join(r.home, "workspace"), func(path string, _ os.DirEntry, err error) error {
			raw, _ := os.ReadFile(path) // #nosec G122 -- a folder has no text, and the files are the test's own
			found = found || strings.HasSuffix(path, ".md") && strings.Contains(string(raw), part)
			return err
		})
		if err != nil || found != want {
			return fmt.Sprintf("%q is in the memory: %v, %v", part, found, err)
		}
		return ""
	}
}

const teaJob = `{"action":"add","name":"tea","schedule":"every day at 16:00","prompt":"say: tea"}`

// expenses is a file that is much longer than the window.
func expenses() string {
	var b strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&b, "%04d bought paper clips for %d cents\n", i, i%97)
		if i == 2710 {
			b.WriteString("2710b PAID the roofer 1840 euros\n")
		}
	}
	return b.String()
}

func chores() []chore {
	return slices.Concat(fileChores(), jobChores(), otherChores())
}

func fileChores() []chore {
	return []chore{
		{
			name: "a shopping list", prompt: "Write milk and bread on shopping.md, one per line.",
			steps:  []step{makes("write", `{"path":"shopping.md","content":"- milk\n- bread\n"}`)},
			effect: holds("shopping.md", "- milk\n- bread\n"),
		},
		{
			name: "one more thing on the list", prompt: "Put eggs on shopping.md too.", files: map[string]string{"shopping.md": "- milk\n- bread\n"},
			steps:  []step{makes("read", `{"path":"shopping.md","limit":50}`), makes("edit", `{"path":"shopping.md","old_text":"- bread\n","new_text":"- bread\n- eggs\n"}`)},
			effect: holds("shopping.md", "- milk\n- bread\n- eggs\n"),
		},
		{
			name: "one thing off the list", prompt: "I have bought the milk, take it off shopping.md.", files: map[string]string{"shopping.md": "- milk\n- bread\n"},
			steps:  []step{makes("edit", `{"path":"shopping.md","old_text":"- milk\n","new_text":""}`)},
			effect: holds("shopping.md", "- bread\n"),
		},
		{
			name: "another phone number", prompt: "Anna's number is now 555-0199, change it in phones.md.", files: map[string]string{"phones.md": "Anna 555-0100\nBob 555-0101\n"},
			steps:  []step{makes("read", `{"path":"phones.md"}`), makes("edit", `{"path":"phones.md","old_text":"Anna 555-0100","new_text":"Anna 555-0199"}`), makes("read", `{"path":"phones.md"}`)},
			effect: holds("phones.md", "Anna 555-0199\nBob 555-0101\n"),
		},
		{
			name: "a number from one file in another", prompt: "Write the meter's reading of meter.txt into today.md.", files: map[string]string{"meter.txt": "cold water\nreading: 48213 l\n"},
			steps:  []step{makes("read", `{"path":"meter.txt"}`), takes(`reading: (\d+)`, "write", `{"path":"today.md","content":"$1\n"}`)},
			effect: holds("today.md", "48213"),
		},
		{
			name: "a word everywhere", prompt: "In letter.md, write Müller instead of Mueller everywhere.", files: map[string]string{"letter.md": "Dear Mueller,\nMueller & Sons, Mueller"},
			steps:  []step{makes("edit", `{"path":"letter.md","old_text":"Mueller","new_text":"Müller","replace_all":true}`)},
			effect: holds("letter.md", "Dear Müller,\nMüller & Sons, Müller"),
		},
		{
			name: "two files at once", prompt: "Make packing.md with socks and todo.md with water the plants.",
			steps:  []step{makes("write", `{"path":"packing.md","content":"socks\n"}`, "write", `{"path":"todo.md","content":"water the plants\n"}`)},
			effect: everything(holds("packing.md", "socks"), holds("todo.md", "water the plants")),
		},
		{
			name: "two files read at once", prompt: "Put the totals of may.txt and june.txt into sum.md.", files: map[string]string{"may.txt": "total 310\n", "june.txt": "total 275\n"},
			steps: []step{
				makes("read", `{"path":"may.txt"}`, "read", `{"path":"june.txt"}`),
				takes(`(?s)total (310.*275)`, "write", `{"path":"sum.md","content":"585\n"}`),
			},
			effect: holds("sum.md", "585"),
		},
		{
			name: "a letter with quotes", prompt: "Write to letters/anna.md: She said \"yes\" \\ twice, then a tab.",
			steps:  []step{makes("write", `{"path":"letters/anna.md","content":"She said \"yes\" \\ twice:\n\tyes\n"}`)},
			effect: holds("letters/anna.md", "She said \"yes\" \\ twice:\n\tyes\n"),
		},
		{
			name: "how many files there are", prompt: "How many files are in photos? Write the number into count.md.", files: map[string]string{"photos/a.txt": "", "photos/b.txt": "", "photos/c.txt": ""},
			steps:  []step{makes("ls", `{"path":"photos","depth":1}`), takes(`(?s)(a\.txt.*b\.txt.*c\.txt)`, "write", `{"path":"count.md","content":"3\n"}`)},
			effect: holds("count.md", "3"),
		},
		{
			name: "a line in a very long file", prompt: "What did I pay the roofer? It is in expenses.txt. Write it into roofer.md.", files: map[string]string{"expenses.txt": expenses()},
			steps: []step{
				makes("read", `{"path":"expenses.txt"}`),
				makes("read", `{"path":"expenses.txt","offset":2700,"limit":20}`),
				takes(`PAID the roofer (\d+)`, "write", `{"path":"roofer.md","content":"$1 euros\n"}`),
			},
			effect: holds("roofer.md", "1840 euros"),
		},
		{
			name: "a search in many files", prompt: "Which note mentions the dentist? Write its name into found.md.", files: map[string]string{"notes/a.md": "the garden", "notes/b.md": "dentist on Friday", "notes/c.md": "the car"},
			steps:  append(via("search text in files", "grep", `{"pattern":"dentist","path":"notes"}`), takes(`(b\.md)`, "write", `{"path":"found.md","content":"$1\n"}`)),
			effect: holds("found.md", "b.md"),
		},
		{
			name: "a patch", prompt: "Apply this to plan.md: Monday becomes Tuesday.", files: map[string]string{"plan.md": "start: Monday\nend: Friday\n"},
			steps:  via("patch", "apply_patch", `{"patch":"*** Begin Patch\n*** Update File: plan.md\n@@\n-start: Monday\n+start: Tuesday\n*** End Patch\n"}`),
			effect: holds("plan.md", "start: Tuesday\nend: Friday\n"),
		},
		{
			name: "several edits", prompt: "Move bread from shopping.md to done.md.", files: map[string]string{"shopping.md": "milk\nbread\n", "done.md": "eggs\n"},
			steps: []step{
				makes("edit", `{"edits":[{"path":"shopping.md","old_text":"bread\n","new_text":""},{"path":"done.md","old_text":"eggs\n","new_text":"eggs\nbread\n"}]}`),
			},
			effect: everything(holds("shopping.md", "milk\n"), holds("done.md", "eggs\nbread\n")),
		},
	}
}

func jobChores() []chore {
	return []chore{
		{
			name: "a daily job", prompt: "Every day at 8, tell me the weather in Oslo.",
			steps:  []step{makes("cron", `{"action":"add","name":"weather","schedule":"every day at 8:00","prompt":"Tell me the weather in Oslo."}`)},
			effect: everything(hasJobs("weather=Tell me the weather in Oslo."), job("weather", "0 8 * * *")),
		},
		{
			name: "a reminder every week", prompt: "Remind me each Thursday at 19:00 of the bins.",
			steps:  []step{makes("cron", `{"action":"add","name":"bins","schedule":"every thursday at 19:00","prompt":"say: Put the bins out."}`)},
			effect: listed(api.Jobs, `the bins`), // the interpreter may have done it, while the model said nothing
		},
		{
			name: "a reminder once", prompt: "Remind me in two hours to call Bob.",
			steps:  []step{makes("cron", `{"action":"add","name":"bob","schedule":"in 2 hours","prompt":"say: Call Bob."}`)},
			effect: listed(api.Jobs, `all Bob`), // as above
		},
		{
			name: "a job for a while off", prompt: "Pause the tea job.", before: teaJob,
			steps:  []step{makes("cron", `{"action":"list"}`), makes("cron", `{"action":"pause","name":"tea"}`)},
			effect: job("tea", `"paused":true`),
		},
		{
			name: "another time", prompt: "Tea at 17:00 from now on.", before: teaJob,
			steps:  []step{makes("cron", `{"action":"list"}`), takes(`\b(tea)\b`, "cron", `{"action":"update","name":"$1","schedule":"every day at 17:00"}`)},
			effect: job("tea", "0 17 * * *"),
		},
		{
			name: "a job that is gone", prompt: "Add a weather job, no, forget it.",
			steps: []step{
				makes("cron", `{"action":"add","name":"weather","schedule":"every day at 8:00","prompt":"say: sun"}`),
				makes("cron", `{"action":"remove","name":"weather"}`),
				makes("write", `{"path":"done.md","content":"removed\n"}`),
			},
			effect: everything(hasJobs(), holds("done.md", "removed")),
		},
		{
			name: "the list of jobs", prompt: "Write my jobs' names into jobs.md.", before: teaJob,
			steps:  []step{makes("cron", `{"action":"list"}`), takes(`\b(tea)\b`, "write", `{"path":"jobs.md","content":"$1\n"}`)},
			effect: holds("jobs.md", "tea"),
		},
		{
			name: "a folder that is watched", prompt: "Tell me when something changes in inbox.", files: map[string]string{"inbox/a.txt": "x"},
			steps:  via("watch files", "watch", `{"action":"add","name":"inbox","paths":["inbox"],"prompt":"say: Something came."}`),
			effect: listed(api.Watches, `"name":"inbox"`),
		},
	}
}

func otherChores() []chore {
	return []chore{
		{
			name: "something to remember", prompt: "Remember that the plumber is Anna Weiss.",
			steps:  []step{makes("memory_write", `{"content":"The plumber is Anna Weiss, 030-1234."}`)},
			effect: remembered("Anna Weiss", true),
		},
		{
			name: "something that was remembered", prompt: "Who is my plumber? Write the name into plumber.md.", files: map[string]string{"MEMORY.md": "# Home\n- The plumber is Anna Weiss, 030-1234.\n"},
			steps:  []step{makes("memory_search", `{"query":"plumber","max_results":3}`), takes(`plumber is (Anna Weiss)`, "write", `{"path":"plumber.md","content":"$1\n"}`)},
			effect: holds("plumber.md", "Anna Weiss"),
		},
		{
			name: "a tool that is called straight", prompt: "Which texts are there? Write how many into n.md.", files: map[string]string{"a.txt": "1", "b.txt": "2"},
			steps: []step{
				makes("tool", `{"action":"describe","name":"glob"}`), makes("glob", `{"pattern":"*.txt"}`),
				takes(`(?s)(a\.txt.*b\.txt|b\.txt.*a\.txt)`, "write", `{"path":"n.md","content":"2\n"}`),
			},
			effect: holds("n.md", "2"),
		},
		{
			name: "a message", prompt: "Send me the word alarm as a message.",
			steps:  via("send a message", "message", `{"to":"owner","content":"The alarm is on."}`),
			effect: listed(api.Outbox, "The alarm is on."),
		},
		{
			name: "a task for later", prompt: "Put sorting the photos on your list of tasks.",
			steps:  via("task backlog", "task_add", `{"title":"Sort the photos","prompt":"say: sorted","not_before":"72h"}`),
			effect: listed(api.Tasks, "Sort the photos"),
		},
		{
			name: "a text to keep", prompt: "Keep the recipe of the soup for later.",
			steps:  via("keep text context", "context_write", `{"drive":"agent","path":"recipes/soup","content":"Carrots and ginger."}`),
			effect: listed(api.ContextItems, "recipes/soup"),
		},
		{
			name: "a note that is not needed any more", prompt: "Take the old plumber out of MEMORY.md.", files: map[string]string{"MEMORY.md": "# Home\n- The plumber is Max.\n- The cat is Minka.\n"},
			steps:  []step{makes("read", `{"path":"MEMORY.md","offset":0,"limit":100}`), makes("edit", `{"path":"MEMORY.md","old_text":"- The plumber is Max.\n","new_text":""}`)},
			effect: everything(remembered("Max", false), remembered("Minka", true)),
		},
		{
			name: "a table", prompt: "Add the rows of costs.csv and write the sum into sum.md.", files: map[string]string{"costs.csv": "what,euros\nbread,3\nrent,700\n"},
			steps:  []step{makes("read", `{"path":"costs.csv","limit":10}`), takes(`(?s)(bread,3.*rent,700)`, "write", `{"path":"sum.md","content":"703\n"}`)},
			effect: holds("sum.md", "703"),
		},
	}
}
