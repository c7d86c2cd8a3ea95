package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/config"
	"hob/daemon/console"
)

// validateCommand makes hob config validate.
func (k configCommands) validateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "validate [FILE]", Short: "Check config.toml, or another FILE, strictly", Args: cli.AtMost(1, "one FILE"), ValidArgsFunction: cli.Files("toml"),
		Long: "Check config.toml, or another FILE, and print every mistake with its line and column. An unknown key is a mistake here. Variables of the\n" +
			"environment that override keys of config.toml are checked with it. Exit code 1 when there is a mistake.",
		Example: "  hob config validate\n  hob config validate draft.toml\n  hob config validate --json",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				if _, err := os.Stat(args[0]); errors.Is(err, os.ErrNotExist) {
					return &cli.Problem{Code: cli.ExitFailed, Text: "there is no file " + args[0]}
				}
				// Another file is no config of a running hob, so the environment does not override it.
				return k.validate(args[0], nil)
			}
			path, err := k.file()
			if err != nil {
				return err
			}
			return k.validate(path, environment())
		},
	}
}

// validate checks a file and prints every problem. Advice is printed too, but does not make the file invalid.
func (k configCommands) validate(path string, env []string) error {
	problems, err := k.reference().CheckFile(path, env)
	// CheckFile returns advice as problems and mistakes as an error. Both are printed in one list.
	var list config.Errors
	if errors.As(err, &list) {
		problems, err = list, nil
	}
	if err != nil {
		return err
	}
	valid := config.Valid(problems)
	// An empty list must be [] in JSON, never null.
	doc := config.Report{File: path, Valid: valid, Problems: append([]config.Problem{}, problems...)}
	// An invalid file gets the same document, as the Doc of the error below.
	if k.app.JSON && valid {
		return k.app.Document(doc)
	}
	if !k.app.JSON {
		for _, p := range problems {
			k.app.Print(k.app.Err, console.Clean(p.String()))
		}
	}
	if !valid {
		return &cli.Problem{Code: cli.ExitFailed, Text: path + " has " + countMistakes(problems), Doc: doc}
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		k.app.Say("there is no %s: the defaults hold", path)
		return nil
	}
	k.app.Say("%s is valid", path)
	return nil
}

// countMistakes counts the problems that are not mere advice.
func countMistakes(problems []config.Problem) string {
	n := int64(0)
	for _, p := range problems {
		if !p.Advice {
			n++
		}
	}
	return console.Plural(n, "mistake")
}
