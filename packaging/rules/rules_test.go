package rules_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rules are all checks of the sources, by name.
func rules() map[string]func([]source) []string {
	return map[string]func([]source) []string{
		"imports":       checkImports,
		"places":        checkPlaces,
		"templates":     checkTemplates,
		"test modules":  checkTestModules,
		"sizes":         checkSizes,
		"small":         checkSmall,
		"init":          checkInit,
		"variables":     checkVariables,
		"go":            checkGo,
		"sleep":         checkSleep,
		"times":         checkTimes,
		"background":    checkBackground,
		"names":         checkNames,
		"errors":        checkErrors,
		"test packages": checkTestPackages,
		"words":         checkWords,
		"lists":         checkLists,
	}
}

// TestRepository runs every rule over the repository.
func TestRepository(t *testing.T) {
	all, err := parse(os.DirFS(repository(t)))
	if err != nil {
		t.Fatal(err)
	}
	if len(shipped(all)) < 20 || len(shipped(all)) == len(all) {
		t.Fatalf("only %d files were found: the walk is broken", len(all))
	}
	for name, check := range rules() {
		t.Run(name, func(t *testing.T) {
			found := check(all)
			slices.Sort(found)
			for _, f := range found {
				t.Error(f)
			}
		})
	}
}

// top is what may stand at the top of the repository, beside what .gitignore names there.
var top = words(".ci/ .git .github/ cmd/ channels/ config/ daemon/ docs/ packaging/ scheduler/ tools/ " +
	"go.mod go.sum README.md LICENSE CONTRIBUTING.md .gitignore .gitattributes .golangci.yml")

// TestTopLevel keeps the top of the repository as it is.
func TestTopLevel(t *testing.T) {
	root := repository(t)
	ignore, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range strangers(os.DirFS(root), strings.Fields(string(ignore)), t) {
		t.Error(f)
	}
}

func strangers(root fs.FS, ignored []string, t *testing.T) []string {
	t.Helper()
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		name := e.Name()
		skip := slices.ContainsFunc(ignored, func(p string) bool { return matches(strings.Trim(p, "/"), name) })
		listed := slices.Contains(top, name) || e.IsDir() && slices.Contains(top, name+"/") || name == ".git"
		if !listed && !skip {
			found = append(found, path.Clean(name)+" has no place at the top of the repository")
		}
	}
	return found
}
