package main

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/doctor"
)

// versionInfo is the JSON document of hob version.
// Commit is the full hash, or as much of it as the version has; "" if the build does not tell it, as with go run.
type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"`     // of the commit (RFC 3339)
	Changed bool   `json:"modified,omitempty"` // the checkout had changes that are not in the commit
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
	v.Commit, v.Date = pseudoVersion(v.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Date = s.Value
		case "vcs.modified":
			v.Changed = s.Value == "true"
		}
	}
	return v
}

// built is what hob doctor compares with the clock and with the hob that runs.
func built() doctor.Build {
	v := version()
	at, err := time.Parse(time.RFC3339, v.Date)
	if err != nil {
		at = time.Time{} // this build has no date
	}
	return doctor.Build{Version: v.Version, At: at}
}

// pseudoVersion reads commit and date from the version that the Go tool makes of a commit without a tag
// (https://go.dev/ref/mod#pseudo-versions): v0.0.0-20261122101500-abcdef123456. go install of a module has nothing else.
func pseudoVersion(version string) (commit, date string) {
	parts := regexp.MustCompile(`[-.](\d{14})-([0-9a-f]{12})(\+|$)`).FindStringSubmatch(version)
	if parts == nil {
		return "", ""
	}
	at, err := time.Parse("20060102150405", parts[1])
	if err != nil {
		return "", ""
	}
	return parts[2], at.Format(time.RFC3339)
}

// text is the version as a line.
func (v versionInfo) text() string {
	commit := "commit not recorded"
	if v.Commit != "" {
		commit = "commit " + v.Commit[:min(12, len(v.Commit))]
		if v.Date != "" {
			commit += " of " + v.Date[:min(10, len(v.Date))]
		}
		if v.Changed {
			commit += " with changes"
		}
	}
	return fmt.Sprintf("hob %s (%s, %s, %s)", v.Version, v.Go, v.System, commit)
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
	a.Say("%s", v.text())
	return nil
}
