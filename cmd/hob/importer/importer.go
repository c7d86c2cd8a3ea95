// Package importer copies the files, skills and jobs of another agent into hob's home. It reads only that one folder, overwrites
// nothing, gives no rights, and says of each thing what became of it. Skills and jobs wait until the owner accepts them.
package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

// Report is the JSON document of hob import.
type Report struct {
	Program string `json:"program"` // openclaw or hermes
	From    string `json:"from"`
	DryRun  bool   `json:"dry_run"` // nothing was changed: imported means that it would be
	Items   []Item `json:"items"`

	Unchecked string `json:"unchecked,omitempty"` // why a dry run has not checked its skills and jobs, nor compared them with those of hob
}

// Command makes hob import.
func Command(a *cli.App) *cobra.Command {
	var dry, secrets bool
	cmd := &cobra.Command{
		Use: "import PROGRAM DIR", Short: "Import files, skills and jobs from OpenClaw or Hermes Agent",
		Long: "Copy workspace files, memory, skills and jobs of another program from its folder DIR, for example ~/.openclaw or ~/.hermes, and list what was not imported and why.\n" +
			"Nothing is overwritten. Skills are not used before you accept them, jobs come paused and without rights, and nobody is paired. It can be repeated. If something cannot be read or written, the rest is imported all the same, and the exit code is 1.",
		Example: "  hob import --dry-run openclaw ~/.openclaw\n  hob import openclaw ~/.openclaw\n  hob import --secrets hermes ~/.hermes",
		Args:    cli.Exactly(2, "openclaw or hermes, and its DIR"), ValidArgsFunction: cli.Words("openclaw", "hermes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := readPlan(cmd.Context(), args[0], args[1], secrets, typedFlags(cmd))
			if err != nil {
				return err
			}
			r.DryRun = dry
			home, _, err := a.HomeDir()
			if err != nil {
				return err
			}
			c, err := a.Client(cmd.Context())
			switch {
			case dry && errors.Is(err, client.ErrNoDaemon): // carry notes what it could not compare
			case err != nil:
				return err
			case c.System:
				return &cli.Problem{Text: "the home of the system's hob belongs to another user", Hint: systemHint(typedFlags(cmd), r.Program, r.From)}
			}
			if err := carry(cmd.Context(), a, c, home, &r); err != nil {
				return err
			}
			return show(a, r)
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only list what would be done")
	cmd.Flags().BoolVar(&secrets, "secrets", false, "also copy keys and tokens, each into a file of its own in the folder secrets of hob's home")
	return cmd
}

// readPlan reads the folder and plans the import. The flags of the command are for a hint that repeats it.
func readPlan(ctx context.Context, program, dir string, secrets bool, flags string) (r Report, err error) {
	type kind struct {
		read  func(context.Context, *plan) error
		other string
		marks []string // names that only its own folder has, or only a workspace of it
	}
	kinds := map[string]kind{
		"openclaw": {openclaw, "hermes", append(clawSettings(), "workspace", "IDENTITY.md", "TOOLS.md", "HEARTBEAT.md", "BOOTSTRAP.md")},
		"hermes":   {hermes, "openclaw", []string{hermesSettings, "memories", "state.db", "profiles"}},
	}
	k, ok := kinds[program]
	if !ok {
		return Report{}, cli.Usage("hob import openclaw DIR, or hob import hermes DIR", "hob cannot import from %q", program)
	}
	f, err := openFolder(dir)
	if err != nil {
		text := fmt.Sprintf("the folder %s cannot be read: %v", dir, explained(err))
		if errors.Is(err, fs.ErrNotExist) {
			text = "there is no folder " + dir
		}
		return Report{}, &cli.Problem{Text: text, Hint: "name the folder of " + program + ", for example ~/." + program}
	}
	defer func() { err = errors.Join(err, f.root.Close()) }()
	if !f.hasAny(k.marks) && f.hasAny(kinds[k.other].marks) {
		return Report{}, &cli.Problem{Text: fmt.Sprintf("%s is a folder of %s and not of %s", dir, k.other, program), Hint: againHint(flags, k.other, dir)}
	}
	p := &plan{folder: f, secrets: secrets, used: map[string]bool{}}
	if err := k.read(ctx, p); err != nil {
		return Report{}, &cli.Problem{Text: fmt.Sprintf("%s is not a folder of %s: %v", dir, program, err), Hint: "name the folder of " + program + ", for example ~/." + program}
	}
	slices.SortStableFunc(p.items, func(a, b Item) int {
		order := []string{"file", "skill", "job", "access", "secret", "other"}
		return cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind))
	})
	return Report{Program: program, From: f.path, Items: p.items}, nil
}

// show prints the report, what failed last. If something failed, that is the error of the command.
func show(a *cli.App, r Report) error {
	bad := 0
	for _, it := range r.Items {
		if it.State == failed {
			bad++
		}
	}
	problem := &cli.Problem{Text: console.Plural(bad, "item") + " failed", Hint: "remove the causes that are listed, and run the same command again: it imports only what is missing", Doc: r}
	switch {
	case a.JSON && bad > 0:
		return problem // Exit prints its document
	case a.JSON:
		return a.Document(r)
	}
	heads := []struct{ state, head string }{
		{imported, "imported"}, {already, "already there"}, {kept, "kept: yours is different and was not changed"}, {left, "not imported"}, {failed, "failed"},
	}
	if r.DryRun {
		heads[0].head = "would be imported"
	}
	var b strings.Builder
	for _, h := range heads {
		head := h.head + ":\n"
		for _, it := range r.Items {
			if it.State != h.state {
				continue
			}
			fmt.Fprintf(&b, "%s  %-6s  %s", head, it.Kind, console.OneLine(it.From))
			if it.To != "" && it.To != it.From {
				fmt.Fprintf(&b, " -> %s", console.OneLine(it.To))
			}
			if it.Why != "" {
				fmt.Fprintf(&b, " (%s)", console.OneLine(it.Why))
			}
			b.WriteByte('\n')
			head = "" // only before the first item
		}
	}
	if slices.ContainsFunc(r.Items, func(it Item) bool { return it.Kind == "file" && it.State == imported }) {
		b.WriteString("imported files count as foreign text: read each, then: hob trust accept PATH (hob trust list shows them)\n")
	}
	if r.Unchecked != "" {
		fmt.Fprintln(&b, r.Unchecked)
	}
	if r.DryRun {
		b.WriteString("nothing was changed\n")
	}
	if err := a.Text(b.String()); err != nil || bad == 0 {
		return err
	}
	return problem
}

// source is the absolute path of an item.
func (r Report) source(it Item) string {
	return filepath.Join(r.From, filepath.FromSlash(it.From))
}

// writeNew writes a file below a folder that must not be there yet, as a whole or not at all. It reports false if there is one. Links are
// not followed out of the folder, and the temporary file replaces what an import that was killed has left.
func writeNew(root *os.Root, name string, text []byte) (made bool, err error) {
	temp := name + ".import.tmp"
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return false, err
	}
	if err := root.Remove(temp); err != nil && !os.IsNotExist(err) {
		return false, err
	}
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, root.Remove(temp)) }()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return false, err
	}
	// A link, unlike a renaming, never replaces a file.
	if err = root.Link(temp, name); errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}
