// This file runs the owner's commands before and after tool calls, the [[tool_hooks]] of the config. A hook can refuse a call. It can
// never allow a call that the permission rules have refused, and it sees nothing that the call's audit row would not show.

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
	"slices"
	"strings"
	"time"

	"hob/tools"
)

// limit is the time limit of a hook. A hook that exceeds it before a call refuses the call.
const limit = 30 * time.Second

// mostSaid is the number of bytes that are kept of a hook's output.
const mostSaid = 2 << 10

// The times at which a hook runs.
const (
	Before = "before"
	After  = "after"
)

// ToolHook is a command and the calls that it runs for.
type ToolHook struct {
	Tools   []string // patterns over tool names ("exec", "web_*", "*"), in the form of path.Match
	When    string   // Before or After
	Command string   // run by sh -c (cmd /C on Windows)
}

// ToolHooks runs hooks. It is safe for concurrent use. List is called for each tool call.
type ToolHooks struct {
	List    func() []ToolHook
	Dir     string   // the working folder: the workspace
	Environ []string // their environment; it must not contain secrets
	Log     *slog.Logger

	// Begins is called before a hook runs, and the returned function after it. A hook may read foreign files, so the files that it writes
	// in between count as foreign.
	Begins func(ctx context.Context) (ended func() error)
}

// HookedCall is the JSON object that a hook reads on its standard input.
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

// HookedResult is the result of the call.
type HookedResult struct {
	Error   string `json:"error,omitempty"` // the error code
	Content string `json:"content"`
}

// Before runs the hooks before a call. It returns why the call is refused: the output of the first hook that fails or cannot be run. ""
// means that no hook refuses it.
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

// After runs the hooks after a call. A failure is only logged.
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

// described fills in the description of a call that a hook receives.
func described(when string, call tools.Call, i tools.Intent) HookedCall {
	return HookedCall{
		When: when, Tool: call.Name, Call: call.ID, Turn: call.Turn, Session: call.Key, Trust: string(call.Trust), Tainted: call.Tainted,
		Summary: i.Summary, Args: call.Args,
	}
}

func (k ToolHook) fits(name string) bool {
	return slices.ContainsFunc(k.Tools, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// run returns the output of a hook and its error.
func (h *ToolHooks) run(ctx context.Context, hook ToolHook, in HookedCall) (string, error) {
	doc, err := json.Marshal(in)
	if err != nil {
		return "", fmt.Errorf("describe the call: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	shell := []string{"/bin/sh", "-c", "--"} // a fixed path: a command in the sandbox may have put another shell into PATH
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/C"}
	}
	cmd := exec.CommandContext(ctx, shell[0], append(shell[1:], hook.Command)...) // #nosec G204 -- the owner's own command
	cmd.Dir, cmd.Env, cmd.Stdin = h.Dir, h.Environ, bytes.NewReader(doc)
	cmd.WaitDelay = time.Second
	end := group(cmd)
	var out bounded
	cmd.Stdout, cmd.Stderr = &out, &out
	ended := h.Begins(context.WithoutCancel(ctx))
	err = cmd.Run()
	end() // later writes would not be marked as foreign
	if marking := ended(); marking != nil {
		return "", fmt.Errorf("mark the files that it wrote: %w", marking)
	}
	if err != nil && errors.Is(context.Cause(ctx), errSlow) {
		err = errSlow
	}
	if errors.Is(err, exec.ErrWaitDelay) { // it succeeded but left a process running
		err = nil
	}
	return strings.ToValidUTF8(strings.TrimSpace(out.kept.String()), "\uFFFD"), err
}

var errSlow = fmt.Errorf("it took longer than %s", limit)

// bounded keeps the first bytes written to it. The buffer is a field, because its other methods have no limit.
type bounded struct{ kept bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	room := max(mostSaid-b.kept.Len(), 0)
	_, err := b.kept.Write(p[:min(len(p), room)])
	return len(p), err
}

// short shortens a command for a message.
func short(command string) string {
	if r := []rune(command); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return command
}
