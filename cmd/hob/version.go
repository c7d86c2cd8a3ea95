package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
)

// versionInfo is the JSON document of hob version.
// Commit is the full hash, and "" if the build had no checkout.
type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	System  string `json:"system"`
}

// version reads what the Go tool has written into the binary. A binary that was built from a checkout has the
// commit; one from a module proxy has the version.
func version() versionInfo {
	v := versionInfo{Version: "devel", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	// Without a version the Go tool writes nothing or "(devel)".
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	return v
}

// versionCommand makes hob version.
func versionCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cli.None, Example: "  hob version\n  hob version --json",
		RunE: func(*cobra.Command, []string) error { return showVersion(a) },
	}
}

// showVersion is hob version, and hob --version.
func showVersion(a *cli.App) error {
	v := version()
	if a.JSON {
		return a.Document(v)
	}
	commit := ""
	if v.Commit != "" {
		commit = ", commit " + v.Commit[:min(12, len(v.Commit))]
	}
	a.Say("hob %s (%s, %s%s)", v.Version, v.Go, v.System, commit)
	return nil
}
