package wire

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net"
	"strings"
)

// Fingerprint parses the SHA-256 of a certificate, hexadecimal with or without colons. It returns false if it
// is malformed.
func Fingerprint(text string) (string, bool) {
	text = strings.ToLower(strings.ReplaceAll(text, ":", ""))
	raw, err := hex.DecodeString(text)
	return text, err == nil && len(raw) == sha256.Size
}

// TLS returns how a server must prove its identity: by a certificate that the system trusts, or by the
// certificate with the given fingerprint, whose signer is not checked.
func TLS(host, fingerprint string) *tls.Config {
	cfg := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if fingerprint == "" {
		return cfg
	}
	cfg.InsecureSkipVerify = true // VerifyConnection compares the fingerprint instead
	cfg.VerifyConnection = func(state tls.ConnectionState) error {
		sum := sha256.Sum256(state.PeerCertificates[0].Raw)
		if seen := hex.EncodeToString(sum[:]); seen != fingerprint {
			return fmt.Errorf("the server's certificate has the fingerprint %s, not the one of the config", seen)
		}
		return nil
	}
	return cfg
}

// Loopback reports whether a host is this machine, without a DNS query.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
