package caldav_test

import (
	"encoding/pem"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hob/daemon/account/caldav"
	"hob/daemon/account/caldavtest"
)

// ownServer names the server that the child of TestOwnCertificate signs in to.
const ownServer = "HOB_TEST_OWN_SERVER"

// The certificate of the owner's own server works if SSL_CERT_FILE names it, as docs/accounts.md says. Go reads the variable once, so a child process
// signs in.
func TestOwnCertificate(t *testing.T) {
	if at := os.Getenv(ownServer); at != "" {
		if _, err := caldav.Connect(t.Context(), plainWeb, at, caldavtest.User, caldavtest.Password); err != nil {
			t.Error(err)
		}
		return
	}
	calendars := caldavtest.NewServer()
	t.Cleanup(calendars.Close)
	s := httptest.NewTLSServer(calendars)
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "own.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOwnCertificate$") // #nosec G204 G702 -- this very test
	child.Env = append(os.Environ(), ownServer+"="+s.URL, "SSL_CERT_FILE="+file)
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
