package main_test

import (
	"os"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// mask replaces what is different in each run.
type mask struct {
	what *regexp.Regexp
	with string
}

// masks leave the names of fields, their order and all other values of a document as they are.
func masks() []mask {
	return []mask{
		{regexp.MustCompile(`hob-[-0-9.]+\.db`), `hob-COPY.db`},
		{regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[-+]\d\d:\d\d)"`), `"TIME"`},
		{regexp.MustCompile(`\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?)?(\.\d+)?Z?`), `DATE`},
		{regexp.MustCompile(`\b([0-9a-f]{64}|[0-9a-f]{32})\b`), `HASH`},
		{regexp.MustCompile(`"(\w*_ms|\w*_ns|bytes|wal_bytes|tokens_per_second|ms|in|out|input|tokens|tokens_used|cost_micros|used_micros|event)":[0-9.e+-]+`), `"$1":N`},
		{regexp.MustCompile(`\b\d+ tokens, cost [0-9.]+`), `N tokens, cost N`},
		{regexp.MustCompile(`"(code|ext_id|instance|version|digest|call|call_id)":"[^"]+"`), `"$1":"TEXT"`},
		{regexp.MustCompile(`(absent in )\d+:\d+`), `${1}TEXT`},
		{regexp.MustCompile(`\b(run:|test_)[0-9a-z]+`), `${1}TEXT`},
		{regexp.MustCompile(`127\.0\.0\.1:\d+`), `127.0.0.1:PORT`},
		{regexp.MustCompile(`\b\d+(\.\d+)?(ms|µs)\b|\b\d+ ms\b`), `SPAN`},
		{regexp.MustCompile(`\(\d+(\.\d+)?s\)`), `(SPAN)`}, // on a busy machine
		{regexp.MustCompile(`(approval|approve|deny|approved: question) [0-9A-Z]{4}\b`), `$1 CODE`},
	}
}

// documents runs each command of a file with --json and writes what all of them print into another file, masked: documents COMMANDS INTO.
func documents(ts *testscript.TestScript, _ bool, args []string) {
	var b strings.Builder
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		line = strings.TrimSpace(line)
		_ = ts.Exec("hob", append(split(os.Expand(line, ts.Getenv)), "--json")...) // what a refusal prints is a document too
		text := ts.ReadFile("stdout")
		for _, dir := range []string{"HOB_HOME", "HOME", "WORK"} {
			text = strings.ReplaceAll(text, ts.Getenv(dir), "$"+dir)
		}
		for _, m := range masks() {
			text = m.what.ReplaceAllString(text, m.with)
		}
		text = strings.ReplaceAll(text, "},{", "},\n{") // a row on each line
		b.WriteString("$ hob " + line + " --json\n" + text)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o600))
}
