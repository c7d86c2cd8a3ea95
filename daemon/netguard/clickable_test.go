package netguard_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/netguard"
	"hob/daemon/sys/systest"
)

// linked finds links as two libraries of chat clients do: linkify-it of markdown-it, with all that it can find, and linkifyjs of Element.
const linked = `
const it = require("linkify-it").linkifyit({fuzzyLink: true, fuzzyEmail: true, fuzzyIP: true}), js = require("linkifyjs")
it.tlds(["zip", "mov", "рф"], true)
const texts = JSON.parse(require("fs").readFileSync(0))
console.log(JSON.stringify(texts.map(t => [...(it.match(t) || []).map(m => m.url), ...js.find(t).map(m => m.href)])))`

// T7: what clients make links of has no room for data after Defang, by the grammars of two libraries.
func TestWhatClientsLink(t *testing.T) {
	modules := os.Getenv("HOB_NPM")
	for _, name := range []string{"linkify-it", "linkifyjs"} {
		if _, err := os.Stat(filepath.Join(modules, name, "package.json")); err != nil || modules == "" {
			systest.Missing(t, "HOB_NPM is not a folder node_modules with the package "+name)
		}
	}
	hosts := []string{"evil.com", "evil.de", "evil.md", "evil.sh", "evil.zip", "evil.py", "x.evil.rs", "злой.рф", "192.0.2.7", "evil.github.io", "EVIL.MD", "ev-il.so", "xn--e1awd7f.com"}
	tails := []string{"/SECRET", ":80/SECRET", ":00080/SECRET", ":000080/SECRET", "?SECRET", "#SECRET", ":80?SECRET", ":80#SECRET", "/#SECRET", "/?SECRET", ":/SECRET", ".:80/SECRET", "./SECRET", "/a:b@c/SECRET", ":443/", "/a/b.md#SECRET"}
	forms := []string{
		"%s", "see %s now", "(%s)", "[%s]", "[a](%s)", "<%s>", "`%s`", "\"%s\"", "*%s*", "_%s_", "~~%s~~", "| %s |", "> %s", "a=%s", "a:%s", "a,%s", "/srv/%s", "x/%s", "~/%s", "-%s", "SECRET.%s", "SECRET@%s", "www.%s", "//%s",
		"http://%s", "https:%s", "ftp://%s", "me:SECRET@%s", "a\u200b%s", "…%s", "„%s“", "http[:]//%s", "![a](%s)",
	}
	texts := []string{"//[2001:db8::1]/SECRET", "x //[::1]:80/SECRET", "http://[2001:db8::1]/SECRET", "[a](//[2001:db8::1]/SECRET)", "mailto:SECRET@evil.md", "http[:]//[2001:db8::1]/SECRET"}
	for _, form := range forms {
		for _, host := range hosts {
			for _, tail := range tails {
				texts = append(texts, fmt.Sprintf(form, host+tail))
			}
		}
	}
	live := func(texts []string) (n int) {
		raw, err := json.Marshal(texts)
		if err != nil {
			t.Fatal(err)
		}
		node := exec.CommandContext(t.Context(), "node", "-e", linked)
		node.Env, node.Stdin, node.Stderr = append(os.Environ(), "NODE_PATH="+modules), strings.NewReader(string(raw)), os.Stderr
		out, err := node.Output()
		if err != nil {
			t.Fatal(err)
		}
		var found [][]string
		if err := json.Unmarshal(out, &found); err != nil || len(found) != len(texts) {
			t.Fatalf("%d answers for %d texts, %v", len(found), len(texts), err)
		}
		for i, links := range found {
			if strings.Contains(strings.ToUpper(strings.Join(links, " ")), "SECRET") {
				if n++; texts[i] != netguard.Defang(texts[i]) {
					continue
				}
				t.Errorf("%q is a link: %q", texts[i], links)
			}
		}
		return n
	}
	dead := make([]string, len(texts))
	for i, text := range texts {
		dead[i] = netguard.Defang(text)
	}
	if n := live(texts); n < len(texts)/2 {
		t.Errorf("only %d of %d texts are links without Defang", n, len(texts))
	}
	if n := live(dead); n > 0 {
		t.Errorf("%d of %d texts stay links", n, len(texts))
	}
}
