package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/client"
)

// F6: what keeps jobs, watches and hooks of config.toml from running, or their answers from arriving, is told at the start and at each reload, once. The rest
// of the file is in use.
func TestAConfigSaysWhatCanNeverRun(t *testing.T) {
	t.Parallel()
	home, files := t.TempDir(), t.TempDir()
	const chat = "[channels.chat]\nkind = \"telegram\"\ntoken = \"file:token\"\napi_base = \"http://127.0.0.1:9\"\n"
	config := chat + "[jobs.tea]\nevery = \"1h\"\nprompt = \"say: tea\"\ndeliver = \"chat:7\"\n" +
		"[jobs.rest]\nevery = \"1h\"\nprompt = \"say: rest\"\n" +
		"[jobs.gated]\nevery = \"1h\"\nprompt = \"say: x\"\ngate = \"no_such_command_x --all\"\n" +
		"[hooks.deploys]\nkind = \"none\"\nprompt = \"say: x\"\ndeliver = \"pigeon:1\"\n" +
		fmt.Sprintf("[watches.papers]\npaths = [%q]\nprompt = \"say: x\"\ndeliver = \"pigeon:1\"\n", filepath.Join(files, "later"))
	write(t, home, config)
	r := start(t, home)
	want := []string{
		"the job tea: its answers go to chat:7, and the channel chat is off (hob channels list shows the channels; hob channels add makes one)",
		"the job gated: the program no_such_command_x of its gate is not in the PATH: until it is there, the job does not run",
		"the webhook deploys: its answers go to pigeon:1, and there is no channel pigeon (hob channels list shows the channels; hob channels add makes one)",
		"the watch papers: its answers go to pigeon:1, and there is no channel pigeon (hob channels list shows the channels; hob channels add makes one)",
		"the watch papers: " + filepath.Join(files, "later") + " was not there when the config was read: nothing fires until it is there",
	}
	told := func() string { return strings.Join(r.notices(), "\n") }
	r.until("the notice", func() bool { return strings.Contains(told(), "something wrong with the config") })
	for _, line := range want {
		if strings.Count(told(), line) != 1 {
			t.Errorf("the owner is not told once: %s\n%s", line, told())
		}
	}
	if strings.Contains(told(), "rest") {
		t.Errorf("of what can run he is told too: %s", told())
	}
	if got := r.jobs(); !slices.Contains(got, "tea=say: tea") || !slices.Contains(got, "gated=say: x") {
		t.Errorf("the jobs are off: %q", got)
	}

	// What is made by a command is refused.
	for tool, args := range map[string]string{
		"cron":  `{"action":"add","name":"a","schedule":"every 1h","prompt":"say: x","deliver":"chat:7"}`,
		"watch": `{"action":"add","name":"a","paths":["` + files + `"],"prompt":"say: x","deliver":"chat:7"}`,
	} {
		if text := r.refused(tool, args); !strings.Contains(text, "the channel chat is off") {
			t.Errorf("%s: %s", tool, text)
		}
	}
	// A reload with one fault less and one more.
	if err := os.Mkdir(filepath.Join(files, "later"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, home, strings.Replace(config, "[jobs.rest]\n", "[jobs.rest]\ndeliver = \"pigeon:2\"\n", 1))
	r.until("the next notice", func() bool { return strings.Contains(told(), "the job rest: its answers go to pigeon:2") })
	if strings.Count(told(), want[0]) != 1 {
		t.Errorf("a mistake is told again: %s", told())
	}
	s, err := client.Show(t.Context(), r.client, api.ShowStatus, "")
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(s.Config, "\n"); !strings.Contains(all, want[0]) || strings.Contains(all, "was not there") {
		t.Errorf("status: %s", all)
	}
}
