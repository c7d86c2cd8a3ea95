package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/config"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
)

//go:generate go run hob/cmd/hob config docs --out ../../docs/config.md

// configCommands holds what all commands of hob config need. None of them needs a daemon.
type configCommands struct {
	app       *cli.App
	reference func() config.Reference // made at its first use: it takes longer than all else that a command does at its start
}

// configCommand makes hob config.
func configCommand(a *cli.App, reference func() config.Reference) *cobra.Command {
	k := configCommands{a, reference}
	return cli.Family("config", "Look at config.toml, check it and change it",
		k.pathCommand(), k.getCommand(), k.setCommand(), k.validateCommand(), k.schemaCommand(), k.editCommand(), k.docsCommand())
}

// file is the path of config.toml.
// The file need not exist: hob has defaults for every key.
func (k configCommands) file() (string, error) {
	home, _, err := k.app.HomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, "config.toml"), cli.CheckHome(home)
}

// pathCommand makes hob config path.
func (k configCommands) pathCommand() *cobra.Command {
	return &cobra.Command{
		Use: "path", Short: "Print where config.toml is, or would be", Args: cli.None,
		Example: "  hob config path\n  hob --home /srv/hob config path",
		RunE: func(*cobra.Command, []string) error {
			path, err := k.file()
			if err != nil {
				return err
			}
			if k.app.JSON {
				_, err := os.Stat(path)
				return k.app.Document(map[string]any{"path": path, "exists": err == nil})
			}
			return k.app.Text(path + "\n")
		},
	}
}

// schemaCommand makes hob config schema. The schema is generated from the same reference that the loader checks
// against.
func (k configCommands) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of config.toml, for editors", Args: cli.None,
		Long: "Print the JSON Schema (2020-12) of config.toml. Editors with a TOML language server take it, for example from a first line\n" +
			"  #:schema ./config.schema.json",
		Example: "  hob config schema > ~/.hob/config.schema.json",
		RunE: func(*cobra.Command, []string) error {
			doc, err := configSchema(k.reference())
			if err != nil {
				return err
			}
			return k.app.Text(string(doc))
		},
	}
}

// docsCommand makes hob config docs, which generates docs/config.md. A test compares that file with the output.
func (k configCommands) docsCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "docs", Short: "Print the reference of all keys, as Markdown", Args: cli.None,
		Example: "  hob config docs\n  hob config docs --out config.md",
		RunE: func(*cobra.Command, []string) error {
			if out == "" && k.app.JSON {
				return k.app.Document(map[string]string{"markdown": configPage(k.reference())})
			}
			if out == "" {
				return k.app.Text(configPage(k.reference()))
			}
			// WriteFile refuses to replace a file whose content has changed since it was read here.
			before, err := config.FileContent(out)
			if err != nil {
				return err
			}
			return config.WriteFile(out, before, []byte(configPage(k.reference())))
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "write it into this file")
	return cmd
}

// environment returns the variables that override the file: those of this terminal, which a running daemon may not have.
func environment() []string { return os.Environ() }

// configError turns config problems into one error: a usage error for a single problem of an argument. Problems
// of the file keep their lines and columns, and are printed as a report.
func configError(err error) error {
	var list config.Errors
	if !errors.As(err, &list) || len(list) == 0 {
		return err
	}
	// A problem without a file is one of the typed key or value.
	if len(list) == 1 && list[0].File == "" {
		return &cli.Problem{Code: cli.ExitUsage, Text: list[0].Text, Hint: list[0].Hint}
	}
	return &cli.Problem{Code: cli.ExitFailed, Text: list.Error(), Doc: config.Report{Problems: list}}
}

// tell says when a change takes effect: a running daemon of this home watches the file, and loads it when it has been quiet for a moment. budget
// reports that caps may have changed.
func (k configCommands) tell(cmd *cobra.Command, budget bool) {
	if home, _, err := k.app.HomeDir(); err == nil {
		// A system-wide hob does not count, because it has another config.
		if c, err := client.Find(cmd.Context(), home, false); err == nil {
			k.app.Note("the running hob takes it within a second")
			if b, err := client.Show(cmd.Context(), c, api.ShowBudget, ""); budget && err == nil && b.Set {
				k.app.Note("but limits stored by hob budget set override [budget]; to use the config again: hob budget set --config")
			}
			return
		}
	}
	k.app.Note("it takes effect at the next start of hob")
}

// complete offers the names of keys for each first argument of a pair. Arguments are pairs of a key and a
// value, so every second one is a value, which is not completed.
func (k configCommands) complete(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args)%2 == 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	path, err := k.file()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return console.Beginning(k.reference().Names(path), typed), cobra.ShellCompDirectiveNoFileComp
}
