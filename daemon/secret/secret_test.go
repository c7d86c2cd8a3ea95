package secret_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hob/daemon/secret"
)

func resolver(t *testing.T) secret.Resolver {
	return secret.Resolver{
		Env: func(name string) (string, bool) {
			v, ok := map[string]string{"TOKEN": " tk_canary \n", "EMPTY": "  "}[name]
			return v, ok
		},
		Home: t.TempDir(),
	}
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestResolve(t *testing.T) {
	r := resolver(t)
	inside, absolute := filepath.Join(r.Home, "key"), filepath.Join(t.TempDir(), "key")
	write(t, inside, "from-home\n", 0o600)
	write(t, absolute, "from-root\r\n", 0o600)
	write(t, filepath.Join(r.Home, "big"), strings.Repeat("x", 70_000), 0o600)
	tests := []struct{ ref, want, fault string }{
		{ref: "", want: ""},
		{ref: "sk-literal", want: "sk-literal"},
		{ref: " spaced literal ", want: " spaced literal "},
		{ref: "123456:ABC-def", want: "123456:ABC-def"},
		{ref: "https://user@host/x", want: "https://user@host/x"},
		{ref: "averyveryverylongword:x", want: "averyveryverylongword:x"},
		{ref: "env:TOKEN", want: "tk_canary"},
		{ref: " env: TOKEN ", want: "tk_canary"},
		{ref: "file:key", want: "from-home"},
		{ref: "file:" + absolute, want: "from-root"},
		{ref: "env:NONE", fault: "the variable NONE is not set"},
		{ref: "env:EMPTY", fault: "env:EMPTY is empty"},
		{ref: "env:", fault: "env: there is nothing after the colon"},
		{ref: "file:none", fault: "file:none: there is no file " + filepath.Join(r.Home, "none")},
		{ref: "file:.", fault: "is not a regular file"},
		{ref: "file:big", fault: "more than 64 KB is too long for a secret"},
		{ref: "vault:hob", fault: `"vault:"; there are env:NAME, file:PATH, keyring:NAME and cmd:COMMAND`},
		{ref: "ENV:TOKEN", fault: `"ENV:"; there are env:NAME`},
	}
	for _, tt := range tests {
		got, err := r.Resolve(t.Context(), "x", tt.ref)
		switch {
		case tt.fault == "" && (err != nil || got != tt.want):
			t.Errorf("%q: got %q, %v; want %q", tt.ref, got, err, tt.want)
		case tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)):
			t.Errorf("%q: got %q, error %v; want an error with %q", tt.ref, got, err, tt.fault)
		}
	}
	if _, err := r.Resolve(t.Context(), "x", "vault:hob"); !errors.Is(err, secret.ErrScheme) {
		t.Errorf("vault: got %v; want ErrScheme", err)
	}
}

func TestIsReference(t *testing.T) {
	for ref, want := range map[string]bool{
		"env:A": true, "file:~/x": true, "file:/x": true, "cmd:pass show x": true,
		"keyring:x": true, "sk-1": false, "": false, "vault:x": false, "file://host/x": false, "123:abc": false,
	} {
		if got := secret.IsReference(ref); got != want {
			t.Errorf("IsReference(%q) = %v", ref, got)
		}
	}
}

func TestFileThatOthersCanReadIsWarnedOf(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps no mode bits")
	}
	r := resolver(t)
	var warned []string
	r.Warn = func(s string) { warned = append(warned, s) }
	write(t, filepath.Join(r.Home, "open"), "value-1", 0o644)
	write(t, filepath.Join(r.Home, "closed"), "value-2", 0o600)
	for _, ref := range []string{"file:open", "file:closed"} {
		if _, err := r.Resolve(t.Context(), "x", ref); err != nil {
			t.Fatal(err)
		}
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "chmod 600 "+filepath.Join(r.Home, "open")) || strings.Contains(warned[0], "value") {
		t.Errorf("warnings: %q", warned)
	}
}

func TestResolvedValuesAreRedactedFromThenOn(t *testing.T) {
	r := resolver(t)
	r.Redact = &secret.Redactor{}
	for name, ref := range map[string]string{"model.api_key": "sk-literal-canary", "ntfy.token": "env:TOKEN"} {
		if _, err := r.Resolve(t.Context(), name, ref); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := r.Redact.Text("a sk-literal-canary b tk_canary"), "a [secret model.api_key] b [secret ntfy.token]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
