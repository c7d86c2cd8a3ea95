package secret_test

import (
	"slices"
	"strings"
	"testing"

	"hob/daemon/secret"
)

func TestPlaceholder(t *testing.T) {
	for _, c := range []struct{ name, was, now, want string }{
		{"none", "", "a [secret] [secret a b] [secrets x] [secret ", ""},
		{"one", "", "key = [secret model.api_key]", "[secret model.api_key]"},
		{"one that was there", "a [secret x]", "[secret x] b", ""},
		{"the same again", "[secret x]", "[secret x][secret x]", "[secret x]"},
		{"another beside one that was there", "[secret x]", "[secret x] [secret y]", "[secret y]"},
		{"one less", "[secret x][secret x]", "[secret x]", ""},
		{"one across lines", "", "[secret x\n]", ""},
		{"the longest name", "", "[secret " + strings.Repeat("n", 200) + "]", "[secret " + strings.Repeat("n", 200) + "]"},
		{"a name that is too long", "", "[secret " + strings.Repeat("n", 201) + "]", ""},
	} {
		if got := secret.Placeholder([]byte(c.was), []byte(c.now)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Placeholders finds what a Redactor writes.
func TestPlaceholdersAreThoseOfTheRedactor(t *testing.T) {
	var r secret.Redactor
	r.Add("ntfy.token", "hunter2-hunter2")
	r.Add("model.api_key", "correct-horse")
	text := r.Text("a hunter2-hunter2 b correct-horse c hunter2-hunter2")
	if got, want := secret.Placeholders([]byte(text)), []string{"[secret ntfy.token]", "[secret model.api_key]"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
