package wire_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hob/channels/wire"
)

func TestFingerprint(t *testing.T) {
	plain := strings.Repeat("ab", 32)
	for text, want := range map[string]bool{plain: true, strings.ToUpper(plain): true, strings.Repeat("AB:", 31) + "ab": true, plain[2:]: false, plain + "ab": false, "": false, strings.Repeat("xy", 32): false} {
		if got, ok := wire.Fingerprint(text); ok != want || ok && got != plain {
			t.Errorf("%q: %q, %t", text, got, ok)
		}
	}
}

// A server with the right fingerprint is accepted with any signer; another fingerprint is refused.
func TestTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	connect := func(fingerprint string) error {
		conn, err := tls.Dial("tcp", s.Listener.Addr().String(), wire.TLS("127.0.0.1", fingerprint))
		if err != nil {
			return err
		}
		return conn.Close()
	}
	err := connect(strings.Repeat("ab", 32))
	if err == nil {
		t.Fatal("another certificate was taken")
	}
	_, seen, _ := strings.Cut(err.Error(), "the fingerprint ")
	if seen, _, _ = strings.Cut(seen, ","); connect(seen) != nil {
		t.Errorf("the server's own fingerprint %q was not taken", seen)
	}
	if connect("") == nil {
		t.Error("a certificate that nobody trusts was taken")
	}
}

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true, "127.8.8.8": true, "10.0.0.1": false, "example.org": false, "": false} {
		if wire.Loopback(host) != want {
			t.Errorf("%q: %t", host, !want)
		}
	}
}
