package netguard_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"hob/daemon/netguard"
)

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ raw, link, host string }{
		{"https://example.org", "https://example.org/", "example.org"},
		{"  HTTPS://EXAMPLE.org:443/A?b=C#d \n", "https://example.org/A?b=C", "example.org"},
		{"http://example.org:80/", "http://example.org/", "example.org"},
		{"http://example.org:443/", "http://example.org:443/", "example.org"},
		{"https://example.org:08443", "https://example.org:8443/", "example.org"},
		{"https://example.org:/x", "https://example.org/x", "example.org"},
		{"https://example.org./x", "https://example.org/x", "example.org"},
		{"https://example.org/a/./b/../c", "https://example.org/a/c", "example.org"},
		{"https://example.org/../../etc", "https://example.org/etc", "example.org"},
		{"https://example.org?q", "https://example.org/?q", "example.org"},
		{"https://example.org/?", "https://example.org/", "example.org"},
		{"https://example.org/a%2Fb%20c?x=%26", "https://example.org/a%2Fb%20c?x=%26", "example.org"},
		{"https://example.org/straße?q=ä", "https://example.org/stra%C3%9Fe?q=%C3%A4", "example.org"},
		{"https://Bücher.example/", "https://xn--bcher-kva.example/", "xn--bcher-kva.example"},
		{"https://8.8.8.8/", "https://8.8.8.8/", "8.8.8.8"},
		{"http://192.168.1.1:8080/x", "http://192.168.1.1:8080/x", "192.168.1.1"},
		{"http://[2606:4700:0:0::1111]:8080/", "http://[2606:4700::1111]:8080/", "2606:4700::1111"},
		{"https://my_host.example.org//x", "https://my_host.example.org//x", "my_host.example.org"},
		{"http://localhost:3000", "http://localhost:3000/", "localhost"},
		{`https://example.org/?a="<b>"`, "https://example.org/?a=%22%3Cb%3E%22", "example.org"},
	} {
		link, host, err := netguard.Canonical(c.raw)
		if err != nil || link != c.link || host != c.host {
			t.Errorf("%q: %q, %q, %v; want %q, %q", c.raw, link, host, err, c.link, c.host)
		}
	}
	for _, raw := range []string{
		"", "example.org", "//example.org/", "ftp://example.org", "file:///etc/passwd", "gopher://example.org", "javascript:alert(1)", "data:text/plain,x", "http:example.org",
		"http:/example.org", "http:///example.org", "https://", "https://:443/", "https://user@example.org/", "https://user:pw@example.org/", "https://@example.org/", "https://:@example.org",
		"https://example.org\\@evil.example/", "http:\\\\example.org", "https://exa mple.org/", "https://example.org/a b", "https://example.org/\r\nHost: x", "https://exam\tple.org/",
		"https://example.org/\x00", "https://example.org:0/", "https://example.org:99999/", "https://example.org:x/", "https://-a.example/", "https://a-.example/", "https://a..example/", "https://.example/",
		"https://exa$mple.org/", "https://0177.0.0.1/", "https://0x7f.1/", "https://2130706433/", "https://127.1/", "https://1.2.3.4.5/", "https://256.1.1.1/", "https://[::1/", "https://[::1%25lo]/",
		"https://[::ffff:8.8.8.8]/", "https://%65xample.org/", "https://example.org%2fx/", "https://example.org/%zz", "https://" + strings.Repeat("a", 64) + ".org/", "https://example.org/" + strings.Repeat("a", 9000),
		"https://\xff.org/", "https://１２７.1/",
	} {
		if link, _, err := netguard.Canonical(raw); !errors.Is(err, netguard.ErrAddress) || strings.Contains(err.Error(), "pw") {
			t.Errorf("%.60q became %q, %v", raw, link, err)
		}
	}
}

func TestPublicHosts(t *testing.T) {
	for _, host := range []string{"example.org", "EXAMPLE.org.", "a.b.example", "bücher.example", "xn--bcher-kva.example", "8.8.8.8", "134744072", "0x08080808", "[2606:4700::1]", "2606:4700::1", "localhost.example.org", "local.example", "127.0.0.1.nip.io", "1.1", "my_host.example.org"} {
		if netguard.Private(host) {
			t.Errorf("%s is private", host)
		}
	}
	for _, host := range []string{"", ".", "..", "a..b", "a b.example", "example.org:80", "user@example.org", "x\x00.org", "ex/ample.org", "-x.example.org", "1.2.3.4.5", "example.0x7f"} {
		if !netguard.Private(host) {
			t.Errorf("%q, which is no host, is public", host)
		}
	}
}

func TestLinks(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"nothing here", nil},
		{"read https://example.org/a, please", []string{"https://example.org/a"}},
		{"see (https://en.wikipedia.org/wiki/Go_(game)).", []string{"https://en.wikipedia.org/wiki/Go_(game)"}},
		{"[page](https://example.org/x) and <https://example.com>", []string{"https://example.org/x", "https://example.com/"}},
		{"http://example.org/x", []string{"http://example.org/x", "https://example.org/x"}},
		{"HTTP://EXAMPLE.ORG/X!", []string{"http://example.org/X", "https://example.org/X"}},
		{"example.org/path?q=1 is good", []string{"https://example.org/path?q=1"}},
		{"what is on www.example.org?", []string{"https://www.example.org/"}},
		{"go to example.org.", []string{"https://example.org/"}},
		{"example.org, example.com; example.org", []string{"https://example.org/", "https://example.com/"}},
		{"Bücher: bücher.example/ä", []string{"https://xn--bcher-kva.example/%C3%A4"}},
		{"the router 192.168.1.1:8080/status", []string{"https://192.168.1.1:8080/status"}},
		{"mail sam@example.org or sam.smith@example.org", nil},
		{"open notes.md, main.go:12 and ~/x.html, /srv/example.org/x", nil},
		{"at notes.md/x", []string{"https://notes.md/x"}},
		{"version 1.2.3, pi is 3.14, 10.5.2026, i.e. so", nil},
		{"ftp://example.org/x file:///etc/passwd", nil},
		{"https://user:pw@example.org/", nil},
		{"https://0x7f.1/ https://a..b/", nil},
		{"“https://example.org/q”", []string{"https://example.org/q"}},
		{"https://example.org/a#part", []string{"https://example.org/a"}},
		{"**https://example.org/b**", []string{"https://example.org/b"}},
		{"http://[2606:4700::1]:80/x", []string{"http://[2606:4700::1]/x", "https://[2606:4700::1]:80/x"}},
	} {
		if got := netguard.Links(c.text); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
	if n := len(netguard.Links(strings.Repeat("a ", 10) + manyLinks(3000))); n != 1000 {
		t.Errorf("%d links of 3000", n)
	}
}

func manyLinks(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("https://example.org/" + strings.Repeat("x", i%50) + strings.Repeat("y", i/50) + " ")
	}
	return b.String()
}

// The canonical form is a fixed point: the approved address is the one that is requested, and it is found again in the owner's messages.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{
		"https://example.org/a?b#c", "http://[::1]:80/", "http://127.1/", "https://a%2fb/..;/%2e%2e/", "https://example.org/?q=a|b^c`{}", "http://ex\u00adample.org/", "https://例え.テスト/路?ä=ö",
		"https://a/b'c(d)*,;", "HTTP://A.B:080/./x/..", "https://a.b//../c", "http://0/", "https://xn--/", "https://ẞ.de", "http://a.b?/?", "https://a.b/%", "http://1.1.1.1.",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		link, host, err := netguard.Canonical(raw)
		if err != nil {
			if !errors.Is(err, netguard.ErrAddress) || link != "" || host != "" {
				t.Fatalf("%q: %q, %v", raw, link, err)
			}
			return
		}
		again, sameHost, err := netguard.Canonical(link)
		if err != nil || again != link || sameHost != host {
			t.Fatalf("%q: %q, then %q, %q and %q, %v", raw, link, again, host, sameHost, err)
		}
		if strings.ContainsAny(link, " \r\n\t\\@<>\"#") && strings.ContainsAny(link[:strings.Index(link[8:], "/")+8], " \r\n\t\\@<>\"#") {
			t.Fatalf("%q: %q", raw, link)
		}
		if netguard.Private(host) != netguard.Private(strings.ToUpper(host)) || netguard.Private(host) != netguard.Private(host+".") && !strings.Contains(host, ":") {
			t.Fatalf("%q: whether %q is private hangs on its spelling", raw, host)
		}
	})
}

func FuzzPrivate(f *testing.F) {
	for _, s := range []string{"localhost", "0x7f.1", "017700000001", "[::ffff:7f00:1]", "example.org", "a.local", "...", "fe80::1%lo", "１２７.1", "0x", "1.", "::"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if netguard.Private(host) {
			return
		}
		// A public host can be requested, unless it is a number in a spelling that Canonical rejects.
		name := strings.Trim(strings.TrimSpace(host), "[]")
		if strings.Contains(name, ":") {
			name, _, _ = strings.Cut(name, "%")
			name = "[" + name + "]"
		}
		if _, _, err := netguard.Canonical("https://" + name + "/"); err != nil && !strings.Contains(err.Error(), "write the host as") {
			t.Fatalf("%q is public, and no host: %v", host, err)
		}
	})
}

func FuzzLinks(f *testing.F) {
	for _, s := range []string{"see example.org/a, https://x.org/(b)", "http://a.b ä.example @x.org", "https://https://x.org", "www.a.md.", "1.2.3.4/x 1.2.3.4.5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, link := range netguard.Links(text) {
			if again, _, err := netguard.Canonical(link); err != nil || again != link {
				t.Fatalf("%q has %q, which is %q, %v", text, link, again, err)
			}
			if !slices.Contains(netguard.Links("go to "+link+" now"), link) {
				t.Fatalf("%q is not found again", link)
			}
		}
	})
}

// T8: a host of a private network, or with a port of its own, is one service among others.
func TestHostPort(t *testing.T) {
	for link, want := range map[string]string{
		"https://example.org/x": "example.org", "http://example.org/": "example.org", "https://example.org:8443/": "example.org:8443", "http://example.org:443/": "example.org:443",
		"http://127.0.0.1/": "127.0.0.1:80", "https://nas/": "nas:443", "http://192.168.1.2:8080/x": "192.168.1.2:8080", "http://[::1]:4620/": "[::1]:4620", "http://[fd00::1]/": "[fd00::1]:80",
	} {
		if got := netguard.HostPort(link); got != want {
			t.Errorf("%s: %q, want %q", link, got, want)
		}
	}
}
