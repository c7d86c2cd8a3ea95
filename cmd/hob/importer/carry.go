package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// carry does what the plan says, item by item, and notes what became of each. One that fails does not stop the others.
func carry(ctx context.Context, a *cli.App, c *client.Client, home string, r *Report) error {
	for i := range r.Items {
		it := &r.Items[i]
		if it.State != carried {
			continue
		}
		var err error
		switch it.Kind {
		case "skill":
			err = carrySkill(ctx, c, r.source(*it), it)
		case "job":
			err = carryJob(ctx, a, c, it)
		default:
			err = carryFile(home, it)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			it.State, it.Why = failed, err.Error()
		}
	}
	return nil
}

// carryFile writes a workspace file or a secret. A file that is there stays as it is.
func carryFile(home string, it *Item) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s cannot be written: %w", it.To, explained(err))
		}
	}()
	// A link inside the workspace, where a model may write, must not lead to the rest of the home.
	top, below, _ := strings.Cut(it.To, "/")
	if err := os.MkdirAll(filepath.Join(home, top), 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(filepath.Join(home, top))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	name := filepath.FromSlash(below)
	made, err := writeNew(root, name, it.text)
	if err != nil || made {
		return err
	}
	has, err := root.ReadFile(name)
	switch {
	case err != nil:
		return err
	case bytes.Equal(has, it.text):
		it.State, it.Why = already, ""
	case it.Kind == "secret":
		it.State, it.Why = kept, "another secret has this name"
	default:
		it.State, it.Why = kept, "compare the two, and copy by hand what you want"
	}
	return nil
}

// carrySkill adds a skill, which the owner has not accepted by that. The daemon checks it.
func carrySkill(ctx context.Context, c *client.Client, from string, it *Item) error {
	// The daemon says in words only what is wrong with a skill, so a folder that cannot be read is found first.
	if err := readable(from); err != nil {
		return fmt.Errorf("it cannot be read: %w", explained(err))
	}
	theirs, err := client.Do(ctx, c, api.CheckSkill, "", api.SkillSource{From: from})
	if err != nil {
		return explained(err)
	}
	if theirs.Problem != "" {
		it.State, it.Why = left, "hob cannot use it: "+console.ToYou(theirs.Problem)
		return nil
	}
	it.To = theirs.Name
	mine, err := client.Show(ctx, c, api.ShowSkill, theirs.Name)
	if p := (*client.Problem)(nil); errors.As(err, &p) && p.Status == 404 {
		it.Why = "read it, then: hob skills trust " + theirs.Name
		_, err = client.Do(ctx, c, api.AddSkill, "", api.SkillSource{From: from})
		return explained(err)
	}
	switch {
	case err != nil:
		return explained(err)
	case mine.Hash == theirs.Hash:
		it.State, it.Why = already, ""
	default:
		it.State, it.Why = kept, "you have another skill of this name"
	}
	return nil
}

// carryJob makes a job and pauses it, because the other program may still run it, and its prompt may be the work of a model.
func carryJob(ctx context.Context, a *cli.App, c *client.Client, it *Item) error {
	mine, err := client.Show(ctx, c, api.ShowJob, it.job.Name)
	p := (*client.Problem)(nil)
	switch {
	case err == nil && mine.Prompt == it.job.Prompt:
		it.State, it.Why = already, ""
		if !mine.Paused { // an import that was killed may not have come so far
			it.Why = "it is not paused: hob cron pause " + it.To
		}
		return nil
	case err == nil:
		it.State, it.Why = kept, "you have another job of this name"
		return nil
	case !errors.As(err, &p) || p.Status != 404:
		return explained(err)
	}
	for _, call := range []job{*it.job, {Action: "pause", Name: it.job.Name}} {
		raw, err := json.Marshal(call)
		if err != nil {
			return err
		}
		out, err := cli.CallTool(ctx, a, c, "cron", client.ToolCall{Input: raw})
		if err == nil && !out.Success {
			err = cli.ToolFailure(out)
		}
		if err != nil && call.Action == "pause" {
			return fmt.Errorf("it was added and is NOT paused (hob cron pause %s): %w", call.Name, explained(err))
		}
		if err != nil {
			return explained(err)
		}
	}
	return nil
}
