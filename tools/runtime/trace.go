package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"hob/daemon/fsguard"
	"hob/tools"
	"hob/tools/runtime/inspect"
	"hob/tools/runtime/sweep"
)

// tick is more than what the clock of files is behind the one that calls are timed by.
const tick = 20 * time.Millisecond

// traced is a tool that finds what a run of it has written that was cut off: it is a tools.Tracer.
type traced struct {
	tools.Tool
	find func(call tools.Call, intent tools.Intent, since time.Time) []tools.Mark
}

// Traces lists the marks of what was written since the run began.
func (t traced) Traces(_ context.Context, call tools.Call, intent tools.Intent, since time.Time) []tools.Change {
	return changes(t.find(call, intent, since.Add(-tick)))
}

// traces are the marks of a command that was cut off. Whether it was confined then is not known: what a tainted turn ran counts.
func (e executor) traces(call tools.Call, intent tools.Intent, since time.Time) []tools.Mark {
	at, ok := intent.Keep.(*site)
	switch {
	case ok && at.host != "":
		return nil
	case call.Tainted:
		return marks(e.Guard, since, byTainted)
	case ok && at.why != "":
		return marks(e.Guard, since, at.why)
	default:
		return nil
	}
}

// traces are the marks of what a process may have made of the input of a tainted turn: it has ended with hob.
func (h handler) traces(call tools.Call, _ tools.Intent, since time.Time) []tools.Mark {
	var in Handling
	if err := json.Unmarshal(call.Args, &in); err != nil || in.Action != "input" || !call.Tainted {
		return nil
	}
	return marks(h.Guard, since, byInput)
}

// Limits of the files that an approval of a command is bound to.
const (
	maxNamed     = 16
	maxNamedSize = 1 << 20
)

// named is a file that a word of a command names. Of one that is too large to be read only its version is told.
type named struct {
	Path    string `json:"path"`
	SHA256  string `json:"sha256,omitempty"`
	Version string `json:"version,omitempty"`
}

// namedIn are the files that a command names: who approves "sh x.sh" approves what x.sh holds.
func namedIn(g *fsguard.Guard, at *site, in Command) []named {
	if at.host != "" {
		return nil
	}
	var list []named
	for _, path := range inspect.Files(in.Command, g.Home(), at.cwd) {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() == 0 || unreal(path) {
			continue
		}
		p, err := g.Resolve("", path)
		if err != nil || p.Area == fsguard.State || p.Info == nil {
			continue
		}
		n := named{Path: path}
		if n.SHA256, err = sum(g, p); err != nil || n.SHA256 == "" {
			n.Version = sweep.Version(p.Info)
		}
		if list = append(list, n); len(list) == maxNamed {
			break
		}
	}
	return list
}

// unreal says of a path that the kernel makes up what is read there, perhaps never.
func unreal(path string) bool {
	return strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/sys/") || strings.HasPrefix(path, "/dev/")
}

// sum is the hash of a file, "" when it is too large.
func sum(g *fsguard.Guard, p fsguard.Place) (string, error) {
	if p.Info.Size() > maxNamedSize {
		return "", nil
	}
	f, err := g.Open(p)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxNamedSize+1))
	if err = errors.Join(err, f.Close()); err != nil || n > maxNamedSize {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
