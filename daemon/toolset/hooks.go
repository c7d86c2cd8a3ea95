// This file runs the owner's commands before and after tool calls: [[tool_hooks]] of the config. A hook can refuse a
// call; it can never allow one that the gate has refused, and it sees nothing that the call's audit row would not show.

package toolset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"path"
	"runtime"
	"strings"
	"time"

	"hob/tools"
)

// limit is how long a hook may take; one that takes longer has refused the call.
const limit = 30 * time.Second

// mostSaid is how much of what a hook says is kept, in bytes.
const mostSaid = 2 << 10

// The times at which a hook runs.
const (
	Before = "before"
	After  = "after"
)

// ToolHook is one command and the calls that it is run for.
type ToolHook struct {
	Tools   []string // patterns over tool names ("exec", "web_*", "*"), as path.Match reads them
	When    string   // Before or After
	Command string   // run by sh -c (cmd /C on Windows)
}

// ToolHooks runs hooks. It is safe for concurrent use; List is read at each call.
type ToolHooks struct {
	List    func() []ToolHook
	Dir     string   // where they run: the workspace
	Environ []string // their environment; it must hold no secret
	Log     *slog.Logger

	// Begins is called before a hook runs, ended after it: a hook sees foreign files, so what it writes counts as foreign.
	Begins func(ctx context.Context) (ended func() error)
}

// HookedCall is what a hook reads on its standard input, as one JSON object.
type HookedCall struct {
	When    string          `json:"when"`
	Tool    string          `json:"tool"`
	Call    string          `json:"call"`
	Turn    int64           `json:"turn,omitempty"`
	Session string          `json:"session,omitempty"`
	Trust   string          `json:"trust"`
	Tainted bool            `json:"tainted"`
	Summary string          `json:"summary"`
	Args    json.RawMessage `json:"arguments"`
	Result  *HookedResult   `json:"result,omitempty"` // only after the call
}

// HookedResult is what the call came to.
type HookedResult struct {
	Error   string `json:"error,omitempty"` // the code
	Content string `json:"content"`
}

// Before runs the hooks before a call and returns why it is refused, "" when it is not: what the first hook says that ends with
// another code than 0, or that cannot be run.
func (h *ToolHooks) Before(ctx context.Context, call tools.Call, i tools.Intent) string {
	for _, hook := range h.List() {
		if hook.When != Before || !hook.fits(call.Name) {
			continue
		}
		said, err := h.run(ctx, hook, described(Before, call, i))
		if err == nil {
			continue
		}
		if said == "" {
			said = err.Error()
		}
		return fmt.Sprintf("the hook %q refused it: %s", short(hook.Command), said)
	}
	return ""
}

// After runs the hooks after a call. What goes wrong in one is logged.
func (h *ToolHooks) After(ctx context.Context, call tools.Call, i tools.Intent, r tools.Result) {
	for _, hook := range h.List() {
		if hook.When != After || !hook.fits(call.Name) {
			continue
		}
		in := described(After, call, i)
		in.Result = &HookedResult{Error: string(r.Code), Content: r.Content}
		if said, err := h.run(ctx, hook, in); err != nil {
			h.Log.Warn("a hook failed after a call", "hook", short(hook.Command), "tool", call.Name, "call", call.ID, "err", err, "said", said)
		}
	}
}

func described(when string, call tools.Call, i tools.Intent) HookedCall {
	return HookedCall{
		When: when, Tool: call.Name, Call: call.ID, Turn: call.Turn, Session: call.Key, Trust: string(call.Trust), Tainted: call.Tainted,
		Summary: i.Summary, Args: call.Args,
	}
}

func (k ToolHook) fits(name string) bool {
	for _, pattern := range k.Tools {
		if ok, err := path.Match(pattern, name); ok && err == nil {
			return true
		}
	}
	return false
}

// run returns what a hook said and how it ended.
func (h *ToolHooks) run(ctx context.Context, hook ToolHook, in HookedCall) (string, error) {
	doc, err := json.Marshal(in)
	if err != nil {
		return "", fmt.Errorf("describe the call: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	shell := []string{"/bin/sh", "-c"} // not by PATH: a command in the sandbox may have put another one there
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/C"}
	}
	cmd := exec.CommandContext(ctx, shell[0], shell[1], hook.Command) // #nosec G204 -- the owner's own command
	cmd.Dir, cmd.Env, cmd.Stdin = h.Dir, h.Environ, bytes.NewReader(doc)
	cmd.WaitDelay = time.Second
	end := group(cmd)
	var out bounded
	cmd.Stdout, cmd.Stderr = &out, &out
	ended := h.Begins(context.WithoutCancel(ctx))
	err = cmd.Run()
	end() // nobody would notice what it writes later
	if marking := ended(); marking != nil {
		return "", fmt.Errorf("mark the files that it wrote: %w", marking)
	}
	if err != nil && errors.Is(context.Cause(ctx), errSlow) {
		err = errSlow
	}
	if errors.Is(err, exec.ErrWaitDelay) { // it ended well, and had left something running
		err = nil
	}
	return strings.ToValidUTF8(strings.TrimSpace(out.kept.String()), "\uFFFD"), err
}

var errSlow = fmt.Errorf("it took longer than %s", limit)

// bounded keeps the first bytes that are written to it. The buffer is a field, because its other methods know no bounds.
type bounded struct{ kept bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	room := max(mostSaid-b.kept.Len(), 0)
	_, err := b.kept.Write(p[:min(len(p), room)])
	return len(p), err
}

func short(command string) string {
	if r := []rune(command); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return command
}
