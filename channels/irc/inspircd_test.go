package irc_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/channels/channelstest"
	"hob/channels/irc"
)

// TestSuiteOfInspIRCd runs the suite with the real server InspIRCd (Debian's package inspircd): over TLS with
// a pinned certificate, and with extensions that ngircd lacks, such as message-tags, msgid, server-time and
// echo-message.
func TestSuiteOfInspIRCd(t *testing.T) {
	t.Parallel() // most of it is waiting
	path := program(t, "inspircd")
	channelstest.Run(t, func(t *testing.T) channelstest.World {
		plain, secure, print := inspircd(t, path)
		return real(t, "InspIRCd", plain, irc.Config{Server: secure, Fingerprint: print, TrustNicks: true, Channels: []string{"#family"}})
	})
}

// TestEchoOfInspIRCd: a sent message gets the id that the server echoes.
func TestEchoOfInspIRCd(t *testing.T) {
	t.Parallel() // most of it is waiting
	plain, secure, print := inspircd(t, program(t, "inspircd"))
	cfg := irc.Config{Server: secure, Fingerprint: print, TrustNicks: true, Channels: []string{"#family"}}
	w := real(t, "InspIRCd", plain, cfg)
	ch, b := open(t, cfg), &channelstest.MessageInbox{}
	channelstest.Keep(t, ch, b)
	w.Listening(t.Context())
	id, err := ch.Send(t.Context(), delivery("irc:#family", "hello"))
	if err != nil || id == "" || strings.HasPrefix(id, "n0nce/") {
		t.Errorf("sent as %q, %v: want the id of the echo", id, err)
	}
	w.Say("hello, hob")
	b.Came(t, 1)
	if m := b.List()[0]; m.ID == "" || time.Since(m.At).Abs() > time.Minute || m.Text != "hello, hob" {
		t.Errorf("received %+v: want the time that the server says", m)
	}
}

// inspircd starts a server on free ports of the loopback interface; more is added to its configuration.
func inspircd(t *testing.T, path string, more ...string) (plain, secure, fingerprint string) {
	t.Helper()
	dir := t.TempDir()
	plain, open := free(t)
	secure, closed := free(t)
	fingerprint = certificate(t, dir)
	var conf strings.Builder
	for _, module := range []string{
		"ssl_gnutls", "cap", "ircv3", "ircv3_accounttag", "ircv3_batch", "ircv3_capnotify", "ircv3_ctctags", "ircv3_echomessage", "ircv3_msgid",
		"ircv3_servertime", "services_account", "botmode",
	} {
		fmt.Fprintf(&conf, "<module name=%q>\n", module)
	}
	fmt.Fprintf(&conf, `<server name="irc.test.example" description="test" network="Test">
<admin name="x" nick="x" email="x@test.example">
<bind address="127.0.0.1" port="%s" type="clients">
<bind address="127.0.0.1" port="%s" type="clients" sslprofile="Clients">
<sslprofile name="Clients" provider="gnutls" cafile="" certfile="%s" keyfile="%s" hash="sha256">
<connect allow="*" resolvehostnames="no" useident="no" localmax="1000" globalmax="1000" commandrate="1000000" threshold="1000000" fakelag="off" hardsendq="4M" softsendq="1M" recvq="1M">
<performance nouserdns="yes">
<security allowcoreunload="no">
<options allowhalfop="no">
%s`, open, closed, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), strings.Join(more, ""))
	file := filepath.Join(dir, "inspircd.conf")
	if err := os.WriteFile(file, []byte(conf.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--nofork", "--nopid", "--nolog", "--config", file}
	if os.Getuid() == 0 {
		args = append(args, "--runasroot")
	}
	serve(t, path, args...)
	return plain, secure, fingerprint
}

// certificate writes a self-signed certificate with its key, and returns its SHA-256.
func certificate(t *testing.T, dir string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: cert}, "key.pem": {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sum := sha256.Sum256(cert)
	return hex.EncodeToString(sum[:])
}
