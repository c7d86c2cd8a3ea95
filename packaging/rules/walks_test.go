package rules_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page about the architecture names files, folders and functions that exist.
func TestWalks(t *testing.T) {
	root := repository(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range lost(os.DirFS(root), string(page)) {
		t.Error(f)
	}
	bad := "1. `packaging/rules/walks_test.go`: `TestWalks`, `gone`. See `daemon/gone` and `channels/NAME/`."
	if found := lost(os.DirFS(root), bad); len(found) != 2 {
		t.Errorf("a page with two faults: %q", found)
	}
}

var (
	placed   = regexp.MustCompile("`((?:cmd|channels|config|daemon|packaging|scheduler|tools|docs)/[a-z0-9_/.]+)`")
	followed = regexp.MustCompile("`([a-z0-9_/]+\\.go)`: ((?:`[A-Za-z]+`(?:, )?)+)")
)

// lost lists the paths of a page that lead nowhere, and the functions that are not in the file they are named with.
func lost(root fs.FS, page string) (found []string) {
	for _, m := range placed.FindAllStringSubmatch(page, -1) {
		if _, err := fs.Stat(root, strings.TrimSuffix(m[1], "/")); err != nil {
			found = append(found, m[1]+" is not there")
		}
	}
	for _, m := range followed.FindAllStringSubmatch(page, -1) {
		text, err := fs.ReadFile(root, m[1])
		if err != nil {
			continue // reported above
		}
		for name := range strings.SplitSeq(m[2], ", ") {
			name = strings.Trim(name, "`")
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name + `[(\[]`).Match(text) {
				found = append(found, m[1]+" has no function "+name)
			}
		}
	}
	return found
}
