package importer_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"hob/cmd/hob/cli"
	"hob/cmd/hob/importer"
)

// underRoot makes hob import below a root command with the flags that all commands have.
func underRoot() (root, command *cobra.Command) {
	a := &cli.App{}
	root, command = &cobra.Command{Use: "hob", SilenceErrors: true, SilenceUsage: true}, importer.Command(a)
	root.PersistentFlags().StringVar(&a.Home, "home", "", "")
	root.PersistentFlags().BoolVar(&a.JSON, "json", false, "")
	root.AddCommand(command)
	return root, command
}

// The hint for a folder of the other program repeats the flags, and quotes what a shell would split.
func TestHintRepeatsTheCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my agent")
	if err := os.CopyFS(dir, os.DirFS("testdata/hermes")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ typed, flags string }{
		{"import", ""},
		{"import --dry-run", " --dry-run"},
		{"import --secrets --dry-run", " --dry-run --secrets"},
		{"import --dry-run=false", " --dry-run=false"},
		{"--home /srv/hob import --dry-run", " --dry-run --home /srv/hob"},
		{"--home=/srv/it's_hob --json import", ` --home '/srv/it'\''s_hob' --json`},
		{"--home= import --dry-run", " --dry-run"},
	} {
		root, _ := underRoot()
		root.SetArgs(append(strings.Fields(c.typed), "openclaw", dir))
		err := root.ExecuteContext(t.Context())
		want := "hob import" + c.flags + " hermes '" + dir + "'"
		if p := (*cli.Problem)(nil); !errors.As(err, &p) || p.Hint != want {
			t.Errorf("%s: %v, want the hint %s", c.typed, err, want)
		}
	}
}

// A folder whose name begins with a hyphen is no flag in the hint.
func TestHintOfAHyphen(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "-h"), os.DirFS("testdata/hermes")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	_, err := importer.ReadPlan(t.Context(), "openclaw", "-h", false)
	if p := (*cli.Problem)(nil); !errors.As(err, &p) || p.Hint != "hob import hermes ./-h" {
		t.Error(err)
	}
}

// The hint for the system's hob repeats the flags too. The plan, from which the hint has the folder, has its absolute path.
func TestHintForTheSystemsHob(t *testing.T) {
	_, command := underRoot()
	if err := command.ParseFlags([]string{"--secrets", "--dry-run"}); err != nil {
		t.Fatal(err)
	}
	r, err := importer.ReadPlan(t.Context(), "hermes", "testdata/hermes", false)
	if err != nil || !filepath.IsAbs(r.From) {
		t.Fatalf("%v, the folder is %s", err, r.From)
	}
	const want = "sudo -u hob hob --home /var/lib/hob import --dry-run --secrets hermes '/home/ann/my agent'"
	if got := importer.SystemHint(importer.TypedFlags(command), r.Program, "/home/ann/my agent"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The commands in the list of an import quote names and folders too. A shell expands the tilde of a workspace in the home folder.
func TestCommandsInTheListAreQuoted(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"workspace/AGENTS.md":       "x",
		"skills/two words/SKILL.md": "x",
		"openclaw.json":             `{agents: {list: [{workspace: "~/my agent"}, {workspace: "~/other"}, {workspace: "/srv/my agent"}]}, mcp: {servers: {"my files": {}}}}`,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	got := lines(t, "openclaw", dir, false)
	for _, want := range []string{"hob skills trust 'two words')", "hob mcp add 'my files')", "hob import openclaw ~/'my agent';", "hob import openclaw ~/other;", "hob import openclaw '/srv/my agent';"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}
