package mcp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/mcp"
)

// A package comes from the registry of the owner's settings, that of its scope first. His token for the registry is not used, and the error says so.
func TestRegistryOfTheOwner(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("there is no npm")
	}
	var mu sync.Mutex
	var asked []string
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Path+" "+r.Header.Get("Authorization"))
		mu.Unlock()
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer registry.Close()
	h := start(t, nil, func(d *mcp.Deps) { d.Environ = []string{"PATH=" + os.Getenv("PATH")} }) // without settings of this machine
	at, err := url.Parse(registry.URL)
	if err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprintf("registry=%s/all/\n@corp:registry=%s/corp/\n//%s/all/:_authToken=canary-4411\n//%s/corp/:_authToken=canary-4411\n", registry.URL, registry.URL, at.Host, at.Host)
	if err := os.WriteFile(filepath.Join(h.home, ".npmrc"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	for source, path := range map[string]string{"npm:notes@1.0.0": "/all/notes ", "npm:@corp/notes@1.0.0": "/corp/@corp%2fnotes ", "npm:@other/notes@1.0.0": "/all/@other%2fnotes "} {
		_, err := h.Installs().Install(t.Context(), "notes", api.MCPSource{Source: source})
		f, ok := event.AsFault(err)
		if !ok || !strings.Contains(f.Hint, "without your passwords and tokens") {
			t.Errorf("%s: %v", source, err)
		}
		mu.Lock()
		want, err := url.PathUnescape(strings.TrimSpace(path))
		if err != nil || !slices.Contains(asked, want+" ") || strings.Contains(strings.Join(asked, "\n"), "canary") {
			t.Errorf("%s: asked for %q: %v", source, asked, f)
		}
		asked = nil
		mu.Unlock()
	}
}
