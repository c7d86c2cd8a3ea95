package fsguard_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hob/daemon/fsguard"
)

// byPatterns is SecretName as the patterns define it.
func byPatterns(name string) bool {
	name = strings.ToLower(strings.ToUpper(name))
	if slices.Contains(fsguard.SecretFolders(), name) {
		return true
	}
	return !strings.HasSuffix(name, ".pub") && slices.ContainsFunc(fsguard.SecretNames(), func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

func TestSecretNameIsWhatThePatternsSay(t *testing.T) {
	pieces := []string{"", "a", ".", "-", "_", "x.", ".x", "pub", ".pub", "ſ", "K", "İ", "é", " ", "\xff", "*", "[", "\\"}
	for _, pattern := range slices.Concat(fsguard.SecretFolders(), fsguard.SecretNames()) {
		text := strings.ReplaceAll(pattern, "*", "")
		pieces = append(pieces, text, strings.ToUpper(text), text[:len(text)-1], text[1:])
	}
	same := func(name string) {
		if got, want := fsguard.SecretName(name), byPatterns(name); got != want {
			t.Errorf("SecretName(%q) = %v, the patterns say %v", name, got, want)
		}
	}
	secrets := 0
	for _, a := range pieces {
		for _, b := range pieces {
			same(a + b)
			if fsguard.SecretName(a + b) {
				secrets++
			}
		}
	}
	if secrets < 1000 {
		t.Errorf("only %d of the names are secret", secrets)
	}
	rapid.Check(t, func(r *rapid.T) {
		same(strings.ReplaceAll(strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(pieces), rapid.StringN(0, 6, -1)), 0, 4).Draw(r, "name"), ""), "/", ""))
	})
}

func TestSecretNameCopiesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { fsguard.SecretName("an_ordinary_name_of_a_file.go") }); n != 0 {
		t.Errorf("%v allocations for each name", n)
	}
}
