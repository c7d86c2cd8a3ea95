package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
)

// U41: a watch on a folder that is not there says so when it is made and in the list, and one on the whole disk or home is asked about.
func TestAWatchSaysWhatItWaitsFor(t *testing.T) {
	r, outside := start(t, t.TempDir()), t.TempDir()
	missing := filepath.Join(outside, "later")
	out := r.run("watch", `{"action":"add","name":"later","paths":["`+missing+`","`+missing+`too"],"prompt":"say: x"}`)
	if !out.Success || !strings.Contains(out.Message, "waits: "+missing) {
		t.Errorf("made: %+v", out)
	}
	waits := func() string {
		list, err := client.List(t.Context(), r.client, api.Watches, event.Filter{})
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list[0].Waits
	}
	if waits() != missing+", "+missing+"too" {
		t.Errorf("it waits for %q", waits())
	}
	if err := os.Mkdir(missing+"too", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(missing, 0o700); err != nil {
		t.Fatal(err)
	}
	if waits() != "" {
		t.Errorf("it waits for %q, which is there", waits())
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", home} {
		out, err := client.Do(t.Context(), r.client, api.CallTool, "watch", client.ToolCall{Input: []byte(`{"action":"add","name":"all","paths":["` + path + `"],"prompt":"say: x"}`)})
		if err == nil && out.Success {
			t.Errorf("%s is watched unasked: %+v", path, out)
		}
	}
}
