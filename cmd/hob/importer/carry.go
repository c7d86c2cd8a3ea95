package importer

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"hob/cmd/hob/cli"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// carry does what the plan says, item by item, and notes what became of each. One that fails does not stop the others. A dry run changes
// nothing and notes what would become of each; then c is nil if no hob is running.
func carry(ctx context.Context, a *cli.App, c *client.Client, home string, r *Report) error {
	for i := range r.Items {
		it := &r.Items[i]
		if it.State != imported {
			continue
		}
		var err error
		switch it.Kind {
		case "skill":
			err = carrySkill(ctx, c, r, i)
		case "job":
			err = carryJob(ctx, a, c, it, r.DryRun)
		default:
			err = carryFile(ctx, c, home, r, i)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			it.State, it.Why = failed, explained(err).Error()
		}
		// Without a hob, only files are compared with those of the home.
		if c == nil && it.State == imported && (it.Kind == "skill" || it.Kind == "job") {
			r.Unchecked = "hob is not running, so skills and jobs were not checked or compared with yours; hob up starts it"
		}
	}
	return nil
}

// earlier returns the item before number i that has the same place in hob's home, nil if there is none. In a dry run that place is still free.
func (r *Report) earlier(i int) *Item {
	for n := range r.Items[:i] {
		if one := &r.Items[n]; r.DryRun && one.State == imported && one.Kind == r.Items[i].Kind && one.To == r.Items[i].To {
			return one
		}
	}
	return nil
}

// carryFile writes a workspace file or a secret. A file that is there stays as it is. A new workspace file counts as foreign text: anybody may have
// written into the memory of the other program.
func carryFile(ctx context.Context, c *client.Client, home string, r *Report, i int) (err error) {
	it := &r.Items[i]
	if one := r.earlier(i); one != nil {
		it.compared(bytes.Equal(one.text, it.text))
		return nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s cannot be written: %w", it.To, explained(err))
		}
	}()
	// A link inside the workspace, where a model may write, must not lead to the rest of the home.
	top, below, _ := strings.Cut(it.To, "/")
	if !r.DryRun {
		if err := os.MkdirAll(filepath.Join(home, top), 0o700); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(filepath.Join(home, top))
	if r.DryRun && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	name := filepath.FromSlash(below)
	if r.DryRun {
		if _, err := root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return nil // it would be written
		}
	} else if made, err := writeForeign(ctx, c, root, name, r, it); made || err != nil {
		return err
	}
	has, err := root.ReadFile(name)
	if err == nil {
		it.compared(bytes.Equal(has, it.text))
	}
	return err
}

// writeForeign writes a file that must not be there yet. A workspace file is marked as foreign text first, so that no turn reads it unmarked, and
// once more with its content, by which a copy is known.
func writeForeign(ctx context.Context, c *client.Client, root *os.Root, name string, r *Report, it *Item) (made bool, err error) {
	if _, err := root.Lstat(name); it.Kind != "file" || !errors.Is(err, fs.ErrNotExist) {
		return writeNew(root, name, it.text)
	}
	folder, err := filepath.EvalSymlinks(root.Name())
	if err != nil {
		return false, err
	}
	path := filepath.Join(folder, name)
	mark := func() error {
		_, err := client.Do(ctx, c, api.MarkForeign, "", api.ForeignFile{Path: path, Why: "imported from " + r.Program})
		return err
	}
	if err := mark(); err != nil {
		return false, err
	}
	if made, err = writeNew(root, name, it.text); made && err == nil {
		err = mark()
	}
	return made, err
}

// compared notes that hob has something in the place of an item already.
func (it *Item) compared(same bool) {
	it.State, it.Why = already, ""
	if !same {
		another := map[string]string{"secret": "another secret has this name", "skill": "you have another skill of this name", "job": "you have another job of this name"}
		it.State, it.Why = kept, cmp.Or(another[it.Kind], "compare the two, and copy by hand what you want")
	}
}

// carrySkill adds a skill, which the owner has not accepted by that. The daemon checks it.
func carrySkill(ctx context.Context, c *client.Client, r *Report, i int) error {
	it := &r.Items[i]
	from := r.source(*it)
	// The daemon says in words only what is wrong with a skill, so a folder that cannot be read is found first.
	if err := readable(from); err != nil {
		return fmt.Errorf("it cannot be read: %w", explained(err))
	}
	if c == nil {
		one := r.earlier(i)
		if one == nil {
			return nil
		}
		first, err := skillHash(r.source(*one))
		second, unread := skillHash(from)
		if err = cmp.Or(err, unread); err != nil {
			return fmt.Errorf("it cannot be read: %w", explained(err))
		}
		it.compared(first == second)
		return nil
	}
	theirs, err := client.Do(ctx, c, api.CheckSkill, "", api.SkillSource{From: from})
	if err != nil {
		return err
	}
	if theirs.Problem != "" {
		it.State, it.Why = left, "hob cannot use it: "+console.ToYou(theirs.Problem)
		return nil
	}
	it.To, it.hash = theirs.Name, theirs.Hash
	if one := r.earlier(i); one != nil {
		it.compared(one.hash == it.hash)
		return nil
	}
	mine, err := client.Show(ctx, c, api.ShowSkill, theirs.Name)
	switch {
	case err == nil:
		it.compared(mine.Hash == theirs.Hash)
	case missing(err):
		it.Why, err = "read it, then: hob skills trust "+theirs.Name, nil
		if !r.DryRun {
			_, err = client.Do(ctx, c, api.AddSkill, "", api.SkillSource{From: from})
		}
	}
	return err
}

// skillHash returns a hash of what makes a skill, without the daemon, which compares the same properties: names, executable bits and
// contents, without hidden files.
func skillHash(dir string) (string, error) {
	h := sha256.New()
	err := eachFile(dir, func(name string, f *os.File) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(h, "%q %t %d\n", name, info.Mode()&0o111 != 0, info.Size()) // never fails
		_, err = io.Copy(h, f)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// carryJob makes a job and pauses it, because the other program may still run it, and its prompt may be the work of a model.
func carryJob(ctx context.Context, a *cli.App, c *client.Client, it *Item, dry bool) error {
	if c == nil {
		return nil
	}
	mine, err := client.Show(ctx, c, api.ShowJob, it.job.Name)
	switch {
	case err == nil:
		it.compared(mine.Prompt == it.job.Prompt)
		if it.State == already && !mine.Paused { // an import that was killed may not have come so far
			it.Why = "it is not paused: hob cron pause " + it.To
		}
		return nil
	case !missing(err):
		return err
	case dry:
		return nil
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
			return err
		}
	}
	return nil
}

// missing reports whether an answer of the daemon says that there is no such thing.
func missing(err error) bool {
	p := (*client.Problem)(nil)
	return errors.As(err, &p) && p.Status == http.StatusNotFound
}
