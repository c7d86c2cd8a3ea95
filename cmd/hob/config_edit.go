package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/setup"
	"hob/config"
	"hob/daemon/console"
)

// editCommand makes hob config edit.
func (k configCommands) editCommand() *cobra.Command {
	return &cobra.Command{
		Use: "edit", Short: "Open config.toml in your editor, and check it before it holds", Args: cli.None,
		Long: "Open a copy of config.toml in $VISUAL, else $EDITOR, and check it when the editor ends. A copy without mistakes takes the place of the file;\n" +
			"with mistakes you are asked whether to go back to the editor, to save it as it is, or to leave the file as it was.",
		Example: "  hob config edit\n  EDITOR='code --wait' hob config edit",
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := k.file()
			if err != nil {
				return err
			}
			if k.app.JSON {
				return cli.Usage("use: hob config set", "hob config edit is for people: it has no JSON document to show")
			}
			return k.edit(cmd, path)
		},
	}
}

// edit lets the editor work on a copy. The file is either the old one or a complete new one, even if the editor is killed.
func (k configCommands) edit(cmd *cobra.Command, path string) (err error) {
	before, err := config.FileContent(path)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "hob-config-") // 0700: it may hold secrets
	if err != nil {
		return fmt.Errorf("make a copy to edit: %w", err)
	}
	// The copy has the same name, so that an editor chooses the right syntax.
	draft := filepath.Join(folder, "config.toml")
	// The copy is removed at the end, unless it has work in it that could not be saved.
	kept := false
	defer func() {
		if kept {
			return
		}
		if bad := os.RemoveAll(folder); bad != nil {
			err = errors.Join(err, fmt.Errorf("remove the copy: %w", bad))
		}
	}()
	if err := os.WriteFile(draft, before, 0o600); err != nil {
		return fmt.Errorf("make a copy to edit: %w", err)
	}
	doc, err := k.draft(cmd.Context(), draft, path)
	// An editor that was closed without a change must not touch the file.
	if err == nil && bytes.Equal(doc, before) {
		k.app.Say("nothing was changed")
		return nil
	}
	if err == nil {
		err = setup.Save(path, before, doc)
	}
	if err != nil {
		// What somebody wrote for minutes is not thrown away because of an error: the copy stays, and its place
		// is printed.
		now, bad := os.ReadFile(draft)
		if kept = bad == nil && !bytes.Equal(now, before); kept {
			k.app.Note("what you have written is in " + draft)
		}
		return err
	}
	k.app.Say("%s is changed", path)
	k.tell(cmd, true)
	return nil
}

// draft opens the editor until the document is valid, or the user saves it with its mistakes. A mistake does
// not end the edit: its text and line are printed, and the person decides.
func (k configCommands) draft(ctx context.Context, draft, path string) ([]byte, error) {
	ask := console.NewPrompter(k.app.In, k.app.Err, slog.New(slog.DiscardHandler))
	// Each round is one run of the editor, followed by a check of what it has left.
	for {
		if err := k.open(ctx, draft); err != nil {
			return nil, err
		}
		doc, err := config.FileContent(draft)
		if err != nil {
			return nil, err
		}
		// Problems name the file that the person knows, not the copy.
		problems := k.mistakes(path, doc)
		if config.Valid(problems) {
			return doc, nil
		}
		for _, p := range problems {
			k.app.Print(k.app.Err, console.Clean(p.String()))
		}
		line, err := ask.Ask(ctx, "go back to the editor? [Y]es, [s]ave it as it is, [n]o, leave the file as it was: ")
		// Ctrl-D or Ctrl-C at the question leaves the file as it was.
		if err != nil && (!errors.Is(err, io.EOF) || line == "") {
			k.app.Print(k.app.Err, "") // end the line of the prompt
			return nil, &cli.Problem{Code: cli.ExitFailed, Text: "the file was left as it was: what you wrote has " + countMistakes(problems)}
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "s", "save":
			return doc, nil
		case "n", "no":
			return nil, &cli.Problem{Code: cli.ExitFailed, Text: "the file was left as it was"}
		}
	}
}

// mistakes returns all problems of a document. Check returns advice and mistakes in different ways; both are
// wanted here.
func (k configCommands) mistakes(path string, doc []byte) []config.Problem {
	problems, err := k.reference().Check(path, doc, nil)
	var list config.Errors
	if errors.As(err, &list) {
		return list
	}
	return problems
}

// open runs the editor of $VISUAL or $EDITOR, which may contain flags. The terminal is handed over: the editor
// has the same three streams as this process.
func (k configCommands) open(ctx context.Context, draft string) error {
	line := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"))
	// Neither variable is set: the editor that the system always has.
	if line == "" {
		line = "vi"
		if runtime.GOOS == "windows" {
			line = "notepad"
		}
	}
	// Editors are often given with flags, as in "code --wait".
	words := strings.Fields(line)
	if len(words) == 0 {
		return &cli.Problem{Code: cli.ExitFailed, Text: "$VISUAL or $EDITOR is blank", Hint: "name an editor, for example EDITOR=nano, or use: hob config set"}
	}
	// These editors would wait for keys that nobody can type.
	needs := slices.Contains(strings.Fields("vi vim nvim view nano pico emacs micro joe jed mcedit hx helix kak ne"), filepath.Base(words[0]))
	if needs && (!cli.IsTerminal(k.app.In) || !cli.IsTerminal(k.app.Out)) {
		return &cli.Problem{Code: cli.ExitFailed, Text: "there is no terminal for the editor " + words[0], Hint: "change single keys with: hob config set KEY VALUE"}
	}
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], draft)...) //nolint:gosec // the editor is the caller's own choice
	cmd.Stdin, cmd.Stdout, cmd.Stderr = k.app.In, k.app.Out, k.app.Err
	if err := cmd.Run(); err != nil {
		return &cli.Problem{Code: cli.ExitFailed, Text: fmt.Sprintf("the editor %s ended with: %v", words[0], err), Hint: "the file was left as it was; name another editor in $EDITOR, or use: hob config set"}
	}
	return nil
}
