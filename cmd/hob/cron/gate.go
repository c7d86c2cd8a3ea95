package cron

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/scheduler"
)

// gateFlags say what must have happened for a job to run when it comes due.
type gateFlags struct {
	command, mode, url string
	files              []string
}

// The modes of a gate's command.
const (
	byChange = "change"
	byExit   = "exit"
)

func (g *gateFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&g.command, "gate", "", "run only when the output of this `COMMAND` is new; none: no gate any more")
	f.StringVar(&g.mode, "gate-mode", "", "what of that command counts: change (its output, the default) or exit (that it ends with code 0)")
	f.StringVar(&g.url, "gate-url", "", "run only when what stands at this `ADDRESS` is new")
	f.StringArrayVar(&g.files, "gate-files", nil, "run only when one of these files is new, changed or gone: `GLOBS` in quotes, with commas between them")
	cli.CompleteFlag(cmd, "gate-mode", cli.Words(byChange, byExit))
}

// check refuses what the cron tool would refuse, by the names of the flags.
func (g gateFlags) check() error {
	if g.mode != "" && g.mode != byChange && g.mode != byExit {
		return cli.Usage("", "--gate-mode %q is not one of %s, %s", g.mode, byChange, byExit)
	}
	none := strings.EqualFold(strings.TrimSpace(g.command), scheduler.NoGate)
	if g.mode != "" && (g.command == "" || none) {
		return cli.Usage("for example --gate 'test -e ready' --gate-mode exit", "--gate-mode says what counts of the command of --gate")
	}
	if none && (g.url != "" || len(g.files) > 0) {
		return cli.Usage("", "--gate none takes the gate away: it stands alone")
	}
	return nil
}

// words are the gate as the cron tool reads it; "" when none is asked for. Relative globs begin where the command was typed.
func (g gateFlags) words() (string, error) {
	var gate scheduler.Gate
	if strings.EqualFold(strings.TrimSpace(g.command), scheduler.NoGate) {
		return scheduler.NoGate, nil
	}
	gate.Command, gate.Exit, gate.URL = strings.TrimSpace(g.command), g.mode == byExit, strings.TrimSpace(g.url)
	for _, list := range g.files {
		for _, glob := range scheduler.SplitFiles(list) {
			glob, err := rooted(glob)
			if err != nil {
				return "", err
			}
			gate.Files = append(gate.Files, glob)
		}
	}
	return gate.Words(), nil
}

// rooted makes a glob mean the same whoever reads it.
func rooted(glob string) (string, error) {
	if filepath.IsAbs(glob) || glob == "~" || strings.HasPrefix(glob, "~/") {
		return glob, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find out where --gate-files %q begins: %w", glob, err)
	}
	return filepath.Join(dir, glob), nil
}
