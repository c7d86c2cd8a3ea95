package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/sandbox"
)

// place makes a home with a workspace and a state folder.
func place(t *testing.T) (c sandbox.Config, space string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c = sandbox.Config{Home: top, State: filepath.Join(top, ".hob", "state")}
	space = filepath.Join(top, ".hob", "workspace")
	for _, dir := range []string{c.State, filepath.Join(space, "sub"), filepath.Join(top, "root", "inner")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return c, space
}

func TestSpecsThatCannotBeMade(t *testing.T) {
	c, space := place(t)
	link := filepath.Join(c.Home, "link")
	if err := os.Symlink(c.State, link); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(space, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	one := []string{space}
	for name, b := range map[string]sandbox.Spec{
		"no folder to work in":       {Writable: one},
		"a relative one":             {Dir: "ws", Writable: one},
		"one that is not visible":    {Dir: c.Home, Writable: one},
		"one beside a visible one":   {Dir: space + "-else", Writable: one},
		"one that is a file":         {Dir: file, Writable: one},
		"one that is hidden":         {Dir: filepath.Join(space, "sub"), Writable: one, Hidden: []string{filepath.Join(space, "sub")}},
		"the state":                  {Dir: c.State, Writable: one},
		"the state, writable":        {Dir: space, Writable: []string{space, c.State}},
		"the state, by a link":       {Dir: space, Writable: []string{space, link}},
		"the state, as scratch":      {Dir: space, Writable: one, Scratch: c.State},
		"scratch that is not there":  {Dir: space, Writable: one, Scratch: filepath.Join(space, "no")},
		"everything":                 {Dir: space, Writable: []string{space, "/"}},
		"the machine's /proc":        {Dir: space, Writable: one, Readable: []string{"/proc/1"}},
		"the machine's /dev":         {Dir: space, Writable: one, Readable: []string{"/dev"}},
		"the machine's /run":         {Dir: space, Writable: one, Readable: []string{"/run"}},
		"a relative root":            {Dir: space, Writable: []string{space, "root"}},
		"a NUL":                      {Dir: space, Writable: []string{space, "/a\x00b"}},
		"a relative hidden one":      {Dir: space, Writable: one, Hidden: []string{".env"}},
		"a working folder in a root": {Dir: filepath.Join(c.Home, "root"), Writable: one, Readable: []string{filepath.Join(c.Home, "root", "inner")}},
	} {
		if _, err := sandbox.Profile(c, b); err == nil {
			t.Errorf("%s: no error", name)
		} else if !errors.Is(err, sandbox.ErrSpec) && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The last rule that matches counts in a profile, so their order is what confines.
func TestProfile(t *testing.T) {
	c, space := place(t)
	root := filepath.Join(c.Home, "root")
	c.Binds = []sandbox.Bind{{Path: filepath.Join(c.Home, "not there")}}
	b := sandbox.Spec{Dir: space, Writable: []string{filepath.Join(root, "inner"), space}, Readable: []string{root}, Hidden: []string{filepath.Join(space, "sub")}, Scratch: filepath.Join(space, "sub")}
	text, err := sandbox.Profile(c, b)
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, want := range []string{
		"(deny default)",
		`(allow file-read* (subpath "` + root + `"))`,
		`(deny file-write* (subpath "` + root + `"))`,
		`(allow file-read* file-write* (subpath "` + root + `/inner"))`,
		`(deny file-read* file-write* process-exec (subpath "` + space + `/sub"))`,
		`(allow file-read* file-write* (subpath "` + space + `/sub"))`,
		`(deny file-read* file-write* process-exec (subpath "` + c.State + `"))`,
	} {
		i := strings.Index(text, want)
		if i <= at {
			t.Errorf("%s stands at %d, want it behind %d:\n%s", want, i, at, text)
		}
		at = i
	}
	if strings.Contains(text, "network") || strings.Contains(text, "not there") {
		t.Errorf("network or a bind that is not there:\n%s", text)
	}
	if strings.Count(text, "(") != strings.Count(text, ")") {
		t.Errorf("the brackets do not match:\n%s", text)
	}
	c.Network, b.ScratchOnly, b.Scratch = true, true, ""
	if text, err = sandbox.Profile(c, b); err != nil || !strings.Contains(text, "network-outbound (remote ip)") || strings.Contains(text, `file-write* (subpath "`+space+`"))`+"\n") && !strings.Contains(text, `(deny file-write* (subpath "`+space+`"))`) {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestQuotesInAProfile(t *testing.T) {
	c, space := place(t)
	odd := filepath.Join(space, `a"b)\c`)
	if err := os.Mkdir(odd, 0o700); err != nil {
		t.Fatal(err)
	}
	text, err := sandbox.Profile(c, sandbox.Spec{Dir: odd, Writable: []string{odd}})
	if err != nil || !strings.Contains(text, `/a\"b)\\c"))`) {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestOff(t *testing.T) {
	c, space := place(t)
	c.Mode = sandbox.Off
	s := sandbox.New(t.Context(), c)
	if state := s.State(); s.Works() || s.Required() || state.Kind != "none" || state.Why != "switched off" || state.Hint == "" || !state.Network {
		t.Errorf("%+v", state)
	}
	if _, err := s.Wrap(sandbox.Spec{Dir: space, Writable: []string{space}}, []string{"true"}, nil); !errors.Is(err, sandbox.ErrNone) {
		t.Error(err)
	}
}

// A machine without bubblewrap confines nothing, and State says how to fix that.
func TestWithoutBubblewrap(t *testing.T) {
	c, _ := place(t)
	c.Mode = sandbox.Require
	for name, script := range map[string]string{"missing": "", "broken": "#!/bin/sh\necho bwrap: No permissions to create new namespace >&2; exit 1\n", "a sham": "#!/bin/sh\necho inside out\n"} {
		bin := t.TempDir()
		t.Setenv("PATH", bin)
		if script != "" {
			if err := os.WriteFile(filepath.Join(bin, "bwrap"), []byte(script), 0o700); err != nil { // #nosec G306 -- a program
				t.Fatal(err)
			}
		}
		s := sandbox.New(t.Context(), c)
		if state := s.State(); s.Works() || !s.Required() || state.Kind != "none" || state.Why == "" || state.Hint == "" || !state.Network {
			t.Errorf("%s: %+v", name, state)
		}
	}
}
