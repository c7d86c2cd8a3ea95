package config_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hob/config"
)

func TestTheWebOfTheTools(t *testing.T) {
	s, got := parsed(t, `[tools.web]
search = "searxng"
search_url = "http://localhost:8888"
networks = ["192.168.1.7/24", "fd00::/8"]
[tools.web.secrets]
api = { secret = "env:API_TOKEN", hosts = ["api.example.org"] }
[tools.web.secrets.other]
secret = "keyring:other"
hosts = ["a.example.org", "localhost"]
`)
	w := s.Tools.Web
	if len(got) > 0 || w.Search != "searxng" || w.SearchURL != "http://localhost:8888" || len(s.Tools.Deny) > 0 {
		t.Errorf("%+v, %q", s.Tools, got)
	}
	if want := []netip.Prefix{netip.MustParsePrefix("192.168.1.0/24"), netip.MustParsePrefix("fd00::/8")}; !slices.Equal(w.Prefixes(), want) {
		t.Errorf("networks %v", w.Prefixes())
	}
	if a := w.Secrets["api"]; len(w.Secrets) != 2 || a.Secret != "env:API_TOKEN" || !slices.Equal(a.Hosts, []string{"api.example.org"}) {
		t.Errorf("secrets %+v", w.Secrets)
	}
	if d, _ := parsed(t, ""); d.Tools.Web.Search != "duckduckgo" {
		t.Errorf("by default %+v", d.Tools.Web)
	}
}

// A mistake must not send a search to another engine than the one that was meant, nor a secret anywhere; and no problem shows a
// secret.
func TestMistakesInTheWebOfTheTools(t *testing.T) {
	for _, c := range []struct{ doc, want string }{
		{"search = \"altavista\"", "want one of searxng, brave, tavily, duckduckgo"},
		{"search = 1", "want a text"},
		{"search_url = \"localhost\"", "want an address like https://"},
		{"search_url = \"ftp://example.org\"", "want an address like https://"},
		{"secrets = \"x\"", "want a section"},
		{"secrets.api = \"canary-1\"", "want a section"},
		{"secrets.api = { secret = \"canary-1\", hosts = [\"a.example.org\"] }", "want a reference"},
		{"secrets.api = { secret = \"env:X\" }", "hosts: want the names"},
		{"secrets.api = { secret = \"env:X\", hosts = [\"*.example.org\"] }", "hosts: want names like"},
		{"secrets.api = { secret = \"env:X\", hosts = [\"https://a.example.org\"] }", "hosts: want names like"},
		{"secrets.api = { secret = \"env:X\", hosts = [\"a.example.org:8080\"] }", "hosts: want names like"},
		{"secrets.api = { secret = \"env:X\", hosts = [\"A.example.org\"] }", "hosts: want names like"},
		{"secrets.\"a b\" = { secret = \"env:X\", hosts = [\"a.example.org\"] }", "letters, digits"},
	} {
		s, got := parsed(t, "[tools]\ndeny = [\"write\"]\n[tools.web]\n"+c.doc+"\n")
		text := strings.Join(got, "\n")
		if !strings.Contains(text, c.want) || !s.Off("tools.web") || !slices.Equal(s.Tools.Deny, []string{"write", "web_search"}) || len(s.Tools.Web.Secrets) > 0 {
			t.Errorf("%s: %s; deny %q", c.doc, text, s.Tools.Deny)
		}
		if strings.Contains(c.doc, "{ secret = \"canary") && strings.Contains(text, "canary") {
			t.Errorf("%s shows the secret: %s", c.doc, text)
		}
	}
	s, got := parsed(t, "[tools.web]\nsearch = \"brave\"\nnetworks = [\"10.0.0.0/8\", \"10.0.0.0/99\", \"nas\"]\n")
	if len(got) != 2 || len(s.Tools.Web.Prefixes()) != 1 || s.Tools.Web.Search != "brave" || len(s.Tools.Deny) > 0 {
		t.Errorf("%q: %+v", got, s.Tools)
	}
}

// The sections inside [tools] are looked at like any other, each once.
func TestLookAtSectionsInSections(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte("[tools]\ndeny = [\"ls\"]\n[tools.exec]\nnetwork = true\n[tools.web]\nsearch = \"brave\"\nsearch_key = \"canary-1\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	settings, err := config.NewReference(config.Owned{}).Look(path, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]any{}
	for _, s := range settings {
		if _, twice := seen[s.Key]; twice {
			t.Errorf("%s is there twice", s.Key)
		}
		seen[s.Key] = s.Value
	}
	if seen["tools.exec.network"] != true || seen["tools.web.search"] != "brave" || seen["tools.web.search_key"] == "canary-1" || seen["tools.web.search_key"] == nil {
		t.Errorf("%v", seen)
	}
}
