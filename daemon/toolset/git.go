package toolset

import (
	"archive/tar"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"hob/config"
	"hob/tools"
	"hob/tools/runtime"
)

// Limits of a repository.
const (
	cloneTime  = 3 * time.Minute
	cloneBytes = 48 << 20 // of the archive, in base64
)

// cloneScript prints the newest files of $HOB_URL as a tar archive in base64. Git uses https alone, and no configuration, hooks, filters or
// submodules: the clone is bare, so that nothing of it is ever written as a file. It stays in the sandbox's own temporary folder, whose size
// is limited.
const cloneScript = `command -v git >/dev/null || exit 41
cd /tmp && mkdir fetch && export HOME=/tmp GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0 GIT_ASKPASS=/bin/false GIT_ALLOW_PROTOCOL=https GIT_LFS_SKIP_SMUDGE=1
git -c core.hooksPath=/dev/null -c protocol.allow=never -c protocol.https.allow=always -c submodule.recurse=false -c http.followRedirects=false \
  clone --quiet --bare --depth 1 --single-branch --no-tags --template= -- "$HOB_URL" /tmp/fetch/r.git >/tmp/fetch/said 2>&1 </dev/null || { tail -n 3 /tmp/fetch/said; exit 42; }
git --git-dir=/tmp/fetch/r.git archive --format=tar HEAD ${HOB_PATH:+-- "$HOB_PATH"} >/tmp/fetch/tar 2>/tmp/fetch/said || { tail -n 3 /tmp/fetch/said; exit 43; }
base64 </tmp/fetch/tar`

// whole keeps the whole output of a command in memory, in place of the artifacts.
type whole struct{ data []byte }

func (w *whole) Keep(_ context.Context, _ string, data []byte) (string, error) {
	w.data = data
	return "whole", nil
}

func (w *whole) KeepForeign(ctx context.Context, name, _ string, data []byte) (string, error) {
	return w.Keep(ctx, name, data)
}

// Clone fetches the newest files of a git repository, see skills.Clone. Git runs in a sandbox with the network, and only there.
func (b *Deps) Clone(c func() *config.Snapshot, live *Active) func(ctx context.Context, address, below string, each func(name string, exec, link bool, data []byte) error) error {
	return func(ctx context.Context, address, below string, each func(name string, exec, link bool, data []byte) error) error {
		open := *c()
		open.Tools.Exec.Network = true
		box := NewSandbox(ctx, b.home(), &open)
		if s := box.State(); !s.Works {
			return fmt.Errorf("repositories are fetched only in the sandbox, which does not work here (%s); fetch it yourself, then: hob skills add PATH", s.Why)
		}
		out := &whole{}
		exec := runtime.NewExec(runtime.ExecDeps{
			Guard: live.Guard(), Artifacts: out, Spawn: b.Spawn, Registry: b.Registry, Sandbox: box, Environ: b.Environ, Instance: b.Instance,
			Limits: runtime.Limits{Timeout: cloneTime, Yield: time.Hour, Keep: 4_000, ArtifactBytes: cloneBytes},
		})
		args, err := json.Marshal(runtime.ExecInput{Command: cloneScript, Env: map[string]string{"HOB_URL": address, "HOB_PATH": below}})
		if err != nil {
			return err
		}
		call := tools.Call{ID: fmt.Sprintf("clone_%d", time.Now().UnixNano()), Name: "exec", Args: args, Now: time.Now()}
		intent, err := exec.Intent(ctx, call)
		if err != nil {
			return err
		}
		if !intent.Sandboxed || intent.Denied != "" {
			return errors.New("git cannot be confined here: " + intent.Denied)
		}
		result, err := exec.Run(ctx, call, intent)
		if err != nil {
			return err
		}
		done, ok := result.Data.(runtime.ExecOutput)
		if !ok || done.ExitCode == nil || done.TimedOut {
			return fmt.Errorf("the repository could not be fetched: %s", firstLine(result.Content))
		}
		switch *done.ExitCode {
		case 0:
		case 41:
			return errors.New("git is not installed; install it, or fetch the folder yourself, then: hob skills add PATH")
		case 43:
			return fmt.Errorf("the repository has no %s: %s", below, firstLine(done.Output))
		default:
			return fmt.Errorf("the repository could not be fetched: %s", firstLine(done.Output))
		}
		if out.data == nil {
			out.data = []byte(done.Output)
		}
		return unpack(out.data, each)
	}
}

// firstLine shortens what git said.
func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line[:min(len(line), 300)]
}

// unpack reads the archive. Entries other than files and links are left out.
func unpack(data []byte, each func(name string, exec, link bool, data []byte) error) error {
	r := tar.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(strings.ReplaceAll(string(data), "\n", ""))))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the repository is too large, or its archive cannot be read: %w", err)
		}
		name := strings.TrimPrefix(h.Name, "./")
		switch h.Typeflag {
		case tar.TypeSymlink, tar.TypeLink:
			err = each(name, false, true, nil)
		case tar.TypeReg:
			var content []byte
			if content, err = io.ReadAll(r); err == nil {
				err = each(name, h.Mode&0o111 != 0, false, content)
			}
		}
		if err != nil {
			return err
		}
	}
}
