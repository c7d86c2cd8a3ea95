package gates

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"hob/daemon/fsguard"
	"hob/daemon/sandbox"
	"hob/daemon/sys"
	"hob/scheduler"
	"hob/scheduler/gate"
	"hob/tools"
	"hob/tools/runtime"
)

// mostOutput is how much of a command's output is compared, in bytes.
const mostOutput = 1 << 20

// Exit codes of a shell that could not run a command (POSIX, Shell Command Language, 2.8.2).
const (
	notRunnable = 126
	notFound    = 127
)

// errUnconfined is the error on a machine without a sandbox.
var errUnconfined = errors.New("the command runs only in the sandbox")

// hasher keeps only the hash of an output that is too long to be compared directly.
// It takes the place of the artifact store in the tool exec.
type hasher struct{}

// Keep returns the hash in the place of an artifact's id, so that it becomes part of what is compared.
func (hasher) Keep(_ context.Context, _ string, data []byte) (string, error) { return hash(data), nil }

func (hasher) KeepForeign(_ context.Context, _, _ string, data []byte) (string, error) {
	return hash(data), nil
}

// hash joins its parts without a separator; a caller whose parts could be mistaken puts one between them.
func hash(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = h.Write(p) // never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}

// shell returns the tool exec for gates: only in the foreground, and without artifacts.
// The second result has the guard and the sandbox that the tool uses; its other fields are zero.
func (e *Evaluator) shell(ctx context.Context, network bool) (tools.Tool, Setting) {
	s := e.Setting()
	box := s.Sandbox
	// A sandbox with the network is opened only if the usual one has none.
	if network && !box.State().Network {
		box = s.Open(ctx)
	}
	return runtime.NewExec(runtime.ExecDeps{
		Guard: s.Guard, Artifacts: hasher{}, Spawn: e.Spawn, Registry: e.Registry, Sandbox: box, Marked: e.Marked, Environ: e.Environ, Instance: e.Instance,
		Limits: runtime.Limits{Timeout: time.Minute, Yield: time.Hour, Keep: mostOutput, ArtifactBytes: mostOutput},
	}), Setting{Guard: s.Guard, Sandbox: box}
}

// Command runs the gate's command in the workspace.
// An exit code other than 126 and 127 is a result, not an error: the gate compares it. The hash also covers the command itself.
func (e *Evaluator) Command(ctx context.Context, j scheduler.Job) (gate.Output, error) {
	// A gate runs the same tool as a turn would, with the same sandbox and checks.
	exec, at := e.shell(ctx, mayNet(j))
	call, err := e.call(j, at.Guard)
	if err != nil {
		return gate.Output{}, err
	}
	intent, err := exec.Intent(ctx, call)
	if err == nil {
		err = confined(intent, at.Sandbox.State())
	}
	if err != nil {
		return gate.Output{}, err
	}
	res, err := exec.Run(ctx, call, intent)
	if err != nil {
		return gate.Output{}, err
	}
	// The files that the command wrote are marked before its output is used.
	// This also happens when ctx has ended: the files are there.
	if len(res.Changes) > 0 {
		if err := e.Record(context.WithoutCancel(ctx), res.Changes...); err != nil {
			return gate.Output{}, fmt.Errorf("mark what the command wrote: %w", err)
		}
	}
	out, ok := res.Data.(runtime.ExecOutput)
	switch {
	// Without an exit code the command did not end by itself.
	case !ok || out.ExitCode == nil || res.IsError:
		return gate.Output{}, errors.New(res.Content)
	case *out.ExitCode == notFound || *out.ExitCode == notRunnable:
		return gate.Output{}, fmt.Errorf("the command cannot be run (exit code %d): %s", *out.ExitCode, out.Output)
	}
	return gate.Output{Hash: hash([]byte(j.Gate.Command), []byte{0}, []byte(out.Output), []byte(out.Artifact)), Code: *out.ExitCode}, nil
}

// call returns the call of exec that runs a gate's command.
func (e *Evaluator) call(j scheduler.Job, g *fsguard.Guard) (tools.Call, error) {
	args, err := json.Marshal(runtime.ExecInput{Command: j.Gate.Command})
	if err != nil {
		return tools.Call{}, fmt.Errorf("encode the command: %w", err)
	}
	return tools.Call{
		// The call has the job's trust and taint, so its files are marked like those of a turn.
		ID: "gate_" + sys.RandomIDs().Code(8), Name: "exec", Args: args, Trust: j.Trust, Zone: j.Zone, Now: e.Now(), Tainted: j.Tainted,
		Scratch: filepath.Join(g.Workspace(), fsguard.ScratchFolder, "gate-"+j.Name),
	}, nil
}

// confined refuses a command that would run outside the sandbox, unless the owner switched the sandbox off: a gate cannot ask for approval.
func confined(i tools.Intent, s sandbox.State) error {
	switch {
	case i.Denied != "":
		return errors.New(i.Denied)
	case i.Sandboxed || s.Mode == sandbox.Off:
		return nil
	case s.Hint != "":
		return fmt.Errorf("%w: %s (%s)", errUnconfined, s.Why, s.Hint)
	}
	return fmt.Errorf("%w, which cannot show the workspace: %s", errUnconfined, s.Why)
}
